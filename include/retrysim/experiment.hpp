// A whole experiment: the warm-up found if the scenario asks for it, then replications until the
// target precision is met, or as many as the scenario says. Everything is decided from results in
// the order of the replications, so the number of threads changes nothing but the time it takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/replications.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace retrysim {

/// A warm-up found by MSER-5.
struct FoundWarmup {
  Duration warmup;             ///< one for all scenarios concerned
  double removed_share = 0;    ///< of the (shortest) duration, in [0, 1/2)
  std::string decided_by;      ///< the series that takes longest: "latency_mean of web"
  std::size_t pilot_runs = 0;  ///< replications (of each scenario) whose average was looked at
};

/// Half of the run, or more, may be warm-up: there is nothing to measure.
class WarmupNotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs pilot replications (the first ones of the experiment, at most 20) without a warm-up,
/// averages the time series of goodput, attempt rate and mean latency of each client group and of
/// the number of attempts at each service over them, and gives the longest MSER-5 truncation of any
/// of them, in whole fives of bins. Policies that are compared must be measured over the same
/// stretch: give them together, and get one warm-up for all. Throws `WarmupNotFound`, and what
/// `run_replications` throws; std::invalid_argument if there is no scenario or one is transient
/// (`why_transient`).
FoundWarmup find_warmup(std::span<const Scenario> scenarios,
                        const ReplicationOptions& options = {});

/// How precise one metric of all clients together is.
struct MetricPrecision {
  std::string metric;
  /// Half-width of the 95 % interval over the mean, or over what counts as its size if the mean is
  /// nearer to zero (see `run_experiment`); of a probability how far it may lie from what was seen.
  /// Empty if no replication has the metric.
  std::optional<double> reached;
  bool met = false;
};

/// What became of `PrecisionSpec::target`.
struct PrecisionReport {
  double target = 0;
  bool met = false;  ///< by all metrics
  std::vector<MetricPrecision> metrics;
};

struct Experiment {
  std::vector<RunResult> runs;
  std::optional<FoundWarmup> warmup;         ///< if it was looked for
  std::optional<PrecisionReport> precision;  ///< if there is a target
};

/// With `Scenario::warmup_is_auto` the found warm-up (see `find_warmup`) is put into `scenario`.
///
/// With `PrecisionSpec::target` = g > 0, replications are added after the schedule of
/// `next_replications`, from `Scenario::replications` on and up to `max_replications`, until each
/// of its metrics has h <= g / (1 + g) max(|mean|, size): then the relative error towards the true
/// mean is at most g with about 95 % confidence (Law and Kelton's correction; the intervals are
/// valid for many replications, Chow and Robbins 1965). The size keeps means near zero from asking
/// for the impossible: 0.1 for a share, a tenth of the offered load for a rate, else 0.
Experiment run_experiment(Scenario& scenario, const ReplicationOptions& options = {});

/// The next point at which precision is judged, after `replications`: 10, 15, 20, 30, 45, and then
/// half as many again (67, 100, 150, ...), but at most `limit`.
int next_replications(int replications, int limit);

}  // namespace retrysim
