// Does a system go back the way it came? Its load is raised step by step and lowered again within
// one run. A system that retries keep down tips at some load on the way up and recovers only at a
// smaller one on the way down; between the two, what it does depends on what it did before.
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

/// Loads from the lowest to the highest and back: of n loads the first n steps rise, and n - 1
/// fall.
struct LoadRamp {
  std::vector<double> loads;  ///< rising
  Duration dwell;             ///< at each step

  std::size_t steps() const { return loads.empty() ? 0 : 2 * loads.size() - 1; }
  bool rising(std::size_t step) const { return step < loads.size(); }
  double load(std::size_t step) const {
    return rising(step) ? loads[step] : loads[2 * loads.size() - 2 - step];
  }
  Duration duration() const { return dwell * static_cast<std::int64_t>(steps()); }
};

/// What the second half of one step shows: the first is for settling down.
struct StepMeasurement {
  double offered_load = 0;  ///< requests per second
  double goodput = 0;       ///< per second
  double attempt_rate = 0;  ///< arrivals at services per second
  double offered_work = 0;  ///< rho: work of the requests per capacity of the most loaded service
  bool down = false;        ///< goodput / offered load is below the bar
};

/// One replication.
struct RampRun {
  std::vector<StepMeasurement> steps;
  /// First load on the way up at which the system is down; empty if it never is.
  std::optional<double> tip_load, tip_work;
  /// Highest load on the way down from which on it is down no more; empty if it did not tip, or is
  /// down at the last step.
  std::optional<double> recover_load, recover_work;
  /// Integral over the load of goodput on the way up less goodput on the way down (1/s^2), and its
  /// share of the former.
  double loop_area = 0, loop_share = 0;
};

/// Measures a run of a scenario whose load follows `ramp` from time zero on. It is down at a step
/// if its success rate there is below recovery_share times that of the first step.
RampRun measure_ramp(const Scenario& scenario, const LoadRamp& ramp, const RunResult& run);

}  // namespace retrysim::stats
