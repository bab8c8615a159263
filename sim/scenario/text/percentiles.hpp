// Distributions by their percentiles: { p50 = "30ms", p99 = "400ms" }.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/document.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// The share that a percentile's name stands for: "p50" 0.5, "p999" and "p99.9" 0.999. The first
/// two digits are per cent, all others decimals. Empty for other names, including "p0" and "p100".
std::optional<double> percentile_share(std::string_view name);

/// The laws whose percentiles may be given.
std::vector<std::string_view> percentile_laws();

/// Whether a table describes a distribution by percentiles: it has a member named like one.
bool has_percentiles(const Node& table);

/// Reads a distribution by percentiles; reports mistakes, and is empty then. The law is lognormal
/// unless `distribution` names another; with three or more percentiles, the law that comes nearest.
/// One percentile is enough for an exponential law, and for a lognormal one beside `mean` or `cv`.
std::optional<Distribution> read_percentiles(const std::string& path, const Node& table,
                                             CsvFiles& files);

/// A note to follow the path of the key: which law was chosen as the nearest, and how far it is
/// from the percentiles. Empty if none had to be chosen. The table must be readable by
/// `read_percentiles`.
std::string percentile_note(const Node& table, CsvFiles& files);

/// A note that follows the path of the key, if the comment on the line of a value speaks of p50, a
/// percentile or the median, and the value is a mean. Empty otherwise.
std::string median_for_mean_note(const Node& value, std::string_view line);

}  // namespace retrysim::scenario
