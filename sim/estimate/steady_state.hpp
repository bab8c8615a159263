// Statistics of a steady state: where the warm-up of a series ends, and intervals from one long
// run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim::stats {

// --- The end of the warm-up ----------------------------------------------------------------------

// The marginal standard error rule in batches of five (MSER-5; White, Simulation 69(6), 1997, and
// White, Cobb and Spratt, WSC 2000).

/// Observations that make one batch.
inline constexpr std::size_t kMserBatch = 5;

struct Truncation {
  /// Observations to leave out at the start: a multiple of `kMserBatch`.
  std::size_t observations = 0;
  /// False: the best truncation is the largest one allowed, so it is unknown whether the warm-up
  /// ends there. The series is too short.
  bool found = false;
};

/// Z_1 .. Z_m are the means of successive fives (a remainder at the end is ignored), and d is the
/// number of them that are removed, 0 <= d <= m / 2, for which
///
///     sum over i > d of (Z_i - mean of those)^2 / (m - d)^2
///
/// is smallest: the squared standard error of the mean that remains. The first of equal ones is
/// taken. Not found for fewer than 4 batches.
Truncation mser5(std::span<const double> series);

// --- Batch means ---------------------------------------------------------------------------------

// One long run is cut into batches so long that their means hardly depend on each other; these
// count as independent observations.

/// Batches to begin with, and the fewest that an interval may rest on.
inline constexpr std::size_t kBatches = 30, kMinBatches = 10;
/// Batch means that are correlated as much as this, or more, do not count as independent.
inline constexpr double kMaxBatchCorrelation = 0.1;

struct BatchMeans {
  double mean = 0;        ///< sum of the numerators over sum of the denominators
  double half_width = 0;  ///< half width of the 95 % interval around the mean
  std::size_t batches = 0;
  std::size_t observations_per_batch = 0;
  double correlation = 0;  ///< lag-1 correlation of batch means
};

/// The mean of a steady series of ratios, such as latency (sum and count of each time-series bin)
/// or a rate (events and width). Batches are of equal numbers of observations; a remainder is left
/// out at the start, next to the warm-up.
///
/// With y_b and x_b the sums of numerators and denominators over batch b, r = sum y / sum x and the
/// mean x of the x_b, the batches' deviations are z_b = (y_b - r x_b) / x: for a plain mean those
/// of the batch means themselves, for a ratio its linearization. The interval is r ± t s(z) /
/// sqrt(k), with t of k - 1 degrees of freedom (Law, Simulation Modeling and Analysis, 9.5.3).
///
/// The batches are a thirtieth of the series to begin with (so k = 30, or some more of few
/// observations). While the lag-1 correlation of the z_b is `kMaxBatchCorrelation` or more,
/// the batches are made twice as long. Empty if fewer than `kMinBatches` would be left, there
/// are fewer than 30 observations, or no denominators: the run is too short for an interval.
std::optional<BatchMeans> batch_means(std::span<const double> numerators,
                                      std::span<const double> denominators);

/// Lag-1 correlation of a series, with its mean taken as known: sum of the products of neighbouring
/// deviations over the sum of squared deviations. Of n independent values it is about -1/n ±
/// 1/sqrt(n). It is the same as 1 - (von Neumann's ratio) / 2 but for the two values at the ends.
/// Zero if all values are equal.
double lag1_correlation(std::span<const double> series);

// --- A single run --------------------------------------------------------------------------------

// Intervals by batch means where there is one replication only, in a steady state.

struct SingleRunIntervals {
  /// Why there are no intervals at all, if so: "fault.dip is a disturbance".
  std::optional<std::string> none_because;
  std::size_t rows = 0;        ///< rows of the summary that got an interval
  std::size_t correlated = 0;  ///< rows without an interval: even 10 batches depended on each other
  std::size_t fewest_batches = 0, most_batches = 0;  ///< fewest and most batches behind an interval
};

/// Gives an interval to each row of the summary of a single run whose metric `flow_series` can tell
/// bin by bin, around the row's own value. The bins are those inside the window. Other rows stay
/// without; so do all if the scenario is transient, where the replication is the observation.
SingleRunIntervals add_batch_means(const Scenario& scenario, const RunResult& run,
                                   std::span<SummaryRow> rows);

}  // namespace retrysim::stats
