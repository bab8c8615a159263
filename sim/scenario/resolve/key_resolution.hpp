// From the values in one table of a scenario (a service, a client group, ...) to its struct: every
// key of the scope is read, gets its default or its preset's value, or is reported as missing.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/keys/keys.hpp"
#include "scenario/resolve/preset_resolution.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retrysim::scenario {

class KeyResolution {
 public:
  /// `path` is the table's path ("client.web", or empty), `place` where it is written. Resolved
  /// keys are added to `loaded`.
  KeyResolution(const KeyScope& scope, std::string path, const Node& table, Place place,
                Slots slots, CsvFiles& files, LoadedScenario& loaded);

  /// Sets a default that depends on the rest of the scenario, as TOML text.
  void set_default(std::string_view key, std::string toml) { defaults_[key] = std::move(toml); }
  /// Sets the message that replaces the usual one when `key` is missing.
  void set_missing_message(std::string_view key, std::string message) {
    missing_messages_[key] = std::move(message);
  }
  /// Says that the table may exist by mistake: messages about missing keys then begin with `doubt`
  /// ("there is no client ...").
  void set_doubt(std::string doubt) { doubt_ = std::move(doubt); }
  /// Makes missing keys go unreported: an error elsewhere is why they are missing.
  void expect_missing_keys() { report_missing_ = false; }

  void resolve();

  /// Takes back a key that does not apply after all; an error if the user gave it another value
  /// than its default. To be called after `resolve`.
  void withdraw(std::string_view key, const std::string& reason);

  /// The written value of a key; null if there is none.
  const Node* find(std::string_view key) const;
  /// Where a key's value is written; the table's place if it is not written.
  Place place_of(std::string_view key) const;
  /// Whether the key has a value, given or default, that could be read.
  bool has(std::string_view key) const;
  /// Whether the key is given, or required, but has no value that could be read.
  bool is_wrong(std::string_view key) const;
  /// The key's value as text; empty if it has none.
  std::string_view text_of(std::string_view key) const;
  const std::string& path() const { return path_; }
  std::string full_path(std::string_view key) const;
  std::span<const KeyInfo> keys() const { return scope_.keys; }

 private:
  enum class Applies : std::uint8_t { kYes, kNo, kUnknown };

  void resolve_key(const KeyInfo& key);
  void resolve_given(const KeyInfo& key, const Node& node, Applies applies);
  void resolve_absent(const KeyInfo& key);
  void resolve_default(const KeyInfo& key, const std::string& toml);
  void resolve_rule(const KeyInfo& key);
  bool resolve_from_environment(const KeyInfo& key);
  void resolve_setting(const KeyInfo& key, const EnvironmentSetting& setting);
  void resolve_error_answers(const KeyInfo& key);
  void resolve_named(const KeyInfo& key);
  void read_named(const KeyInfo& key, const std::string& path, const Member& member);
  void report_missing(const KeyInfo& key);
  void report_does_not_apply(const KeyInfo& key, const Node& node);
  Applies applies(const KeyInfo& key) const;
  bool is_idle(const KeyInfo& key) const;
  Applies holds(std::string_view condition) const;
  void record(std::string path, std::string toml, Origin origin, std::string detail);
  void record_given(const std::string& path, std::string toml, const Node& node);

  const KeyScope& scope_;
  std::string path_;
  const Node& table_;
  Place place_;
  Slots slots_;
  CsvFiles& files_;
  LoadedScenario& loaded_;
  std::map<std::string_view, std::string> defaults_;
  std::map<std::string_view, std::string> missing_messages_;
  std::string doubt_;
  bool report_missing_ = true;
  std::optional<PresetResolution> preset_;  // for client groups, and services that call others
  // The value of each key as text, by name; `kUnknown` if it could not be read.
  std::unordered_map<std::string_view, std::string> texts_;
};

}  // namespace retrysim::scenario
