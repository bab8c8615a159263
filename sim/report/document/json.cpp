// SPDX-License-Identifier: MIT
#include "report/document/json.hpp"

#include "kernel/stop.hpp"
#include "report/document/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim::report {

namespace {

constexpr int kIndent = 2;

std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(kIndent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Whether every character stands for itself in JSON.
bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\') return false;
  }
  return true;
}

}  // namespace

JsonText& JsonText::key(std::string_view name) {
  next();
  quote(name);
  text_ += ": ";
  has_key_ = true;
  return *this;
}

JsonText& JsonText::text(std::string_view value) {
  next();
  quote(value);
  return *this;
}

JsonText& JsonText::integer(std::uint64_t value) {
  next();
  std::array<char, 20> digits;  // digits of the largest number
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  return *this;
}

JsonText& JsonText::real(double value) {
  next();
  if (!std::isfinite(value)) {
    text_ += "null";
    return *this;
  }
  // The last text is kept: with one replication mean, smallest and largest value are the same.
  if (real_text_.empty() || value != real_ || value == 0) {  // zero has a sign
    std::array<char, 64> digits;
    // The JSON library's own function is used: now and then its digits are not the shortest ones.
    char* const end =
        nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value);
    real_text_.assign(digits.data(), end);
    real_ = value;
  }
  text_ += real_text_;
  return *this;
}

JsonText& JsonText::real(std::optional<double> value) {
  if (value) return real(*value);
  next();
  text_ += "null";
  return *this;
}

JsonText& JsonText::json(const nlohmann::ordered_json& value) {
  using Type = nlohmann::ordered_json::value_t;
  switch (value.type()) {
    case Type::array:
      begin_array();
      for (const nlohmann::ordered_json& element : value) json(element);
      return end_array();
    case Type::object:
      return begin_object().members(value).end_object();
    case Type::string:
      return text(value.get_ref<const std::string&>());
    case Type::number_unsigned:
      return integer(value.get<std::uint64_t>());
    case Type::number_float:
      return real(value.get<double>());
    default:  // rare, and on one line
      next();
      text_ += dumped(value);
      return *this;
  }
}

JsonText& JsonText::members(const nlohmann::ordered_json& object) {
  for (const auto& [name, value] : object.items()) key(name).json(value);
  return *this;
}

JsonText& JsonText::begin(char bracket) {
  next();
  text_ += bracket;
  ++depth_;
  first_ = true;
  return *this;
}

JsonText& JsonText::end(char bracket) {
  --depth_;
  if (!first_) new_line();
  text_ += bracket;
  first_ = false;
  return *this;
}

// Writes what stands between two values, or between a key and its value.
void JsonText::next() {
  stop_.count();
  if (has_key_) {
    has_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) text_ += ',';
  first_ = false;
  new_line();
}

void JsonText::new_line() {
  text_ += '\n';
  text_.append(kIndent * depth_, ' ');
}

void JsonText::quote(std::string_view value) {
  if (!is_plain(value)) {
    text_ += dumped(value);
    return;
  }
  text_ += '"';
  text_ += value;
  text_ += '"';
}

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json result_head(std::string_view command, const Heading& heading, const Scenario& scenario,
                 std::size_t replications) {
  Json json;
  json["program"] = "retrysim";
  json["version"] = RETRYSIM_VERSION;
  if (!command.empty()) json["command"] = command;
  json["scenario"] = scenario.name;
  json["title"] = heading.title;
  json["description"] = heading.description;
  if (!heading.changes.empty()) {
    Json& changes = json["changes"] = Json::array();
    for (const ScenarioChange& change : heading.changes) {
      changes.push_back({{"key", change.path}, {"value", change.value}});
    }
  }
  json["seed"] = scenario.seed;
  json["replications"] = replications;
  return json;
}

Json keys_json(const LoadedScenario& scenario) {
  Json keys = Json::object();
  for (const ResolvedKey& key : scenario.keys) append_member(keys, key.path, key.toml);
  return keys;
}

void append_member(Json& object, std::string name, Json value) {
  using Members = Json::object_t::Container;
  Members& members = object.get_ref<Json::object_t&>();
  if (members.size() == members.capacity()) {
    // The vector would copy the members, and all that is in them: their names are constant.
    StopCounter<256> stop;
    Members larger;
    larger.reserve(std::max<std::size_t>(4, 2 * members.size()));
    for (auto& [key, member] : members) {
      stop.count();
      larger.emplace_back(key, std::move(member));
    }
    members.swap(larger);
  }
  members.emplace_back(std::move(name), std::move(value));
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

namespace {

std::string_view direction_name(MetricBetter better) {
  switch (better) {
    case MetricBetter::kLower:
      return "lower";
    case MetricBetter::kHigher:
      return "higher";
    case MetricBetter::kNeither:
      break;
  }
  return "";
}

}  // namespace

nlohmann::ordered_json metrics_json(const std::vector<const MetricInfo*>& metrics) {
  auto json = nlohmann::ordered_json::object();
  for (const MetricInfo* metric : metrics) {
    nlohmann::ordered_json& of_metric = json[std::string(metric->name)];
    of_metric["label"] = metric->label();
    of_metric["unit"] = metric->unit;
    of_metric["percentage"] = shown_as_percentage(*metric);
    of_metric["better"] = direction_name(metric->display.better);
  }
  return json;
}

}  // namespace retrysim::report
