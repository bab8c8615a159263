// Sweeps: build and validate the points of the grid, then simulate what is not done yet and keep
// every finished unit, in a journal or in memory.
//
// SPDX-License-Identifier: MIT
#include <retrysim/experiment.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/summary.hpp>
#include <retrysim/sweep.hpp>

#include "estimate/intervals.hpp"
#include "execution/executor.hpp"
#include "execution/journal.hpp"
#include "execution/points.hpp"
#include "execution/run_bytes.hpp"
#include "experiment/point_errors.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::experiment {

/// The variants of a sweep, or of a shard of it, and the scenario they start from.
class SweepGrid {
 public:
  /// Null, with `errors`, if something is wrong with the variations. Throws RequestError if there
  /// are too many points, and LimitExceeded if their list takes too much memory.
  static std::shared_ptr<const SweepGrid> of(const SweepRequest& request, std::string_view text,
                                             std::vector<Diagnostic>& errors);

  const std::vector<Variant>& variants() const { return variants_; }
  std::size_t grid_points() const { return grid_points_; }
  std::vector<std::string> paths() const;
  LoadResult load_base() const { return reader_.load(); }
  LoadResult load(std::size_t point) const { return reader_.load(variants_[point].edits); }
  /// The scenario of a point that has been valid before. Throws std::runtime_error if it is not.
  std::shared_ptr<const Scenario> scenario(std::size_t point) const;

 private:
  SweepGrid(const SweepRequest& request, std::string_view text);

  scenario::ScenarioReader reader_;
  std::vector<Variation> variations_;
  std::vector<Variant> variants_;
  std::size_t grid_points_ = 0;
};

SweepGrid::SweepGrid(const SweepRequest& request, std::string_view text)
    : reader_(text, request.scenario.string(), request.scenario.parent_path(), request.edits) {}

std::shared_ptr<const SweepGrid> SweepGrid::of(const SweepRequest& request, std::string_view text,
                                               std::vector<Diagnostic>& errors) {
  VariationsResult parsed = parse_variations(request.varying);
  if (!parsed.errors.empty()) {
    errors = std::move(parsed.errors);
    return nullptr;
  }
  const std::shared_ptr<SweepGrid> result(new SweepGrid(request, text));
  result->variations_ = std::move(parsed.variations);
  try {
    if (const double bytes = grid_bytes(result->variations_);
        bytes > static_cast<double>(request.max_memory)) {
      throw LimitExceeded(
          fmt::format("the list of points takes about {} of memory, but only {} may be used "
                      "(--max-memory); give --vary fewer values",
                      to_text_of_bytes(static_cast<std::uint64_t>(std::min(bytes, 1e18))),
                      to_text_of_bytes(request.max_memory)),
          LimitKind::kMemory);
    }
    result->variants_ = grid(result->variations_);
  } catch (const std::length_error& e) {
    throw RequestError(fmt::format("--vary: {}", e.what()));
  }
  result->grid_points_ = result->variants_.size();
  if (request.shard) {
    std::vector<Variant> own;
    for (std::size_t i = request.shard->index - 1; i < result->variants_.size();
         i += request.shard->count) {
      own.push_back(std::move(result->variants_[i]));
    }
    result->variants_ = std::move(own);
  }
  return result;
}

std::vector<std::string> SweepGrid::paths() const {
  std::vector<std::string> paths;
  for (const Variation& v : variations_) {
    paths.insert(paths.end(), v.paths.begin(), v.paths.end());
  }
  return paths;
}

std::shared_ptr<const Scenario> SweepGrid::scenario(std::size_t point) const {
  LoadResult result = load(point);
  if (!result.loaded) throw std::runtime_error(to_string(result.errors.front()));
  return std::make_shared<const Scenario>(std::move(result.loaded->scenario));
}

/// The bytes of the units that are done: in a journal, or in memory.
class UnitStore {
 public:
  UnitStore(const SweepPlan& plan, const SweepOptions& options, std::size_t units)
      : journal_(open(plan, options, units)), bytes_(journal_ ? 0 : units) {}

  bool has(std::size_t unit) const {
    return journal_ ? journal_->has(unit) : !bytes_[unit].empty();
  }
  std::size_t count() const { return journal_ ? journal_->count() : count_; }
  std::uint64_t dropped_bytes() const { return journal_ ? journal_->dropped_bytes() : 0; }
  void append(std::size_t unit, const std::string& bytes) {
    if (journal_) return journal_->append(unit, bytes);
    count_ += bytes_[unit].empty();
    bytes_[unit] = bytes;
  }
  std::string read(std::size_t unit) { return journal_ ? journal_->read(unit) : bytes_[unit]; }
  void flush() {
    if (journal_) journal_->flush();
  }
  void sync() {
    if (journal_) journal_->sync();
  }
  void remove() {
    if (journal_) journal_->remove();
  }

