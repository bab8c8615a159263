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
/// two digits are per cent, all others decimals. Nothing of other names, "p0" and "p100" among
/// them.
std::optional<double> percentile_share(std::string_view name);

/// The laws whose percentiles may be given.
std::vector<std::string_view> percentile_laws();

/// Whether a table, which may be a distribution, has a member that is a percentile.
bool has_percentiles(const Node& table);

/// Reads such a table; reports mistakes. Lognormal, unless `distribution` names the law; of three
/// or more percentiles the law that comes nearest. One percentile is enough beside `mean` or `cv`,
/// of a lognormal law, and for an exponential one.
std::optional<Distribution> read_percentiles(const std::string& path, const Node& table,
                                             CsvFiles& files);

/// What was chosen for the user, as a note that follows the path of the key: which of the laws was
/// nearest, and how far from the percentiles. Empty if nothing was. Of a table that can be read.
std::string percentile_note(const Node& table, CsvFiles& files);

/// A note that follows the path of the key, if the comment on the line of a value speaks of p50, a
/// percentile or the median, and the value is a mean. Empty otherwise.
std::string median_for_mean_note(const Node& value, std::string_view line);

}  // namespace retrysim::scenario
