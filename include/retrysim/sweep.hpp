// Sweeps: every combination of varied keys, each a point with its replications. A sweep may have
// millions of points: its results are kept in a store (store.hpp), from which it continues after an
// interruption, and are read point by point. A point that needs more memory or events than allowed
// is marked as such, and the others go on.
//
//     SweepRequest request;
//     request.scenario = "dip.toml";
//     request.varying = {"fault.*.duration=10s:60s:10s", "client.*.retry.max_attempts=1,2,3"};
//     SweepPlanResult planned = plan_sweep(request);
//     if (!planned.plan) ... planned.errors ...
//     for (const SweepPoint& point : run_sweep(*planned.plan)) ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/experiment.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/summary.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim {

class Tables;

namespace stats {
struct MeanSeries;
}

/// The grid of a scenario file.
struct SweepRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};    ///< as `load_scenario_file` takes them
  std::vector<std::string> varying = {};  ///< as `parse_variations` takes them
  /// Only the points whose number in the grid, from 0, leaves `index` - 1 when divided by `count`.
  std::optional<Shard> shard = {};
  std::uint64_t max_memory = ~std::uint64_t{0};  ///< bytes that the list of points may take
  /// Called with each note on the scenario as it comes up; may be empty.
  std::function<void(const std::string&)> note = {};
};

/// The plan of a sweep: its points, all of them valid.
struct SweepPlan {
  LoadedScenario base;                                   ///< the scenario without variations
  std::vector<std::string> varying;                      ///< as asked for
  std::vector<std::string> paths;                        ///< the varied keys, in order
  std::size_t grid_points = 0;                           ///< of the whole grid
  std::optional<Shard> shard;                            ///< if these are not all of them
  std::shared_ptr<const std::vector<Variant>> variants;  ///< the points, by number
  std::vector<std::uint32_t> replications;               ///< of each point
  /// The scenario of each point; for a scenario that may be large, only the parts that results
  /// need: name, seed, length, names of the client groups, expectations, and when faults, surges
  /// and phases are.
  std::vector<std::shared_ptr<const Scenario>> outlines;
  /// The whole scenario of a point, with the CSV inputs as they were when the sweep was planned.
  /// Called by several threads.
  std::function<std::shared_ptr<const Scenario>(std::size_t point)> scenario;
  /// What decides the results of each point, as a hash: found while its scenario was at hand.
  std::vector<UnitKey> identities;
  std::uint64_t id = 0;                            ///< equal for shards of one sweep only
  std::string text;                                ///< of the scenario file
  std::vector<std::filesystem::path> inputs = {};  ///< the CSV files that any point reads

  std::size_t points() const { return outlines.size(); }
};

/// Either a plan, or at least one error: each mistake once, at most 20, with the points it
/// concerns.
struct SweepPlanResult {
  std::optional<SweepPlan> plan;
  std::vector<Diagnostic> errors;

  /// The plan; throws an InputError with all mistakes if there are any.
  SweepPlan value() && {
    check(errors);
    return *std::move(plan);
  }
};

/// Loads the scenario and every point. Throws RequestError if there are too many points or one asks
/// for an automatic warm-up, LimitExceeded if the list of points takes too much memory, and
/// Interrupted.
SweepPlanResult plan_sweep(const SweepRequest& request);

/// The points of a sweep made by hand, at least one.
SweepPlan plan_sweep(std::vector<NamedScenario> points);

/// One point with its results.
struct SweepPoint {
  std::string name;
  std::vector<std::string> keys;             ///< the values of the varied keys
  std::shared_ptr<const Scenario> scenario;  ///< its client groups and expectations
  MetricValues values;                       ///< no replications if it went over a limit
  std::optional<LimitKind> limit;            ///< that one of the replications went over
  PhaseValues phases = {};                   ///< likewise; see `summarize_phases`
  /// The means over time, if the sweep keeps them: for the reports of the program.
  std::shared_ptr<const stats::MeanSeries> series = {};
  /// With `series`, by replication: the figures that `verdicts` takes together with the whole
  /// scenario.
  std::vector<std::vector<double>> verdict_figures = {};
};

/// Sweeps of a file keep series over time if the whole grid has at most this many points, in at
/// most this many bins each.
inline constexpr std::size_t kMaxPointsWithSeries = 400;
inline constexpr std::size_t kMaxBinsOfPoint = 160;

/// A sweep whose points are read one by one.
class Sweep {
 public:
  /// How to run: `max_events` limits each replication; a point with a replication that exceeds it
  /// is over the limit. `max_memory` limits all replications in progress together; a point with a
  /// replication that does not fit alone is over the limit. `fingerprint`, `first` and
  /// `kept_memory` are ignored. Without a store, or where it is full, results are in memory.
  explicit Sweep(SweepPlan plan, ReplicationOptions options = {});
  Sweep(Sweep&&) noexcept;
  Sweep& operator=(Sweep&&) = delete;
  ~Sweep();

  /// Simulates what the store does not have. Throws `Interrupted` if asked to stop, LimitExceeded
  /// after the timeout, and what `simulate` throws; finished replications are then in the store.
  void run();

  std::size_t points() const;
  const SweepPlan& plan() const;

  /// Results of a point; call it after `run`. Throws std::runtime_error if the store has been
  /// damaged meanwhile.
  SweepPoint point(std::size_t number);
  /// What the first point, in the order of the grid, that went over a limit says; nothing if none
  /// did.
  std::optional<LimitExceeded> first_over_limit() const;

 private:
  class Progress;
  std::unique_ptr<Progress> progress_;
};

/// Runs a whole sweep and returns all points at once.
std::vector<SweepPoint> run_sweep(SweepPlan plan, const ReplicationOptions& options = {});

/// summary, replications, phases if there may be any, points (a row for each point); and if the
/// grid is small (kMaxPointsWithSeries) verdicts, mean_timeseries and mean_service. Call it after
/// `Sweep::run`; the sweep must outlive them.
Tables tables(Sweep& sweep);

}  // namespace retrysim
