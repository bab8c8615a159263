// One replication of a scenario: the event loop. Pure function of (scenario, replication): no
// global state, no clock, no files; any number may run at once in different threads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace retrysim {

struct SimulationOptions {
  bool fingerprint = false;  ///< hash the event sequence
  /// From then on clients make no retries and no hedges: a failure ends its request as after the
  /// last attempt, one that is in backoff or waits to be sent again ends when it would be sent.
  /// Attempts under way go on. What happens before is the same as without this, to the last draw.
  Time retries_until = Time::max();
  std::uint64_t max_events = ~std::uint64_t{0};
  /// Set from outside to end the run early with `Interrupted`; may be null.
  const std::atomic<bool>* stop = nullptr;
  /// Simulated time reached so far in nanoseconds, for a progress display; may be null.
  std::atomic<std::int64_t>* progress = nullptr;
};

/// A limit was hit: `max_events`, or ten million events at one instant of simulated time.
class LimitExceeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `SimulationOptions::stop` was set.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// One of our own invariants does not hold: a defect of the simulator. The message gives seed,
/// replication and simulated time.
class InvariantViolated : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Simulates replication `replication` (from 0) of a valid scenario. Throws std::invalid_argument
/// if it lasts longer than `kLongestDuration`.
RunResult simulate(const Scenario& scenario, std::uint32_t replication,
                   const SimulationOptions& options = {});

}  // namespace retrysim
