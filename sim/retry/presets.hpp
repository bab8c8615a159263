// The numbers of the presets, in one table per concern: backoff, retry quota, error classes, and
// the strategies from outside the AWS SDKs. A number that several SDKs share is written once.
// presets.cpp combines them and names the sources.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace retrysim::preset {

inline constexpr auto kFull = Jitter::kFull;
inline constexpr auto kEqual = Jitter::kEqual;

constexpr Duration ms(std::int64_t n) { return Duration::milliseconds(n); }

// --- Backoff -------------------------------------------------------------------------------------

/// A backoff with the same kind of jitter after every error.
constexpr BackoffRules backoff(Duration base, Duration throttle_base, Duration cap, Jitter jitter) {
  BackoffRules rules;
  rules.base = base;
  rules.throttle_base = throttle_base;
  rules.cap = cap;
  rules.jitter = rules.throttle_jitter = jitter;
  return rules;
}

constexpr BackoffRules with(BackoffRules rules, void (*change)(BackoffRules&)) {
  change(rules);
  return rules;
}

inline constexpr Duration kNoCap = Duration::max();
inline constexpr Duration kCap = ms(20'000);

inline constexpr BackoffRules kNoBackoff = backoff({}, {}, kNoCap, Jitter::kNone);
inline constexpr BackoffRules kBotocoreLegacy = backoff(ms(1000), ms(1000), kNoCap, kFull);
inline constexpr BackoffRules kBotocoreLegacyDynamodb =
    backoff(ms(50), ms(50), kNoCap, Jitter::kNone);
inline constexpr BackoffRules kJava =
    with(backoff(ms(100), ms(500), kCap, kFull), [](BackoffRules& b) {
      b.throttle_jitter = kEqual;
      b.max_exponent = 30;
      b.quantum = ms(1);
      b.rounding = Rounding::kIntegers;
    });
inline constexpr BackoffRules kJavaDynamodb = with(kJava, [](BackoffRules& b) { b.base = ms(25); });
inline constexpr BackoffRules kJsV2 = backoff(ms(100), ms(100), kNoCap, kFull);
inline constexpr BackoffRules kJsV2Dynamodb = backoff(ms(50), ms(50), kNoCap, kFull);
inline constexpr BackoffRules kJsV2Of2014 = backoff(ms(30), ms(30), kNoCap, Jitter::kNone);
// The delays are 0, 50, 100, 200 ms ...: the growth begins with the second retry.
inline constexpr BackoffRules kJsV2DynamodbOf2014 =
    with(backoff(ms(25), ms(25), kNoCap, Jitter::kNone),
         [](BackoffRules& b) { b.immediate_retries = 1; });
inline constexpr BackoffRules kCppLegacy = with(backoff(ms(25), ms(25), kNoCap, Jitter::kNone),
                                                [](BackoffRules& b) { b.immediate_retries = 1; });
inline constexpr BackoffRules kDotnetLegacy =
    with(backoff(ms(100), ms(100), ms(30'000), Jitter::kNone), [](BackoffRules& b) {
      b.factor = 4;
      b.first_exponent = 1;
    });
inline constexpr BackoffRules kDotnetLegacyDynamodb =
    backoff(ms(50), ms(50), ms(30'000), Jitter::kNone);
inline constexpr BackoffRules kRubyLegacy = backoff(ms(300), ms(300), kNoCap, Jitter::kNone);
inline constexpr BackoffRules kRubyLegacyDynamodb =
    with(backoff(ms(25), ms(25), kNoCap, Jitter::kNone),
         [](BackoffRules& b) { b.immediate_retries = 2; });
inline constexpr BackoffRules kPhpLegacy =
    with(backoff(ms(100), ms(100), kCap, kFull), [](BackoffRules& b) {
      b.quantum = ms(1);
      b.rounding = Rounding::kIntegersInclusive;
    });
inline constexpr BackoffRules kPhpLegacyDynamodb =  // half of a draw, in ms
    with(backoff(ms(50), ms(50), ms(10'000), kFull), [](BackoffRules& b) {
      b.immediate_retries = 1;
      b.quantum = Duration::microseconds(500);
      b.rounding = Rounding::kIntegersInclusive;
    });
inline constexpr BackoffRules kGoV1 = with(backoff(ms(30), ms(500), ms(300'000), Jitter::kAdditive),
                                           [](BackoffRules& b) { b.over_cap = OverCap::kRedraw; });
inline constexpr BackoffRules kGoV1Dynamodb = with(kGoV1, [](BackoffRules& b) { b.base = ms(50); });
inline constexpr BackoffRules kKotlin =
    with(backoff(ms(10), ms(1000), kCap, kFull), [](BackoffRules& b) {
      b.factor = 1.5;
      b.quantum = ms(1);
    });
inline constexpr BackoffRules kCrt =
    with(backoff(ms(500), ms(500), kCap, kFull), [](BackoffRules& b) {
      b.max_exponent = 63;
      b.decorrelated_from_full = true;
    });
inline constexpr BackoffRules kGuidance = backoff(ms(100), ms(100), kCap, Jitter::kNone);

inline constexpr BackoffRules kStandard20 = backoff(ms(1000), ms(1000), kCap, kFull);
inline constexpr BackoffRules kJitterBeforeCap20 =
    with(kStandard20, [](BackoffRules& b) { b.jitter_before_cap = true; });
inline constexpr BackoffRules kJavaV2Standard20 =
    with(backoff(ms(100), ms(1000), kCap, kFull), [](BackoffRules& b) {
      b.quantum = ms(1);
      b.rounding = Rounding::kIntegers;
    });
inline constexpr BackoffRules kJavaV2Standard20Dynamodb =
    with(kJavaV2Standard20, [](BackoffRules& b) { b.base = ms(25); });
inline constexpr BackoffRules kJsV3Standard20 =
    with(backoff(ms(100), ms(500), kCap, kFull), [](BackoffRules& b) { b.quantum = ms(1); });
inline constexpr BackoffRules kCppStandard20 = with(kJitterBeforeCap20, [](BackoffRules& b) {
  b.max_exponent = 15;
  b.quantum = ms(1);
  b.rounding = Rounding::kMantissa;
});
inline constexpr BackoffRules kPhpStandard20 =
    with(kJitterBeforeCap20, [](BackoffRules& b) { b.first_exponent = 1; });
inline constexpr BackoffRules kGoV2Standard20 = with(kStandard20, [](BackoffRules& b) {
  b.first_exponent = 1;
  b.over_cap = OverCap::kFlat;
});

inline constexpr BackoffRules kSmithyBackoff =
    with(kStandard20, [](BackoffRules& b) { b.quantum = ms(1); });

inline constexpr BackoffRules kStandard21 = backoff(ms(50), ms(1000), kCap, kFull);
inline constexpr BackoffRules kJavaV2Standard21 = with(kStandard21, [](BackoffRules& b) {
  b.quantum = ms(1);
  b.rounding = Rounding::kIntegers;
});
inline constexpr BackoffRules kWholeMilliseconds21 =
    with(kStandard21, [](BackoffRules& b) { b.quantum = ms(1); });
inline constexpr BackoffRules kCppStandard21 = kWholeMilliseconds21;

// --- Retry quota ---------------------------------------------------------------------------------

/// A quota with capacity 500, full at the start, and the prices of transient errors, throttling and
/// timeouts.
constexpr QuotaRules quota(int cost, int throttle_cost, int timeout_cost, Refund refund) {
  QuotaRules rules;
  rules.enabled = true;
  rules.capacity = rules.initial = 500;
  rules.cost = cost;
  rules.throttle_cost = throttle_cost;
  rules.timeout_cost = timeout_cost;
  rules.credit = 1;
  rules.refund = refund;
  return rules;
}

constexpr QuotaRules with(QuotaRules rules, void (*change)(QuotaRules&)) {
  change(rules);
  return rules;
}

inline constexpr QuotaRules kNoQuota = {};
inline constexpr QuotaRules kJavaV1Legacy =
    with(quota(5, 0, 5, Refund::kCost), [](QuotaRules& q) { q.order = QuotaOrder::kRollback; });
inline constexpr QuotaRules kJavaV1Standard =
    with(quota(5, 5, 10, Refund::kLast), [](QuotaRules& q) { q.order = QuotaOrder::kRollback; });
inline constexpr QuotaRules kJavaV2Legacy = quota(5, 0, 5, Refund::kLastOrCredit);
inline constexpr QuotaRules kJavaV2Standard = quota(5, 5, 5, Refund::kLastOrCredit);
inline constexpr QuotaRules kDotnetLegacyQuota = quota(5, 5, 5, Refund::kLast);
inline constexpr QuotaRules kKotlinQuota = quota(5, 10, 10, Refund::kLast);
inline constexpr QuotaRules kQuota20 = quota(5, 5, 10, Refund::kLast);
inline constexpr QuotaRules kGoV2Quota20 = quota(5, 5, 10, Refund::kLastAndCredit);
inline constexpr QuotaRules kPhpQuota20 =
    with(quota(5, 5, 10, Refund::kSharedLast),
         [](QuotaRules& q) { q.order = QuotaOrder::kBeforeAttempts; });
inline constexpr QuotaRules kCrtQuota = with(quota(5, 5, 10, Refund::kLast), [](QuotaRules& q) {
  q.order = QuotaOrder::kRollback;
  q.partial = true;
});
inline constexpr QuotaRules kSmithyQuota = quota(5, 5, 10, Refund::kCredit);
inline constexpr QuotaRules kSmithyQuota21 = quota(14, 5, 14, Refund::kCredit);
inline constexpr QuotaRules kQuota21 = quota(14, 5, 14, Refund::kLast);

// --- Error classes -------------------------------------------------------------------------------

inline constexpr auto k429IsThrottling = Status429::kThrottling;
inline constexpr auto k429IsNot = Status429::kNotRetryable;

inline constexpr ErrorRules kErrors = {Classifier::kStandard, TimeoutClass::kNoAnswer, k429IsNot};
inline constexpr ErrorRules kBotocoreLegacyErrors = {Classifier::kBotocoreLegacy,
                                                     TimeoutClass::kNoAnswer, k429IsThrottling};
inline constexpr ErrorRules kJavaV1Errors = {Classifier::kJavaV1, TimeoutClass::kNoAnswer,
                                             k429IsThrottling};
inline constexpr ErrorRules kJavaV2Errors = {Classifier::kJavaV2, TimeoutClass::kNoAnswer,
                                             k429IsThrottling};
inline constexpr ErrorRules kJavaV2ErrorsOf2026 = {Classifier::kJavaV2Of2026,
                                                   TimeoutClass::kNoAnswer, k429IsThrottling};
inline constexpr ErrorRules kJsV2Errors = {Classifier::kJsV2, TimeoutClass::kNoAnswer,
                                           k429IsThrottling};
inline constexpr ErrorRules kJsV3Errors = {Classifier::kJsV3, TimeoutClass::kTransient,
                                           k429IsThrottling};
inline constexpr ErrorRules kDotnetLegacyErrors = {Classifier::kDotnetLegacy,
                                                   TimeoutClass::kNoAnswer, k429IsNot};
inline constexpr ErrorRules kRubyErrors = {Classifier::kRuby, TimeoutClass::kNetworking,
                                           k429IsThrottling};
inline constexpr ErrorRules kRubyErrorsOf2026 = {Classifier::kRuby, TimeoutClass::kNone,
                                                 k429IsThrottling};
inline constexpr ErrorRules kGoV1Errors = {Classifier::kGoV1, TimeoutClass::kNoAnswer,
                                           k429IsThrottling};
inline constexpr ErrorRules kGoV2Errors = {Classifier::kGoV2, TimeoutClass::kNoAnswer, k429IsNot};
inline constexpr ErrorRules kGoV2ErrorsOf2026 = {Classifier::kGoV2, TimeoutClass::kNoAnswer,
                                                 k429IsThrottling};
inline constexpr ErrorRules kSwiftErrors = {Classifier::kSwift, TimeoutClass::kStatuses, k429IsNot};
inline constexpr ErrorRules kSmithyPythonErrors = {Classifier::kSmithyPython,
                                                   TimeoutClass::kStatuses, k429IsThrottling};
inline constexpr ErrorRules kSmithyPythonErrorsOf2026 = {Classifier::kSmithyPython,
                                                         TimeoutClass::kNoAnswer, k429IsThrottling};
inline constexpr ErrorRules kKotlinErrors = {Classifier::kStandard, TimeoutClass::kListed,
                                             k429IsNot};
inline constexpr ErrorRules kRustErrors = {Classifier::kStandard, TimeoutClass::kTransient,
                                           k429IsNot};
inline constexpr ErrorRules kCppErrors = {Classifier::kCpp, TimeoutClass::kRequestTimeout,
                                          k429IsThrottling};
inline constexpr ErrorRules kCppErrorsOf2026 = {Classifier::kCpp, TimeoutClass::kRequestTimeout,
                                                Status429::kTransient};
inline constexpr ErrorRules kConnectionErrors = {Classifier::kStandard, TimeoutClass::kConnections,
                                                 k429IsNot};
inline constexpr ErrorRules kSmithyErrors = {Classifier::kSmithy, TimeoutClass::kNoAnswer,
                                             k429IsThrottling};

// --- Strategies from outside the AWS SDKs --------------------------------------------------------

/// A row of mode "custom". `sdk` is the name of the software, or of the idea.
struct Comparison {
  std::string_view sdk;
  std::string_view source;
  void (*fill)(RetryRules& rules);  ///< changes the rules of plain mode "custom"
};

std::span<const Comparison> comparisons();

}  // namespace retrysim::preset

namespace retrysim {

struct Preset;

/// The release whose decisions agree, call by call, with this preset's; empty if it was not
/// compared (tests/sdks).
std::string_view compared_release(const Preset& preset);

}  // namespace retrysim
