// Searches for tipping points. A trigger is a key of a scenario; a plan validates every case at
// both ends of the trigger before anything runs; the bisection asks for the fates of all
// replications at one size after the other.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/sweep.hpp>

#include "estimate/tipping.hpp"
#include "estimate/told.hpp"
#include "execution/executor.hpp"
#include "execution/identity.hpp"
#include "execution/units.hpp"
#include "experiment/point_errors.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/changes.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {

// --- Triggers ------------------------------------------------------------------------------------

namespace {

/// One end of the trigger's range.
struct TriggerEnd {
  double value = 0;
  bool has_unit = false;
  bool whole = false;
};

std::optional<TriggerEnd> parse_trigger_end(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && rest == text.data() + text.size() && std::isfinite(number)) {
    return TriggerEnd{number, false, number == std::floor(number)};
  }
  const auto duration = scenario::parse_duration(text);
  if (!duration) return std::nullopt;
  return TriggerEnd{duration->seconds, true, false};
}

/// Takes over what the table of keys says about the trigger's key. Throws RequestError if it cannot
/// be a trigger.
void take_key(Trigger& trigger, const scenario::KeyInfo& key, bool whole_ends,
              const std::string& part) {
  // Keys of the top level say how many runs there are, how long and with which draws: bisection
  // compares the same replications at all values. Others say what is made of the runs.
  if (trigger.path.find('.') == std::string::npos || !scenario::describes_system(trigger.path)) {
    throw RequestError(
        fmt::format("{}: {} controls how runs are made and measured, not what happens to the "
                    "system; expected a key of a fault, client group or service",
                    part, trigger.path));
  }
  const scenario::ValueKind kind = key.rules.kind;
  if (kind == scenario::ValueKind::kBoolean || kind == scenario::ValueKind::kWord ||
      kind == scenario::ValueKind::kText || kind == scenario::ValueKind::kFile) {
    throw RequestError(fmt::format("{}: {} does not take numbers", part, trigger.path));
  }
  trigger.whole_numbers = kind == scenario::ValueKind::kCount;
  trigger.is_duration = trigger.is_duration || kind == scenario::ValueKind::kDuration;
  if (!key.rules.unit.empty()) trigger.unit = key.rules.unit;
  if (trigger.whole_numbers && !whole_ends) {
    throw RequestError(fmt::format(
        "{}: {} takes {}", part, trigger.path,
        trigger.is_duration ? "whole numbers, which are no durations" : "only whole numbers"));
  }
}

}  // namespace

std::string Trigger::edit(double value) const {
  if (whole_numbers) return fmt::format("{}={:.0f}", path, value);
  if (!is_duration) return fmt::format("{}={}", path, value);
  // A duration that is too long is reported by the scenario's reader.
  constexpr double kMost_s = 9e9;
  if (std::abs(value) > kMost_s) return fmt::format("{}=\"{:.0f}s\"", path, value);
  const Duration duration = Duration::nanoseconds(std::llround(value * 1e9));
  return fmt::format("{}=\"{}\"", path, scenario::to_text(duration));
}

Trigger parse_trigger(const std::string& text, const std::string& name) {
  const std::string part = RequestError::part(name);
  const std::size_t equals = text.find('=');
  const std::size_t colon = equals == std::string::npos ? equals : text.find(':', equals);
  if (equals == 0 || colon == std::string::npos) {
    throw RequestError(
        fmt::format("{}: '{}' is not PATH=LO:HI, such as fault.dip.duration=1s:60s", part, text));
  }
  Trigger trigger;
  trigger.path = text.substr(0, equals);
  const std::string_view low = std::string_view(text).substr(equals + 1, colon - equals - 1);
  const std::string_view high = std::string_view(text).substr(colon + 1);
  const auto first = parse_trigger_end(low), last = parse_trigger_end(high);
  if (!first || !last) {
    throw RequestError(fmt::format("{}: '{}' is neither a number nor a duration such as 250ms",
                                   part, first ? high : low));
  }
  trigger.first = first->value;
  trigger.last = last->value;
  if (trigger.first == trigger.last) {
    throw RequestError(fmt::format("{}: LO and HI are the same, {}", part, low));
  }
  trigger.is_duration = first->has_unit || last->has_unit;
  if (const scenario::KeyInfo* key = scenario::find_key(trigger.path)) {
    take_key(trigger, *key, first->whole && last->whole, part);
  }
  if (trigger.is_duration) trigger.unit = "s";
  return trigger;
}

