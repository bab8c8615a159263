// What a new release of an SDK changes for those who configure nothing but, perhaps, the retry
// mode: the rules of one client before and after, the same failures played by both, and a fleet of
// such clients on common random numbers.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>
#include <retrysim/time.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

/// An SDK as it runs in somebody's service.
struct SdkRelease {
  std::string sdk;        ///< "botocore@1.44.0"
  std::string mode;       ///< "legacy", "standard" or "adaptive"
  std::string revision;   ///< of the standard rules: "2.0", "2.1"; empty: the mode has none
  bool opted_in = false;  ///< the rules of 2026 are not its default, but asked for
  RetryRules rules;       ///< for services without numbers of their own
  std::string source;     ///< where the rules come from

  /// "botocore 1.44.0"; "botocore 1.43.3 with AWS_NEW_RETRIES_2026".
  std::string name() const;
  /// Edits that give the client group or call at `path` ("client.web") these rules.
  std::vector<std::string> edits(std::string_view path) const;
};

struct SdkUpgrade {
  SdkRelease from, to;

  /// The name that both have: "botocore".
  std::string_view sdk() const;
};

/// The upgrade that a text names:
///   botocore@1.43.0..1.44.0   two releases; the same one twice: opting in to the rules of 2026
///   botocore@1.43.0           from this release to the newest one known
///   botocore                  from the last release before its defaults changed to the newest one;
///                             where they have not changed, opting in with the newest one
/// `mode`: set by the user, and therefore the same in both; empty: the default of each release.
/// Throws RequestError: an SDK without known releases, an unknown version, a release that does not
/// have the mode, releases in the wrong order.
SdkUpgrade parse_sdk_upgrade(std::string_view text, std::string_view mode = {});

/// The SDKs whose default mode, or default rules, have changed to those of 2026 in a release that
/// is known, by the names that their users know.
std::vector<std::string> upgraded_sdks();

/// What users of the older release can set, or pin, to have the new rules now or the old ones
/// later: a sentence each.
std::vector<std::string> upgrade_choices(const SdkUpgrade& upgrade);

/// How a client with a full quota takes failures.
struct PlayedFailures {
  /// The delays before the retries of a call, all of whose attempts fail; each the longest one that
  /// may be drawn.
  std::vector<Duration> delays;
  /// The retries of `kPlayedCalls` calls, one after another, all of whose attempts fail.
  std::uint64_t retries = 0;

  std::size_t attempts() const { return delays.size() + 1; }
};
inline constexpr int kPlayedCalls = 1000;
PlayedFailures play_failures(const RetryRules& rules, const Response& response);

// --- The fleet -----------------------------------------------------------------------------------

/// Where a fleet's scenario comes from: a file, or a text that is complete in itself.
struct FleetScenario {
  std::filesystem::path file;  ///< with a text, the name that messages use
  std::optional<std::string> text = {};
  std::vector<std::string> edits = {};  ///< as `load_scenario_file` takes them
};

/// A fleet before and after an upgrade, ready to be simulated.
struct UpgradeStudy {
  SdkUpgrade upgrade;  ///< its rules are those of the first of `paths`, with the scenario's keys
  NamedScenario from, to;          ///< the same scenario but for the clients' rules
  std::vector<std::string> paths;  ///< of the client groups and calls that are upgraded
  /// What the scenario says of their mode and release, and is not what is compared: a sentence for
  /// those with the same.
  std::vector<std::string> replaced;
  /// Paths with other keys of their own on retries than the first one.
  std::vector<std::string> with_other_rules;

  /// The only fault of the scenario, whose length the search for the tipping point looks for;
  /// empty: there is none, or there are several.
  std::optional<std::string> fault;
  TippingSearch search;  ///< for the fault's length in seconds, if there is such a fault
  TipPlan tip;  ///< searches for both, the older release first; no cases without such a fault
};

/// Loads both. Those client groups and calls between services are upgraded whose retry rules are
/// those of the SDK, whatever its version, in one of its modes; the mode and the release are those
/// of `upgrade`, other keys stay as the scenario has them. Throws InputError: the scenario does not
/// load, or nobody in it uses the SDK.
UpgradeStudy load_upgrade(const SdkUpgrade& upgrade, const FleetScenario& scenario);

struct UpgradeResult {
  Comparison comparison;       ///< two variants; the older release is the baseline
  std::vector<TipPoint> tips;  ///< of both, or empty
};

/// Compares both, and searches for the shortest fault from which half of the runs do not recover.
/// `searching` is called before each length is simulated, in the calling thread; may be empty.
/// Limits and `timeout` of `run` are those of the comparison, and again of each search.
UpgradeResult study_upgrade(
    const UpgradeStudy& study, const ReplicationOptions& run,
    const std::function<void(const std::string& name, double seconds)>& searching = {});

}  // namespace retrysim
