// Distributions by the buckets of a histogram, as monitoring systems keep them:
// { buckets = "metrics.txt" }. Counts are cumulative, as Prometheus has them: each bucket counts
// all requests that took at most its bound, `le`.
//
// What such a histogram tells is the share of requests up to each bound, and nothing about where in
// a bucket they lie. Between the bounds the law is therefore taken to be smooth: halfway between
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
  double mean_s = 0;             ///< of the law
  double low_s = 0, high_s = 0;  ///< what the mean may be; equal if it was given
  bool too_coarse = false;       ///< it may be off by more than 5 %
  std::size_t requests = 0;      ///< counted
};

/// The largest share of requests that may lie above the last bound.
inline constexpr double kMaxAboveBounds = 0.01;

/// `bounds_s` are above 0 and rise; `counts` are cumulative, one for each bound and the last one
/// for all requests, above 0. Throws std::invalid_argument if no law within the buckets has the
/// mean `mean_s`.
HistogramLaw law_of_buckets(std::span<const double> bounds_s, std::span<const double> counts,
                            std::optional<double> mean_s);

/// Whether a table, which may be a distribution, is one by buckets.
bool has_buckets(const Node& table);

/// The names that such a table may have.
std::vector<std::string_view> bucket_member_names();

/// Reads such a table; reports mistakes, those of the counts with their lines.
std::optional<Distribution> read_histogram(const std::string& path, const Node& table,
                                           CsvFiles& files);

/// What the reader should know, as a note that follows the path of the key: how well the mean is
/// known, counters that began anew. Empty if nothing is. Of a table that can be read.
std::string histogram_note(const Node& table, CsvFiles& files);

}  // namespace retrysim::scenario
