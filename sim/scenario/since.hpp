// What has changed in the meaning of scenario files since an earlier release: one table, and which
// of its rows concern a scenario. A change of a default, a preset, a rule or a name of a key joins
// the table when it is made; tests compare the defaults and presets of each earlier release with
// those of today, and fail where a difference has no row.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// The releases since which the table has all changes, the oldest first: "0.2.0".
std::span<const std::string_view> known_releases();

/// The release that `text` means: "0.2" and "0.2.0" are the same one. Throws a RequestError about
/// its part "since" if there is no such release, it is newer than this program, or older than all
/// known ones.
std::string_view known_release(std::string_view text);

enum class ReleaseChangeKind : std::uint8_t {
  kName,     ///< a key or a word has another name; the old one is still read
  kDefault,  ///< another value where the file gives none
  kPreset,   ///< other constants or error classes of an SDK
  kRule,     ///< the same keys do something else
  kFigure,   ///< the same events, of which figures are computed in another way
};

class KeyInScenario;

/// A row of the table.
struct ReleaseChange {
  std::string_view id;       ///< "recovery-hold"
  std::string_view release;  ///< the last one before the change
  ReleaseChangeKind kind;
  /// The key that the change is about, with * for names; a key of client groups is also one of the
  /// calls of services. A name of before for kName.
  std::string_view key;
  /// Whether the change concerns the scenario at this key, which has a value, given or not.
  bool (*concerns)(const KeyInScenario& key);
  std::string_view says;  ///< whole sentences
  /// The value before, as TOML, where the file gives none and it can be named: "30s" in quotes.
  std::string_view was = {};
  /// Lines "KEY = VALUE" that give what was before, to be written in the table of the key; if there
  /// is none, `cannot` says why. Both are empty of a change that needs nothing.
  std::string_view keeps = {}, cannot = {};
};

/// All rows.
std::span<const ReleaseChange> release_changes();

/// A row that concerns a scenario, at one key.
struct ChangeSince {
  const ReleaseChange* row = nullptr;
  std::string key;    ///< "client.web.retry.sdk"
  std::string place;  ///< "dip.toml:12", "--set"; empty: the file does not give the key
  std::string value;  ///< today's, as TOML; empty for kName
  std::string table;  ///< where the lines of `keeps` belong: "client.web"; empty: at the top
};

/// The changes since `release` (of `known_releases`) that concern the scenario: by kind, then in
/// the order of the table, then of the scenario's keys.
std::vector<ChangeSince> changes_since(const LoadedScenario& loaded, std::string_view release);

/// What holds of every scenario since `release`, in whole sentences.
std::string_view changes_of_all(std::string_view release);

}  // namespace retrysim::scenario
