// Recovery from disturbances ("triggers"), which are the fault windows and surges of the scenario:
// how long until goodput is back, whether the run was long enough to tell, and whether retries
// prevent it.
//
// The measure is the shortfall: the successes that were due (`RecoverySpec::share` of the earlier
// success rate, for each request) minus the actual successes. It grows while the system is down and
// shrinks once goodput is above the bar. The system has recovered at the moment from which the
// shortfall, for `RecoverySpec::hold`, does not grow by more than chance explains; that moment is
// where the shortfall was greatest. A collapse later than that counts, too, to the end of the run.
// Everything is counted in the run's count bins, so the width of time-series bins plays no part.
//
// The clients of a closed loop that get no answer ask for nothing. Successes are due from them at
// their rate before the disturbance, however few requests they make.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/sweep.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::stats {

/// One fault window or surge: [start, end).
struct Trigger {
  Time start, end;
};

/// A trigger with the name of its fault or surge.
struct Disturbance : Trigger {
  std::string name;
  bool is_surge = false;
};

/// The faults and surges that start before the end of the scenario, by start, end and name.
std::vector<Disturbance> disturbances(const Scenario& scenario);

/// The parts of a scenario: services and client groups that are connected, directly or through
/// others, by attempts, calls, or what they share. Nothing that happens in one part has an effect
/// in another.
class ReachParts {
 public:
  explicit ReachParts(const Scenario& scenario);
  /// The number of the part that a service or a group belongs to.
  std::size_t of_service(std::size_t service) const { return of_[service]; }
  std::size_t of_group(std::size_t group) const { return of_[services_ + group]; }
  /// The disturbances in a part, in the order of `disturbances`.
  std::vector<Disturbance> disturbances_in(std::size_t part) const;

 private:
  const Scenario& scenario_;
  std::size_t services_;
  std::vector<std::size_t> of_;  // part of each service, then of each group
};
/// The triggers without names.
std::vector<Trigger> triggers(const Scenario& scenario);

/// The bins [first, last) that lie wholly inside the window [warmup, duration).
struct BinRange {
  std::size_t first = 0, last = 0;
};
BinRange window_bins(const RunResult& run, std::span<const ClientBin> bins);

/// The count bins [first, last) that lie wholly inside [from, to); empty if there are no counts.
BinRange count_bins(const RunResult& run, Time from, Time to);

/// The counts of one client group, or of all together, in each count bin.
struct Course {
  std::vector<RequestCounts> counts;
  /// The requests of closed loops in each count bin, and how many ended; empty without closed
  /// loops.
  struct OfLoops {
    std::uint32_t requests = 0, ended = 0;
  };
  std::vector<OfLoops> loops;
  std::optional<std::size_t> group = {};  ///< the client group; empty: all together
};

/// The counts of client group `group`; empty: of all groups together, without calls between
/// services. Such calls count as those of a closed loop if all client groups are closed loops.
Course course_of(const Scenario& scenario, const RunResult& run, std::optional<std::size_t> group);

/// The normal state, from the part of the window before the first disturbance.
struct Before {
  BinRange bins;            ///< count bins of that time; empty if nothing is known
  double success_rate = 1;  ///< successes per ended request; 1 if none ended
  std::uint64_t ended = 0;  ///< ended requests from which the rate is known
  double loop_rate = 0;     ///< requests of closed loops that ended, per count bin
  /// A lower bound on `loop_rate`, which is an estimate: three standard errors less.
  double sure_loop_rate = 0;
};
Before before(const Scenario& scenario, const RunResult& run, const Course& course,
              Time trigger_start);

