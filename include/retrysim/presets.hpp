// Presets: the retry rules of every combination of mode, revision, SDK and API, with their sources;
// and known defects of SDKs, which can be switched on.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace retrysim {

/// One row of the table of presets.
struct Preset {
  std::string_view mode;      ///< "none", "legacy", "standard", "adaptive", "custom"
  std::string_view revision;  ///< "2.0", "2.1", "smithy", "smithy-2.1"; empty: the mode has none
  std::string_view sdk;       ///< "botocore", "java-v1"; empty: the mode does not depend on it
  std::string_view api;       ///< "default", or a service with numbers of its own
  RetryRules rules;
  std::string_view source;  ///< where the constants come from
};

/// A release of an SDK that changed its rules, or the oldest whose rules are known.
struct TurningPoint {
  std::string_view sdk;      ///< as its users call it: "botocore", "aws-cli", "smithy-core"
  std::string_view version;  ///< "1.34.107"
  std::string_view change;   ///< in a few words
  std::string_view source;
  // The state from this release on; empty: unchanged.
  std::string_view mode;       ///< mode by default
  std::string_view revision;   ///< revision of the standard rules by default
  std::string_view revisions;  ///< the available ones: "2.0|2.1"
  /// Changes the rules of the preset, or of the next turning point, back to those before this
  /// release. Null: no difference.
  void (*before)(const Preset& preset, RetryRules& rules) = nullptr;
};

/// Every preset that exists. A default row comes before the rows of single APIs.
std::span<const Preset> presets();

/// The turning points of all SDKs, or of one; the oldest release first.
std::span<const TurningPoint> turning_points();
std::span<const TurningPoint> turning_points(std::string_view sdk);

// An SDK may be named with its version: "botocore@1.44.0".

bool has_version(std::string_view sdk);
/// "1.44.0"; empty if there is none.
std::string_view sdk_version(std::string_view sdk);
/// Why the version cannot be used, with the known versions; empty if it can, or there is none. A
/// release newer than all known ones has the newest rules.
std::string version_problem(std::string_view sdk);
/// The default mode and revision of that release; empty without a version.
std::string_view release_mode(std::string_view sdk);
std::string_view release_revision(std::string_view sdk);
/// Whether a revision can be chosen with that release; always true without a version.
bool release_offers(std::string_view sdk, std::string_view revision);
/// The rules of a preset as that release has them.
RetryRules rules_of_release(const Preset& preset, std::string_view sdk);

/// The preset for a combination; an API without numbers of its own uses those of "default" (then
/// the caller sets `rules.api` itself, which picks the additions to the error classes).
/// Empty words mean the defaults: revision "2.0", or that of the SDK's version, SDK "botocore"
/// (mode custom: none), API "default". For the other effects of a version see `rules_of_release`. A
/// mode that has no revisions, or does not depend on the SDK, takes any known one, so that a
/// comparison may vary the mode alone. Null if the combination does not exist.
const Preset* find_preset(std::string_view mode, std::string_view revision, std::string_view sdk,
                          std::string_view api);

/// The name under which an SDK is known here: "botocore" for boto3, cli and aws-cli, "dotnet" for
/// powershell, which are built on them; without its version. Any other name stays as it is.
std::string_view canonical_sdk(std::string_view sdk);

/// The default timeouts of an SDK's client, and its default limit on connections to one host.
struct ClientDefaults {
  std::string_view sdk;
  Duration attempt_timeout;       ///< for the answer, or the next part of it; `max()`: for ever
  Duration connect_timeout;       ///< `max()`: for ever, or as long as the operating system does
  std::uint32_t max_connections;  ///< `RetryRules::kUnlimited`: as many as are needed
  std::string_view source;
  Duration connection_wait = Duration::max();  ///< for one of these; `max()`: for ever
};
/// The defaults of the SDKs whose source could be read.
std::span<const ClientDefaults> client_defaults();
/// Null if there are none for the SDK.
const ClientDefaults* find_client_defaults(std::string_view sdk);

/// Every word that names a service with numbers or error codes of its own, "default" first.
std::span<const std::string_view> known_apis();

/// A defect that an SDK has, or had, as a change to its rules.
struct Defect {
  std::string_view name;     ///< "quota-never-refilled"
  std::string_view meaning;  ///< one sentence
  std::string_view source;   ///< where it was reported
  bool (*applies)(const RetryRules& rules);
  void (*apply)(RetryRules& rules);
};
std::span<const Defect> defects();
/// Null if there is none of that name.
const Defect* find_defect(std::string_view name);

/// The default mode of an SDK, before or after the change of 2026. Empty for names that are not an
/// SDK.
std::optional<std::string_view> default_mode(std::string_view sdk, bool after_2026);

}  // namespace retrysim
