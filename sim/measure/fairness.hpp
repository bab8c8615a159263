// How evenly clients fare: Jain's index (sum x)^2 / (n sum x^2), which is 1 if all have the same
// and 1/n if one has all. Where all have nothing it is 1 as well.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>

#include <optional>

namespace retrysim::stats {

/// Of the requests that ended with success in the window. Empty if they were not recorded by
/// client.
std::optional<double> jain_index(const MetricInput& in);

/// Of the share of requests that did, among clients any of whose requests ended.
std::optional<double> jain_index_of_success(const MetricInput& in);

}  // namespace retrysim::stats
