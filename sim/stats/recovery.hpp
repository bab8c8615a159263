// How long after a disturbance the goodput is back. Disturbances ("triggers") are the fault windows
// and surges of the scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

/// One fault window or surge: [start, end).
struct Trigger {
  Time start, end;
};

/// The triggers that start before the end of the scenario, by start.
std::vector<Trigger> triggers(const Scenario& scenario);

/// The bins [first, last) that lie wholly inside the window [warmup, duration).
struct BinRange {
  std::size_t first = 0, last = 0;
};
BinRange window_bins(const RunResult& run, std::span<const ClientBin> bins);

/// Successes / ended requests in the window before `trigger_start`; 1 if none ended.
double success_rate_before(const RunResult& run, std::span<const ClientBin> bins,
                           Time trigger_start);

/// What a run shows of a recovery.
struct Recovery {
  std::optional<double> seconds;  ///< empty: censored
  /// Without a recovery: it did not begin earlier than this after the end of the trigger. If the
  /// run ends with a goodput that is high enough, but has not been for long, this is where it rose.
  double not_before_s = 0;
};

/// From `trigger_end` to the first moment from which goodput stays at or above
/// recovery_share * success_rate * offered load for recovery_hold; both rates are averages over
/// recovery_window from that moment on. Zero if that holds from the first whole bin after the end.
/// Censored if the moment does not come, or cannot be confirmed, before `horizon`.
Recovery recovery_after(const Scenario& scenario, const RunResult& run,
                        std::span<const ClientBin> bins, Time trigger_end, Time horizon,
                        double success_rate);

/// The metrics recovery_s and recovery_censored_s: from the end of the last trigger, with the
/// success rate before the first one. Empty if the scenario has no trigger.
std::optional<Recovery> final_recovery(const Scenario& scenario, const RunResult& run,
                                       std::span<const ClientBin> bins);

}  // namespace retrysim::stats
