// Sweeps: builds and validates the points of the grid, asks for all units, and reads them from the
// store, or from memory, point by point.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>
#include <retrysim/sweep.hpp>

#include "estimate/intervals.hpp"
#include "execution/identity.hpp"
#include "execution/run_bytes.hpp"
#include "execution/units.hpp"
#include "experiment/point_errors.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/scenario_reader.hpp"

#include <fmt/format.h>
#include <algorithm>
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
  /// Makes the grid of a request; null, with `errors`, if something is wrong with the variations.
  /// Throws RequestError if there are too many points, and LimitExceeded if their list takes too
  /// much memory.
  static std::shared_ptr<const SweepGrid> of(const SweepRequest& request, std::string_view text,
                                             std::vector<Diagnostic>& errors);

  const std::vector<Variant>& variants() const { return variants_; }
  std::size_t grid_points() const { return grid_points_; }
  std::vector<std::string> paths() const;
  LoadResult load_base() const { return reader_.load(); }
  LoadResult load(std::size_t point) const { return reader_.load(variants_[point].edits); }
  /// The scenario of a point that was valid before. Throws std::runtime_error if it is no longer
  /// valid.
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
          fmt::format("the list of points takes about {} of memory, but only {} may be used; vary "
                      "fewer values",
                      to_text_of_bytes(static_cast<std::uint64_t>(std::min(bytes, 1e18))),
                      to_text_of_bytes(request.max_memory)),
          LimitKind::kMemory);
    }
    result->variants_ = grid(result->variations_);
  } catch (const GridTooLarge& e) {
    throw RequestError(fmt::format("{}: {}", RequestError::part("vary"), e.what()));
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

/// The numbers of the units: all replications of point 0, then all of point 1, ...
class PointUnits {
 public:
  /// `replications`: how many each point has (at least 1).
  explicit PointUnits(const std::vector<std::uint32_t>& replications) {
    first_.reserve(replications.size() + 1);
    first_.push_back(0);
    for (const std::uint32_t n : replications) first_.push_back(first_.back() + n);
  }

  std::size_t points() const { return first_.size() - 1; }
  std::size_t units() const { return first_.back(); }
  /// The unit of a point's first replication.
  std::size_t first(std::size_t point) const { return first_[point]; }
  std::size_t replications(std::size_t point) const { return first_[point + 1] - first_[point]; }
  std::size_t point_of(std::size_t unit) const {
    const auto after = std::upper_bound(first_.begin(), first_.end(), unit);
    return static_cast<std::size_t>(after - first_.begin()) - 1;
  }

 private:
  std::vector<std::size_t> first_;
};

}  // namespace retrysim::experiment

namespace retrysim {

// --- The plan ------------------------------------------------------------------------------------

// The points of the grid, each validated before anything runs.

namespace {

using experiment::PointErrors;
using experiment::SweepGrid;

// Bytes, by a rough count, for which whole scenarios are kept; the others are loaded again.
constexpr std::size_t kMaxKeptBytes = std::size_t{256} << 20;

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

/// The scenarios of the points: whole ones as far as they are kept, and outlines of the others.
class PointScenarios {
 public:
  explicit PointScenarios(SweepPlan& plan) : plan_(plan) {}

  void add(LoadedScenario loaded) {
    Scenario& scenario = loaded.scenario;
    plan_.identities.push_back(execution::identity_of(scenario));
    plan_.replications.push_back(static_cast<std::uint32_t>(scenario.replications));
    // Contents of input files may be large.
    const std::size_t bytes = rough_bytes(scenario);
    const bool whole = loaded.input_files.empty() && kept_bytes_ + bytes <= kMaxKeptBytes;
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

  /// To be called when all points have been added.
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
  plan.id = execution::id_of({
      {"the version of retrysim", RETRYSIM_VERSION + (" " + metrics)},
      {"the scenario file", plan.text},
      {"--set, --seed or --replications", joined_lines(request.edits)},
      {"--vary", joined_lines(request.varying)},
      {"the resolved scenario", to_toml(plan.base, false)},
      // The input files of all points are part of a sweep's identity.
      {"the CSV inputs", execution::describe_files(plan.inputs)},
  });
}

void note_each(const SweepRequest& request, const std::vector<std::string>& notes) {
  if (!request.note) return;
  for (const std::string& note : notes) request.note(note);
}

/// Adds every point to `plan`; returns the mistakes found.
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
      throw RequestError(fmt::format(
          "a sweep does not determine the warm-up of each point; set one with {} warmup=30s "
          "(retrysim run finds a suitable value)",
          RequestError::part("set")));
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
  auto text = scenario::read_scenario_text(request.scenario, result.errors);
  if (!text) return result;
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
    plan.identities.push_back(execution::identity_of(point.loaded.scenario));
    plan.replications.push_back(static_cast<std::uint32_t>(point.loaded.scenario.replications));
    plan.outlines.push_back(std::make_shared<const Scenario>(std::move(point.loaded.scenario)));
  }
  plan.variants = std::move(variants);
  plan.scenario = [outlines = plan.outlines](std::size_t point) { return outlines[point]; };
  return plan;
}

// --- The sweep -----------------------------------------------------------------------------------

namespace {

/// The mean series over replications; null if the series were not kept.
std::shared_ptr<const stats::MeanSeries> mean_over(std::vector<execution::UnitResult>& results) {
  std::vector<stats::RunSeries> runs;
  for (execution::UnitResult& result : results) {
    if (!result.series) return nullptr;
    runs.push_back(std::move(*result.series));
  }
  return std::make_shared<const stats::MeanSeries>(stats::mean_series(std::move(runs)));
}

}  // namespace

class Sweep::Progress {
 public:
  Progress(SweepPlan plan, ReplicationOptions options)
      : plan_(std::move(plan)), options_(std::move(options)), units_(plan_.replications) {}

