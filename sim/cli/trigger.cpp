// SPDX-License-Identifier: MIT
#include "cli/trigger.hpp"

#include "cli/commands.hpp"
#include "scenario/keys.hpp"
#include "scenario/values.hpp"

#include <fmt/format.h>
#include <charconv>
#include <cmath>
#include <optional>

namespace retrysim::cli {
namespace {

/// One end of the range.
struct End {
  double value = 0;
  bool has_unit = false;
  bool whole = false;
};

std::optional<End> parse_end(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && rest == text.data() + text.size() && std::isfinite(number)) {
    return End{number, false, text.find_first_of(".eE") == std::string_view::npos};
  }
  const auto duration = scenario::parse_duration(text);
  if (!duration) return std::nullopt;
  return End{duration->seconds, true, false};
}

/// The key that a path names; null if it is part of a value, or unknown.
const scenario::KeyInfo* find_key(std::string_view path) {
  const scenario::NameTree* node = &scenario::name_tree();
  while (node != nullptr) {
    const std::size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return node == nullptr ? nullptr : node->key;
}

}  // namespace

std::string TriggerRange::edit(double value) const {
  if (!is_duration) return fmt::format("{}={}", path, value);
  const Duration duration = Duration::nanoseconds(std::llround(value * 1e9));
  return fmt::format("{}=\"{}\"", path, scenario::to_text(duration));
}

TriggerRange parse_trigger(const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = equals == std::string::npos ? equals : text.find(':', equals);
  if (equals == 0 || colon == std::string::npos) {
    throw UsageError(
        fmt::format("{}: '{}' is not PATH=LO:HI, such as fault.dip.duration=1s:60s", option, text));
  }
  TriggerRange range;
  range.path = text.substr(0, equals);
  const std::string_view low = std::string_view(text).substr(equals + 1, colon - equals - 1);
  const std::string_view high = std::string_view(text).substr(colon + 1);
  const auto first = parse_end(low), last = parse_end(high);
  if (!first || !last) {
    throw UsageError(fmt::format("{}: '{}' is neither a number nor a duration such as 250ms",
                                 option, first ? high : low));
  }
  range.first = first->value;
  range.last = last->value;
  if (range.first == range.last) {
    throw UsageError(fmt::format("{}: LO and HI are the same, {}", option, low));
  }
  range.is_duration = first->has_unit || last->has_unit;
  if (const scenario::KeyInfo* key = find_key(range.path)) {
    // Keys of no group say how many runs there are, how long and with which draws: bisection
    // compares the same replications at all values.
    if (range.path.find('.') == std::string::npos) {
      throw UsageError(
          fmt::format("{}: {} controls how runs are made and measured, not what happens to the "
                      "system; expected a key of a fault, client group or service",
                      option, range.path));
    }
    const scenario::ValueKind kind = key->rules.kind;
    if (kind == scenario::ValueKind::kBoolean || kind == scenario::ValueKind::kWord ||
        kind == scenario::ValueKind::kText || kind == scenario::ValueKind::kFile) {
      throw UsageError(fmt::format("{}: {} does not take numbers", option, range.path));
    }
    range.whole_numbers = kind == scenario::ValueKind::kCount;
    range.is_duration = range.is_duration || kind == scenario::ValueKind::kDuration;
    if (!key->unit.empty()) range.unit = key->unit;
    if (range.whole_numbers && !(first->whole && last->whole)) {
      throw UsageError(fmt::format("{}: {} takes only whole numbers", option, range.path));
    }
  }
  if (range.is_duration) range.unit = "s";
  return range;
}

LoadResult load_at(const std::string& file, std::vector<std::string> edits,
                   const TriggerRange& trigger, double value, const std::string& option) {
  edits.push_back(trigger.edit(value));
  LoadResult result = load_scenario_file(file, edits);
  for (Diagnostic& d : result.errors) {
    if (d.source_line == edits.back()) d.file = option;
  }
  return result;
}

}  // namespace retrysim::cli
