// The table of presets: what a (mode, revision, SDK, API) stands for. One row each, written out as
// data; sim/retry/README.md shows the same numbers with their sources, and a test compares the two.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace retrysim {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();
constexpr int kUncapped = 0;

/// One row; lengths of time in milliseconds. What a row leaves out has the value given here.
struct Row {
  std::string_view mode, revision, sdk, api;
  RetryMode rules_mode;
  Classifier classifier = Classifier::kStandard;
  std::uint32_t max_attempts = 3;
  struct {
    int base = 0;
    int throttle_base = 0;
    double factor = 2;
    int cap = kUncapped;
    Jitter jitter = Jitter::kNone;
    Jitter throttle_jitter = Jitter::kNone;
    int max_exponent = kNoLimit;
    int quantum = 0;
  } backoff = {};
  struct {
    int capacity = 0;  // also the level at the start; zero: no quota
    int cost = 0;
    int throttle_cost = 0;
    int timeout_cost = 0;
    int credit = 0;
    Refund refund = Refund::kNone;
  } quota = {};
  bool limit_send_rate = false;
  RetryAfter retry_after = RetryAfter::kIgnore;
  bool long_poll_wait = false;
  std::string_view source;
};

constexpr auto kFull = Jitter::kFull;
constexpr auto kEqual = Jitter::kEqual;

// clang-format off
constexpr Row kRows[] = {
    {.mode = "none", .revision = "", .sdk = "", .api = "default", .rules_mode = RetryMode::kNone,
     .max_attempts = 1,
     .source = "no retries"},

    {.mode = "legacy", .revision = "", .sdk = "botocore", .api = "default",
     .rules_mode = RetryMode::kLegacy, .classifier = Classifier::kBotocoreLegacy, .max_attempts = 5,
     .backoff = {.base = 1000, .throttle_base = 1000, .jitter = kFull, .throttle_jitter = kFull},
     .source = "botocore: retryhandler.py, data/_retry.json"},
    {.mode = "legacy", .revision = "", .sdk = "botocore", .api = "dynamodb",
     .rules_mode = RetryMode::kLegacy, .classifier = Classifier::kBotocoreLegacy,
     .max_attempts = 10,
     .backoff = {.base = 50, .throttle_base = 50},
     .source = "botocore: retryhandler.py, data/_retry.json"},

    {.mode = "legacy", .revision = "", .sdk = "java-v1", .api = "default",
     .rules_mode = RetryMode::kLegacy, .classifier = Classifier::kJavaV1, .max_attempts = 4,
     .backoff = {.base = 100, .throttle_base = 500, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kEqual, .max_exponent = 30, .quantum = 1},
     .quota = {.capacity = 500, .cost = 5, .throttle_cost = 0, .timeout_cost = 5, .credit = 1,
               .refund = Refund::kCost},
     .source = "aws-sdk-java: PredefinedRetryPolicies.java, PredefinedBackoffStrategies.java, "
               "AmazonHttpClient.java"},
    {.mode = "legacy", .revision = "", .sdk = "java-v1", .api = "dynamodb",
     .rules_mode = RetryMode::kLegacy, .classifier = Classifier::kJavaV1, .max_attempts = 11,
     .backoff = {.base = 25, .throttle_base = 500, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kEqual, .max_exponent = 30, .quantum = 1},
     .quota = {.capacity = 500, .cost = 5, .throttle_cost = 0, .timeout_cost = 5, .credit = 1,
               .refund = Refund::kCost},
     .source = "aws-sdk-java: PredefinedRetryPolicies.java, PredefinedBackoffStrategies.java, "
               "AmazonHttpClient.java"},

    {.mode = "standard", .revision = "2.0", .sdk = "botocore", .api = "default",
     .rules_mode = RetryMode::kStandard, .max_attempts = 3,
     .backoff = {.base = 1000, .throttle_base = 1000, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kFull},
     .quota = {.capacity = 500, .cost = 5, .throttle_cost = 5, .timeout_cost = 10, .credit = 1,
               .refund = Refund::kLast},
     .source = "botocore: retries/standard.py, retries/quota.py"},

    {.mode = "standard", .revision = "2.1", .sdk = "botocore", .api = "default",
     .rules_mode = RetryMode::kStandard, .max_attempts = 3,
     .backoff = {.base = 50, .throttle_base = 1000, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kFull},
     .quota = {.capacity = 500, .cost = 14, .throttle_cost = 5, .timeout_cost = 14, .credit = 1,
               .refund = Refund::kLast},
     .retry_after = RetryAfter::kClamp, .long_poll_wait = true,
     .source = "botocore: retries/standard.py (2.1); AWS SDK reference: retry behavior"},
    {.mode = "standard", .revision = "2.1", .sdk = "botocore", .api = "dynamodb",
     .rules_mode = RetryMode::kStandard, .max_attempts = 4,
     .backoff = {.base = 25, .throttle_base = 1000, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kFull},
     .quota = {.capacity = 500, .cost = 14, .throttle_cost = 5, .timeout_cost = 14, .credit = 1,
               .refund = Refund::kLast},
     .retry_after = RetryAfter::kClamp, .long_poll_wait = true,
     .source = "botocore: retries/standard.py (2.1); AWS SDK reference: retry behavior"},
    {.mode = "standard", .revision = "2.1", .sdk = "botocore", .api = "dynamodb-streams",
     .rules_mode = RetryMode::kStandard, .max_attempts = 4,
     .backoff = {.base = 25, .throttle_base = 1000, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kFull},
     .quota = {.capacity = 500, .cost = 14, .throttle_cost = 5, .timeout_cost = 14, .credit = 1,
               .refund = Refund::kLast},
     .retry_after = RetryAfter::kClamp, .long_poll_wait = true,
     .source = "botocore: retries/standard.py (2.1); AWS SDK reference: retry behavior"},

    {.mode = "adaptive", .revision = "2.0", .sdk = "botocore", .api = "default",
     .rules_mode = RetryMode::kAdaptive, .max_attempts = 3,
     .backoff = {.base = 1000, .throttle_base = 1000, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kFull},
     .quota = {.capacity = 500, .cost = 5, .throttle_cost = 5, .timeout_cost = 10, .credit = 1,
               .refund = Refund::kLast},
     .limit_send_rate = true,
     .source = "botocore: retries/standard.py, retries/quota.py, retries/adaptive.py"},

    {.mode = "adaptive", .revision = "2.1", .sdk = "botocore", .api = "default",
     .rules_mode = RetryMode::kAdaptive, .max_attempts = 3,
     .backoff = {.base = 50, .throttle_base = 1000, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kFull},
     .quota = {.capacity = 500, .cost = 14, .throttle_cost = 5, .timeout_cost = 14, .credit = 1,
               .refund = Refund::kLast},
     .limit_send_rate = true, .retry_after = RetryAfter::kClamp, .long_poll_wait = true,
     .source = "botocore: retries/standard.py (2.1), retries/adaptive.py"},
    {.mode = "adaptive", .revision = "2.1", .sdk = "botocore", .api = "dynamodb",
     .rules_mode = RetryMode::kAdaptive, .max_attempts = 4,
     .backoff = {.base = 25, .throttle_base = 1000, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kFull},
     .quota = {.capacity = 500, .cost = 14, .throttle_cost = 5, .timeout_cost = 14, .credit = 1,
               .refund = Refund::kLast},
     .limit_send_rate = true, .retry_after = RetryAfter::kClamp, .long_poll_wait = true,
     .source = "botocore: retries/standard.py (2.1), retries/adaptive.py"},
    {.mode = "adaptive", .revision = "2.1", .sdk = "botocore", .api = "dynamodb-streams",
     .rules_mode = RetryMode::kAdaptive, .max_attempts = 4,
     .backoff = {.base = 25, .throttle_base = 1000, .cap = 20'000, .jitter = kFull,
                 .throttle_jitter = kFull},
     .quota = {.capacity = 500, .cost = 14, .throttle_cost = 5, .timeout_cost = 14, .credit = 1,
               .refund = Refund::kLast},
     .limit_send_rate = true, .retry_after = RetryAfter::kClamp, .long_poll_wait = true,
     .source = "botocore: retries/standard.py (2.1), retries/adaptive.py"},

    {.mode = "custom", .revision = "", .sdk = "", .api = "default",
     .rules_mode = RetryMode::kCustom, .max_attempts = 3,
     .backoff = {.base = 1000, .throttle_base = 1000},
     .source = "a plain starting point for studies of principle"},
};
// clang-format on

