// The result folder of a sweep: the summary and the replications of every point, and a wide table
// of one row a point. Points are asked for one by one, so that any number of them fits.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>
#include <retrysim/summary.hpp>

#include "report/result_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// Part `index` (from 1) of `count`: the points whose number in the grid, from 0, leaves
/// `index` - 1 when divided by `count`.
struct Shard {
  std::size_t index = 1, count = 1;

  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// What a sweep is.
struct SweepDescription {
  const LoadedScenario* base = nullptr;  ///< the scenario without variations
  std::vector<std::string> variations;   ///< as given to --vary
  std::vector<std::string> paths;        ///< the varied keys, in order
  std::size_t points = 0;                ///< of the whole grid
  std::optional<Shard> shard;            ///< if these are not all of them
  std::uint64_t id = 0;                  ///< equal for shards of one sweep only
};

/// The outcome of a point whose replications have all come to their end; of the others the limit
/// that one of them went over.
inline constexpr std::string_view kComplete = "complete";

/// One point with its results.
struct SweepPoint {
  std::string name;
  std::vector<std::string> keys;                 ///< the values of the varied keys
  std::shared_ptr<const Scenario> scenario;      ///< its client groups and expectations
  MetricValues values;                           ///< of no replication, if it is not complete
  std::string outcome = std::string(kComplete);  ///< the column of points.csv
};

/// What standard output shows of a sweep.
struct SweepOverview {
  std::size_t points = 0;
  std::size_t points_that_fail = 0;  ///< those with an expectation that does not hold
  std::size_t points_with_two_modes = 0;
  std::size_t points_over_limit = 0;  ///< those that are not complete
  /// The first points, with their estimates for all clients together.
  struct Row {
    std::string name;
    std::vector<std::optional<Estimate>> estimates;  ///< of `overview_metrics()`
  };
  std::vector<Row> rows;
};
inline constexpr std::size_t kMostOverviewRows = 40;
/// The metrics of points.csv.
const std::vector<const MetricInfo*>& overview_metrics();

/// Writes summary.csv, replications.csv, points.csv, scenario.toml (of the base) with its inputs
/// and result.json into `folder`, and commits it. `point` gives each of the `count` points, several
/// times, in order. Throws OutputError.
SweepOverview write_sweep_files(ResultFolder& folder, const SweepDescription& description,
                                std::size_t count,
                                const std::function<SweepPoint(std::size_t)>& point);

/// The table that a person reads. `replications` is the text for the headline.
std::string sweep_table(const SweepDescription& description, const SweepOverview& overview);

}  // namespace retrysim::report
