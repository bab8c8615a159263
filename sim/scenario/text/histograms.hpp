// Distributions by the buckets of a histogram, as monitoring systems keep them:
// { buckets = "metrics.txt" }. Counts are cumulative, as Prometheus has them: each bucket counts
// all requests that took at most its bound, `le`.
//
// Such a histogram gives the share of requests up to each bound, and says nothing about where in a
// bucket they lie. Between the bounds the law is therefore taken to be smooth: halfway between
// pieces of lognormal and of Weibull laws through the counts. How far these, pieces of Pareto laws,
// and end buckets filled as densely as their neighbours are apart says how well the mean is known.
// Where the sum of all times is known, the mean is, and the law gets it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/document.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

struct HistogramLaw {
  Distribution law;              ///< empirical
  double mean_s = 0;             ///< mean of the law
  double low_s = 0, high_s = 0;  ///< range of the mean; equal if it was given
  bool too_coarse = false;       ///< the mean may be off by more than 5 %
  std::size_t requests = 0;      ///< number of counted requests
  /// Set if a given mean needs extreme times above the last bound: the least that these can be on
  /// average, more than three times the bound, even if all other requests are at their bounds.
  std::optional<double> beyond_s;
};

/// The largest share of requests that may lie above the last bound.
inline constexpr double kMaxAboveBounds = 0.01;

/// The law through the counts of buckets. `bounds_s` rise from 0 (requests up to that took no time)
/// or above; `counts` are cumulative, one for each bound and the last one for all requests, above
/// 0. Throws std::invalid_argument if no law within the buckets has the mean `mean_s`.
HistogramLaw law_of_buckets(std::span<const double> bounds_s, std::span<const double> counts,
                            std::optional<double> mean_s);

/// Whether a table describes a distribution by buckets.
bool has_buckets(const Node& table);

/// The names of all members that such a table may have.
std::vector<std::string_view> bucket_member_names();

/// Reads a distribution by buckets. Reports mistakes, those in the counts with their lines; the
/// result is then empty.
std::optional<Distribution> read_histogram(const std::string& path, const Node& table,
                                           CsvFiles& files);

/// A note to follow the path of the key: how well the mean is known, or what it asks of the open
/// bucket, counts that contradict each other, counters that restarted. Empty if there is nothing to
/// note. The table must be readable by `read_histogram`.
std::string histogram_note(const Node& table, CsvFiles& files);

}  // namespace retrysim::scenario
