// SPDX-License-Identifier: MIT
#include <retrysim/request_error.hpp>
#include <retrysim/sweep.hpp>

#include "estimate/mean_series.hpp"
#include "execution/byte_order.hpp"
#include "execution/identity.hpp"
#include "execution/points.hpp"
#include "execution/time_limit.hpp"
#include "execution/unit_result.hpp"
#include "experiment/sweep_grid.hpp"
#include "experiment/unit_store.hpp"

#include <chrono>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace retrysim {
namespace {

// How often what is finished is made to survive a crash of the machine, too.
constexpr auto kSyncInterval = std::chrono::seconds(5);

/// `task` with the units that are left, numbered from 0.
Task only(std::vector<std::size_t> units, std::function<Work()> make_work) {
  Task task;
  task.units = units.size();
  auto left = std::make_shared<const std::vector<std::size_t>>(std::move(units));
  task.make_work = [left, make_work = std::move(make_work)]() -> Work {
    return [left, work = make_work()](std::size_t i) { return work((*left)[i]); };
  };
  return task;
}

/// What processes without a part in the planning must know: the scenario's text, how many
/// replications each point has, and the units that are left to do.
std::string briefing(const SweepPlan& plan, const std::vector<std::size_t>& units) {
  std::string bytes;
  execution::put_text(bytes, plan.text);
  execution::put(bytes, static_cast<std::uint64_t>(plan.replications.size()));
  for (const std::uint32_t n : plan.replications) execution::put(bytes, n);
  for (const std::size_t unit : units) execution::put(bytes, static_cast<std::uint64_t>(unit));
  return bytes;
}

execution::PointOptions point_options(const ReplicationOptions& run,
                                      const std::vector<Variant>& variants,
                                      std::size_t grid_points) {
  execution::PointOptions options;
  if (grid_points <= kMostPointsWithSeries) options.most_bins = kMostBinsOfPoint;
  options.max_events = run.max_events;
  options.max_memory = run.max_memory;
  options.jobs = run.jobs;
  options.stop = run.stop;
  options.name = [&variants](std::size_t point) { return variants[point].name; };
  return options;
}

/// Null if the series were not kept.
std::shared_ptr<const stats::MeanSeries> mean_over(std::vector<execution::UnitResult>& results) {
  std::vector<stats::RunSeries> runs;
  for (execution::UnitResult& result : results) {
    if (!result.series) return nullptr;
    runs.push_back(std::move(*result.series));
  }
  return std::make_shared<const stats::MeanSeries>(stats::mean_series(std::move(runs)));
}

}  // namespace

/// What has been done of a sweep, and what is left.
class Sweep::Progress {
 public:
  Progress(SweepPlan plan, SweepOptions options)
      : plan_(std::move(plan)),
        options_(std::move(options)),
        units_(plan_.replications),
        store_(plan_, options_, units_.units()),
        found_(store_.count()),
        missing_(units_.points()) {
    for (std::size_t point = 0; point < units_.points(); ++point) {
      missing_[point] = units_.replications(point);
    }
    for (std::size_t unit = 0; unit < units_.units(); ++unit) {
      if (store_.has(unit)) note_done(unit);
    }
  }

  void run() {
    kept_.clear();
    room_ = kMostKept;
    execution::in_time(options_.run, [this](const ReplicationOptions& run) {
      if (run.executor != nullptr) return compute(run, *run.executor);
      compute(run, *make_thread_executor(run.jobs, run.stop));
    });
  }

  /// Every file of the results asks for every point again: what there is room for is kept.
  SweepPoint point(std::size_t i) {
    if (const auto at = kept_.find(i); at != kept_.end()) return at->second;
    SweepPoint found = read_point(i);
    const std::size_t bytes = approximate_bytes(found);
    if (bytes > room_) return found;
    room_ -= bytes;
    return kept_.emplace(i, std::move(found)).first->second;
  }

  std::string first_over_limit() const {
    return over_limit_.empty() ? "" : over_limit_.begin()->second.message;
  }

  const SweepPlan& plan() const { return plan_; }
  experiment::UnitStore& store() { return store_; }
  std::size_t points() const { return units_.points(); }
  std::size_t points_done() const { return points_done_; }
  std::size_t found() const { return found_; }

 private:
  static constexpr std::size_t kMostKept = std::size_t{64} << 20;  // bytes

  static std::size_t approximate_bytes(const SweepPoint& point) {
    std::size_t numbers = 0;
    for (const std::vector<double>& figures : point.verdict_figures) numbers += figures.size();
    const std::size_t values =
        point.values.runs() * point.values.clients() * MetricValues::places() +
        point.phases.all().size();
    return numbers * sizeof(double) + values * sizeof(std::optional<double>);
  }

  SweepPoint read_point(std::size_t i) {
    const Variant& variant = (*plan_.variants)[i];
    const std::size_t clients = plan_.outlines[i]->clients.size() + 1;
    if (const execution::UnitResult* over = over_limit(i)) {
      return {variant.name,      variant.values,
              plan_.outlines[i], MetricValues(0, clients, {}),
              over->limit,       {},
              nullptr,           {}};
    }
    std::vector<execution::UnitResult> results;
    for (std::size_t r = 0; r < units_.replications(i); ++r) {
      auto result = execution::decode(store_.read(units_.first(i) + r));
      if (!result || result->clients != clients) {
        throw std::logic_error("the journal does not contain the results of its points");
      }
      results.push_back(std::move(*result));
    }
    SweepPoint found{variant.name,
                     variant.values,
                     plan_.outlines[i],
                     execution::combine(results),
                     {},
                     execution::combine_phases(results)};
    found.series = mean_over(results);
    if (found.series == nullptr) return found;
    for (execution::UnitResult& result : results) {
      found.verdict_figures.push_back(std::move(result.verdict_figures));
    }
    return found;
  }

