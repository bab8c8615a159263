// What the recorders are told about events that have more to say than a few words: one struct each,
// filled in by name.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

#include <cstddef>
#include <cstdint>

namespace retrysim::stats {

/// A request has ended, or is unfinished when the run is over.
struct RequestEnded {
  std::uint32_t client = 0;
  bool in_cohort = false;
  Outcome outcome = Outcome::kUnfinished;
  std::uint32_t attempts = 0;  ///< that it made
  Time submitted, now;
};

/// A backoff has ended.
struct BackoffEnded {
  bool in_cohort = false;
  std::uint32_t number = 1;  ///< of the attempt that follows
  Time since, now;
};

/// An attempt has ended, as its client sees it.
struct AttemptEnded {
  bool in_cohort = false;
  std::uint32_t number = 1;  ///< 1 for the first attempt of a request
  AttemptResult result = AttemptResult::kSuccess;
  Time sent, now;
};

/// A job that was polled for has ended, or is unfinished when the run is over.
struct JobEnded {
  bool in_cohort = false;
  JobEnd end = JobEnd::kUnfinished;
  std::uint32_t checks = 0;  ///< begun
  Time done, now;            ///< `done`: the job itself
};

/// What became of one request with side effects.
struct RequestEffects {
  std::uint32_t effects = 0;                                       ///< executions that succeeded
  std::uint32_t replays = 0, mismatches = 0, expired_replays = 0;  ///< see SideEffectTotals
  bool failed = false;                                             ///< as its client saw it
};

/// The numbers of busy servers, of attempts at a service and, of those, in the queue, and of
/// working servers from `now` on.
struct LevelsOfService {
  std::int64_t busy = 0;
  std::uint64_t in_system = 0, queued = 0;
  std::int64_t working = 0;
  Time now;
};

/// Levels of a client group at one instant: requests that wait for a send token, for a connection
/// and in backoff, attempts in flight, and the tokens in all its retry quotas.
struct GroupLevels {
  std::int64_t limiter_waiting = 0, connection_waiting = 0, in_backoff = 0, in_flight = 0;
  std::int64_t quota = 0;

  bool operator==(const GroupLevels&) const = default;
};

/// Levels of a service at one instant: busy servers, attempts there and, of those, in the queue,
/// and working servers.
struct StationLevels {
  std::int64_t busy = 0, in_system = 0, queued = 0, working = 0;

  bool operator==(const StationLevels&) const = default;
};

}  // namespace retrysim::stats
