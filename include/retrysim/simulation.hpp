// One replication of a scenario, and how to end long work early. A replication is a pure function
// of scenario and replication number: no global state, no clock, no files. Any number may run at
// once in different threads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace retrysim {

// --- Ending early --------------------------------------------------------------------------------

// Code that starts long work opens a `StopScope` with a flag that others may set; slow code calls
// `stop_point` now and then. So reading files, simulating and writing results all end in the same
// way, without passing the flag from function to function.

/// The work was asked to stop.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// While it lives, `stop_point` in this thread throws once `*stop` is true. Scopes nest: each one
/// adds its flag to those of the scopes around it. `stop` may be null.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>* stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// Whether this scope's flag, or that of one around it, is set.
  bool stopped() const;

 private:
  const std::atomic<bool>* stop_;
  const StopScope* outer_;
};

/// Throws `Interrupted` if a scope of this thread has been asked to stop. Costs a few nanoseconds:
/// call it at least every 100 ms or so of work, not for every item.
void stop_point();

/// Calls `stop_point` at every `Every`-th call: for loops over small items.
template <unsigned Every = 4096>
class StopCounter {
 public:
  void count() {
    if (++calls_ % Every == 0) [[unlikely]]
      stop_point();
  }

 private:
  unsigned calls_ = 0;
};

// --- Simulating ----------------------------------------------------------------------------------

/// A line of the access log of the simulated services: what a server knows when it answers an
/// attempt, with success or an error, whether or not the client is still waiting. Attempts that
/// leave a service without an answer (dropped from a queue, aborted) have no line.
struct AccessLogEntry {
  Time answered;
  Duration duration;           ///< since the attempt reached the service
  int status = 200;            ///< of the answer
  std::size_t service = 0;     ///< index into `Scenario::services`
  std::uint32_t instance = 0;  ///< of the service, from 0
  std::string_view operation;  ///< empty: none
  std::size_t client = 0;      ///< index into `Scenario::clients`
  std::uint64_t request = 0;   ///< names the request, the same in its retries, within its group
};
/// Called in the order of `AccessLogEntry::answered`.
using AccessLog = std::function<void(const AccessLogEntry&)>;

struct SimulationOptions {
  bool fingerprint = false;  ///< hash the event sequence
  /// From this moment on, clients send no retries and no hedges: a failure ends its request as
  /// after the last attempt; a request in backoff, or waiting to be sent again, ends when it would
  /// be sent. Attempts under way continue. Everything before that moment is the same as without
  /// this option, down to the last draw.
  Time retries_until = Time::max();
  std::uint64_t max_events = ~std::uint64_t{0};
  /// Bytes that the requests under way may take; `LimitExceeded` beyond. The rest of a run's memory
  /// is known before it begins: see `needs_of` (experiment.hpp).
  std::uint64_t max_memory = ~std::uint64_t{0};
  /// Told of each answer of a service; may be empty. It affects nothing else.
  AccessLog access_log = {};
  /// Set from outside to end the run early with `Interrupted`; may be null.
  const std::atomic<bool>* stop = nullptr;
  /// Simulated time reached so far in nanoseconds, for a progress display; may be null.
  std::atomic<std::int64_t>* progress = nullptr;
};

/// Which limit a run exceeded.
enum class LimitKind : std::uint8_t {
  kTime,     ///< wall-clock time
  kEvents,   ///< `max_events`; steps on the agenda count, too
  kInstant,  ///< ten million events at one instant of simulated time
  kMemory,   ///< `max_memory`
};

/// A limit was hit.
class LimitExceeded : public std::runtime_error {
 public:
  explicit LimitExceeded(const std::string& what, LimitKind kind = LimitKind::kTime)
      : std::runtime_error(what), kind_(kind) {}
  LimitKind kind() const { return kind_; }

 private:
  LimitKind kind_;
};

/// An invariant of the simulator does not hold: a defect of the program. The message gives seed,
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
