// Which instance of a service an attempt goes to: the balancer, and the health checks that tell it
// which instances to leave out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/timer_queue.hpp"
#include "measure/record/recorder.hpp"
#include "model/run/request.hpp"
#include "model/service/instance.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

struct RunState;

/// The balancer in front of the instances of a service. It chooses one for each attempt, so that a
/// retry may well go to another one; it knows how many attempts it has under way at each, and which
/// ones health checks have taken out of rotation.
///
/// An attempt is under way from its send until its client has the answer or stops waiting, which
/// closes the connection. An instance may still be at work on it.
///
/// If all instances are out of rotation, attempts go to all of them, as AWS's load balancers do
/// ("fail open": Elastic Load Balancing, Application Load Balancers, "Target group health").
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

  /// Attempts under way at all instances of the service.
  std::uint64_t under_way(ServiceId service) const;
  /// Enters what is known of single instances into the result of the run.
  void close(RunResult& result);

 private:
  struct One {  // instance
    std::uint32_t under_way = 0;
    bool in_rotation = true;
  };
  /// The instances of one service.
  struct Hosts {
    std::vector<InstanceId> in_rotation;  // all, if none is
    InstanceId last;                      // chosen by turns
  };
  void rebuild_rotation(ServiceId service);
  InstanceId next_by_turns(Hosts& hosts) const;
  InstanceId least_busy(const Hosts& hosts, const Attempt& a) const;
  InstanceId better_of_two(const Hosts& hosts, const Attempt& a) const;
  Draws draws_for(const Attempt& a) const;

  RunState& state_;
  IndexedBy<InstanceId, std::vector<One>> all_;
  ByService<Hosts> hosts_;
};

/// Health checks: every `interval` the balancer asks each instance how it is, one instance after
/// the other with equal pauses between them. After so many failures in a row it takes the instance
/// out of rotation, and after so many passes in a row it brings it back. What is under way at the
/// instance stays there.
///
/// A check is a short message over the network that the attempts use. It fails
///
///   - when a connection would be refused: after a round trip;
///   - when no answer would come (a black hole, a lost message, no working server, a server that
///     stands still), or not within `timeout`: after `timeout`;
///   - when it meets a random error of the service or of a fault: after a round trip, and the share
///     of the service time that the error takes.
///
/// Otherwise it takes a round trip and the time that a free server would take for it, which is
/// drawn from the service time, at the present speed. It neither waits in the queue nor takes a
/// server, and the throttle lets it pass: overload alone takes no instance out.
class HealthChecks {
 public:
  HealthChecks(RunState& state, Balancer& balancer) : state_(state), balancer_(balancer) {}

  void add_sources();
  /// Offers the first events.
  void start();
  /// The event: a check begins, or its outcome is known.
  void due();

 private:
  enum class Step : std::uint8_t { kBegin, kPassed, kFailed };
  struct Outcome {
    Step step = Step::kFailed;
    Duration after;
  };
  struct Patient {  // an instance
    std::uint64_t checks = 0;
    std::uint32_t passes = 0, failures = 0;  // in a row
    bool in_rotation = true;
  };

  void begin(InstanceId instance);
  Outcome examine(InstanceId instance, std::uint64_t number) const;
  void book(InstanceId instance, bool passed);
  void schedule(InstanceId instance, Step step, Duration after);

  RunState& state_;
  Balancer& balancer_;
  std::uint32_t source_ = 0;
  kernel::TimerQueue timers_;
  IndexedBy<InstanceId, std::vector<Patient>> patients_;
  ByService<std::size_t> ranks_;  // places among the names
};

}  // namespace retrysim::model
