// Experiments of many points: each is a scenario with its replications. A unit of work is one
// replication of one point; points and replications are numbered in order.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/summary.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace retrysim::execution {

/// The numbers of the units: all replications of point 0, then those of point 1, ...
class PointUnits {
 public:
  /// How many replications each point has (at least 1).
  explicit PointUnits(const std::vector<std::uint32_t>& replications);

  std::size_t points() const { return first_.size() - 1; }
  std::size_t units() const { return first_.back(); }
  /// The unit of a point's first replication.
  std::size_t first(std::size_t point) const { return first_[point]; }
  std::size_t replications(std::size_t point) const { return first_[point + 1] - first_[point]; }
  std::size_t point_of(std::size_t unit) const;

 private:
  std::vector<std::size_t> first_;
};

struct PointOptions {
  /// Events of one replication; it is over its limit beyond.
  std::uint64_t max_events = ~std::uint64_t{0};
  /// Bytes that all replications under way in this process may take, and how many those are at
  /// most. One that does not fit alone is over its limit; any other one waits for its turn.
  std::uint64_t max_memory = ~std::uint64_t{0};
  int jobs = 1;
  std::uint32_t first_replication = 0;      ///< number of each point's first replication
  std::size_t most_bins = 0;                ///< of the series of each replication; 0: none are kept
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: ends with `Interrupted`
  /// The name of a point in messages; may be empty.
  std::function<std::string(std::size_t point)> name;
};

/// Units that need no simulation, because their bytes are known. All processes have the same list
/// of those that are `missing`; the functions are called in the owner only.
struct KnownUnits {
  std::vector<std::size_t> missing;                    ///< in ascending order
  std::function<std::string(std::size_t unit)> bytes;  ///< of a unit that is not missing
  /// A missing unit has been simulated, within its limits.
  std::function<void(std::size_t unit, const std::string& bytes)> found;
};

/// The scenario of a point. Called by several threads; throws if there is none.
using PointScenarios = std::function<std::shared_ptr<const Scenario>(std::size_t point)>;

/// The `Task::make_work` that simulates a unit and encodes its `UnitResult`, also of one that went
/// over a limit. The arguments must
/// outlive it. A thread asks for a point's scenario once for all units that it does in a row.
std::function<Work()> simulate_units(const PointUnits& units, const PointScenarios& scenarios,
                                     const PointOptions& options);

/// Simulates all points and gives the owner the metrics of each, in the order of the points, as
/// soon as they are known. Throws what `Executor::run` throws, and LimitExceeded for a replication
/// that went over a limit. With `known` only the missing units are simulated.
void run_points(Executor& executor, const PointUnits& units, const PointScenarios& scenarios,
                const PointOptions& options,
                const std::function<void(std::size_t point, const MetricValues&)>& deliver,
                const std::function<void()>& tick = {}, const KnownUnits* known = nullptr);

}  // namespace retrysim::execution
