// What a sweep is going to do: the points of its grid, each validated before anything runs.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/phases.hpp>
#include <retrysim/request_error.hpp>
#include <retrysim/stop.hpp>
#include <retrysim/sweep.hpp>

#include "execution/identity.hpp"
#include "experiment/point_errors.hpp"
#include "experiment/sweep_grid.hpp"
#include "scenario/whole_file.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace retrysim {
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

void identify(SweepPlan& plan, const SweepRequest& request,
              const std::set<std::filesystem::path>& inputs) {
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
      {"the CSV inputs", execution::describe_files({inputs.begin(), inputs.end()})},
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
  if (diagnostics.empty()) identify(plan, request, inputs);
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

}  // namespace retrysim
