// SPDX-License-Identifier: MIT
#include "scenario/keys/schema.hpp"

#include "scenario/keys/keys.hpp"
#include "scenario/text/percentiles.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::scenario {

namespace {

using Json = nlohmann::ordered_json;

// Pattern of the names that `is_entity_name` accepts.
constexpr std::string_view kEntityPattern = "^[A-Za-z0-9_][A-Za-z0-9_-]*$";

// Pattern of how the path of a key begins.
constexpr std::string_view kPathPattern = "^[a-z_]+[.]";

// Pattern of how the names of error answers begin: "429", "503:SlowDown".
constexpr std::string_view kErrorAnswerPattern = "^[0-9]{3}(:|$)";

// Pattern of what `percentile_share` accepts, and a little more.
constexpr std::string_view kPercentilePattern = "^p[0-9]+(\\.[0-9]+)?$";

// Pattern of what `parse_duration` accepts, without its upper limit.
constexpr std::string_view kDurationPattern =
    "^([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)? ?(ns|us|ms|s|min|h|d)$";

Json schema_reference(std::string_view definition) {
  return {{"$ref", fmt::format("#/definitions/{}", definition)}};
}

Json any_of_schema(std::vector<Json> choices) {
  if (choices.size() == 1) return std::move(choices.front());
  return {{"anyOf", std::move(choices)}};
}

Json list_schema(Json item) {
  return {{"type", "array"}, {"items", std::move(item)}, {"minItems", 1}};
}

// A limit as JSON: a whole number as 1, not as 1.0.
Json limit_of_range(double limit) {
  constexpr double kMaxWhole = 1e15;
  const bool is_whole = limit == std::trunc(limit) && std::abs(limit) < kMaxWhole;
  return is_whole ? Json(static_cast<std::int64_t>(limit)) : Json(limit);
}

Json number_schema(std::string_view type, const Range& range) {
  Json result = {{"type", type}};
  if (std::isfinite(range.min)) {
    result[range.above_min ? "exclusiveMinimum" : "minimum"] = limit_of_range(range.min);
  }
  if (std::isfinite(range.max)) {
    result[range.below_max ? "exclusiveMaximum" : "maximum"] = limit_of_range(range.max);
  }
  return result;
}

Json duration_schema(const Range& range) {
  return any_of_schema({schema_reference("duration"), number_schema("number", range)});
}

std::vector<std::string_view> parameter_names(const DistributionForm& form) {
  std::vector<std::string_view> names;
  for (std::string_view rest = form.parameters; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return names;
}

Json distribution_table(const DistributionForm& form) {
  Json properties = {
      {"distribution", {{"const", form.name}, {"description", std::string(form.meaning) + "."}}}};
  Json required = {"distribution"};
  for (const std::string_view name : parameter_names(form)) {
    required.push_back(name);
    properties[std::string(name)] = name == "file"                ? Json{{"type", "string"}}
                                    : is_duration_parameter(name) ? duration_schema(kNotNegative)
                                                                  : number_schema("number", {});
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

// Schema of { p50 = "30ms", p99 = "400ms" }: at least one percentile.
Json percentile_table() {
  Json members = duration_schema(kNotNegative);
  members["description"] = "A percentile: p50, p99, p999 (99.9 %).";
  return {{"type", "object"},
          {"properties",
           {{"distribution", {{"enum", percentile_laws()}, {"description", "Default lognormal."}}},
            {"mean", duration_schema(kNotNegative)},
            {"cv", number_schema("number", kPositive)}}},
          {"patternProperties", {{kPercentilePattern, std::move(members)}}},
          {"not", {{"propertyNames", {{"not", {{"pattern", kPercentilePattern}}}}}}},
          {"additionalProperties", false}};
}

// Schema of { buckets = "metrics.txt" }.
Json bucket_table() {
  Json properties = {{"mean", duration_schema(kNotNegative)}};
  for (const std::string_view name : {"buckets", "series", "before"}) {
    properties[std::string(name)] = {{"type", "string"}};
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", Json::array({"buckets"})},
          {"additionalProperties", false}};
}

Json distribution_schema() {
  std::vector<Json> forms;
  for (const DistributionForm& form : distribution_forms()) {
    forms.push_back(distribution_table(form));
  }
  forms.push_back(percentile_table());
  forms.push_back(bucket_table());
  return any_of_schema(std::move(forms));
}

Json kind_schema(const ValueRules& rules) {
  switch (rules.kind) {
    case ValueKind::kDuration:
      return duration_schema(rules.range);
    case ValueKind::kNumber:
      return number_schema("number", rules.range);
    case ValueKind::kCount:
      return number_schema("integer", rules.range);
    case ValueKind::kBoolean:
      return {{"type", "boolean"}};
    case ValueKind::kWord:
      return {{"enum", split_words(rules.words)}};
    case ValueKind::kText:
      return {{"type", "string"}};
    case ValueKind::kFile:
      return {{"type", "string"}, {"minLength", 1}};
    case ValueKind::kNames:
      return any_of_schema({{{"type", "string"}}, list_schema({{"type", "string"}})});
    case ValueKind::kDistribution:
      return any_of_schema({duration_schema(kNotNegative), schema_reference("distribution")});
    case ValueKind::kDistributionList:
      return list_schema(
          any_of_schema({duration_schema(kNotNegative), schema_reference("distribution")}));
    case ValueKind::kAmount:
      return any_of_schema({schema_reference("duration"), number_schema("number", {})});
    case ValueKind::kCountDistribution:
      return any_of_schema(
          {number_schema("integer", rules.range), schema_reference("distribution")});
  }
  return {};
}

// A condition in words, from "retry.mode = standard|adaptive".
std::string condition_text(std::string_view condition) {
  const Condition parts(condition);
  return parts.words.empty()
             ? fmt::format("{} {}", parts.key, parts.relation)
             : fmt::format("{} {} {}", parts.key, parts.relation, parts.words_as_text());
}

std::string described(const KeyInfo& key) {
  std::string text(key.meaning);
  if (!key.rules.unit.empty()) text += fmt::format("\n\nUnit: {}.", key.rules.unit);
  const std::string range = to_string(key.rules.range);
  if (!range.empty()) text += fmt::format("\n\nRange: {}.", range);
  if (key.required) {
    text += "\n\nRequired.";
  } else if (const auto fallback = key.default_toml()) {
    text += key.fallback_when.empty() ? fmt::format("\n\nDefault: {}.", *fallback)
                                      : fmt::format("\n\nDefault: {} if {}.", *fallback,
                                                    condition_text(key.fallback_when));
  } else if (key.access.from_rules != nullptr) {
    text += "\n\nDefault: that of the retry mode and the SDK.";
  }
  if (!key.when.empty()) text += fmt::format("\n\nApplies if {}.", condition_text(key.when));
  return text;
}

Json key_schema(const KeyInfo& key) {
  std::vector<Json> choices;
  Json words = Json::array();
  if (key.rules.kind == ValueKind::kWord) {
    for (const std::string_view word : split_words(key.rules.words)) words.push_back(word);
  }
  for (const std::string_view word : {key.rules.else_word, key.rules.also_word}) {
    if (!word.empty()) words.push_back(word);
  }
  if (!words.empty()) choices.push_back({{"enum", std::move(words)}});
  if (key.rules.kind != ValueKind::kWord) {
    const Json kind = kind_schema(key.rules);
    if (kind.contains("anyOf")) {
      choices.insert(choices.end(), kind["anyOf"].begin(), kind["anyOf"].end());
    } else {
      choices.push_back(kind);
    }
  }
  Json schema = {{"description", described(key)}};
  schema.update(any_of_schema(std::move(choices)));
  return schema;
}

// Schema of a table, with everything that may stand in it.
Json table_schema(const NameTree& tree) {
  Json schema = {{"type", "object"}};
  for (const NameTree& child : tree.children) {
    Json of_child = child.key != nullptr ? key_schema(*child.key) : table_schema(child);
    if (child.name == "*") {
      const bool is_answer = child.key != nullptr && child.key->role == KeyRole::kErrorAnswer;
      const std::string_view names = tree.holds_paths() ? kPathPattern
                                     : is_answer        ? kErrorAnswerPattern
                                                        : kEntityPattern;
      schema["patternProperties"][std::string(names)] = std::move(of_child);
    } else {
      schema["properties"][std::string(child.name)] = std::move(of_child);
    }
  }
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace

std::string json_schema() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "retrysim scenario"},
                 {"description",
                  "A scenario of retrysim: services, clients that retry, and faults. Written by "
                  "retrysim from its table of keys."}};
  schema.update(table_schema(name_tree()));
  Json required = Json::array();
  for (const KeyInfo& key : key_scope("").keys) {
    if (key.required && key.when.empty()) required.push_back(key.name);
  }
  schema["required"] = std::move(required);
  schema["definitions"] = {
      {"duration",
       {{"type", "string"},
        {"pattern", kDurationPattern},
        {"description", "A length of time: a number with ns, us, ms, s, min, h or d."}}},
      {"distribution", distribution_schema()}};
  return schema.dump(1) + "\n";
}

}  // namespace retrysim::scenario
