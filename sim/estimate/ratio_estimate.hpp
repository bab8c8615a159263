// Means of ratios where replications have few requests. A ratio of small counts is biased, and a
// replication with three requests would weigh as much as one with thirty; the ratio of the sums is
// not, and the jackknife gives it an interval and takes out most of the bias that is left
// (Miller, Biometrika 61, 1974; Law, Simulation Modeling and Analysis, 9.3.2).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/summary.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace retrysim::stats {

/// A replication of which a ratio has less than this below the line has few requests.
inline constexpr double kFewRequests = 100;
/// With fewer replications a jackknife knows no more than their mean.
inline constexpr std::size_t kFewestToJackknife = 10;

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

/// The same if there are `kFewestToJackknife` replications, one of them has few below the line, and
/// these are not equally many in all; else empty.
std::optional<Estimate> estimate_of_small_counts(std::span<const double> numerators,
                                                 std::span<const double> denominators);

/// The jackknife estimate of a metric that is a ratio of sums (`MetricInfo::per`: success_rate,
/// amplification, shares of attempts, means per request), over the replications that have it.
/// `metric` is an index into `metric_table()`.
std::optional<Estimate> estimate_of_small_counts(const MetricValues& values, std::size_t client,
                                                 std::size_t metric);

}  // namespace retrysim::stats