LoadResult load_at(const std::filesystem::path& file, std::vector<std::string> edits,
                   const Trigger& trigger, double value, const std::string& part) {
  edits.push_back(trigger.edit(value));
  LoadResult result = load_scenario_file(file, edits);
  for (Diagnostic& d : result.errors) {
    if (d.source_line != edits.back()) continue;
    d.file = part;
    d.in_request = true;
  }
  return result;
}

ScenarioAt scenarios_of(const std::filesystem::path& file, const std::vector<std::string>& edits,
                        const Trigger& trigger) {
  return [=](double value) {
    LoadResult result = load_at(file, edits, trigger, value);
    if (!result.loaded) throw RequestError(result.errors.front());
    return std::move(result.loaded->scenario);
  };
}

// --- Plans and searches --------------------------------------------------------------------------

namespace {

using experiment::PointErrors;
using scenario::ScenarioReader;

constexpr std::size_t kMaxCases = 10'000;

/// The combinations of the varied keys. Throws RequestError.
std::vector<Variant> variants_of(const std::vector<Variation>& variations, const Trigger& trigger) {
  for (const Variation& variation : variations) {
    for (const std::string& path : variation.paths) {
      if (!scenario::may_be_same(path, trigger.path)) continue;
      throw RequestError(fmt::format(
          "{}: {} is the trigger, which is searched for at each point; vary another key",
          RequestError::part("vary"), path));
    }
  }
  std::size_t cases = 1;
  for (const Variation& variation : variations) {
    cases *= variation.choices.size();
    if (cases <= kMaxCases) continue;
    throw RequestError(
        fmt::format("{}: more than {} combinations, each of which is a search of its own",
                    RequestError::part("vary"), kMaxCases));
  }
  return grid(variations);
}

/// Loads a case at one size. Mistakes in the size are ascribed to the trigger.
LoadResult load_case(const ScenarioReader& reader, std::vector<std::string> edits,
                     const Trigger& trigger, double value) {
  edits.push_back(trigger.edit(value));
  LoadResult result = reader.load(edits);
  for (Diagnostic& d : result.errors) {
    if (d.source_line != edits.back()) continue;
    d.file = "trigger";
    d.in_request = true;
  }
  return result;
}

ScenarioAt scenarios_of_case(const std::shared_ptr<const ScenarioReader>& reader,
                             const std::vector<std::string>& edits, const Trigger& trigger) {
  return [=](double value) {
    LoadResult result = load_case(*reader, edits, trigger, value);
    if (!result.loaded) throw RequestError(result.errors.front());
    return std::move(result.loaded->scenario);
  };
}

void check_warmup(const LoadedScenario& loaded) {
  if (!loaded.scenario.warmup_is_auto) return;
  throw RequestError(fmt::format(
      "warmup = \"auto\" needs a steady state, which a search for a tipping point is not; set the "
      "warm-up with {} warmup=30s",
      RequestError::part("set")));
}

/// Collects the cases, and what is wrong with them.
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

// Sets the identity of a plan. Of the scenario, its resolved form counts: the scenario.toml of a
// result asks the same question.
void identify(TipPlan& plan, const TipRequest& request, const Cases& cases) {
  const Trigger& trigger = request.trigger;
  plan.inputs = cases.inputs();
  std::string varying;
  for (const std::string& vary : request.varying) varying += vary + "\n";
  plan.id = execution::id_of({
      {"the version of retrysim", RETRYSIM_VERSION},
      {"--trigger", fmt::format("{}={}:{}", trigger.path, trigger.first, trigger.last)},
      {"--tolerance", fmt::format("{}", request.tolerance)},
      {"--vary", varying},
      {"the resolved scenario", to_toml(plan.base, false)},
      {"the scenarios of the points", cases.hash()},
      {"the CSV inputs", execution::describe_files(plan.inputs)},
  });
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
  const auto text = scenario::read_scenario_text(request.scenario, result.errors);
  if (!text) return result;
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

std::vector<std::string> notes_before(const TipPlan& plan) {
  // The note names the duration needed at both ends of the range, so that no further note follows
  // once it is set.
  double duration = 0, at_first = 0, longest = 0;
  for (const bool first : {true, false}) {
    for (const TipCase& c : plan.cases) {
      const Scenario s = c.scenario(first ? plan.search.first : plan.search.last);
      const auto needed = stats::least_duration_to_judge_s(s);
      if (!needed || *needed <= s.duration.in_seconds()) continue;
      if (first) at_first = std::max(at_first, *needed);
      longest = std::max(longest, *needed);
      duration = s.duration.in_seconds();
    }
  }
  if (longest == 0) return {};
  return {fmt::format(
      "runs of {} s can show that it recovers, but {} too short to show that it does not; set "
      "duration to {} or more, and more where a backlog drains slowly",
      scenario::said_number(duration, 4), at_first > 0 ? "are" : "near HI are",
      stats::said_duration(longest))};
}

namespace {

std::vector<std::string> notes_on_search(const TippingPoint& point, double duration_needed) {
  std::vector<std::string> notes;
  const std::size_t n = point.thresholds.size();
  if (n < 20) {
    notes.push_back(fmt::format("{} replication{}: the result is rough; use at least 20", n,
                                n == 1 ? "" : "s"));
  }
  std::size_t unknown = 0;
  for (const TippingProbe& p : point.probes) unknown += p.count(TippingResponse::kUnknown);
  if (unknown > 0) {
    notes.push_back(fmt::format(
        "{} too short to tell whether {}; a duration of {} would be long enough",
        unknown == 1 ? "1 run was" : fmt::format("{} runs were", unknown),
        unknown == 1 ? "it recovers" : "they recover", stats::said_duration(duration_needed)));
  }
  return notes;
}

/// Searches the tipping point of one case.
TipResult find_in(const ScenarioAt& scenario_at, const TippingSearch& search,
                  const ReplicationOptions& run, const std::function<void(int, double)>& probing) {
  std::map<double, std::vector<execution::UnitFate>> probes;  // fates of all replications, by size
  TipResult result;
  result.search = search;
  result.point = stats::bisect(search, [&](double value) {
    const Scenario scenario = scenario_at(value);
    if (probing) probing(static_cast<int>(probes.size()) + 1, value);
    const auto& fates = probes[value] =
        execution::before_more([&] { return execution::get_fates(scenario, run); });
    std::vector<TippingResponse> responses;
    for (const execution::UnitFate& fate : fates) responses.push_back(fate.response);
    return responses;
  });
  for (TippingProbe& probe : result.point.probes) {
    for (const execution::UnitFate& fate : probes.at(probe.value)) {
      probe.twin_recovered += fate.twin_recovered;
      probe.metastable += fate.metastable;
    }
  }
  double duration_needed = 0;  // s, long enough for every run to have been judged
  for (const auto& [value, fates] : probes) {
    for (const execution::UnitFate& fate : fates) {
      duration_needed = std::max(duration_needed, fate.duration_needed_s);
    }
  }
  result.notes = notes_on_search(result.point, duration_needed);
  return result;
}

/// Checks the options of a search. Throws RequestError.
void check_search(const TippingSearch& search) {
  if (!(search.tolerance >= 1e-6 && search.tolerance <= 0.5)) {
    throw RequestError("the tolerance of a search for a tipping point is from 1e-6 to 0.5");
  }
  if (!std::isfinite(search.first) || !std::isfinite(search.last) || search.first == search.last) {
    throw RequestError("a search for a tipping point needs two sizes that differ");
  }
}

}  // namespace

TipResult find_tipping_point(const ScenarioAt& scenario_at, const TippingSearch& search,
                             const TipOptions& options) {
  check_search(search);
  return execution::in_time(options.run, [&](const ReplicationOptions& run) {
    return find_in(scenario_at, search, run, options.probing);
  });
}

TipPlan plan_tip(std::vector<TipCase> cases, const TippingSearch& search) {
  if (cases.empty()) throw RequestError("there is nothing to search for");
  check_search(search);
  TipPlan plan;
  plan.search = search;
  plan.cases = std::move(cases);
  return plan;
}

std::vector<TipPoint> find_tipping_points(const TipPlan& plan, const TipSearchOptions& options) {
  check_search(plan.search);
  return execution::in_time(options.run, [&](const ReplicationOptions& run) {
    std::vector<TipPoint> points;
    execution::SideBySide searches;
    for (const TipCase& one : plan.cases) {
      const auto probing = [&](int probe, double value) {
        if (options.probing) options.probing(one.name, probe, value);
      };
      searches.add([&] {
        points.push_back({one.name, one.keys, find_in(one.scenario, plan.search, run, probing)});
      });
    }
    searches.finish();
    return points;
  });
}

}  // namespace retrysim
