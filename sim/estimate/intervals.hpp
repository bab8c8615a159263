// Estimates with 95 % intervals that are not those of a plain mean: probabilities, ratios of small
// counts, pooled quantiles, and means bin by bin.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "measure/analyse/series.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

// --- Probabilities -------------------------------------------------------------------------------

/// 97.5 % quantile of the standard normal distribution.
inline constexpr double kNormal95 = 1.959963984540054;

struct ProportionInterval {
  double low = 0, high = 1;
};

/// Wilson's 95 % score interval for a probability, after `hits` in `trials` independent trials;
/// from 0 to 1 without any. Unlike the mean plus or minus two standard errors it holds near 0 and
/// 1, and has a width there.
ProportionInterval wilson_interval(std::size_t hits, std::size_t trials);

/// The exact 95 % interval of Clopper and Pearson, which holds the probability in at least 95 of
/// 100 studies of any size; from 0 to 1 without trials.
ProportionInterval exact_interval(std::size_t hits, std::size_t trials);

// --- Ratios of counts ----------------------------------------------------------------------------

// A ratio of small counts is biased, and a replication with three requests would weigh as much as
// one with thirty. The ratio of the sums is not, and the jackknife gives it an interval and removes
// most of the remaining bias (Miller, Biometrika 61, 1974; Law, Simulation Modeling and Analysis,
// 9.3.2).

/// A replication with a smaller denominator of a ratio has few requests.
inline constexpr double kFewRequests = 100;
/// Fewest replications for a jackknife; with fewer it knows no more than their mean.
inline constexpr std::size_t kMinToJackknife = 10;

/// The mean of the pseudo-values R r - (R - 1) r_i, with r = sum y / sum x over the R replications
/// and r_i the same without replication i, their spread, and the t interval they give; min and max
/// are those of the replications' own ratios y / x. Every x > 0. Empty for fewer than 2
/// replications.
std::optional<Estimate> jackknife_ratio(std::span<const double> numerators,
                                        std::span<const double> denominators);

/// `jackknife_ratio` kept within what the replications show: where one of them has nearly all the
/// counts, the mean of the pseudo-values may lie beyond every replication; the ratio of the sums
/// cannot, so the estimate then is the nearest of the replications' own ratios, and the interval
/// reaches at least that far. At least 2 replications, every x > 0.
Estimate bounded_jackknife_ratio(std::span<const double> numerators,
                                 std::span<const double> denominators);

/// The jackknifed estimate if there are at least `kMinToJackknife` replications, the smallest
/// denominator is above 0 and below `kFewRequests`, and denominators differ; else empty.
std::optional<Estimate> estimate_of_small_counts(std::span<const double> numerators,
                                                 std::span<const double> denominators);

/// The jackknife estimate of a metric that is a ratio of sums (`MetricInfo::per`: success_rate,
/// amplification, shares of attempts, means per request), over the replications that have it.
/// `metric` is an index into `metric_table()`.
std::optional<Estimate> estimate_of_small_counts(const MetricValues& values, std::size_t client,
                                                 std::size_t metric);

// --- Pooled quantiles ----------------------------------------------------------------------------

// Quantiles of the values of all replications together, with their own interval.

struct PooledQuantile {
  double value_s = 0;                         ///< quantile of all values, seconds
  std::optional<double> ci_low_s, ci_high_s;  ///< 95 % interval around it
};

/// The quantile `p` in (0, 1) of the values of all histograms of nanoseconds, one a replication.
/// Empty if fewer than one value is expected beyond it (see `quantile_seconds`).
///
/// The interval is that of sectioning, with the replications as sections: pooled quantile ± t S /
/// sqrt(R), where S^2 = sum (quantile of a replication - pooled quantile)^2 / (R - 1) and t is that
/// of R - 1 degrees of freedom (Asmussen and Glynn, Stochastic Simulation, III.5; Nakayama, ACM
/// TOMACS 24(4), 2014). It is widened so that it covers as often wherever in its bucket the exact
/// quantile lies. It exists from two replications on, if each of them has 100 values beyond the
/// quantile (`quantile_is_well_supported`), and is cut off at zero.
std::optional<PooledQuantile> pooled_quantile(std::span<const Histogram* const> replications,
                                              const Histogram& pooled, double p);

// --- Means bin by bin ----------------------------------------------------------------------------

/// Means over the replications of one scenario. Each estimate counts the replications in which the
/// quantity exists in that bin; it is empty where there are none.
struct MeanSeries {
  Duration width;
  std::size_t bins = 0;
  /// The groups and all together: [bin * client_columns().size() + column].
  std::vector<std::vector<std::optional<Estimate>>> clients;
  std::vector<std::vector<std::optional<Estimate>>> services;
};

/// `runs` have the same groups and services. They may differ in length and width: the widest bins
/// are those of all, and a run that has ended continues without events.
MeanSeries mean_series(std::vector<RunSeries> runs);

}  // namespace retrysim::stats
