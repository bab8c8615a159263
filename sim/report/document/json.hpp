// A writer of JSON from front to back, for documents that are too large to be built in memory
// first, and the parts that the result.json files of all commands have in common.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/stop.hpp"
#include "report/document/heading.hpp"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

/// Builds the text that nlohmann::ordered_json::dump(2) gives of the same values, to the last byte:
/// indented by two blanks, numbers that are not finite as null, bytes that are not UTF-8 replaced.
/// Call `key` before each value in an object, and end what was begun.
class JsonText {
 public:
  JsonText& begin_object() { return begin('{'); }
  JsonText& end_object() { return end('}'); }
  JsonText& begin_array() { return begin('['); }
  JsonText& end_array() { return end(']'); }
  JsonText& key(std::string_view name);

  JsonText& text(std::string_view value);
  JsonText& integer(std::uint64_t value);
  JsonText& real(double value);
  /// Writes a number; null if there is none.
  JsonText& real(std::optional<double> value);
  JsonText& json(const nlohmann::ordered_json& value);
  /// Writes the keys and values of an object.
  JsonText& members(const nlohmann::ordered_json& object);

  /// The text written so far; complete once everything has ended.
  std::string take() { return std::move(text_); }

 private:
  JsonText& begin(char bracket);
  JsonText& end(char bracket);
  void next();
  void new_line();
  void quote(std::string_view value);

  std::string text_;
  std::size_t depth_ = 0;
  bool first_ = true;     // the innermost object or array is still empty
  bool has_key_ = false;  // the next value follows its key
  StopCounter<> stop_;
  double real_ = 0;  // the last number written, and its text
  std::string real_text_;
};

/// The first members of result.json: program, version, `command` unless it is empty, name of the
/// scenario, title and description of the result, changes if there are any, seed and the number of
/// `replications`.
nlohmann::ordered_json result_head(std::string_view command, const Heading& heading,
                                   const Scenario& scenario, std::size_t replications);

/// The keys of the scenario with their values as TOML.
nlohmann::ordered_json keys_json(const LoadedScenario& scenario);

/// Appends a member that the object does not have yet. A search for the name first, as in
/// `object[name]`, takes time that grows with the square of the number of members.
void append_member(nlohmann::ordered_json& object, std::string name, nlohmann::ordered_json value);

/// The value as JSON; null if there is none.
nlohmann::ordered_json optional_json(const std::optional<double>& value);

/// The facts about metrics that the drawing scripts need, by name: label, unit, whether people read
/// it as a percentage, and the better direction ("lower", "higher" or "").
nlohmann::ordered_json metrics_json(const std::vector<const MetricInfo*>& metrics);

}  // namespace retrysim::report
