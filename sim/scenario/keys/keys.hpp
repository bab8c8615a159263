// The table of scenario keys: the one place that knows the keys of scenario files, their values,
// their meanings, their defaults and where they go. Validation, `check`, `list keys` and the
// reference pages come from it. The rows are in scenario_keys.cpp, service_keys.cpp and
// client_keys.cpp. Everything special about a key is a field of its row: what reads and validates
// scenarios knows keys only from here, except for checks of one key against another. Whatever names
// a key in a sentence, sets it or shows it elsewhere names it by its path.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/text/environment.hpp"
#include "scenario/text/values.hpp"

#include <cassert>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace retrysim::scenario {

/// The condition of a row: "KEY = a|b", "KEY != a" or "KEY unset".
struct Condition {
  std::string_view key, relation, words;

  explicit Condition(std::string_view text);

  /// Whether the condition holds if the key has this value.
  bool holds_for(std::string_view value) const;
  /// The words as text: "a, b or c".
  std::string words_as_text() const;
};

// --- Slots ---------------------------------------------------------------------------------------

// Where the keys of a table put their values: the struct that the table describes, and values
// needed only until the whole table has been read.

/// How requests arrive, as written; `resolve_arrivals` turns it into an ArrivalSpec.
struct ArrivalInputs {
  std::optional<Value> rate, total_rate, file, profile, bucket;
  Value speed_up, scale;
  bool step = false;           ///< interpolate = "step"
  bool has_on = false;         ///< bursts are given, and could be read
  bool rate_is_wrong = false;  ///< a rate or profile is given, but could not be read
};

/// The choice of a retry preset, as a client group writes it.
struct PresetChoice {
  std::string mode, revision, sdk, api = "default", defect = "none";
  bool from_environment = false;
};

/// The name of the service that a fault, an operation or a call refers to.
struct ServiceName {
  std::string name;
};

/// The end of a phase; empty if it is not written.
struct PhaseEnd {
  std::optional<Time> time;
};

/// Lists of errors as they are written; `resolve` reads them into ErrorRules, or an operation.
struct ErrorTexts {
  std::vector<std::string> on, not_on, bases;
};

/// The names of the services that a client group calls.
struct ServiceNames {
  std::vector<std::string> names;
};

/// The structs that the keys of one table fill in, at most one of each type. The structs must
/// outlive it.
template <bool kFilled>
class SlotsOf {
  template <class Part>
  using To = std::conditional_t<kFilled, const Part, Part>*;

 public:
  template <class... Part>
  explicit SlotsOf(Part*... parts) {
    ((std::get<Part*>(parts_) = parts), ...);
  }

  /// The struct of type `Part`; null if the table has none.
  template <class Part>
  To<Part> find() const {
    return std::get<To<Part>>(parts_);
  }
  /// The struct of type `Part`, which the table must have.
  template <class Part>
  auto& to() const {
    assert(find<Part>() != nullptr);
    return *find<Part>();
  }

 private:
  std::tuple<To<Scenario>, To<ServiceSpec>, To<std::vector<RandomError>>, To<ErrorPoint>,
             To<FaultSpec>, To<FaultChance>, To<ServiceName>, To<ServiceNames>, To<ClientSpec>,
             To<ArrivalInputs>, To<PresetChoice>, To<RetryRules>, To<SurgeSpec>, To<OperationSpec>,
             To<CallSpec>, To<ThrottleLimit>, To<PartitionSpec>, To<PhaseSpec>, To<PhaseEnd>,
             To<Expectation>, To<SloSpec>, To<UncertainKey>, To<ErrorTexts>>
      parts_{};
};
/// The slots of a table that is being read.
using Slots = SlotsOf<false>;
/// The slots of a table of a finished scenario.
using FilledSlots = SlotsOf<true>;

// --- The table -----------------------------------------------------------------------------------

/// What happens to a key when a scenario is read.
enum class KeyRole : std::uint8_t {
  kPlain,
  /// The key names another table of its kind, from which this table starts. It is replaced by that
  /// table before any other key is read.
  kBase,
  /// The key ends in ".*", which stands for the name of any error answer, such as 429. Values are
  /// stored one by one, each with the name in `Value::text`.
  kErrorAnswer,
  /// The key ends in ".*", which stands for any name. Values are stored as those of error answers.
  kNamed,
  /// The key takes part in the choice of the retry preset: while it is wrong, there is none.
  kPresetChoice,
  /// The key is a rule of the preset, which is chosen before the first such key is read.
  kPresetRule,
  /// A resolved scenario leaves the key out and writes its effect on other keys.
  kReplaced,
};

/// The setting of the environment that a key takes when it is not written.
struct EnvironmentSource {
  /// Finds the setting; one with an empty origin is a default. Null: the key is not read from the
  /// environment.
  std::optional<EnvironmentSetting> (*find)(const EnvironmentQuery& query) = nullptr;
  std::string_view words = {};  ///< the only words that SDKs know, "a|b"; empty: any
};