Preset preset_of(const Row& row) {
  RetryRules rules;
  rules.mode = row.rules_mode;
  rules.classifier = row.classifier;
  rules.api = row.api;
  rules.max_attempts = row.max_attempts;
  rules.backoff.base = Duration::milliseconds(row.backoff.base);
  rules.backoff.throttle_base = Duration::milliseconds(row.backoff.throttle_base);
  rules.backoff.factor = row.backoff.factor;
  if (row.backoff.cap != kUncapped) rules.backoff.cap = Duration::milliseconds(row.backoff.cap);
  rules.backoff.jitter = row.backoff.jitter;
  rules.backoff.throttle_jitter = row.backoff.throttle_jitter;
  rules.backoff.max_exponent = row.backoff.max_exponent;
  rules.backoff.quantum = Duration::milliseconds(row.backoff.quantum);
  rules.quota = {.enabled = row.quota.capacity > 0,
                 .capacity = row.quota.capacity,
                 .initial = row.quota.capacity,
                 .cost = row.quota.cost,
                 .throttle_cost = row.quota.throttle_cost,
                 .timeout_cost = row.quota.timeout_cost,
                 .credit = row.quota.credit,
                 .refund = row.quota.refund};
  rules.limit_send_rate = row.limit_send_rate;
  rules.retry_after = row.retry_after;
  rules.long_poll_wait = row.long_poll_wait;
  return {row.mode, row.revision, row.sdk, row.api, std::move(rules), row.source};
}

const std::vector<Preset>& table() {
  static const std::vector<Preset> presets = [] {
    std::vector<Preset> made;
    for (const Row& row : kRows) made.push_back(preset_of(row));
    return made;
  }();
  return presets;
}

/// Whether a word asked for means the word of a row. A row without one takes any that some other
/// row has.
bool matches(std::string_view asked, std::string_view row, std::string_view Row::*column) {
  if (!row.empty()) return asked == row;
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& other) { return other.*column == asked; });
}

}  // namespace

std::span<const Preset> presets() { return table(); }

const Preset* find_preset(std::string_view mode, std::string_view revision, std::string_view sdk,
                          std::string_view api) {
  if (revision.empty()) revision = "2.0";
  if (sdk.empty()) sdk = "botocore";
  const Preset* fallback = nullptr;
  for (const Preset& preset : table()) {
    if (preset.mode != mode || !matches(revision, preset.revision, &Row::revision) ||
        !matches(sdk, preset.sdk, &Row::sdk)) {
      continue;
    }
    if (preset.api == api) return &preset;
    if (preset.api == "default") fallback = &preset;
  }
  return fallback;
}

}  // namespace retrysim
