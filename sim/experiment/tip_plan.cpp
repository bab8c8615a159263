// What searches for tipping points are going to do: every case validated at both ends of the
// trigger before anything runs.
//
// SPDX-License-Identifier: MIT
#include <retrysim/request_error.hpp>
#include <retrysim/stop.hpp>
#include <retrysim/tip.hpp>

#include "execution/identity.hpp"
#include "experiment/point_errors.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/values.hpp"
#include "scenario/whole_file.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string_view>

namespace retrysim {
namespace {

using experiment::PointErrors;
using scenario::ScenarioReader;

constexpr std::size_t kMostCases = 10'000;

/// Whether two paths may name the same key; "*" is any name.
bool may_be_same(std::string_view a, std::string_view b) {
  while (true) {
    const std::size_t end_a = std::min(a.find('.'), a.size());
    const std::size_t end_b = std::min(b.find('.'), b.size());
    const std::string_view part_a = a.substr(0, end_a), part_b = b.substr(0, end_b);
    if (part_a != part_b && part_a != "*" && part_b != "*") return false;
    if (end_a == a.size() || end_b == b.size()) return end_a == a.size() && end_b == b.size();
    a.remove_prefix(end_a + 1);
    b.remove_prefix(end_b + 1);
  }
}

/// The combinations of the varied keys. Throws RequestError.
std::vector<Variant> variants_of(const std::vector<Variation>& variations, const Trigger& trigger) {
  for (const Variation& variation : variations) {
    for (const std::string& path : variation.paths) {
      if (!may_be_same(path, trigger.path)) continue;
      throw RequestError(fmt::format(
          "--vary: {} is the trigger, which is searched for at each point; vary another key",
          path));
    }
  }
  std::size_t cases = 1;
  for (const Variation& variation : variations) {
    cases *= variation.choices.size();
    if (cases <= kMostCases) continue;
    throw RequestError(fmt::format(
        "--vary: more than {} combinations, each of which is a search of its own", kMostCases));
  }
  return grid(variations);
}

/// Loads a case at one size. Mistakes in the size are ascribed to --trigger.
LoadResult load_case(const ScenarioReader& reader, std::vector<std::string> edits,
                     const Trigger& trigger, double value) {
  edits.push_back(trigger.edit(value));
  LoadResult result = reader.load(edits);
  for (Diagnostic& d : result.errors) {
    if (d.source_line == edits.back()) d.file = "--trigger";
  }
  return result;
}

ScenarioAt scenarios_of_case(const std::shared_ptr<const ScenarioReader>& reader,
                             const std::vector<std::string>& edits, const Trigger& trigger) {
  return [=](double value) {
    LoadResult result = load_case(*reader, edits, trigger, value);
    if (!result.loaded) throw RequestError(to_string(result.errors.front()));
    return std::move(result.loaded->scenario);
  };
}

void check_warmup(const LoadedScenario& loaded) {
  if (!loaded.scenario.warmup_is_auto) return;
  throw RequestError(
      "warmup = \"auto\" needs a steady state, which a search for a tipping point is not; set the "
      "warm-up with --set warmup=30s");
}

/// What the cases are, and what is wrong with them.
class Cases {
 public:
  Cases(std::shared_ptr<const ScenarioReader> reader, const TipRequest& request)
      : reader_(std::move(reader)), request_(request) {}

  TipCase add(const Variant& variant) {
    const Trigger& trigger = request_.trigger;
    for (const double value : {trigger.first, trigger.last}) {
      stop_point();
      LoadResult result = load_case(*reader_, variant.edits, trigger, value);
      if (!result.loaded) {
        if (request_.varying.empty()) {
          errors_.insert(errors_.end(), result.errors.begin(), result.errors.end());
        } else {
          point_errors_.add(variant.name, result.errors);
        }
        break;
      }
      check_warmup(*result.loaded);
      hash_ = fmt::format("{:016x}", execution::id_of({{hash_, to_toml(*result.loaded, false)}}));
      inputs_.insert(result.loaded->input_files.begin(), result.loaded->input_files.end());
    }
    return {variant.name, variant.values, scenarios_of_case(reader_, variant.edits, trigger)};
  }

