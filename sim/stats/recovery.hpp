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

/// Seconds from `trigger_end` to the first moment from which goodput stays at or above
/// recovery_share * success_rate * offered load for recovery_hold; both rates are averages over
/// recovery_window from that moment on. Zero if that holds from the first whole bin after the end.
/// Empty (censored) if the moment does not come, or cannot be confirmed, before `horizon`.
std::optional<double> recovery_after(const Scenario& scenario, const RunResult& run,
                                     std::span<const ClientBin> bins, Time trigger_end,
                                     Time horizon, double success_rate);

/// The metric recovery_s: from the end of the last trigger, with the success rate before the first
/// one. Empty if the scenario has no trigger or recovery is censored.
std::optional<double> recovery_seconds(const Scenario& scenario, const RunResult& run,
                                       std::span<const ClientBin> bins);

}  // namespace retrysim::stats