/// The recovery in a run, as far as it can be observed.
struct Recovery {
  std::optional<double> seconds;  ///< empty: censored
  /// Without a recovery: the earliest time after the end of the trigger at which one can have
  /// begun. If the run ends with goodput that is high enough, but has not been for long, the time
  /// at which it rose.
  double not_before_s = 0;
  /// A recovery that lasted for the whole hold time, followed by a collapse: when it was back the
  /// first time, and when it then collapsed, s after the end of the trigger.
  struct Relapse {
    double back_s = 0, at_s = 0;
  };
  std::optional<Relapse> relapse = {};
  /// Successes due since the possible recovery, none of which is missing; all due since the end of
  /// the trigger; and how many it takes to tell a system that is up from one that is down.
  double due_since = 0, due = 0, due_to_tell = 0;

  /// Whether goodput is back for longer than chance explains, although the recovery is not
  /// confirmed.
  bool seems_back() const { return !seconds && due_since > 0 && due_since >= due_to_tell; }
  /// Whether too few requests came to confirm a recovery, however long the run was.
  bool too_few() const { return !seconds && !seems_back() && due < 2 * due_to_tell; }
};

/// The recovery after a trigger: the time from `trigger_end` to the moment of recovery; zero if
/// goodput is back from the first whole count bin on. The hold is longer than `RecoverySpec::hold`
/// where fewer requests than it takes to tell a recovery from chance come in that time. Censored if
/// the moment does not come, or cannot be confirmed, before `horizon`. If the shortfall grows again
/// after the hold by as much as 15 s without any success (half of a longer hold; a tenth of a
/// shorter run; a third of these, if that is where the run ends), the system had not recovered for
/// good.
Recovery recovery_after(const Scenario& scenario, const RunResult& run, const Course& course,
                        Time trigger_end, Time horizon, const Before& before);

/// When the last disturbance that may reach the group (empty: any group) ends; if none may reach
/// it, the last one of the scenario. Empty without disturbances.
std::optional<Time> end_of_disturbances(const Scenario& scenario, std::optional<std::size_t> group);

/// The recovery behind the metrics recovery_s and recovery_censored_s: from `end_of_disturbances`
/// on, compared with the time before the first disturbance. Empty if the scenario has no
/// disturbance.
std::optional<Recovery> final_recovery(const Scenario& scenario, const RunResult& run,
                                       std::optional<std::size_t> group);

/// When the group is back after the disturbances between `from` and `to` that may reach it, of
/// which `to` is the last end; `to` if none does. Empty if it is not back, or that cannot be
/// confirmed, before `horizon`.
std::optional<Time> back_after(const Scenario& scenario, const RunResult& run,
                               std::optional<std::size_t> group, Time from, Time to, Time horizon);

/// Whether a run is long enough to confirm a recovery: the hold ends before the run does. True
/// without a trigger.
bool can_confirm_recovery(const Scenario& scenario);

/// Requests submitted while a fault or surge was on, and how many of them failed.
struct Disturbed {
  std::uint64_t requests = 0, failed = 0;
};
/// The requests in the count bins that lie wholly or in part inside a trigger. Empty if there is no
/// trigger.
std::optional<Disturbed> disturbed(const Scenario& scenario, const RunResult& run,
                                   std::optional<std::size_t> group);

// --- Storms and twins ----------------------------------------------------------------------------

// A system that has not recovered X = max(10 t_drain, 20 w, 10 times the length of the disturbance)
// after its end counts as not recovering by itself. t_drain is the time in which the backlog would
// drain without any retries; w is the attempt timeout plus the largest backoff of one retry, as in
// the rolling window of storms, and at least a thousandth of the run. If it has not recovered at
// the end of the run, and a retry quota is being used up that will be empty soon (within ten times
// X), X is the run until then and twice the time that the quota still lasts. Where a quota ran dry
// after the disturbance, X begins then: what it paid for may have lasted until then only. The twin
// shows whether retries are to blame: the same replication, to the last draw, with no retries from
// the end of the disturbance on.

