// The table of scenario keys: the one place that knows what may be written in a scenario file, what
// it means, what it defaults to and where it goes. Validation, `check`, `list keys` and the
// reference pages come from it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/values.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// How requests arrive, as written; `resolve_arrivals` turns it into an ArrivalSpec.
struct ArrivalInputs {
  std::optional<Value> rate, total_rate, file, profile, bucket;
  Value speed_up, scale;
  bool step = false;           ///< interpolate = "step"
  bool has_on = false;         ///< bursts are given, and could be read
  bool rate_is_wrong = false;  ///< a rate or profile is given, but could not be read
};

/// What a client group says about its retry preset.
struct PresetChoice {
  std::string mode, revision, sdk, api = "default", defect = "none";
  bool from_environment = false;
};

/// Where the keys of one scope put their values: those of the scopes concerned are not null.
struct Slots {
  Scenario* scenario = nullptr;
  ServiceSpec* service = nullptr;
  FaultSpec* fault = nullptr;
  std::string* service_name = nullptr;  ///< fault.service, client.calls
  std::vector<RandomError>* errors = nullptr;
  ClientSpec* client = nullptr;
  ArrivalInputs* arrivals = nullptr;
  PresetChoice* preset = nullptr;
  SurgeSpec* surge = nullptr;
  OperationSpec* operation = nullptr;
  Expectation* expectation = nullptr;
};

/// One key. Texts are views of literals.
struct KeyInfo {
  std::string_view name;  ///< within its scope: "queue.capacity"
  ValueRules rules;
  std::string_view unit;  ///< "s", "1/s", "tokens"; empty: none
  /// The default as TOML text. Empty: none; the key is required or optional, or has a preset.
  std::string_view fallback;
  bool required = false;
  /// Another key of the scope that decides whether this one applies: "arrivals.process =
  /// poisson|constant", "throttle.rate != unlimited", "retry.delays unset". Empty: always.
  std::string_view when;
  std::string_view meaning;  ///< one sentence
  void (*store)(const Slots& slots, const Value& value);
  /// The value that the retry rules hold, as TOML text: for keys whose default is a preset's.
  std::string (*from_rules)(const RetryRules& rules) = nullptr;
};

/// The keys below one path pattern, in which `*` is any name.
struct KeyScope {
  std::string_view pattern;  ///< "client.*"; empty: the top level
  std::span<const KeyInfo> keys;
};

std::span<const KeyScope> key_scopes();
const KeyScope& key_scope(std::string_view pattern);

/// The keys of [client.X.retry], a part of the scope "client.*".
std::vector<KeyInfo> retry_keys();

/// The full pattern of a key: "client.*.retry.mode".
std::string key_pattern(const KeyScope& scope, const KeyInfo& key);

/// Every name that the table knows, as a tree.
struct NameTree {
  std::string_view name;  ///< "*": any name
  const KeyInfo* key = nullptr;
  std::vector<NameTree> children;

  const NameTree* find(std::string_view child) const;  ///< falls back to "*"
};
const NameTree& name_tree();

/// An error answer as named in `errors`: "internal", "429", "503:SlowDown".
std::optional<ErrorAnswer> parse_error_answer(std::string_view name);

/// Whether a part of a path may name a service, client, fault, surge or expectation. One that
/// begins with a dash would be a formula in spreadsheets that open the result files.
inline bool is_entity_name(std::string_view name) {
  return is_bare_name(name) && !name.starts_with('-');
}

}  // namespace retrysim::scenario
