// The output of `retrysim sweep`: the summary and the replications of every point, and a wide table
// with one row for each point. Points are asked for one by one, so that any number of them fits
// into memory. Also `retrysim merge`, which joins the shards of a sweep into the files that the
// whole sweep would have written.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/sweep.hpp>

#include "report/document/document.hpp"
#include "report/folder/result_folder.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// The figures of a sweep that standard output shows.
struct SweepOverview {
  std::size_t points = 0;
  std::size_t points_that_fail = 0;  ///< points with an expectation that fails
  std::size_t points_uncertain = 0;  ///< points with an uncertain expectation
  std::size_t points_with_two_modes = 0;
  std::size_t points_over_limit = 0;  ///< points that are not complete
  /// The first points, with their estimates for all clients together.
  struct Row {
    std::string name;
    std::vector<std::optional<Estimate>> estimates;  ///< estimates of `overview_metrics()`
  };
  std::vector<Row> rows;
};
inline constexpr std::size_t kMaxOverviewRows = 40;
/// The file of the verdicts on the points of a sweep.
inline constexpr std::string_view kVerdicts = "verdicts.csv";

/// The metrics of points.csv.
const std::vector<const MetricInfo*>& overview_metrics();

/// The tables of a sweep. `overview` may be null; otherwise it counts the rows of points.csv while
/// that table is made. The tables refer to the plan and the overview.
std::vector<TableSource> sweep_tables(const SweepPlan& plan,
                                      const std::function<SweepPoint(std::size_t)>& point,
                                      SweepOverview* overview);

/// Writes summary.csv, replications.csv, phases.csv if there is a fault, surge or phase of the
/// scenario's own, points.csv, verdicts.csv and
/// the mean series of small grids, scenario.toml (of the base) with its
/// inputs and result.json into `folder`, and commits it. `point` gives each point of the plan,
/// several times, in order. Throws OutputError.
SweepOverview write_sweep_files(ResultFolder& folder, const SweepPlan& plan,
                                const std::function<SweepPoint(std::size_t)>& point);

/// The text for people: the first points in a table, and remarks on all of them.
Document sweep_document(const SweepPlan& plan, const SweepOverview& overview);

/// Thrown if folders do not make a whole sweep. The message names them and says what is wrong.
class MergeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct MergedSweep {
  std::size_t points = 0;
  std::size_t points_that_fail = 0;
  std::size_t points_over_limit = 0;
};

/// Joins the shards in `folders`, in any order, into `target`: byte for byte what an unsharded
/// sweep writes. Rows are copied as they are, one at a time. Throws MergeError, and OutputError as
/// ResultFolder does.
MergedSweep merge_sweep(const std::vector<std::filesystem::path>& folders,
                        const std::filesystem::path& target, bool force);

}  // namespace retrysim::report
