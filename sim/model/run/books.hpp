// The books of a run, checked at its end: in every run, in every build, for every scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/simulation.hpp>

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

class Clients;
class Network;
class Services;
struct RunState;

class Books {
 public:
  Books(const RunState& state, const Clients& clients, const Network& network,
        const Services& services)
      : state_(state), clients_(clients), network_(network), services_(services) {}

  /// Throws InvariantViolated if something was lost or counted twice.
  void check(const RunResult& result) const;
  /// Throws InvariantViolated.
  [[noreturn]] void violated(std::string_view what) const;

 private:
  ByGroup<std::uint64_t> open_attempts() const;
  void check_group(const RunResult& result, GroupId group, bool polls, std::uint64_t open) const;
  void check_service(const RunResult& result, ServiceId service) const;
  Instance::TimeSpent time_spent(InstanceId instance, Time end) const;
  std::string_view wrong_instances(const RunResult& result, ServiceId service) const;
  // Checks of levels over time. Each returns the violation, or an empty string.
  std::string wrong_level(const RunResult& result) const;
  std::string wrong_level_of_group(const RunResult& result, GroupId group,
                                   const stats::GroupLevels& real) const;
  std::string wrong_level_of_service(const RunResult& result, ServiceId service) const;
  ByGroup<stats::GroupLevels> group_levels() const;

  const RunState& state_;
  const Clients& clients_;
  const Network& network_;
  const Services& services_;
};

}  // namespace retrysim::model