  std::vector<Diagnostic> errors() const {
    return errors_.empty() ? point_errors_.diagnostics() : errors_;
  }
  const std::string& hash() const { return hash_; }
  std::vector<std::filesystem::path> inputs() const { return {inputs_.begin(), inputs_.end()}; }

 private:
  std::shared_ptr<const ScenarioReader> reader_;
  const TipRequest& request_;
  PointErrors point_errors_;
  std::vector<Diagnostic> errors_;
  std::string hash_;
  std::set<std::filesystem::path> inputs_;
};

// Of the scenario only what it resolves to: the scenario.toml of a result asks the same question.
void identify(TipPlan& plan, const TipRequest& request, const Cases& cases) {
  const Trigger& trigger = request.trigger;
  std::string varying;
  for (const std::string& vary : request.varying) varying += vary + "\n";
  plan.identity = {
      {"the version of retrysim", RETRYSIM_VERSION},
      {"--trigger", fmt::format("{}={}:{}", trigger.path, trigger.first, trigger.last)},
      {"--tolerance", fmt::format("{}", request.tolerance)},
      {"--vary", varying},
      {"the resolved scenario", to_toml(plan.base, false)},
      {"the scenarios of the points", cases.hash()},
      {"the CSV inputs", execution::describe_files(cases.inputs())},
  };
  plan.id = execution::id_of(plan.identity);
}

enum class AxisKind : std::uint8_t { kNumber, kDuration, kNeither };

AxisKind kind_of(std::string_view toml) {
  if (toml.size() >= 2 && (toml.front() == '"' || toml.front() == '\'')) {
    toml = toml.substr(1, toml.size() - 2);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(toml.data(), toml.data() + toml.size(), number);
  if (error == std::errc() && end == toml.data() + toml.size() && std::isfinite(number)) {
    return AxisKind::kNumber;
  }
  return scenario::parse_duration(toml) ? AxisKind::kDuration : AxisKind::kNeither;
}

}  // namespace

std::vector<std::string> TipPlan::paths() const {
  std::vector<std::string> all;
  for (const Variation& v : variations) all.insert(all.end(), v.paths.begin(), v.paths.end());
  return all;
}

std::optional<std::size_t> TipPlan::axis() const {
  for (std::size_t i = 0; i < variations.size(); ++i) {
    const Variation& v = variations[i];
    if (v.paths.size() != 1) continue;
    const AxisKind kind = kind_of(v.choices.front().front());
    const bool all_same = std::all_of(v.choices.begin(), v.choices.end(), [&](const auto& choice) {
      return kind_of(choice.front()) == kind;
    });
    if (kind != AxisKind::kNeither && all_same) return i;
  }
  return std::nullopt;
}

TipPlanResult plan_tip(const TipRequest& request) {
  TipPlanResult result;
  std::string error;
  const auto text =
      scenario::read_whole_file(request.scenario, scenario::kMostScenarioBytes, error);
  if (!text) {
    Diagnostic& d = result.errors.emplace_back();
    d.file = request.scenario.string();
    d.message = error;
    return result;
  }
  VariationsResult parsed = parse_variations(request.varying);
  if (!parsed.errors.empty()) {
    result.errors = std::move(parsed.errors);
    return result;
  }
  const auto reader = std::make_shared<const ScenarioReader>(
      *text, request.scenario.string(), request.scenario.parent_path(), request.edits);
  LoadResult base = reader->load();
  if (!base.loaded) {
    result.errors = std::move(base.errors);
    return result;
  }
  check_warmup(*base.loaded);
  const Trigger& trigger = request.trigger;
  TipPlan plan;
  plan.base = std::move(*base.loaded);
  plan.trigger = trigger;
  plan.search = {trigger.first, trigger.last, request.tolerance, trigger.whole_numbers};
  plan.variations = std::move(parsed.variations);
  Cases cases(reader, request);
  for (const Variant& variant : variants_of(plan.variations, trigger)) {
    plan.cases.push_back(cases.add(variant));
  }
  result.errors = cases.errors();
  if (!result.errors.empty()) return result;
  identify(plan, request, cases);
  result.plan = std::move(plan);
  return result;
}

}  // namespace retrysim
