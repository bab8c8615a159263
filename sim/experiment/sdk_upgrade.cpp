// An SDK's upgrade: the releases of its two sides, one client of each, and the fleet.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/random.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/sdk_upgrade.hpp>

#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace retrysim {

// --- The releases --------------------------------------------------------------------------------

namespace {

constexpr std::string_view kOld = "2.0", kNew = "2.1";
constexpr std::string_view kOptIn = "AWS_NEW_RETRIES_2026";
constexpr std::string_view kModesOfSdks[] = {"legacy", "standard", "adaptive"};

std::string named(std::string_view sdk, std::string_view version) {
  return fmt::format("{}@{}", sdk, version);
}

/// An SDK and its version in words: "botocore 1.44.0" for "botocore@1.44.0".
std::string spoken(std::string_view sdk) {
  std::string text(sdk);
  std::ranges::replace(text, '@', ' ');
  return text;
}

bool has_revisions(std::string_view mode) { return mode == "standard" || mode == "adaptive"; }

/// Whether a release offers the rules of 2026, but not by default.
bool can_opt_in(std::string_view sdk) {
  return release_revision(sdk) == kOld && release_offers(sdk, kNew);
}

/// The release with its defaults, or opted in to the rules of 2026.
SdkRelease release(const std::string& sdk, std::string_view mode, bool opted_in) {
  if (const std::string problem = version_problem(sdk); !problem.empty()) {
    throw RequestError(problem);
  }
  SdkRelease result;
  result.sdk = sdk;
  result.opted_in = opted_in;
  result.mode = mode;
  if (mode.empty()) {
    result.mode =
        opted_in ? default_mode(sdk, true).value_or(release_mode(sdk)) : release_mode(sdk);
  }
  if (has_revisions(result.mode)) result.revision = opted_in ? kNew : release_revision(sdk);
  const Preset* preset = find_preset(result.mode, result.revision, sdk, "default");
  const bool has_rules = !has_revisions(result.mode) || release_offers(sdk, result.revision);
  if (preset == nullptr || !has_rules) {
    throw RequestError(fmt::format("{} has no {} mode", spoken(sdk), result.mode));
  }
  result.rules = rules_of_release(*preset, sdk);
  result.source = preset->source;
  return result;
}

/// The default mode and revision of a release.
std::pair<std::string_view, std::string_view> defaults_of(std::string_view sdk) {
  return {release_mode(sdk), release_revision(sdk)};
}

/// The last release before the newest change of the defaults; null if they have never changed.
const TurningPoint* before_defaults_changed(std::span<const TurningPoint> points) {
  for (std::size_t i = points.size(); i-- > 1;) {
    const auto now = defaults_of(named(points[i].sdk, points[i].version));
    const auto earlier = defaults_of(named(points[i].sdk, points[i - 1].version));
    if (now != earlier) return &points[i - 1];
  }
  return nullptr;
}

/// The names of all SDKs that have turning points, each once.
std::vector<std::string> sdks_with_releases() {
  std::vector<std::string> names;
  for (const TurningPoint& p : turning_points()) {
    if (names.empty() || names.back() != p.sdk) names.emplace_back(p.sdk);
  }
  return names;
}

/// Whether `sdk` is of AWS, all of whose SDKs have modes.
bool is_of_aws(std::string_view sdk) {
  const auto points = turning_points(sdk);
  if (points.empty()) return false;
  return std::ranges::find(kModesOfSdks, release_mode(named(sdk, points.back().version))) !=
         std::end(kModesOfSdks);
}

[[noreturn]] void throw_unknown(std::string_view sdk) {
  std::string known;
  for (const std::string& name : sdks_with_releases()) {
    if (is_of_aws(name)) known += (known.empty() ? "" : ", ") + name;
  }
  throw RequestError(fmt::format("no releases of '{}' are known; expected one of {}", sdk, known));
}

}  // namespace

std::string SdkRelease::name() const {
  return opted_in ? fmt::format("{} with {}", spoken(sdk), kOptIn) : spoken(sdk);
}

std::vector<std::string> SdkRelease::edits(std::string_view path) const {
  std::vector<std::string> result = {fmt::format("{}.retry.mode=\"{}\"", path, mode),
                                     fmt::format("{}.retry.sdk=\"{}\"", path, sdk)};
  if (!revision.empty()) {
    result.push_back(fmt::format("{}.retry.revision=\"{}\"", path, revision));
  }
  return result;
}

std::string_view SdkUpgrade::sdk() const {
  return std::string_view(to.sdk).substr(0, to.sdk.find('@'));
}

