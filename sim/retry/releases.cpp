// Facts that depend on an SDK's release: the mode and revision in which it starts, and its rules
// before they changed. The rows of presets.cpp have the newest rules of each mode and revision.
// Known defects, default modes, and what presets have been compared with, are here, too.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include "retry/presets.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>

namespace retrysim {

namespace {

constexpr std::string_view kBlog =
    "AWS developer blog, updated retry behavior (November 2026), as reported";

// --- How the rules were before a release ---------------------------------------------------------

bool is_2_0(const Preset& preset) { return preset.revision == "2.0"; }

void jitter_before_cap(const Preset& preset, RetryRules& rules) {
  if (is_2_0(preset)) rules.backoff.jitter_before_cap = true;
}

void old_js_v3(const Preset& preset, RetryRules& rules) {
  if (!is_2_0(preset)) return;
  rules.backoff.jitter_before_cap = true;
  rules.retry_after = RetryAfter::kIgnore;
  // In these releases a success raised the level to at least the capacity.
  rules.quota.credit = rules.quota.capacity;
  rules.quota.refund = Refund::kCredit;
}

void waiting_kotlin(const Preset&, RetryRules& rules) {
  rules.quota.refill_rate = 10;
  rules.quota.on_empty = QuotaOnEmpty::kWait;
  rules.quota.refund = Refund::kCredit;
}

void kotlin_before_2026(const Preset&, RetryRules& rules) {
  rules.backoff.throttle_base = rules.backoff.base;
  rules.retry_after = RetryAfter::kIgnore;
}

void kotlin_queue(const Preset& preset, RetryRules& rules) {
  // In these releases a waiting retry lost all other tokens; the closest rule is to wait in line.
  if (preset.mode == "adaptive" && is_2_0(preset)) rules.rate_limit.wait = SendTokenWait::kQueue;
}

void reserve_send_tokens(const Preset& preset, RetryRules& rules) {
  if (preset.mode == "adaptive" && is_2_0(preset)) rules.rate_limit.wait = SendTokenWait::kReserve;
}

void bare_429_is_final(const Preset& preset, RetryRules& rules) {
  if (!is_2_0(preset)) rules.errors.status_429 = Status429::kNotRetryable;
}

void suggestions_need_a_code(const Preset&, RetryRules& rules) {
  rules.errors.classifier = Classifier::kRustOf2025;
}

void java_v2_as_legacy(const Preset& preset, RetryRules& rules) {
  if (!is_2_0(preset)) return;
  rules.backoff = preset.api == "dynamodb" ? preset::kJavaDynamodb : preset::kJava;
}

void java_v2_from_a_second(const Preset& preset, RetryRules& rules) {
  if (is_2_0(preset) && preset.api != "dynamodb") rules.backoff.base = Duration::seconds(1);
}

void js_v2_dynamodb_without_jitter(const Preset& preset, RetryRules& rules) {
  if (preset.api == "dynamodb") rules.backoff = preset::kJsV2DynamodbOf2014;
}

void js_v2_without_jitter(const Preset& preset, RetryRules& rules) {
  if (preset.api == "default") rules.backoff = preset::kJsV2Of2014;
}

void unlimited_suggestions(const Preset&, RetryRules& rules) {
  rules.retry_after_max = Duration::max();
}

void full_jitter(const Preset&, RetryRules& rules) {
  const auto ms = [](int n) { return Duration::milliseconds(n); };
  rules.backoff = preset::backoff(ms(100), ms(100), ms(1000), Jitter::kFull);
}

void wide_grpc_jitter(const Preset&, RetryRules& rules) {
  // A factor of 0.4 to 1.2 is 0.8, and half of that to either side.
  rules.backoff.base = rules.backoff.throttle_base = Duration::milliseconds(80);
  rules.backoff.cap = Duration::milliseconds(800);
  rules.backoff.jitter_share = 0.5;
}

// --- The releases --------------------------------------------------------------------------------

constexpr std::string_view k20 = "2.0";
constexpr std::string_view k21 = "2.1";
constexpr std::string_view kBoth = "2.0|2.1";
constexpr std::string_view kLegacyAlone = "none";
constexpr std::string_view kModes = "standard and adaptive mode, revision 2.0";
constexpr std::string_view kOptIn = "revision 2.1 with AWS_NEW_RETRIES_2026";
constexpr std::string_view kDefault21 = "revision 2.1";
constexpr std::string_view kDefault21Standard = "revision 2.1, standard mode by default";
constexpr std::string_view kOldest = "the oldest release included";
constexpr std::string_view kJitter = "jitter after the cap instead of before";

// Turning points, ordered by name, the oldest release first. Empty members of a release are as
// before.
constexpr TurningPoint kTurningPoints[] = {
    {"botocore", "1.15.0", kModes, "botocore CHANGELOG.rst", "legacy", k20, k20},
    {"botocore", "1.34.107", kJitter, "botocore CHANGELOG.rst, pull request 3178", "", "", "",
     jitter_before_cap},
    {"botocore", "1.43.3", kOptIn, "botocore CHANGELOG.rst", "", "", kBoth},
    {"botocore", "1.44.0", kDefault21Standard, kBlog, "standard", k21, k21},
    {"boto3", "1.12.0", kModes, "with botocore 1.15.0", "legacy", k20, k20},
    {"boto3", "1.34.107", kJitter, "with botocore 1.34.107", "", "", "", jitter_before_cap},
    {"boto3", "1.43.3", kOptIn, "with botocore 1.43.3", "", "", kBoth},
    {"boto3", "1.44.0", kDefault21Standard, "with botocore 1.44.0", "standard", k21, k21},
    {"aws-cli", "1.18.0", kModes, "with botocore 1.15.0", "legacy", k20, k20},
    {"aws-cli", "1.32.107", kJitter, "with botocore 1.34.107", "", "", "", jitter_before_cap},
    {"aws-cli", "2.0.0", "standard mode by default", "AWS CLI user guide, retries", "standard", "",
     kBoth},
    {"aws-cli", "2.40.0", kDefault21, kBlog, "", k21, k21},
    {"java-v1", "1.0.0", kOldest, "", "legacy", k20, k20},
    {"java-v2", "2.0.0", kOldest, "", "legacy", k20, kLegacyAlone},
    {"java-v2", "2.10.82", "standard mode, with the backoff of legacy mode",
     "aws-sdk-java-v2 changelogs/2.10.x-CHANGELOG.md", "", "", k20},
    {"java-v2", "2.17.17", "standard mode: full jitter from 1 s",
     "aws-sdk-java-v2 pull request 2648", "", "", "", java_v2_as_legacy},
    {"java-v2", "2.17.58", "standard mode: from 100 ms, after throttling from 1 s",
     "aws-sdk-java-v2 pull request 2763", "", "", "", java_v2_from_a_second},
    {"java-v2", "2.44.0", kOptIn, "aws-sdk-java-v2 pull request 6925", "", "", kBoth},
    {"js-v2", "2.0.0", "30 ms doubled, DynamoDB at once and then 50 ms doubled, without jitter",
     "aws-sdk-js lib/service.js, lib/services/dynamodb.js (2.0.23)", "legacy", k20, k20},
    {"js-v2", "2.2.35", "100 ms with jitter, except at DynamoDB", "aws-sdk-js 8069f9c", "", "", "",
     js_v2_without_jitter},
    {"js-v2", "2.31.0", "jitter at DynamoDB, too", "aws-sdk-js pull request 1418 (73d1c78)", "", "",
     "", js_v2_dynamodb_without_jitter},
    {"js-v3", "3.0.0", "suggested delays are ignored, every success fills the quota",
     "smithy-typescript packages/util-retry before 4.3.0", "standard", k20, k20},
    {"js-v3", "3.723.0", "the core that npm installs with it today has revision 2.1",
     "package.json of @aws-sdk/client-dynamodb, npm (@smithy/core 3.41.0)", "", k21, kBoth,
     old_js_v3},
    {"js-v3", "3.1166.0", "revision 2.1 alone", kBlog, "", "", k21},
    {"smithy-core", "3.24.0",
     "retries are part of it; revision 2.0, or 2.1 with "
     "SMITHY_NEW_RETRIES_2026",
     "smithy-typescript packages/core/CHANGELOG.md", "standard", k20, kBoth},
    {"smithy-core", "3.40.0", kDefault21, "@smithy/core 3.40.0 from npm", "", k21, k21},
    {"cpp", "1.0.0", kOldest, "", "legacy", k20, k20},
    {"cpp", "1.11.920",
     "revision 2.1 with AWS_NEW_RETRIES_2026 (the first release known to have it)",
     "aws-sdk-cpp release notes of 1.11.920", "", "", kBoth},
    {"cpp", "1.11.926", kDefault21Standard, kBlog, "standard", k21, k21},
    {"dotnet", "3.5.0", kModes, "aws-sdk-net, AWSSDK.Core 3.5", "legacy", k20, k20},
    {"dotnet", "4.0.0", "standard mode by default", "aws-sdk-net, AWSSDK.Core 4", "standard", "",
     ""},
    {"dotnet", "4.0.4.0", kOptIn, "aws-sdk-net issue 4411", "", "", kBoth},
    {"dotnet", "4.0.103.0", kDefault21, kBlog, "", k21, k21},
    {"powershell", "4.1.0", kModes, "with AWSSDK.Core 3.5", "legacy", k20, k20},
    {"powershell", "5.0.0", "standard mode by default", "with AWSSDK.Core 4", "standard", "", ""},
    {"powershell", "5.0.202", kOptIn, "aws-tools-for-powershell issue 418", "", "", kBoth},
    {"powershell", "5.0.332", kDefault21, kBlog, "", k21, k21},
    {"ruby", "3.0.0", kOldest, "versions of aws-sdk-core", "legacy", k20, kLegacyAlone},
    {"ruby", "3.91.0", kModes, "aws-sdk-core CHANGELOG.md", "", "", k20},
    {"ruby", "3.248.0", kOptIn, "aws-sdk-ruby pull request 3379", "", "", kBoth},
    {"ruby", "3.267.0", kDefault21Standard, kBlog, "standard", k21, k21},
    {"php", "3.0.0", kOldest, "", "legacy", k20, kLegacyAlone},
    {"php", "3.134.0", kModes, "aws-sdk-php CHANGELOG.md", "", "", k20},
    {"php", "3.380.0", kOptIn, "aws-sdk-php CHANGELOG.md (May 2026)", "", "", kBoth},
    {"php", "3.403.3", kDefault21Standard, kBlog, "standard", k21, k21},
    {"go-v1", "1.0.0", kOldest, "", "legacy", k20, k20},
    {"go-v2", "1.0.0", kOldest, "versions of the module aws-sdk-go-v2", "standard", k20, k20},
    {"go-v2", "1.42.0", kOptIn, "aws-sdk-go-v2 pull request 3400, release of June 2026", "", "",
     kBoth},
    {"go-v2", "1.48.0", "revision 2.1, in which a 429 without a known code is throttling",
     "aws-sdk-go-v2 release notes of 10 November 2026", "", k21, k21, bare_429_is_final},
    {"rust", "1.0.0", kOldest, "versions of aws-config", "standard", k20, k20},
    {"rust", "1.8.17", "missing send tokens are not taken",
     "smithy-rs pull request 4632 (777c24b, April 2026)", "", "", "", reserve_send_tokens},
    {"rust", "1.10.1",
     "revision 2.1 with AWS_NEW_RETRIES_2026 (the first release known to have it)",
     "smithy-rs pull request 4670 (May 2026)", "", "", kBoth},
    {"rust", "1.10.2",
     "a suggested delay also counts without a known code (1.10.1 is the last known "
     "to be without)",
     "smithy-rs pull request 4749 (2692a5d, July 2026)", "", "", "", suggestions_need_a_code},
    {"rust", "1.13.2", "revision 2.1 with BehaviorVersion v2026_11_10", kBlog, "", k21, kBoth},
    {"kotlin", "0.17.7", "the quota waits for its refill", "aws-sdk-kotlin CHANGELOG.md",
     "standard", k20, k20},
    {"kotlin", "0.28.0", "an empty quota ends the request",
     "aws-sdk-kotlin issue 1318, smithy-kotlin 5773669", "", "", "", waiting_kotlin},
    {"kotlin", "1.6.34",
     "1 s after throttling, suggested delays (a release of May 2026; 1.6.33 is "
     "the last known to be without)",
     "smithy-kotlin CHANGELOG.md 1.6.14", "", "", "", kotlin_before_2026},
    {"kotlin", "1.9.0", kOptIn, kBlog, "", "", kBoth},
    {"smithy-kotlin", "0.21.0", "the quota waits for its refill", "smithy-kotlin CHANGELOG.md",
     "standard", k20, k20},
    {"smithy-kotlin", "0.22.0", "an empty quota ends the request", "smithy-kotlin 5773669", "", "",
     "", waiting_kotlin},
    {"smithy-kotlin", "1.6.9", "a wait for send tokens is checked again", "smithy-kotlin d76a1ff",
     "", "", "", kotlin_queue},
    {"smithy-kotlin", "1.6.14",
     "1 s after throttling, suggested delays; revision 2.1 with "
     "SMITHY_NEW_RETRIES_2026",
     "smithy-kotlin CHANGELOG.md", "", "", kBoth, kotlin_before_2026},
    {"swift", "1.0.0", kOldest, "versions of aws-sdk-swift", "standard", k20, k20},
    {"swift", "1.8.24", kDefault21, kBlog, "", k21, k21},
    {"smithy-python", "0.2.0", "standard mode; versions of smithy-core",
     "smithy-python packages/smithy-core/CHANGELOG.md", "standard", k20, k20},
    {"smithy-python", "0.8.0", "revision 2.1 alone (0.7.0 is the last known to be without)",
     "smithy-python pull request 733 (59c7cb6, August 2026)", "", k21, k21},
    {"urllib3", "1.26.0", "suggested delays without a limit", "urllib3 util/retry.py (1.26.12)",
     "custom", "", ""},
    {"urllib3", "2.6.3", "suggested delays of at most 6 h",
     "urllib3 CHANGES.rst, pull request 3743", "", "", "", unlimited_suggestions},
    {"grpc-go", "1.0.0", "full jitter", "", "custom", "", ""},
    {"grpc-go", "1.69.0", "a factor of 0.8 to 1.2", "grpc-go pull request 7869", "", "", "",
     full_jitter},
    {"grpc-java", "1.0.0", "full jitter", "", "custom", "", ""},
    {"grpc-java", "1.71.0", "a factor of 0.4 to 1.2, by mistake", "grpc-java pull request 11858",
     "", "", "", full_jitter},
    {"grpc-java", "1.80.0", "a factor of 0.8 to 1.2", "grpc-java pull request 12639", "", "", "",
     wide_grpc_jitter},
    {"grpc-js", "1.0.0", "full jitter", "", "custom", "", ""},
    {"grpc-js", "1.14.0", "a factor of 0.8 to 1.2", "grpc-node issue 2959, commit 82b331d", "", "",
     "", full_jitter},
};

// The version from which an SDK's successor has a name of its own.
struct Successor {
  std::string_view sdk, from, name;
};
constexpr Successor kSuccessors[] = {{"java-v1", "2", "java-v2"}, {"js-v2", "3", "js-v3"}};

// --- Versions ------------------------------------------------------------------------------------

constexpr std::size_t kMaxParts = 6;
using Version = std::array<int, kMaxParts>;

/// Parses numbers with dots between them, also after a "v"; missing parts are 0. Empty for other
/// texts.
std::optional<Version> parse_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  Version version{};
  for (std::size_t part = 0; part < kMaxParts; ++part) {
    const std::size_t end = std::min(text.find('.'), text.size());
    const std::string_view digits = text.substr(0, end);
    const auto [rest, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), version[part]);
    const bool whole = error == std::errc{} && rest == digits.data() + digits.size();
    if (!whole || digits.front() == '-') return std::nullopt;
    if (end == text.size()) return version;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

Version version_of(const TurningPoint& point) { return *parse_version(point.version); }

/// The name under which an SDK's releases are listed.
std::string_view releases_name(std::string_view sdk) {
  sdk = sdk.substr(0, sdk.find('@'));
  return sdk == "cli" ? "aws-cli" : sdk;
}

std::string list_of(std::span<const TurningPoint> points) {
  std::string list;
  for (const TurningPoint& p : points) {
    if (!list.empty()) list += "; ";
    list.append(p.version).append(" (").append(p.change).append(")");
  }
  return list;
}

/// The value of a member at the newest release, up to this one, in which it is not empty.
std::string_view latest(std::string_view sdk, std::string_view TurningPoint::*what) {
  const auto version = parse_version(sdk_version(sdk));
  std::string_view found;
  if (!version) return found;
  for (const TurningPoint& p : turning_points(sdk)) {
    if (version_of(p) <= *version && !(p.*what).empty()) found = p.*what;
  }
  return found;
}

}  // namespace

std::span<const TurningPoint> turning_points() { return kTurningPoints; }

std::span<const TurningPoint> turning_points(std::string_view sdk) {
  const std::string_view name = releases_name(sdk);
  const auto is_of = [&](const TurningPoint& p) { return p.sdk == name; };
  const auto* first = std::ranges::find_if(kTurningPoints, is_of);
  const auto* last = std::find_if_not(first, std::end(kTurningPoints), is_of);
  return {first, last};
}

std::string_view sdk_version(std::string_view sdk) {
  const std::size_t at = sdk.find('@');
  return at == sdk.npos ? std::string_view() : sdk.substr(at + 1);
}

bool has_version(std::string_view sdk) { return sdk.find('@') != sdk.npos; }

std::string version_problem(std::string_view sdk) {
  if (!has_version(sdk)) return "";
  const std::string name(sdk.substr(0, sdk.find('@')));
  const std::string version(sdk_version(sdk));
  const std::span<const TurningPoint> points = turning_points(sdk);
  if (points.empty())
    return "no versions of \"" + name + "\" are known; leave out \"@" + version + "\"";
  const std::string known = "; the rules changed at these releases: " + list_of(points);
  const auto parsed = parse_version(version);
  if (!parsed) {
    return "\"" + version + "\" is not a version; expected one such as \"" + name + "@" +
           std::string(points.back().version) + "\"" + known;
  }
  if (*parsed < version_of(points.front())) {
    return "the rules of " + name + " " + version + " are not known, only later ones" + known;
  }
  for (const Successor& s : kSuccessors) {
    if (s.sdk == name && *parsed >= *parse_version(s.from)) {
      return name + " has no version " + version + "; did you mean \"" + std::string(s.name) + "@" +
             version + "\"?";
    }
  }
  return "";
}

bool version_is_before(std::string_view sdk, std::string_view other) {
  return *parse_version(sdk_version(sdk)) < *parse_version(sdk_version(other));
}

std::string_view release_mode(std::string_view sdk) { return latest(sdk, &TurningPoint::mode); }

std::string_view release_revision(std::string_view sdk) {
  return latest(sdk, &TurningPoint::revision);
}

bool release_offers(std::string_view sdk, std::string_view revision) {
  const std::string_view offered = latest(sdk, &TurningPoint::revisions);
  return offered.empty() || (revision != k20 && revision != k21) ||
         offered.find(revision) != offered.npos;
}

RetryRules rules_of_release(const Preset& preset, std::string_view sdk) {
  RetryRules rules = preset.rules;
  const auto version = parse_version(sdk_version(sdk));
  if (!version) return rules;
  const std::span<const TurningPoint> points = turning_points(sdk);
  for (auto p = points.rbegin(); p != points.rend() && version_of(*p) > *version; ++p) {
    if (p->before != nullptr) p->before(preset, rules);
  }
  return rules;
}

// --- Known defects, as changes to the rules ------------------------------------------------------

namespace {

bool has_quota(const RetryRules& r) { return r.quota.enabled; }
bool has_limiter(const RetryRules& r) { return r.rate_limit.enabled; }

/// The refund rule that remains if successes earn no credit.
Refund without_credit(Refund refund) {
  switch (refund) {
    case Refund::kLastAndCredit:
    case Refund::kLastOrCredit:
      return Refund::kLast;
    case Refund::kCredit:
      return Refund::kNone;
    case Refund::kLast:
    case Refund::kCost:
    case Refund::kNone:
    case Refund::kSharedLast:
      break;
  }
  return refund;
}

constexpr Defect kDefects[] = {
    {"quota-never-refilled",
     "No success earns the retry quota a credit; only a retry that succeeds gives its price back.",
     "aws-sdk-go-v2 issue 3550 (its adaptive mode has this by preset)", has_quota,
     [](RetryRules& r) {
       r.quota.refund = without_credit(r.quota.refund);
       r.quota.credit = 0;
     }},
    {"no-quota", "There is no retry quota: only the limit on attempts stops retries.",
     "aws-sdk-rust issue 1234", has_quota, [](RetryRules& r) { r.quota = QuotaRules{}; }},
    {"no-send-token-on-retries", "Only first attempts take a send token; retries go out freely.",
     "smithy-typescript pull request 1974", has_limiter,
     [](RetryRules& r) { r.rate_limit.acquire = SendTokenTiming::kFirstAttempt; }},
    {"send-token-deadlock",
     "Retries cost 5 or 10 send tokens, of which the bucket holds one at low rates: they wait "
     "forever.",
     "smithy-rs pull request 4749", has_limiter,
     [](RetryRules& r) {
       r.rate_limit.acquire = SendTokenTiming::kBeforeSend;
       r.rate_limit.wait = SendTokenWait::kQueue;
       r.rate_limit.retry_cost = 5;
       r.rate_limit.costly_retry_cost = 10;
     }},
    {"send-tokens-overdrawn",
     "A waiting attempt has already taken its send tokens, even below zero, so the waits of "
     "concurrent requests add up.",
     "smithy-rs pull request 4632 (releases before May 2026)", has_limiter,
     [](RetryRules& r) { r.rate_limit.wait = SendTokenWait::kReserve; }},
};

// --- Default modes -------------------------------------------------------------------------------

struct DefaultMode {
  std::string_view sdk, before, after;
};
constexpr DefaultMode kDefaultModes[] = {
    {"botocore", "legacy", "standard"}, {"java-v1", "legacy", "legacy"},
    {"java-v2", "legacy", "standard"},  {"js-v2", "legacy", "legacy"},
    {"js-v3", "standard", "standard"},  {"cpp", "legacy", "standard"},
    {"dotnet", "standard", "standard"}, {"ruby", "legacy", "standard"},
    {"php", "legacy", "standard"},      {"go-v1", "legacy", "legacy"},
    {"go-v2", "standard", "standard"},  {"rust", "standard", "standard"},
    {"kotlin", "standard", "standard"}, {"c-io", "standard", "standard"},
    {"swift", "standard", "standard"},  {"smithy-python", "standard", "standard"},
};

}  // namespace

std::span<const Defect> defects() { return kDefects; }

const Defect* find_defect(std::string_view name) {
  const auto* found = std::find_if(std::begin(kDefects), std::end(kDefects),
                                   [&](const Defect& d) { return d.name == name; });
  return found == std::end(kDefects) ? nullptr : found;
}

std::optional<std::string_view> default_mode(std::string_view sdk, bool after_2026) {
  for (const DefaultMode& row : kDefaultModes) {
    if (row.sdk == canonical_sdk(sdk)) return after_2026 ? row.after : row.before;
  }
  return std::nullopt;
}

// --- Comparisons: those of scripts/compare_sdks, and of the tests sdks/NAME. Where a release
// differs in a rule, README.md says in which.

namespace {

struct ComparedRelease {
  std::string_view sdk;
  std::string_view revision;  // empty: a mode without revisions
  std::string_view api;       // empty: every row
  std::string_view release;
};

constexpr ComparedRelease kComparedReleases[] = {
    {"botocore", "", "", "1.29.27"},
    {"botocore", "2.0", "", "1.29.27"},
    {"js-v2", "", "default", "2.1693.0"},
    {"js-v2", "", "dynamodb", "2.1693.0"},
    {"go-v1", "", "", "1.44.133"},
    {"ruby", "", "default", "core 3.168.1"},
    {"ruby", "2.0", "default", "core 3.168.1"},
    {"js-v3", "2.0", "", "3.1143.0, core 3.39.0"},
    {"js-v3", "2.1", "", "3.1143.0, core 3.41.0"},
    {"go-v2", "2.0", "", "1.17.1"},
    {"grpc-js", "", "", "1.14.7"},
    {"urllib3", "", "", "2.7.0"},
    {"tenacity", "", "", "8.2.1"},
};

}  // namespace

std::string_view compared_release(const Preset& preset) {
  for (const ComparedRelease& c : kComparedReleases) {
    if (c.sdk == preset.sdk && c.revision == preset.revision &&
        (c.api.empty() || c.api == preset.api)) {
      return c.release;
    }
  }
  return {};
}

}  // namespace retrysim
