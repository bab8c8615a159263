// What a service lets pass: allowances at one rate for all requests, or at rates of their own for
// some operations or keys.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "model/allowances.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::model {

class Throttle {
 public:
  /// Operations or keys that a limit of their own concerns, by the number of that.
  using Numbers = std::vector<std::uint32_t>;

  explicit Throttle(const ThrottleSpec& spec) : others_(spec), has_limits_(spec.has_limits()) {
    const bool by_key = !spec.keys.empty();
    for (const ThrottleLimit& limit : by_key ? spec.keys : spec.operations) {
      const bool unlimited = limit.rate <= 0;
      limits_.push_back({kNobody, unlimited,
                         Allowances({limit.rate, limit.burst, spec.scope, {}, limit.window})});
    }
  }

  /// Says which operation or key each limit concerns: `numbers[i]` belongs to the i-th one.
  void set_numbers(const Numbers& numbers) {
    for (std::size_t i = 0; i < limits_.size(); ++i) limits_[i].concerns = numbers.at(i);
  }
  bool has_limits() const { return has_limits_; }

  /// True if an attempt may pass: one of `number` of client group `group` where each client has an
  /// allowance; where each operation or key has one, that of this number.
  bool pass(std::uint16_t group, std::uint32_t number, Time now) {
    return others_.pass(group, number, now);
  }
  /// The same for an attempt whose operation or key, if there is a limit of its own for that, has
  /// the number `about`.
  bool pass(std::uint16_t group, std::uint32_t number, Time now, std::uint32_t about) {
    for (Limit& limit : limits_) {
      if (limit.concerns != about) continue;
      return limit.unlimited || limit.allowances.pass(group, number, now);
    }
    return others_.pass(group, number, now);
  }

  /// As at the start of the run.
  void forget() {
    others_.forget();
    for (Limit& limit : limits_) limit.allowances.forget();
  }

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  struct Limit {
    std::uint32_t concerns;
    bool unlimited;
    Allowances allowances;
  };

  Allowances others_;
  bool has_limits_;
  std::vector<Limit> limits_;  // few: found one by one
};

}  // namespace retrysim::model