 private:
  static std::optional<execution::Journal> open(const SweepPlan& plan, const SweepOptions& options,
                                                std::size_t units) {
    if (options.journal.empty()) return std::nullopt;
    if (plan.identity.empty()) throw RequestError("a sweep made by hand has no journal");
    return options.resume ? execution::Journal::resume(options.journal, plan.identity, units)
                          : execution::Journal::begin(options.journal, plan.identity, units);
  }

  std::optional<execution::Journal> journal_;
  std::vector<std::string> bytes_;  // by unit; empty: not done
  std::size_t count_ = 0;
};

}  // namespace retrysim::experiment

namespace retrysim {

// --- The plan ------------------------------------------------------------------------------------

// The points of the grid, each validated before anything runs.

namespace {

using experiment::PointErrors;
using experiment::SweepGrid;

// Whole scenarios are kept for so many bytes by a rough count; the others are loaded again.
constexpr std::size_t kMostKeptBytes = std::size_t{256} << 20;

std::size_t rough_bytes(const Scenario& s) {
  return sizeof(Scenario) + s.services.size() * (2 * sizeof(ServiceSpec)) +
         s.clients.size() * (2 * sizeof(ClientSpec)) + s.faults.size() * (2 * sizeof(FaultSpec)) +
         s.expectations.size() * (2 * sizeof(Expectation));
}

bool same_outline(const Scenario& a, const Scenario& b) {
  const auto same_expectation = [](const Expectation& x, const Expectation& y) {
    return x.name == y.name && x.metric == y.metric && x.client == y.client &&
           x.at_most == y.at_most && x.at_least == y.at_least;
  };
  const auto same_name = [](const ClientSpec& x, const ClientSpec& y) { return x.name == y.name; };
  return a.name == b.name && a.seed == b.seed && a.duration == b.duration && a.warmup == b.warmup &&
         std::equal(a.clients.begin(), a.clients.end(), b.clients.begin(), b.clients.end(),
                    same_name) &&
         phases_of(a) == phases_of(b) &&
         std::equal(a.expectations.begin(), a.expectations.end(), b.expectations.begin(),
                    b.expectations.end(), same_expectation);
}

Scenario outline_of(const Scenario& s) {
  Scenario outline;
  outline.name = s.name;
  outline.seed = s.seed;
  outline.replications = s.replications;
  outline.duration = s.duration;
  outline.warmup = s.warmup;
  for (const ClientSpec& client : s.clients) {
    ClientSpec& named = outline.clients.emplace_back();
    named.name = client.name;
    named.arrivals.surges = client.arrivals.surges;
  }
  for (const FaultSpec& fault : s.faults) {
    FaultSpec& window = outline.faults.emplace_back();
    window.name = fault.name;
    window.start = fault.start;
    window.duration = fault.duration;
  }
  outline.phases = s.phases;
  outline.expectations = s.expectations;
  return outline;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// The scenarios of the points: those that are kept, and outlines of the others.
class PointScenarios {
 public:
  explicit PointScenarios(SweepPlan& plan) : plan_(plan) {}

  void add(LoadedScenario loaded) {
    Scenario& scenario = loaded.scenario;
    plan_.replications.push_back(static_cast<std::uint32_t>(scenario.replications));
    // What is read from a file may be large.
    const std::size_t bytes = rough_bytes(scenario);
    const bool whole = loaded.input_files.empty() && kept_bytes_ + bytes <= kMostKeptBytes;
    if (whole) {
      kept_bytes_ += bytes;
      plan_.outlines.push_back(std::make_shared<const Scenario>(std::move(scenario)));
    } else if (!is_whole_->empty() && !is_whole_->back() &&
               same_outline(*plan_.outlines.back(), scenario)) {
      plan_.outlines.push_back(plan_.outlines.back());
    } else {
      plan_.outlines.push_back(std::make_shared<const Scenario>(outline_of(scenario)));
    }
    is_whole_->push_back(whole);
  }

  /// All have been added.
  void finish(const std::shared_ptr<const SweepGrid>& grid) {
    plan_.scenario = [grid, is_whole = is_whole_, outlines = plan_.outlines](std::size_t point) {
      return (*is_whole)[point] ? outlines[point] : grid->scenario(point);
    };
  }

 private:
  SweepPlan& plan_;
  std::shared_ptr<std::vector<bool>> is_whole_ = std::make_shared<std::vector<bool>>();
  std::size_t kept_bytes_ = 0;
};

void identify(SweepPlan& plan, const SweepRequest& request) {
  std::string metrics;
  for (const std::string_view name : metric_names()) metrics.append(name).append(" ");
  for (const MetricInfo* metric : phase_metrics()) metrics.append(metric->name).append(" ");
  plan.identity = {
      {"the version of retrysim", RETRYSIM_VERSION + (" " + metrics)},
      {"the scenario file", plan.text},
      {"--set, --seed or --replications", joined_lines(request.edits)},
      {"--vary", joined_lines(request.varying)},
      {"the resolved scenario", to_toml(plan.base, false)},
      // Those that any point reads: they are part of what a sweep is.
      {"the CSV inputs", execution::describe_files(plan.inputs)},
  };
  plan.id = execution::id_of(plan.identity);
  plan.identity.emplace_back("--shard", request.shard ? request.shard->text() : "");
}

void note_each(const SweepRequest& request, const std::vector<std::string>& notes) {
  if (!request.note) return;
  for (const std::string& note : notes) request.note(note);
}

/// Adds every point to `plan`; gives their mistakes.
std::vector<Diagnostic> add_points(SweepPlan& plan, const SweepRequest& request,
                                   const std::shared_ptr<const SweepGrid>& grid) {
  std::set<std::filesystem::path> inputs(plan.base.input_files.begin(),
                                         plan.base.input_files.end());
  PointErrors errors;
  PointScenarios scenarios(plan);
  bool precision_noted = false;
  for (std::size_t i = 0; i < grid->variants().size(); ++i) {
    stop_point();
    LoadResult result = grid->load(i);
    if (!result.loaded) {
      errors.add(grid->variants()[i].name, result.errors);
      continue;
    }
    if (result.loaded->scenario.warmup_is_auto) {
      throw RequestError(
          "a sweep does not determine the warm-up of each point; set one with --set warmup=30s "
          "(retrysim run finds a suitable value)");
    }
    if (result.loaded->scenario.precision.target > 0 && !precision_noted) {
      precision_noted = true;
      note_each(request, {"precision has no effect on a sweep: each point has the number of "
                          "replications that its scenario gives"});
    }
    inputs.insert(result.loaded->input_files.begin(), result.loaded->input_files.end());
    scenarios.add(std::move(*result.loaded));
  }
  scenarios.finish(grid);
  std::vector<Diagnostic> diagnostics = errors.diagnostics();
  plan.inputs.assign(inputs.begin(), inputs.end());
  if (diagnostics.empty()) identify(plan, request);
  return diagnostics;
}

}  // namespace

SweepPlanResult plan_sweep(const SweepRequest& request) {
  SweepPlanResult result;
  std::string error;
  auto text = scenario::read_whole_file(request.scenario, scenario::kMostScenarioBytes, error);
  if (!text) {
    Diagnostic& d = result.errors.emplace_back();
    d.file = request.scenario.string();
    d.message = error;
    return result;
  }
  const auto grid = SweepGrid::of(request, *text, result.errors);
  if (!grid) return result;
  LoadResult base = grid->load_base();
  if (!base.loaded) {
    result.errors = std::move(base.errors);
    return result;
  }
  note_each(request, distinct_notes(*base.loaded));
  SweepPlan plan;
  plan.base = std::move(*base.loaded);
  plan.varying = request.varying;
  plan.paths = grid->paths();
  plan.grid_points = grid->grid_points();
  plan.shard = request.shard;
  plan.variants = {grid, &grid->variants()};
  plan.text = std::move(*text);
  result.errors = add_points(plan, request, grid);
  if (result.errors.empty()) result.plan = std::move(plan);
  return result;
}

SweepPlan plan_sweep(std::vector<NamedScenario> points) {
  if (points.empty()) throw RequestError("a sweep needs at least one point");
  SweepPlan plan;
  auto variants = std::make_shared<std::vector<Variant>>();
  plan.base = points.front().loaded;
  plan.grid_points = points.size();
  for (NamedScenario& point : points) {
    if (point.loaded.scenario.warmup_is_auto) {
      throw RequestError("a sweep does not look for the warm-up of each point");
    }
    variants->push_back({point.name, {}, {}});
    plan.replications.push_back(static_cast<std::uint32_t>(point.loaded.scenario.replications));
    plan.outlines.push_back(std::make_shared<const Scenario>(std::move(point.loaded.scenario)));
  }
  plan.variants = std::move(variants);
  plan.scenario = [outlines = plan.outlines](std::size_t point) { return outlines[point]; };
  return plan;
}

// --- The sweep -----------------------------------------------------------------------------------

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
  return execution::pack(plan.text, plan.replications, units);
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
  std::size_t replications_done() const {
    std::size_t missing = 0;
    for (const std::size_t n : missing_) missing += n;
    return units_.units() - missing;
  }

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
std::size_t Sweep::replications_done() const { return progress_->replications_done(); }
std::uint64_t Sweep::dropped_bytes() const { return progress_->store().dropped_bytes(); }
const SweepPlan& Sweep::plan() const { return progress_->plan(); }
SweepPoint Sweep::point(std::size_t number) { return progress_->point(number); }
std::string Sweep::first_over_limit() const { return progress_->first_over_limit(); }
void Sweep::remove_journal() { progress_->store().remove(); }

void help_with_sweep(const SweepRequest& request, const SweepOptions& options) {
  Executor& executor = *options.run.executor;
  std::string text;
  std::vector<std::uint32_t> replications;
  std::vector<std::size_t> left;
  execution::unpack(executor.share(""), text, replications, left);
  std::vector<Diagnostic> errors;
  const auto grid = experiment::SweepGrid::of(request, text, errors);
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