/// Further properties of a row. Conditions read "arrivals.process = poisson|constant",
/// "throttle.rate != unlimited" or "retry.delays unset", about another key of the scope; empty:
/// always.
struct KeyTraits {
  /// The default as text, without quotes. A key without a default is required, optional, or given
  /// by the preset.
  std::optional<std::string_view> fallback = {};
  /// Where `fallback` holds; elsewhere the key has no default.
  std::string_view fallback_when = {};
  bool required = false;
  std::string_view when = {};  ///< where the key applies
  /// Where a key that does not apply is only noted, not refused; empty: nowhere.
  std::string_view idle_when = {};
  /// Whether a table with another value of this key is a new thing, which inherits nothing through
  /// `like`.
  bool decides = false;
  KeyRole role = KeyRole::kPlain;
  EnvironmentSource environment = {};
  /// What a scenario has that uses the key: "hedging", "a queue other than fifo"; or for each of
  /// its words, "a herd|a closed loop". Empty: the key's name says it.
  std::string_view thing = {};
};

/// How the value of a key gets into the struct that its table describes.
struct Access {
  void (*store)(const Slots& slots, const Value& value) = nullptr;
  /// Returns the value that retry rules hold, as TOML; null for keys that are not rules.
  /// `else_word` comes from the row.
  std::string (*from_rules)(const RetryRules& rules, std::string_view else_word) = nullptr;
  std::string_view words = {};  ///< words of the stored enumeration
  /// Whether a finished scenario uses the key: the value differs from that of a struct that nobody
  /// has filled in, and the part of the scenario that it belongs to is switched on. Null for keys
  /// that leave no value of their own in a scenario, such as names and keys that become part of
  /// another value.
  bool (*in_use)(const FilledSlots& slots) = nullptr;
  /// Returns the index of the word that is set; null if no enumeration is stored.
  std::size_t (*word)(const FilledSlots& slots) = nullptr;

  /// This access, in use where `other` is in use, or where `test` returns true.
  constexpr Access used_as(const Access& other) const {
    Access access = used_if(other.in_use);
    access.word = other.word;
    return access;
  }
  constexpr Access used_if(bool (*test)(const FilledSlots& slots)) const {
    Access access = *this;
    access.in_use = test;
    return access;
  }
};

/// One key. Texts are views of literals.
struct KeyInfo : KeyTraits {
  std::string_view name;  ///< the key's name within its scope: "queue.capacity"
  ValueRules rules;
  Access access;
  std::string_view meaning;  ///< the meaning in one sentence

  /// The default as TOML; empty if the key has none of its own.
  std::optional<std::string> default_toml() const;
};

/// The keys below one path pattern, in which `*` is any name.
struct KeyScope {
  std::string_view pattern;  ///< path of the tables, such as "client.*"; empty: the top level
  std::string_view noun;     ///< word for such a table in messages: "client"
  std::span<const KeyInfo> keys;
};

std::span<const KeyScope> key_scopes();
const KeyScope& key_scope(std::string_view pattern);

/// The full pattern of a key: "client.*.retry.mode".
std::string key_pattern(const KeyScope& scope, const KeyInfo& key);

/// All names in the table of keys, as a tree.
struct NameTree {
  std::string_view name;  ///< the name; "*" stands for any
  const KeyInfo* key = nullptr;
  std::vector<NameTree> children;

  const NameTree* find(std::string_view child) const;  ///< the child of that name, or else "*"
  /// Whether this is the name that a user gives to a service, client, fault, surge or expectation.
  bool is_entity() const { return name == "*" && key == nullptr; }
  /// Whether the names below this one are paths of keys, in quotes.
  bool holds_paths() const { return name == "uncertain"; }
};
const NameTree& name_tree();

/// Whether a key, or the table that a path names, says anything that a run depends on. Names,
/// descriptions, expectations, phases and SLOs only say what is shown and judged.
bool changes_a_run(std::string_view path);

/// As `changes_a_run`, but false for seed, replications and precision, which say only how often and
/// how exactly the system is simulated.
bool describes_system(std::string_view path);

/// The key that a dotted path names; null if it names a table or a part of a value, or is unknown.
const KeyInfo* find_key(std::string_view path);

/// Parses an error answer as named in `errors`: "429", "503:SlowDown", "400:Busy+retryable"; empty
/// if it is none.
std::optional<ErrorAnswer> parse_error_answer(std::string_view name);

/// Whether a part of a path may name a service, client, fault, surge or expectation. A leading dash
/// is refused: such a name would be a formula in spreadsheets that open the result files.
inline bool is_entity_name(std::string_view name) {
  return is_bare_name(name) && !name.starts_with('-');
}

}  // namespace retrysim::scenario
