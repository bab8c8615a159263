// SPDX-License-Identifier: MIT
#include "execution/points.hpp"

#include <retrysim/experiment.hpp>
#include <retrysim/simulation.hpp>

#include "execution/executor.hpp"
#include "execution/run_bytes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace retrysim::execution {
namespace {

/// One thread's way through the units, with the scenario of the point it was at last.
class UnitSimulator {
 public:
  UnitSimulator(const PointUnits& units, const PointScenarios& scenarios,
                const PointOptions& options, std::shared_ptr<Turnstile> memory)
      : units_(&units), scenarios_(&scenarios), options_(&options), memory_(std::move(memory)) {}

  std::string operator()(std::size_t unit) {
    const std::size_t point = units_->point_of(unit);
    try {
      if (!scenario_ || point != point_) {
        scenario_ = (*scenarios_)(point);
        point_ = point;
      }
      const StopScope scope(options_->stop);
      SimulationOptions options;
      options.max_events = options_->max_events;
      options.stop = options_->stop;
      const std::uint64_t need = plan_memory_of_one(options.max_memory);
      const Turnstile::Pass pass(*memory_, need);
      const auto replication =
          options_->first_replication + static_cast<std::uint32_t>(unit - units_->first(point));
      return encode(
          measure(*scenario_, simulate(*scenario_, replication, options), options_->most_bins));
    } catch (const LimitExceeded& e) {
      return encode(over_limit(LimitExceeded(named(point, e), e.kind())));
    } catch (const InvariantViolated& e) {
      throw InvariantViolated(named(point, e));
    }
  }

 private:
  /// What a replication of the present point needs, and what its requests may grow to: its share of
  /// the memory, if that is more. Both follow from the options alone, and not from what else is
  /// under way.
  std::uint64_t plan_memory_of_one(std::uint64_t& most_each) const {
    const std::uint64_t limit = options_->max_memory;
    if (limit == ~std::uint64_t{0}) return 0;
    const Scenario* const run[] = {scenario_.get()};
    const std::uint64_t need = plan_memory(run, 1, limit).total;
    const std::uint64_t share = limit / static_cast<std::uint64_t>(std::max(1, options_->jobs));
    most_each = plan_memory(run, 1, std::max(need, share)).each;
    return need;
  }

  std::string named(std::size_t point, const std::exception& e) const {
    return options_->name ? options_->name(point) + ": " + e.what() : e.what();
  }

  const PointUnits* units_;
  const PointScenarios* scenarios_;
  const PointOptions* options_;
  std::shared_ptr<Turnstile> memory_;
  std::size_t point_ = 0;
  std::shared_ptr<const Scenario> scenario_;
};

/// Collects units until a point and all before it are complete.
class PointCollector {
 public:
  PointCollector(const PointUnits& units,
                 const std::function<void(std::size_t, const MetricValues&)>& deliver)
      : units_(units), deliver_(deliver), arrived_(units.units()) {}

  /// Whether the unit kept its limits.
  bool add(std::size_t unit, const std::string& bytes) {
    auto result = decode(bytes);
    if (!result) throw std::logic_error("a unit's result cannot be read");
    arrived_[unit] = true;
    while (first_missing_ < arrived_.size() && arrived_[first_missing_]) ++first_missing_;
    if (result->limit && unit < limit_unit_) {
      limit_unit_ = unit;
      limit_ = LimitExceeded(result->message, *result->limit);
    }
    // The limit of the lowest unit is the one reported: it does not depend on the threads.
    if (first_missing_ > limit_unit_) throw *limit_;
    if (result->limit) return false;
    const std::size_t point = units_.point_of(unit);
    Open& open = open_[point];
    open.results.resize(units_.replications(point));
    open.results[unit - units_.first(point)] = std::move(*result);
    ++open.done;
    while (!open_.empty() && open_.begin()->first == next_ &&
           open_.begin()->second.done == units_.replications(next_)) {
      const MetricValues values = combine(open_.begin()->second.results);
      open_.erase(open_.begin());
      deliver_(next_++, values);
    }
    return true;
  }

 private:
  struct Open {
    std::vector<UnitResult> results;
    std::size_t done = 0;
  };
  const PointUnits& units_;
  const std::function<void(std::size_t, const MetricValues&)>& deliver_;
  std::map<std::size_t, Open> open_;
  std::size_t next_ = 0;
  std::vector<bool> arrived_;
  std::size_t first_missing_ = 0;
  std::size_t limit_unit_ = std::numeric_limits<std::size_t>::max();
  std::optional<LimitExceeded> limit_;
};

}  // namespace

PointUnits::PointUnits(const std::vector<std::uint32_t>& replications) {
  first_.reserve(replications.size() + 1);
  first_.push_back(0);
  for (const std::uint32_t n : replications) first_.push_back(first_.back() + n);
}

std::size_t PointUnits::point_of(std::size_t unit) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), unit);
  return static_cast<std::size_t>(after - first_.begin()) - 1;
}

std::function<Work()> simulate_units(const PointUnits& units, const PointScenarios& scenarios,
                                     const PointOptions& options) {
  const auto memory = std::make_shared<Turnstile>(options.max_memory);
  return [&, memory]() -> Work { return UnitSimulator(units, scenarios, options, memory); };
}

void run_points(Executor& executor, const PointUnits& units, const PointScenarios& scenarios,
                const PointOptions& options,
                const std::function<void(std::size_t, const MetricValues&)>& deliver,
                const std::function<void()>& tick, const KnownUnits* known) {
  PointCollector collector(units, deliver);
  const auto unit_of = [&](std::size_t i) { return known == nullptr ? i : known->missing[i]; };
  if (known != nullptr && executor.is_owner()) {
    auto missing = known->missing.begin();
    for (std::size_t unit = 0; unit < units.units(); ++unit) {
      if (missing != known->missing.end() && *missing == unit) {
        ++missing;
      } else {
        collector.add(unit, known->bytes(unit));
      }
    }
  }
  Task task;
  task.units = known == nullptr ? units.units() : known->missing.size();
  if (task.units == 0) return;
  task.make_work = [&, make = simulate_units(units, scenarios, options)]() -> Work {
    return [&, work = make()](std::size_t i) { return work(unit_of(i)); };
  };
  task.deliver = [&](std::size_t i, const std::string& bytes) {
    if (collector.add(unit_of(i), bytes) && known != nullptr) known->found(unit_of(i), bytes);
  };
  task.tick = tick;
  executor.run(task);
}

}  // namespace retrysim::execution