SdkUpgrade parse_sdk_upgrade(std::string_view text, std::string_view mode) {
  if (!mode.empty() && std::ranges::find(kModesOfSdks, mode) == std::end(kModesOfSdks)) {
    throw RequestError(
        fmt::format("'{}' is no retry mode; expected legacy, standard or adaptive", mode));
  }
  const std::string_view sdk = text.substr(0, text.find('@'));
  const std::span<const TurningPoint> points = turning_points(sdk);
  if (points.empty() || !is_of_aws(sdk)) throw_unknown(sdk);
  const std::string_view versions = sdk_version(text);
  const std::size_t dots = versions.find("..");
  const std::string newest = named(sdk, points.back().version);
  const std::string to = dots == versions.npos ? newest : named(sdk, versions.substr(dots + 2));
  std::string from = named(sdk, versions.substr(0, dots));
  if (!has_version(text)) {
    const TurningPoint* before = before_defaults_changed(points);
    from = before == nullptr ? newest : named(sdk, before->version);
  }
  SdkUpgrade result{release(from, mode, false), release(to, mode, false)};
  if (version_is_before(to, from)) {
    throw RequestError(
        fmt::format("{} is older than {}; expected {}@FROM..TO", spoken(to), spoken(from), sdk));
  }
  if (!version_is_before(from, to)) {
    if (!can_opt_in(to)) {
      throw RequestError(fmt::format(
          "{} is the newest release known, so that there is nothing to upgrade to; name an older "
          "one: {}@FROM",
          spoken(to), sdk));
    }
    result.to = release(to, mode, true);
  }
  return result;
}

std::vector<std::string> upgraded_sdks() {
  std::vector<std::string> result;
  for (const std::string& sdk : sdks_with_releases()) {
    // Smithy's cores, for which clients of other services are generated, have no announcement.
    if (!is_of_aws(sdk) || sdk.starts_with("smithy-")) continue;
    const std::span<const TurningPoint> points = turning_points(sdk);
    if (release_revision(named(sdk, points.back().version)) != kNew) continue;
    if (before_defaults_changed(points) != nullptr) result.push_back(sdk);
  }
  return result;
}

std::vector<std::string> upgrade_choices(const SdkUpgrade& upgrade) {
  std::vector<std::string> result;
  const SdkRelease &from = upgrade.from, &to = upgrade.to;
  const std::string_view sdk = upgrade.sdk();
  const TurningPoint *first_both = nullptr, *first_default = nullptr, *first_only = nullptr;
  for (const TurningPoint& p : turning_points(sdk)) {
    const std::string name = named(sdk, p.version);
    const bool has_new = release_offers(name, kNew) && !p.revisions.empty();
    if (first_both == nullptr && has_new) first_both = &p;
    if (first_default == nullptr && release_revision(name) == kNew) first_default = &p;
    if (first_only == nullptr && has_new && !release_offers(name, kOld)) first_only = &p;
  }
  if (to.revision == kNew && from.revision != kNew && first_both != nullptr &&
      can_opt_in(named(sdk, first_both->version))) {
    const std::string until =
        first_default == nullptr ? "" : fmt::format(" and before {}", first_default->version);
    result.push_back(
        fmt::format("To have the new rules now, set {}=true; {} {} and later{} read it.", kOptIn,
                    sdk, first_both->version, until));
  }
  if (to.mode != from.mode && find_preset(from.mode, from.revision, to.sdk, "default") != nullptr) {
    result.push_back(
        fmt::format("To keep {} mode, set AWS_RETRY_MODE={}, or retry_mode = {} in the profile.",
                    from.mode, from.mode, from.mode));
  }
  if (to.opted_in) {
    result.push_back(fmt::format("To keep the old rules, leave {} unset.", kOptIn));
  } else if (has_revisions(from.mode) && from.revision == kOld && to.revision == kNew) {
    // Between the two, a release has the old rules only for those who ask for them.
    const bool only_at_once =
        first_only != nullptr && (first_default == nullptr || first_default == first_only);
    if (only_at_once) {
      result.push_back(
          fmt::format("To keep the old rules of {} mode, stay below {} {}, which has no others.",
                      from.mode, sdk, first_only->version));
    } else {
      result.push_back(fmt::format(
          "To keep the old rules, stay below {} {}{}.", sdk,
          first_default == nullptr ? sdk_version(to.sdk) : first_default->version,
          first_only == nullptr ? ""
                                : fmt::format(", with which the new ones are the default; {} and "
                                              "later have no others",
                                              first_only->version)));
    }
  }
  return result;
}