  void compute(const ReplicationOptions& run, Executor& executor) {
    std::vector<std::size_t> left;
    for (std::size_t unit = 0; unit < units_.units(); ++unit) {
      if (!store_.has(unit) && over_limit_.count(unit) == 0) left.push_back(unit);
    }
    if (!executor.is_alone()) {
      if (plan_.identity.empty()) throw RequestError("a sweep made by hand runs in one process");
      executor.share(briefing(plan_, left));
      execution::agree_on(plan_.base, executor);
    }
    const auto options = point_options(run, *plan_.variants, plan_.grid_points);
    Task task = only(left, simulate_units(units_, plan_.scenario, options));
    task.deliver = [&](std::size_t i, const std::string& bytes) { take(left[i], bytes); };
    task.tick = [this] { tick(); };
    try {
      executor.run(task);
    } catch (...) {
      store_.sync();
      throw;
    }
    store_.sync();
  }

  void take(std::size_t unit, const std::string& bytes) {
    if (execution::is_over_limit(bytes)) {
      // Not for the journal: with --resume, and more memory or another limit, it is tried again.
      over_limit_.emplace(unit, execution::decode(bytes).value());
      note_done(unit);
      return;
    }
    store_.append(unit, bytes);
    // A point that is finished survives whatever happens to this process.
    if (note_done(unit)) store_.flush();
  }

  /// Whether that makes its point complete.
  bool note_done(std::size_t unit) {
    if (--missing_[units_.point_of(unit)] > 0) return false;
    ++points_done_;
    return true;
  }

  void tick() {
    store_.flush();
    const auto now = std::chrono::steady_clock::now();
    if (now - last_sync_ >= kSyncInterval) {
      store_.sync();
      last_sync_ = now;
    }
    if (options_.run.progress) {
      options_.run.progress(static_cast<double>(store_.count()) /
                            static_cast<double>(units_.units()));
    }
  }

  /// The limit that a point went over in its first replication that did; null if none.
  const execution::UnitResult* over_limit(std::size_t point) const {
    const auto at = over_limit_.lower_bound(units_.first(point));
    const bool own = at != over_limit_.end() && units_.point_of(at->first) == point;
    return own ? &at->second : nullptr;
  }

  SweepPlan plan_;
  SweepOptions options_;
  execution::PointUnits units_;
  experiment::UnitStore store_;
  std::size_t found_;
  std::vector<std::size_t> missing_;                         // replications, by point
  std::map<std::size_t, execution::UnitResult> over_limit_;  // by unit
  std::size_t points_done_ = 0;
  std::map<std::size_t, SweepPoint> kept_;
  std::size_t room_ = kMostKept;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();
};

Sweep::Sweep(SweepPlan plan, SweepOptions options)
    : progress_(std::make_unique<Progress>(std::move(plan), std::move(options))) {}
Sweep::Sweep(Sweep&&) noexcept = default;
Sweep::~Sweep() = default;

void Sweep::run() { progress_->run(); }
std::size_t Sweep::points() const { return progress_->points(); }
std::size_t Sweep::points_done() const { return progress_->points_done(); }
std::size_t Sweep::replications_found() const { return progress_->found(); }
std::uint64_t Sweep::dropped_bytes() const { return progress_->store().dropped_bytes(); }
const SweepPlan& Sweep::plan() const { return progress_->plan(); }
SweepPoint Sweep::point(std::size_t number) { return progress_->point(number); }
std::string Sweep::first_over_limit() const { return progress_->first_over_limit(); }
void Sweep::remove_journal() { progress_->store().remove(); }

void help_with_sweep(const SweepRequest& request, const SweepOptions& options) {
  Executor& executor = *options.run.executor;
  const std::string shared = executor.share("");
  std::string_view rest = shared;
  // Rank 0 runs the same program: what is cut off is an error of the transport
  // (bad_optional_access).
  const auto text = execution::take_text(rest);
  std::vector<std::uint32_t> replications;
  const std::uint64_t count = execution::take<std::uint64_t>(rest).value();
  for (std::uint64_t i = 0; i < count; ++i) {
    replications.push_back(execution::take<std::uint32_t>(rest).value());
  }
  std::vector<std::size_t> left;
  while (const auto unit = execution::take<std::uint64_t>(rest)) left.push_back(*unit);
  std::vector<Diagnostic> errors;
  const auto grid = experiment::SweepGrid::of(request, text.value(), errors);
  if (!grid) throw RequestError(to_string(errors.front()));
  const LoadResult base = grid->load_base();
  if (base.loaded) execution::agree_on(*base.loaded, executor);
  const execution::PointUnits units(replications);
  const execution::PointScenarios scenarios = [&](std::size_t p) { return grid->scenario(p); };
  const auto point_settings = point_options(options.run, grid->variants(), grid->grid_points());
  executor.run(only(std::move(left), simulate_units(units, scenarios, point_settings)));
}

std::vector<SweepPoint> run_sweep(SweepPlan plan, const SweepOptions& options) {
  Sweep sweep(std::move(plan), options);
  sweep.run();
  std::vector<SweepPoint> points;
  for (std::size_t i = 0; i < sweep.points(); ++i) points.push_back(sweep.point(i));
  return points;
}

}  // namespace retrysim
