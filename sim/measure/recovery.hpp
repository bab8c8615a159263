// How long after a disturbance the goodput is back. Disturbances ("triggers") are the fault windows
// and surges of the scenario.
//
// What counts is the shortfall: the successes that were due, `RecoverySpec::share` of the success
// rate before for each request, less those that there were. It grows while the system is down and
// shrinks once goodput is above the bar. The system has recovered at the moment from which on, for
// `RecoverySpec::hold`, the shortfall does not grow by more than chance explains; the moment itself
// is where the shortfall was greatest.
//
// All of it is counted in the run's count bins, so that the width of time-series bins plays no
// part.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim::stats {

/// One fault window or surge: [start, end).
struct Trigger {
  Time start, end;
};

/// A trigger with the name of its fault or surge.
struct Disturbance : Trigger {
  std::string name;
};

/// The faults and surges that start before the end of the scenario, by start, end and name.
std::vector<Disturbance> disturbances(const Scenario& scenario);
/// The same without names.
std::vector<Trigger> triggers(const Scenario& scenario);

/// The bins [first, last) that lie wholly inside the window [warmup, duration).
struct BinRange {
  std::size_t first = 0, last = 0;
};
BinRange window_bins(const RunResult& run, std::span<const ClientBin> bins);

/// The count bins [first, last) that lie wholly inside [from, to); none if there are no counts.
BinRange count_bins(const RunResult& run, Time from, Time to);

/// The counts of client group `group`; empty: of all together, without those by which services call
/// others.
std::vector<RequestCounts> request_counts(const Scenario& scenario, const RunResult& run,
                                          std::optional<std::size_t> group);

/// What is normal: the part of the window before the first disturbance.
struct Before {
  BinRange bins;            ///< count bins; none: nothing is known
  double success_rate = 1;  ///< successes per ended request; 1 if none ended
  std::uint64_t ended = 0;  ///< requests that it is known from
};
Before before(const RunResult& run, std::span<const RequestCounts> counts, Time trigger_start);

/// What a run shows of a recovery.
struct Recovery {
  std::optional<double> seconds;  ///< empty: censored
  /// Without a recovery: it did not begin earlier than this after the end of the trigger. If the
  /// run ends with a goodput that is high enough, but has not been for long, this is where it rose.
  double not_before_s = 0;
  /// The same: successes that were due since then, none of which is missing; in all since the end
  /// of the trigger; and as many as it takes to tell a system that is up from one that is down.
  double due_since = 0, due = 0, due_to_tell = 0;

  /// It is not confirmed, but goodput is back for longer than chance explains.
  bool seems_back() const { return !seconds && due_since > 0 && due_since >= due_to_tell; }
  /// Too few requests came to confirm a recovery, had they come for all of the hold or not.
  bool too_few() const { return !seconds && !seems_back() && due < 2 * due_to_tell; }
};

/// From `trigger_end` to the moment of recovery; zero if goodput is back from the first whole count
/// bin on. The hold is longer than `RecoverySpec::hold` where fewer requests than it takes to tell
/// a recovery from chance come in that time. Censored if the moment does not come, or cannot be
/// confirmed, before `horizon`.
Recovery recovery_after(const Scenario& scenario, const RunResult& run,
                        std::span<const RequestCounts> counts, Time trigger_end, Time horizon,
                        const Before& before);

/// The metrics recovery_s and recovery_censored_s: from the end of the last trigger, compared with
/// the time before the first one. Empty if the scenario has no trigger.
std::optional<Recovery> final_recovery(const Scenario& scenario, const RunResult& run,
                                       std::optional<std::size_t> group);

/// Requests submitted while a fault or surge was on, and those of them that failed.
struct Disturbed {
  std::uint64_t requests = 0, failed = 0;
};
/// Of the count bins that lie wholly or in part inside a trigger. Empty if there is no trigger.
std::optional<Disturbed> disturbed(const Scenario& scenario, const RunResult& run,
                                   std::optional<std::size_t> group);

}  // namespace retrysim::stats