PlayedFailures play_failures(const RetryRules& rules, const Response& response) {
  PlayedFailures played;
  RetryStrategy strategy(rules, RandomKey(0, 0));
  strategy.fix_draws(1);
  Time now = Time::zero();
  for (int call = 0; call < kPlayedCalls; ++call) {
    RetryToken token = strategy.acquire_initial_token(now);
    while (token.may_send()) {
      // The client waits for send tokens: a limiter slows it down, which is no backoff delay.
      const Duration wait = strategy.acquire_send_token(token, now);
      if (!token.may_send()) break;
      if (wait == Duration::max()) {
        strategy.abandon(std::move(token));
        return played;
      }
      if (wait > Duration::zero()) {
        now = now + wait;
        continue;
      }
      token = strategy.refresh_retry_token(std::move(token), strategy.failure_of(response), now);
      if (!token.may_send()) break;
      if (call == 0) played.delays.push_back(token.delay());
      ++played.retries;
      now = now + token.delay();
    }
  }
  return played;
}

// --- The fleet -----------------------------------------------------------------------------------

namespace {

LoadResult load_fleet(const FleetScenario& fleet, std::vector<std::string> edits,
                      const std::vector<std::string>& variant) {
  edits.insert(edits.begin(), fleet.edits.begin(), fleet.edits.end());
  if (!fleet.text) return load_scenario_file(fleet.file, edits, variant);
  return load_scenario_text(*fleet.text, fleet.file.string(), ".", edits, variant);
}

/// The value of a key that holds a word; empty if the key is missing.
std::string word_at(const LoadedScenario& loaded, const std::string& path) {
  const auto key = std::ranges::find(loaded.keys, path, &ResolvedKey::path);
  if (key == loaded.keys.end() || key->toml.size() < 2) return "";
  return key->toml.substr(1, key->toml.size() - 2);
}

/// The client groups and calls that run the SDK. Throws InputError if there are none.
std::vector<std::string> users_of(std::string_view sdk, const LoadedScenario& loaded) {
  constexpr std::string_view kEnd = ".retry.sdk";
  std::vector<std::string> users, others;
  for (const ResolvedKey& key : loaded.keys) {
    if (!key.path.ends_with(kEnd)) continue;
    const std::string path = key.path.substr(0, key.path.size() - kEnd.size());
    const std::string used = word_at(loaded, key.path);
    const std::string mode = word_at(loaded, path + ".retry.mode");
    const bool has_mode = mode == "legacy" || mode == "standard" || mode == "adaptive";
    if (has_mode && canonical_sdk(used) == canonical_sdk(sdk)) {
      users.push_back(path);
    } else {
      others.push_back(fmt::format("{} ({})", path, has_mode ? used : "mode " + mode));
    }
  }
  if (!users.empty()) return users;
  throw RequestError(fmt::format("nobody in {} uses {}: {}", loaded.scenario.name, sdk,
                                 others.empty() ? "there are no clients that retry"
                                                : fmt::format("{}", fmt::join(others, ", "))));
}

bool is_stated(const ResolvedKey& key) {
  return key.origin != Origin::kDefault && key.origin != Origin::kPreset;
}

/// The word that the user gives a key; empty if the key has its default.
std::string stated_word(const LoadedScenario& loaded, const std::string& path) {
  const auto key = std::ranges::find(loaded.keys, path, &ResolvedKey::path);
  return key != loaded.keys.end() && is_stated(*key) ? word_at(loaded, path) : std::string();
}

/// A mode and revision of a release in words: "standard mode, revision 2.1, of botocore 1.44.0".
std::string mode_in_words(std::string_view mode, std::string_view revision, std::string_view sdk) {
  return fmt::format("{} mode{} of {}", mode,
                     revision.empty() ? "" : fmt::format(", revision {},", revision), spoken(sdk));
}

/// See UpgradeStudy::replaced. `base`: as the user has it.
std::vector<std::string> replaced_in(const LoadedScenario& base, const SdkUpgrade& upgrade,
                                     const std::vector<std::string>& paths) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;  // sentence, its paths
  for (const std::string& path : paths) {
    const std::string mode = stated_word(base, path + ".retry.mode");
    const std::string sdk = stated_word(base, path + ".retry.sdk");
    const std::string revision = stated_word(base, path + ".retry.revision");
    const bool other_mode = !mode.empty() && mode != upgrade.from.mode;
    const bool other_revision = !revision.empty() && revision != upgrade.from.revision;
    const bool other_release = has_version(sdk) && sdk != upgrade.from.sdk;
    if (!other_mode && !other_revision && !other_release) continue;
    std::string text =
        fmt::format("the scenario says {}; compared are {} and {}.",
                    mode_in_words(mode.empty() ? word_at(base, path + ".retry.mode") : mode,
                                  revision, sdk.empty() ? word_at(base, path + ".retry.sdk") : sdk),
                    mode_in_words(upgrade.from.mode, upgrade.from.revision, upgrade.from.name()),
                    mode_in_words(upgrade.to.mode, upgrade.to.revision, upgrade.to.name()));
    if (other_mode) text += fmt::format(" To keep that, ask for {} mode.", mode);
    const auto same = std::ranges::find(found, text, [](const auto& f) { return f.first; });
    if (same == found.end()) {
      found.push_back({text, {path}});
    } else {
      same->second.push_back(path);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [text, its_paths] : found) {
    sentences.push_back(fmt::format("{}: {}", fmt::join(its_paths, ", "), text));
  }
  return sentences;
}

/// The keys on retries that the user gives a client group or call, but for those that say which
/// rules it has.
std::string own_retry_keys(const LoadedScenario& loaded, const std::string& path) {
  const std::string prefix = path + ".retry.";
  std::string text;
  for (const ResolvedKey& key : loaded.keys) {
    if (!key.path.starts_with(prefix) || !is_stated(key)) continue;
    const std::string name = key.path.substr(prefix.size());
    if (name != "mode" && name != "sdk" && name != "revision") text += name + "=" + key.toml + "\n";
  }
  return text;
}

/// The rules of a client group or call.
const RetryRules& rules_at(const LoadedScenario& loaded, const std::string& path) {
  const std::vector<ClientSpec>& clients = loaded.scenario.clients;
  return std::ranges::find(clients, path, [](const ClientSpec& c) { return scenario::path_of(c); })
      ->retry;
}

std::vector<std::string> edits_of(const SdkRelease& release,
                                  const std::vector<std::string>& paths) {
  std::vector<std::string> edits;
  for (const std::string& path : paths) {
    for (std::string& edit : release.edits(path)) edits.push_back(std::move(edit));
  }
  return edits;
}

/// The scenario with a fault of another length, and as much time after the fault as before. Eight
/// runs bracket the median; more would only narrow its interval.
ScenarioAt with_fault_of(const FleetScenario& fleet, const std::vector<std::string>& variant,
                         const Scenario& base) {
  constexpr int kRuns = 8;
  const FaultSpec& fault = base.faults.front();
  const Duration rest = base.duration - fault.duration;
  return [=, name = fault.name, runs = std::min(base.replications, kRuns)](double seconds) {
    const Duration length = Duration::from_seconds(seconds);
    const auto edit = [](const std::string& path, Duration time) {
      return fmt::format("{}=\"{}ns\"", path, time.count());
    };
    std::vector<std::string> edits = {edit("fault." + name + ".duration", length),
                                      edit("duration", rest + length),
                                      fmt::format("replications={}", runs)};
    return load_fleet(fleet, std::move(edits), variant).value().scenario;
  };
}

}  // namespace

