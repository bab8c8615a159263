// The books of a run: closed at its end, and checked in every run, whatever the scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/run_result.hpp>

#include "measure/record/recorder.hpp"
#include "model/service/instance.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

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

class Books {
 public:
  Books(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// Enters what is unfinished at the end of the run.
  void close();
  /// Throws InvariantViolated if something was lost or counted twice: conservation.cpp.
  void check(const RunResult& result) const;
  /// Throws InvariantViolated.
  [[noreturn]] void violated(std::string_view what) const;

 private:
  void close_service(ServiceId service);
  void close_instance(ServiceId service, InstanceId instance);
  void check_group(const RunResult& result, GroupId group, bool polls) const;
  void check_service(const RunResult& result, ServiceId service) const;
  Service::TimeSpent time_spent(InstanceId instance, Time end) const;
  std::string_view wrong_instances(const RunResult& result, ServiceId service) const;
  // The same for levels over time: level_checks.cpp. They return what is wrong; empty: nothing.
  std::string wrong_level(const RunResult& result) const;
  std::string wrong_level_of_group(const RunResult& result, GroupId group,
                                   const stats::GroupLevels& real) const;
  std::string wrong_level_of_service(const RunResult& result, ServiceId service) const;
  ByGroup<stats::GroupLevels> group_levels() const;

  RunState& state_;
  Parts& parts_;
  ByGroup<std::uint64_t> open_attempts_;  // of the cohort, at the end of the run
};

}  // namespace retrysim::model