  void run() {
    kept_.clear();
    room_ = kMaxKept;
    over_limit_.clear();
    bytes_.clear();
    const bool with_series = plan_.grid_points <= kMaxPointsWithSeries;
    execution::Units wanted;
    wanted.keep = with_series ? execution::Keep::kSeries : execution::Keep::kRow;
    wanted.most_bins = with_series ? kMaxBinsOfPoint : 0;
    wanted.count = units_.units();
    wanted.unit = [this](std::size_t i) {
      const std::size_t point = units_.point_of(i);
      return execution::Unit{point, static_cast<std::uint32_t>(i - units_.first(point))};
    };
    wanted.scenario = plan_.scenario;
    wanted.identity = [this](std::size_t point) { return plan_.identities[point]; };
    wanted.name = [this](std::size_t point) { return (*plan_.variants)[point].name; };
    wanted.limits_are_results = true;
    keys_ = execution::get_units(wanted, options_,
                                 [this](std::size_t unit, std::string bytes, bool kept) {
                                   if (execution::is_over_limit(bytes)) {
                                     over_limit_.emplace(unit, execution::decode(bytes).value());
                                   } else if (!kept) {
                                     bytes_.emplace(unit, std::move(bytes));
                                   }
                                 });
  }

  /// A point's results. Each file of the results asks for every point again: points are kept as
  /// long as there is room.
  SweepPoint point(std::size_t i) {
    if (const auto at = kept_.find(i); at != kept_.end()) return at->second;
    SweepPoint found = read_point(i);
    const std::size_t bytes = approximate_bytes(found);
    if (bytes > room_) return found;
    room_ -= bytes;
    return kept_.emplace(i, std::move(found)).first->second;
  }

  std::optional<LimitExceeded> first_over_limit() const {
    if (over_limit_.empty()) return std::nullopt;
    const execution::UnitResult& first = over_limit_.begin()->second;
    return LimitExceeded(first.message, first.limit.value_or(LimitKind::kTime));
  }

  const SweepPlan& plan() const { return plan_; }
  std::size_t points() const { return units_.points(); }

 private:
  // Bytes of the points kept in memory.
  static constexpr std::size_t kMaxKept = std::size_t{64} << 20;

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
      auto result = execution::decode(read(units_.first(i) + r));
      if (!result || result->clients != clients) {
        throw std::runtime_error("the stored results of the sweep have changed meanwhile");
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

  /// The stored bytes of a unit; empty if they are gone.
  std::string read(std::size_t unit) const {
    if (const auto at = bytes_.find(unit); at != bytes_.end()) return at->second;
    if (options_.store == nullptr || unit >= keys_.size()) return {};
    return options_.store->find(keys_[unit]).value_or("");
  }

  /// The result of a point's first replication that went over a limit; null if none did.
  const execution::UnitResult* over_limit(std::size_t point) const {
    const auto at = over_limit_.lower_bound(units_.first(point));
    const bool own = at != over_limit_.end() && units_.point_of(at->first) == point;
    return own ? &at->second : nullptr;
  }

  SweepPlan plan_;
  ReplicationOptions options_;
  experiment::PointUnits units_;
  std::vector<UnitKey> keys_;                 // keys of the units in the store
  std::map<std::size_t, std::string> bytes_;  // bytes of the units that are not in the store
  std::map<std::size_t, execution::UnitResult> over_limit_;  // results over a limit, by unit
  std::map<std::size_t, SweepPoint> kept_;
  std::size_t room_ = kMaxKept;
};

Sweep::Sweep(SweepPlan plan, ReplicationOptions options)
    : progress_(std::make_unique<Progress>(std::move(plan), std::move(options))) {}
Sweep::Sweep(Sweep&&) noexcept = default;
Sweep::~Sweep() = default;

void Sweep::run() { progress_->run(); }
std::size_t Sweep::points() const { return progress_->points(); }
const SweepPlan& Sweep::plan() const { return progress_->plan(); }
SweepPoint Sweep::point(std::size_t number) { return progress_->point(number); }
std::optional<LimitExceeded> Sweep::first_over_limit() const {
  return progress_->first_over_limit();
}

std::vector<SweepPoint> run_sweep(SweepPlan plan, const ReplicationOptions& options) {
  Sweep sweep(std::move(plan), options);
  sweep.run();
  std::vector<SweepPoint> points;
  for (std::size_t i = 0; i < sweep.points(); ++i) points.push_back(sweep.point(i));
  return points;
}

}  // namespace retrysim