enum class StormVerdict : std::uint8_t {
  kTransient,   ///< goodput recovered in time (without a trigger: the storm ended, and stayed away)
  kSustained,   ///< goodput did not recover in time; there is no twin, or retries are not to blame
  kMetastable,  ///< no recovery in time though load was below capacity; one without retries
  kCensored,    ///< the run, or the next trigger, left too little time to tell
};
inline constexpr std::size_t kStormVerdictCount = 4;

std::string_view name(StormVerdict verdict);

/// The load that requests submitted in [from, to) bring with one attempt each: their work as a
/// share of the nominal capacity, at the service where that is largest; 0 if all are unlimited.
double offered_work(const Scenario& scenario, const RunResult& run, Time from, Time to);

/// The time after one disturbance.
struct Aftermath {
  Trigger trigger;
  Time horizon;   ///< end of the run, or start of the next disturbance
  Before before;  ///< the first disturbance
  /// Successes per attempt before the disturbance: what requests with one attempt each can achieve.
  double attempt_success_rate = 1;
  Recovery recovery;
  double predicted_drain_s = 0;   ///< t_drain; zero where no queue is left, or it would not drain
  double patience_s = 0;          ///< X
  bool waits_for_quotas = false;  ///< X is so long because a retry quota was not empty before
  /// The load that requests submitted between the disturbance and the horizon bring (see the
  /// function `offered_work`).
  double offered_work = 0;

  /// The verdict before a twin is known: transient, sustained or censored.
  StormVerdict verdict() const;
};

Aftermath aftermath_of(const Scenario& scenario, const RunResult& run, const Trigger& trigger,
                       Time horizon);

/// The aftermath of the last disturbance of the scenario (disturbances that overlap are one); empty
/// if it has none.
std::optional<Aftermath> final_aftermath(const Scenario& scenario, const RunResult& run);

/// The shortest run, in seconds, in which a replication that does not recover can be told from one
/// that is slow to: until the end of the last disturbance, X without a backlog, and the hold. Empty
/// without a disturbance.
std::optional<double> least_duration_to_judge_s(const Scenario& scenario);

/// The duration, s, of a run that would be long enough to tell whether it recovers: until the end
/// of the disturbance, the patience X, and as long as it takes to confirm a recovery, which is
/// longer than the hold where few requests come.
double duration_to_judge_s(const Scenario& scenario, const Aftermath& aftermath);

/// By client group, and last for all together: 0 if `run` tells whether it recovers; otherwise the
/// duration, s, of a run that would be long enough. `not_before_s` has the metric
/// recovery_censored_s of each of them. Empty if `run` tells it of all, or nothing goes wrong.
std::vector<double> durations_to_judge_s(const Scenario& scenario, const RunResult& run,
                                         std::span<const std::optional<double>> not_before_s);

/// When the twin recovers, by the same rule as the run; empty if it does not. As its requests have
/// one attempt each, goodput is compared with what single attempts achieved before the disturbance.
/// The twin has no retries from `aftermath.trigger.end` on.
std::optional<double> twin_recovery(const Scenario& scenario, const RunResult& twin,
                                    const Aftermath& aftermath);

/// The recovery of one client group of the twin, compared with the group's own goodput in `run`.
std::optional<double> twin_recovery(const Scenario& scenario, const RunResult& run,
                                    const RunResult& twin, const Aftermath& aftermath,
                                    std::size_t group);

/// `verdict` once the twin is known: metastable if it is sustained, the offered work below
/// capacity, and the twin recovers in time.
StormVerdict with_twin(StormVerdict verdict, const Aftermath& aftermath,
                       std::optional<double> twin_recovery_s);

// --- Load that rises and falls -------------------------------------------------------------------

// For runs whose load goes up step by step and down again.

/// Measures a run of a scenario whose load follows `ramp` from time zero on. The system is down at
/// a step if its success rate there is below recovery_share times that of the first step.
RampRun measure_ramp(const Scenario& scenario, const LoadRamp& ramp, const RunResult& run);

}  // namespace retrysim::stats
