// Allowances of attempts at one rate, one for all or one for each client, operation or key, that
// refill all the time (a token bucket) or at the start of each window.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

class Allowances {
 public:
  /// Those who share one.
  struct Allowance {
    double left = 0;  ///< attempts
    Time since;       ///< the last refill
  };

  explicit Allowances(const ThrottleSpec& spec)
      : rate_(spec.rate),
        window_(spec.window),
        scope_(spec.scope),
        windows_(spec.window > Duration::zero()),
        most_(windows_ ? spec.window_limit() : spec.burst),
        of_all_{most_, {}} {}

  /// True if an attempt may pass: one of `number` of client group `group` where each client has an
  /// allowance; where each operation or key has one, that of this number.
  bool pass(std::uint16_t group, std::uint32_t number, Time now) {
    if (scope_ == ThrottleScope::kService) return take(of_all_, now);
    if (scope_ != ThrottleScope::kClient) group = 0;
    if (group >= of_groups_.size()) of_groups_.resize(group + std::size_t{1});
    std::vector<Allowance>& allowances = of_groups_[group];
    if (number >= allowances.size()) {
      allowances.resize(number + std::size_t{1}, Allowance{most_, {}});
    }
    return take(allowances[number], now);
  }

  /// As at the start of the run.
  void forget() {
    of_all_ = {most_, {}};
    of_groups_.clear();
  }

 private:
  // A token that is there but for rounding (less than a billionth is missing) counts, so that a
  // rate is kept exactly at exact intervals.
  bool take(Allowance& a, Time now) const {
    if (!windows_) {
      a.left = std::min(most_, a.left + (now - a.since).in_seconds() * rate_);
    } else if (now.count() / window_.count() != a.since.count() / window_.count()) {
      a.left = most_;
    }
    a.since = now;
    if (a.left < 1 - 1e-9) return false;
    a.left = std::max(0.0, a.left - 1);
    return true;
  }

  double rate_;
  Duration window_;
  ThrottleScope scope_;
  bool windows_;
  double most_;
  Allowance of_all_;
  std::vector<std::vector<Allowance>> of_groups_;
};

}  // namespace retrysim::model
