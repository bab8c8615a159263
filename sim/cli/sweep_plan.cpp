// SPDX-License-Identifier: MIT
#include "cli/sweep_plan.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/needs.hpp>
#include <retrysim/stop.hpp>

#include "cli/commands.hpp"
#include "cli/simulation_options.hpp"
#include "report/terminal.hpp"
#include "scenario/csv_inputs.hpp"
#include "scenario/whole_file.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

namespace retrysim::cli {
namespace {

// Whole scenarios are kept for so many bytes by a rough count; the others are loaded again.
constexpr std::size_t kMostKeptBytes = std::size_t{256} << 20;

std::optional<std::string> read_scenario(const std::filesystem::path& path) {
  std::string error;
  auto text = scenario::read_whole_file(path, scenario::kMostScenarioBytes, error);
  if (text) return text;
  Diagnostic d;
  d.file = path.string();
  d.message = error;
  print_errors({d});
  return std::nullopt;
}

/// The mistakes of all points, each once, in the order in which they were met.
class PointErrors {
 public:
  void add(const std::string& point, const std::vector<Diagnostic>& errors) {
    for (const Diagnostic& d : errors) {
      const std::string text = to_string(d);
      const auto known = places_.find(text);
      if (known != places_.end()) {
        ++found_[known->second].points;
      } else if (found_.size() < kMost) {
        places_.emplace(text, found_.size());
        found_.push_back({d, point, 1});
      }
    }
  }

  bool empty() const { return found_.empty(); }

  void print() const {
    for (Found f : found_) {
      f.diagnostic.message += fmt::format(" (at point {}", f.first_point);
      if (f.points > 1) f.diagnostic.message += fmt::format(" and {} more", f.points - 1);
      f.diagnostic.message += ")";
      print_errors({f.diagnostic});
    }
  }

 private:
  static constexpr std::size_t kMost = 20;
  struct Found {
    Diagnostic diagnostic;
    std::string first_point;
    std::size_t points;
  };
  std::map<std::string, std::size_t> places_;
  std::vector<Found> found_;
};

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
  for (const ClientSpec& client : s.clients) outline.clients.emplace_back().name = client.name;
  outline.expectations = s.expectations;
  return outline;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void identify(SweepPlan& plan, const SweepRequest& request,
              const std::set<std::filesystem::path>& inputs) {
  std::string metrics;
  for (const std::string_view name : metric_names()) metrics.append(name).append(" ");
  plan.identity = {
      {"the version of retrysim", RETRYSIM_VERSION + (" " + metrics)},
      {"the scenario file", plan.text},
      {"--set, --seed or --replications", joined_lines(request.edits)},
      {"--vary", joined_lines(request.varying)},
      {"the resolved scenario", to_toml(plan.base, false)},
      // Those that any point reads: they are part of what a sweep is.
      {"the CSV inputs", experiment::describe_files({inputs.begin(), inputs.end()})},
  };
  plan.id = experiment::id_of(plan.identity);
  plan.identity.emplace_back("--shard", request.shard ? request.shard->text() : "");
}

}  // namespace

SweepPoints::SweepPoints(const SweepRequest& request, std::string_view text)
    : reader_(std::make_unique<scenario::ScenarioReader>(
          text, request.scenario.string(), request.scenario.parent_path(), request.edits)) {}

std::optional<SweepPoints> SweepPoints::of(const SweepRequest& request, std::string_view text) {
  VariationsResult parsed = parse_variations(request.varying);
  if (!parsed.errors.empty()) {
    print_errors(parsed.errors);
    return std::nullopt;
  }
  SweepPoints points(request, text);
  points.variations_ = std::move(parsed.variations);
  try {
    if (const double bytes = grid_bytes(points.variations_);
        bytes > static_cast<double>(request.max_memory)) {
      throw LimitExceeded(
          fmt::format("the list of points takes about {} of memory, but only {} may be used "
                      "(--max-memory); give --vary fewer values",
                      to_text_of_bytes(static_cast<std::uint64_t>(std::min(bytes, 1e18))),
                      to_text_of_bytes(request.max_memory)),
          LimitKind::kMemory);
    }
    points.variants_ = grid(points.variations_);
  } catch (const std::length_error& e) {
    throw UsageError(fmt::format("--vary: {}", e.what()));
  }
  points.grid_count_ = points.variants_.size();
  if (request.shard) {
    std::vector<Variant> own;
    for (std::size_t i = request.shard->index - 1; i < points.variants_.size();
         i += request.shard->count) {
      own.push_back(std::move(points.variants_[i]));
    }
    points.variants_ = std::move(own);
  }
  return points;
}

std::vector<std::string> SweepPoints::paths() const {
  std::vector<std::string> paths;
  for (const Variation& v : variations_) {
    paths.insert(paths.end(), v.paths.begin(), v.paths.end());
  }
  return paths;
}

std::optional<SweepPlan> plan_sweep(const SweepRequest& request) {
  auto text = read_scenario(request.scenario);
  if (!text) return std::nullopt;
  auto points = SweepPoints::of(request, *text);
  if (!points) return std::nullopt;
  LoadResult base = points->load_base();
  if (!base.loaded) {
    print_errors(base.errors);
    return std::nullopt;
  }
  print_notes(*base.loaded);
  SweepPlan plan{std::move(*points), std::move(*text), std::move(*base.loaded), {}, {}, {}, {}, 0};
  std::set<std::filesystem::path> inputs(plan.base.input_files.begin(),
                                         plan.base.input_files.end());
  PointErrors errors;
  std::size_t kept_bytes = 0;
  bool precision_noted = false;
  for (std::size_t i = 0; i < plan.points.count(); ++i) {
    stop_point();
    LoadResult result = plan.points.load(i);
    if (!result.loaded) {
      errors.add(plan.points.variant(i).name, result.errors);
      continue;
    }
    Scenario& scenario = result.loaded->scenario;
    if (scenario.warmup_is_auto) {
      throw UsageError(
          "a sweep does not determine the warm-up of each point; set one with --set warmup=30s "
          "(retrysim run finds a suitable value)");
    }
    if (scenario.precision > 0 && !precision_noted) {
      precision_noted = true;
      report::print_error(
          "note: precision has no effect on a sweep: each point has the number of "
          "replications that its scenario gives\n");
    }
    inputs.insert(result.loaded->input_files.begin(), result.loaded->input_files.end());
    plan.replications.push_back(static_cast<std::uint32_t>(scenario.replications));
    // What is read from a file may be large.
    const std::size_t bytes = rough_bytes(scenario);
    const bool whole = result.loaded->input_files.empty() && kept_bytes + bytes <= kMostKeptBytes;
    plan.is_whole.push_back(whole);
    if (whole) {
      kept_bytes += bytes;
      plan.outlines.push_back(std::make_shared<const Scenario>(std::move(scenario)));
    } else if (!plan.outlines.empty() && !plan.is_whole[plan.is_whole.size() - 2] &&
               same_outline(*plan.outlines.back(), scenario)) {
      plan.outlines.push_back(plan.outlines.back());
    } else {
      plan.outlines.push_back(std::make_shared<const Scenario>(outline_of(scenario)));
    }
  }
  if (!errors.empty()) {
    errors.print();
    return std::nullopt;
  }
  identify(plan, request, inputs);
  return plan;
}

}  // namespace retrysim::cli
