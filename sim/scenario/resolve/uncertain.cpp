// Uncertain keys: [uncertain."service.api.servers"] low = 8, high = 12. Each names a key that has a
// value of its own in the scenario; the ends of its interval are values that the key takes.
//
// SPDX-License-Identifier: MIT
#include "scenario/keys/key_rows.hpp"
#include "scenario/resolve/tables.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/percentiles.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::scenario {

namespace {

constexpr KeyInfo kUncertainKeys[] = {
    key("low", amount(), into<&UncertainKey::low>, {.required = true},
        "The lower end of the interval of the key that the table is named after, from which `run` "
        "draws if its option uncertain is given. The scenario's own value is in it, and its "
        "median."),
    key("high", amount(), into<&UncertainKey::high>, {.required = true}, "The upper end."),
    key("certainty", number({.min = 0.01, .max = 0.9999}), into<&UncertainKey::certainty>,
        {.fallback = "0.95"}, "Probability that the true value is between the ends."),
};

/// The key that a path names, and the rest of the path below it.
struct FoundKey {
  const KeyInfo* key = nullptr;
  std::vector<std::string> inside;  ///< names within a distribution: "mean"
};

/// The key that a path names; null, after reporting why, if it names none that may be uncertain.
FoundKey find_named(Tables& t, const std::string& table, const Member& member) {
  const auto fail = [&](const std::string& why) {
    t.problems.add(member.place, table + ": " + why);
    return FoundKey();
  };
  const auto names = split_path(member.name);
  if (!names) return fail("this is not a path; expected names with dots between them");
  const NameTree* tree = &name_tree();
  for (std::size_t i = 0; i < names->size(); ++i) {
    const NameTree* child = (*names)[i] == "*" ? nullptr : tree->find((*names)[i]);
    if (child == nullptr) {
      if ((*names)[i] == "*") return fail("\"*\" names no single key; name each key");
      std::vector<std::string_view> known;
      for (const NameTree& c : tree->children) {
        if (c.name != "*") known.push_back(c.name);
      }
      return fail("there is no such key; " + suggestion((*names)[i], known, "known there"));
    }
    tree = child;
    if (tree->key == nullptr) continue;
    FoundKey found{tree->key, {names->begin() + static_cast<std::ptrdiff_t>(i) + 1, names->end()}};
    const ValueKind kind = found.key->rules.kind;
    const bool law = kind == ValueKind::kDistribution || kind == ValueKind::kCountDistribution;
    if (found.inside.size() > (law ? 1U : 0U)) return fail("the key has nothing of that name");
    const bool is_amount = law || kind == ValueKind::kDuration || kind == ValueKind::kNumber ||
                           kind == ValueKind::kCount;
    if (!is_amount) return fail("the key is no number and no duration");
    if (!describes_system(member.name)) {
      return fail("the key says nothing of the system; it cannot be uncertain");
    }
    return found;
  }
  return fail("this is a table; expected the path of a key");
}

/// The rules for the ends of the interval of a key.
ValueRules rules_of_values(const FoundKey& found) {
  const ValueRules& rules = found.key->rules;
  if (!found.inside.empty()) {
    const std::string& name = found.inside.front();
    const bool is_time = is_duration_parameter(name) || percentile_share(name);
    const bool of_count = rules.kind == ValueKind::kCountDistribution;
    return is_time && !of_count ? duration(kNotNegative) : number(kNotNegative);
  }
  if (rules.kind == ValueKind::kDistribution) return duration(kNotNegative);
  if (rules.kind == ValueKind::kCountDistribution) return count(rules.range);
  ValueRules plain = rules;
  plain.else_word = plain.also_word = {};
  return plain;
}

/// The scenario's own value of a key.
struct OwnValue {
  std::optional<Node> node;
  bool is_set = false;  ///< whether an edit has set the key, or a table around it
};

OwnValue own_value(const Tables& t, const std::string& path) {
  OwnValue own;
  const auto is_set = [&](const Node& node) {
    return is_edit(t.files.sources().file(node.place.source));
  };
  const Node* node = &t.root;
  const auto names = split_path(path);
  for (const std::string& name : *names) {
    const Member* member = node->is_table() ? node->find(name) : nullptr;
    if (member == nullptr) {
      own.is_set = node != &t.root && is_set(*node);
      const auto key = std::ranges::find(t.loaded.keys, path, &ResolvedKey::path);
      if (key != t.loaded.keys.end()) own.node = parse_value(key->toml, node->place);
      return own;
    }
    node = &member->value;
  }
  own.is_set = is_set(*node);
  own.node = *node;
  return own;
}

void check_own_value(Tables& t, const std::string& table, const Member& member,
                     const UncertainKey& spec, const std::optional<Node>& own) {
  const auto at = [&](std::string_view end) {
    const Member* found = member.value.find(end);
    return found == nullptr ? member.place : found->value.place;
  };
  if (!own) {
    t.problems.add(member.place, fmt::format("{}: the scenario has no value of this key, which "
                                             "would be the median; write one",
                                             table));
  } else if (!amount_of(*own)) {
    t.problems.add(member.place,
                   fmt::format("{}: the scenario's own value is {}; expected a number or a "
                               "duration in the interval",
                               table, own->is_table() ? "a table" : render(*own)));
  } else if (spec.value < spec.low) {
    t.problems.add(at("low"),
                   fmt::format("{}.low = {} is above the scenario's own value of {}; "
                               "expected an interval around it",
                               table, render(member.value.find("low")->value), render(*own)));
  } else if (spec.value > spec.high) {
    t.problems.add(at("high"),
                   fmt::format("{}.high = {} is below the scenario's own value of {}; "
                               "expected an interval around it",
                               table, render(member.value.find("high")->value), render(*own)));
  }
}

void resolve_uncertain_key(Tables& t, const Member& member, const Node& siblings) {
  UncertainKey spec;
  spec.path = member.name;
  const std::string table = "uncertain." + render_name(member.name);
  const Slots slots(&spec);
  KeyResolution keys = t.keys_of("uncertain.*", table, member, siblings, slots);
  keys.resolve();
  const FoundKey found = find_named(t, table, member);
  if (found.key == nullptr || !keys.has("low") || !keys.has("high")) return;

  const ValueRules rules = rules_of_values(found);
  for (const std::string_view end : {"low", "high"}) {
    if (!read_value(rules, keys.full_path(end), *keys.find(end), t.files)) return;
  }
  if (spec.low > spec.high) {
    t.problems.add(keys.place_of("high"),
                   fmt::format("{}.high = {} is below low = {}", table, render(*keys.find("high")),
                               render(*keys.find("low"))));
    return;
  }
  spec.is_duration = rules.kind == ValueKind::kDuration;
  spec.is_whole = rules.kind == ValueKind::kCount;
  spec.least = rules.range.min;
  spec.most = rules.range.max;
  spec.above_least = rules.range.above_min;
  const OwnValue own = own_value(t, member.name);
  spec.is_set = own.is_set;
  if (own.node) spec.value = amount_of(*own.node).value_or(0);
  if (!spec.is_set) check_own_value(t, table, member, spec, own.node);
  t.loaded.uncertain.push_back(std::move(spec));
}

}  // namespace

std::span<const KeyInfo> uncertain_keys() { return kUncertainKeys; }

void resolve_uncertain(Tables& t) {
  const Node* all = t.of_kind("uncertain");
  if (all == nullptr) return;
  for (const Member& member : all->members) {
    // A path without quotes makes tables within tables, whose unknown names have been reported.
    const auto is_table = [](const Member& m) { return m.value.is_table(); };
    if (!is_table(member) || std::ranges::any_of(member.value.members, is_table)) continue;
    resolve_uncertain_key(t, member, *all);
  }
}

}  // namespace retrysim::scenario
