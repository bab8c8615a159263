// Means over replications with their 95 % intervals, bin by bin.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/summary.hpp>
#include <retrysim/time.hpp>

#include "measure/run_series.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace retrysim::stats {

/// Of the replications of one scenario. Each estimate counts the replications in which the quantity
/// exists in that bin; it is empty where there are none.
struct MeanSeries {
  Duration width;
  std::size_t bins = 0;
  /// The groups and all together: [bin * client_columns().size() + column].
  std::vector<std::vector<std::optional<Estimate>>> clients;
  std::vector<std::vector<std::optional<Estimate>>> services;
};

/// `runs` have the same groups and services. They may differ in length and width: the widest bins
/// are those of all, and what has ended goes on without any events.
MeanSeries mean_series(std::vector<RunSeries> runs);

}  // namespace retrysim::stats
