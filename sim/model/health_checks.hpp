// Health checks: every `interval` the balancer asks each instance how it is, one instance after the
// other with equal pauses between them. After so many failures in a row it takes the instance out
// of rotation, and after so many passes in a row it brings it back. What is under way at the
// instance stays there.
//
// A check is a short message over the network that the attempts use. It fails
//
//   - when a connection would be refused: after a round trip;
//   - when no answer would come (a black hole, a lost message, no working server, a server that
//     stands still), or not within `timeout`: after `timeout`;
//   - when it meets a random error of the service or of a fault: after a round trip.
//
// Otherwise it takes a round trip and the time that a free server would take for it, which is drawn
// from the service time, at the present speed. It neither waits in the queue nor takes a server,
// and the throttle lets it pass: overload alone takes no instance out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

#include "kernel/timer_queue.hpp"
#include "model/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

class HealthChecks {
 public:
  HealthChecks(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

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
  Parts& parts_;
  std::uint32_t source_ = 0;
  kernel::TimerQueue timers_;
  IndexedBy<InstanceId, std::vector<Patient>> patients_;
  ByService<std::size_t> ranks_;  // places among the names
};

}  // namespace retrysim::model
