// Triggers: a key of a scenario and the sizes that it takes.
//
// SPDX-License-Identifier: MIT
#include <retrysim/request_error.hpp>
#include <retrysim/tip.hpp>

#include "scenario/keys.hpp"
#include "scenario/values.hpp"

#include <fmt/format.h>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace retrysim {
namespace {

constexpr const char* kTriggerOption = "--trigger";

/// One end of the range.
struct TriggerEnd {
  double value = 0;
  bool has_unit = false;
  bool whole = false;
};

std::optional<TriggerEnd> parse_trigger_end(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && rest == text.data() + text.size() && std::isfinite(number)) {
    return TriggerEnd{number, false, text.find_first_of(".eE") == std::string_view::npos};
  }
  const auto duration = scenario::parse_duration(text);
  if (!duration) return std::nullopt;
  return TriggerEnd{duration->seconds, true, false};
}

/// What the table of keys knows of the trigger's.
void take_key(Trigger& trigger, const scenario::KeyInfo& key, bool whole_ends) {
  // Keys of no group say how many runs there are, how long and with which draws: bisection
  // compares the same replications at all values.
  if (trigger.path.find('.') == std::string::npos) {
    throw RequestError(
        fmt::format("{}: {} controls how runs are made and measured, not what happens to the "
                    "system; expected a key of a fault, client group or service",
                    kTriggerOption, trigger.path));
  }
  const scenario::ValueKind kind = key.rules.kind;
  if (kind == scenario::ValueKind::kBoolean || kind == scenario::ValueKind::kWord ||
      kind == scenario::ValueKind::kText || kind == scenario::ValueKind::kFile) {
    throw RequestError(fmt::format("{}: {} does not take numbers", kTriggerOption, trigger.path));
  }
  trigger.whole_numbers = kind == scenario::ValueKind::kCount;
  trigger.is_duration = trigger.is_duration || kind == scenario::ValueKind::kDuration;
  if (!key.rules.unit.empty()) trigger.unit = key.rules.unit;
  if (trigger.whole_numbers && !whole_ends) {
    throw RequestError(
        fmt::format("{}: {} takes only whole numbers", kTriggerOption, trigger.path));
  }
}

}  // namespace

std::string Trigger::edit(double value) const {
  if (!is_duration) return fmt::format("{}={}", path, value);
  const Duration duration = Duration::nanoseconds(std::llround(value * 1e9));
  return fmt::format("{}=\"{}\"", path, scenario::to_text(duration));
}

Trigger parse_trigger(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = equals == std::string::npos ? equals : text.find(':', equals);
  if (equals == 0 || colon == std::string::npos) {
    throw RequestError(fmt::format("{}: '{}' is not PATH=LO:HI, such as fault.dip.duration=1s:60s",
                                   kTriggerOption, text));
  }
  Trigger trigger;
  trigger.path = text.substr(0, equals);
  const std::string_view low = std::string_view(text).substr(equals + 1, colon - equals - 1);
  const std::string_view high = std::string_view(text).substr(colon + 1);
  const auto first = parse_trigger_end(low), last = parse_trigger_end(high);
  if (!first || !last) {
    throw RequestError(fmt::format("{}: '{}' is neither a number nor a duration such as 250ms",
                                   kTriggerOption, first ? high : low));
  }
  trigger.first = first->value;
  trigger.last = last->value;
  if (trigger.first == trigger.last) {
    throw RequestError(fmt::format("{}: LO and HI are the same, {}", kTriggerOption, low));
  }
  trigger.is_duration = first->has_unit || last->has_unit;
  if (const scenario::KeyInfo* key = scenario::find_key(trigger.path)) {
    take_key(trigger, *key, first->whole && last->whole);
  }
  if (trigger.is_duration) trigger.unit = "s";
  return trigger;
}

LoadResult load_at(const std::filesystem::path& file, std::vector<std::string> edits,
                   const Trigger& trigger, double value, const std::string& option) {
  edits.push_back(trigger.edit(value));
  LoadResult result = load_scenario_file(file, edits);
  for (Diagnostic& d : result.errors) {
    if (d.source_line == edits.back()) d.file = option;
  }
  return result;
}

ScenarioAt scenarios_of(const std::filesystem::path& file, const std::vector<std::string>& edits,
                        const Trigger& trigger) {
  return [=](double value) {
    LoadResult result = load_at(file, edits, trigger, value);
    if (!result.loaded) throw RequestError(to_string(result.errors.front()));
    return std::move(result.loaded->scenario);
  };
}

}  // namespace retrysim
