// The balancer in front of the instances of a service. It chooses one for each attempt, so that a
// retry may well go to another one; it knows how many attempts it has under way at each, and which
// ones health checks have taken out of rotation.
//
// An attempt is under way from its send until its client has the answer or stops waiting, which
// closes the connection. An instance may still be at work on it.
//
// If all instances are out of rotation, attempts go to all of them, as AWS's load balancers do
// ("fail open": Elastic Load Balancing, Application Load Balancers, "Target group health").
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "measure/record/service_recorder.hpp"
#include "model/ids.hpp"
#include "model/request.hpp"
#include "model/service.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

struct RunState;

class Balancer {
 public:
  explicit Balancer(RunState& state) : state_(state) {}

  /// The services are known.
  void prepare();

  /// The instance that the attempt goes to, which is under way there from now on.
  [[gnu::noinline]] InstanceId choose(const Attempt& a);
  /// The attempt is not under way any more.
  [[gnu::noinline]] void ended(const Attempt& a, AttemptResult result);

  /// Health checks take an instance out of rotation, or bring it back.
  void set_in_rotation(InstanceId instance, bool in);

  /// The levels of an instance have changed: those of its service follow.
  [[gnu::noinline]] void levels_changed(const Service& s);

  /// Attempts under way at all instances of the service.
  std::uint64_t under_way(ServiceId service) const;
  /// Enters what is known of single instances into the result of the run.
  void close(RunResult& result);

 private:
  struct One {  // instance
    std::uint32_t under_way = 0;
    bool in_rotation = true;
    stats::StationLevels levels;
    double wasting_servers = 0;
  };
  /// The instances of one service.
  struct Group {
    std::vector<InstanceId> in_rotation;  // all, if none is
    InstanceId last;                      // chosen by turns
    stats::StationLevels levels;          // sums
  };
  void rebuild_rotation(ServiceId service);
  InstanceId next_by_turns(Group& group) const;
  InstanceId least_busy(const Group& group, const Attempt& a) const;
  InstanceId better_of_two(const Group& group, const Attempt& a) const;
  Draws draws_for(const Attempt& a) const;

  RunState& state_;
  std::optional<stats::InstanceLog> log_;
  IndexedBy<InstanceId, std::vector<One>> all_;
  ByService<Group> groups_;
};

}  // namespace retrysim::model
