// What must be conserved in every run, and the sums that it takes to tell.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <algorithm>
#include <cmath>

namespace retrysim::model {

/// The most tokens that a success after retries may give back. Said here once more, and more
/// coarsely than in the rules: it is what those are checked against.
inline int largest_refund(const QuotaRules& rules, const RetryProgress& progress) {
  if (rules.refill_rate > 0) return rules.capacity;  // time brings tokens as well
  const int credit = static_cast<int>(std::ceil(rules.credit));
  switch (rules.refund) {
    case Refund::kNone:
      return 0;
    case Refund::kCredit:
      return credit;
    case Refund::kCost:
      return rules.cost;
    case Refund::kLast:
      return progress.held_cost;
    case Refund::kLastAndCredit:
    case Refund::kLastOrCredit:
      return progress.held_cost + credit;
    case Refund::kSharedLast:
      return std::max({rules.cost, rules.throttle_cost, rules.timeout_cost});
  }
  return 0;
}

}  // namespace retrysim::model
