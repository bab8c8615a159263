// What happens to a service from outside: faults begin and end, it restarts, an autoscaler changes
// the number of its servers.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/faults.hpp"
#include "model/request.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

class ServiceEvents {
 public:
  /// Numbers the answers of faults, and counts the faults among the events.
  ServiceEvents(RunState& state, Parts& parts);

  void add_sources();
  /// Offers the first events.
  void start();

  /// What is wrong with the instance now.
  Impairment impairment(InstanceId instance) const;

  /// The events.
  void change_faults();
  void scale(ServiceId service);

 private:
  void change_instance(InstanceId instance, const FaultTimeline::Change& change);
  void restart(InstanceId instance, bool throttle_too);

  RunState& state_;
  Parts& parts_;
  FaultTimeline faults_;
  std::uint64_t faults_begun_ = 0;
  std::uint32_t fault_source_ = kNone;
  ByService<std::uint32_t> scaling_sources_;
  ByService<std::size_t> ranks_;  // places among the names
};

}  // namespace retrysim::model
