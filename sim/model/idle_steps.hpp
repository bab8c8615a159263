// Steps that lead to no event: bursts in which nobody sends, requests that a varying rate leaves
// out. A scenario may need any number of them between two events, so they look at the limits
// themselves.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/simulation.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace retrysim::model {

class IdleSteps {
 public:
  /// More than `limit` steps are a `LimitExceeded`.
  explicit IdleSteps(std::uint64_t limit) : limit_(limit) {}

  /// Throws `Interrupted`, too.
  void count() {
    if (++steps_ >= next_look_) [[unlikely]]
      look();
  }

 private:
  void look() {
    stop_point();
    if (steps_ > limit_) {
      throw LimitExceeded(
          "more than " + std::to_string(limit_) +
              " bursts, pauses and rejected arrivals: the client sends far less often than it "
              "alternates between burst and pause; make arrivals.on and arrivals.off longer, or "
              "the rate higher",
          LimitKind::kEvents);
    }
    constexpr std::uint64_t kStepsBetweenLooks = 1 << 16;
    next_look_ = std::min(steps_ + kStepsBetweenLooks, limit_ + (limit_ < ~std::uint64_t{0}));
  }

  std::uint64_t limit_, steps_ = 0, next_look_ = 1;
};

}  // namespace retrysim::model
