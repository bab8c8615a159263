// The limits of a run: events, events at one instant, memory, and the wish of somebody outside to
// stop it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrysim::model {

class Clients;
class Effects;
class Network;
class Services;
struct RunState;

class RunLimits {
 public:
  /// It asks the modules for the memory that they take, and for nothing else.
  RunLimits(const RunState& state, const Clients& clients, const Network& network,
            const Services& services, const Effects& effects);

  /// The clock has moved on.
  void new_instant() { instant_began_ = done_; }
  /// Throws LimitExceeded when a limit has been passed, Interrupted when the run is to stop.
  void count_event() {
    if (++done_ >= next_check_) [[unlikely]]
      check();
  }
  /// Work done at an instant besides its events: it counts against the same limits.
  void count_step() {
    ++steps_;
    count_event();
  }

  std::uint64_t events() const { return done_ - steps_; }

 private:
  [[gnu::noinline]] void check();
  void check_memory() const;

  const RunState& state_;
  const Clients& clients_;
  const Network& network_;
  const Services& services_;
  const Effects& effects_;
  std::uint64_t done_ = 0;        // events and steps
  std::uint64_t next_check_ = 0;  // at so many of them
  // Apart from `done_`: as neighbours the two would be loaded together, just after one was stored.
  std::uint64_t steps_ = 0;
  std::uint64_t instant_began_ = 0;  // events and steps when this instant began
  std::uint64_t most_at_once_ = 0;   // requests that may rightly be submitted at one instant
};

}  // namespace retrysim::model