UpgradeStudy load_upgrade(const SdkUpgrade& upgrade, const FleetScenario& scenario) {
  UpgradeStudy study;
  study.upgrade = upgrade;
  LoadedScenario base = load_fleet(scenario, {}, {}).value();
  study.paths = users_of(upgrade.sdk(), base);
  const std::vector<std::string> before = edits_of(upgrade.from, study.paths);
  const std::vector<std::string> after = edits_of(upgrade.to, study.paths);
  study.from = {upgrade.from.name(), load_fleet(scenario, {}, before).value()};
  study.to = {upgrade.to.name(), load_fleet(scenario, {}, after).value()};
  // A described fleet has the client that the options name: it states nothing of its own.
  if (!scenario.text) study.replaced = replaced_in(base, upgrade, study.paths);
  const std::string& first = study.paths.front();
  study.upgrade.from.rules = rules_at(study.from.loaded, first);
  study.upgrade.to.rules = rules_at(study.to.loaded, first);
  for (const std::string& path : study.paths) {
    if (own_retry_keys(study.from.loaded, path) != own_retry_keys(study.from.loaded, first)) {
      study.with_other_rules.push_back(path);
    }
  }

  const Scenario& s = base.scenario;
  if (s.faults.size() != 1 || s.warmup_is_auto) return study;
  const FaultSpec& fault = s.faults.front();
  study.fault = fault.name;
  constexpr double kShortest = 1.0 / 32, kLongest = 4, kPrecise = 0.2;
  const double usual = fault.duration.in_seconds();
  study.search = {usual * kShortest, usual * kLongest, kPrecise, false};
  study.tip = plan_tip({{study.from.name, {}, with_fault_of(scenario, before, s)},
                        {study.to.name, {}, with_fault_of(scenario, after, s)}},
                       study.search);
  return study;
}

UpgradeResult study_upgrade(
    const UpgradeStudy& study, const ReplicationOptions& run,
    const std::function<void(const std::string& name, double seconds)>& searching) {
  UpgradeResult result;
  result.comparison = compare({study.from, study.to}, {{}, false, run});
  if (!study.fault) return result;
  TipSearchOptions options;
  options.run = run;
  options.probing = [&](const std::string& name, int, double seconds) {
    if (searching) searching(name, seconds);
  };
  result.tips = find_tipping_points(study.tip, options);
  return result;
}

}  // namespace retrysim
