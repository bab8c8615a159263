// The table of presets: the rules behind each combination of mode, revision, SDK and API, with
// their sources. README.md shows the result, and a test compares the two.
//
// SPDX-License-Identifier: MIT
#include "retry/presets.hpp"

#include <retrysim/retry_rules.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

namespace retrysim::preset {

namespace {

// --- Strategies from outside the AWS SDKs --------------------------------------------------------

constexpr QuotaRules kGrpcQuota = with(quota(0, 0, 0, Refund::kCredit), [](QuotaRules& q) {
  q.capacity = q.initial = 10;
  q.credit = 0.1;
  q.failure_cost = 1;
  q.threshold = 5;
});

void grpc(RetryRules& r) {
  r.max_attempts = 4;
  r.backoff = backoff(ms(100), ms(100), ms(1000), Jitter::kProportional);
  r.backoff.jitter_share = 0.2;
  r.quota = kGrpcQuota;
}

void envoy(RetryRules& r, BudgetKind kind) {
  r.max_attempts = 2;
  r.backoff = backoff(ms(25), ms(25), ms(250), kFull);
  r.budget = {kind, 0.2, 3, ms(10'000)};
}

void constant_delay(RetryRules& r, Duration delay) {
  r.backoff = backoff(delay, delay, kNoCap, Jitter::kNone);
  r.backoff.factor = 1;
}

// A backoff that lengthens a delay v to between v and v + jitter v: proportional jitter around the
// middle of that range.
BackoffRules lengthened(Duration base, double jitter) {
  const Duration middle = Duration::from_seconds(base.in_seconds() * (1 + jitter / 2));
  BackoffRules rules = backoff(middle, middle, kNoCap, Jitter::kProportional);
  rules.jitter_share = jitter / (2 + jitter);
  rules.jitter_before_cap = true;
  return rules;
}

constexpr Comparison kComparisons[] = {
    {"fixed-delay", "three attempts, one second apart: the most common hand-written strategy",
     [](RetryRules& r) { constant_delay(r, ms(1000)); }},
    {"retry-breaker", "Brooker 2022, Fixing retries with token buckets and circuit breakers",
     [](RetryRules& r) {
       r.backoff = backoff(ms(100), ms(100), kCap, kFull);
       r.retry_breaker = {.enabled = true,
                          .failure_share = 0.1,
                          .min_attempts = 10,
                          .window = ms(10'000),
                          .open = {}};
     }},
    // The numbers come from the gRFC's example: a service config has to give its own.
    {"grpc", "gRFC A6, client retries (1fd061a, June 2026; example with 4 attempts)", grpc},
    {"grpc-go", "grpc-go stream.go (4793ad0, August 2026), with the example of gRFC A6", grpc},
    {"grpc-java",
     "grpc-java core RetriableStream.java (5fda0c7, August 2026), with the example of gRFC A6",
     grpc},
    {"grpc-js",
     "grpc-node grpc-js/src/retrying-call.ts (2670b37, April 2026), with the example of gRFC A6",
     grpc},
    // Retries that a client makes by itself, without a policy of the user: at once, with at most 20
    // % of the budget for one request, which is 20 of the 100 retries that an idle client has.
    {"finagle",
     "Finagle Retries.scala, RequeueFilter.scala, RetryBudget.scala (4feb34c, October 2024)",
     [](RetryRules& r) {
       r.max_attempts = 21;
       r.backoff = kNoBackoff;
       r.budget = {BudgetKind::kWindow, 0.2, 10, ms(10'000), BudgetOf::kSuccesses};
     }},
    {"envoy",
     "Envoy retry_state_impl.cc, resource_manager_impl.h (01c2c1f), retry_budget: 20 % of the "
     "requests under way, at least 3 at once",
     [](RetryRules& r) { envoy(r, BudgetKind::kActive); }},
    {"envoy-interval",
     "Envoy retry_budget with budget_interval (envoy pull request 44147, 2026; 10 s as in Gateway "
     "API GEP-3388)",
     [](RetryRules& r) { envoy(r, BudgetKind::kInterval); }},
    {"istio",
     "Istio pilot/pkg/networking/core/route/retry/retry.go (126806a), cluster_traffic_policy.go: "
     "two "
     "retries, as many at once as there are; backoff of envoy",
     [](RetryRules& r) {
       envoy(r, BudgetKind::kNone);
       r.max_attempts = 3;
       r.avoid_hosts = 5;
     }},
    {"linkerd",
     "Linkerd 2.20 policy-controller outbound/http.rs, proxy exp-backoff/src/lib.rs: a route with "
     "retry.linkerd.io/http = 5xx; the budget is that of a ServiceProfile only: 20 % and 10/s, 10 "
     "s",
     [](RetryRules& r) {
       r.max_attempts = 2;
       r.backoff = backoff(ms(25), ms(25), ms(250), Jitter::kAdditive);
       r.backoff.jitter_before_cap = true;
       r.budget.slices = 11;  // for budgets in scenarios: tower's number
     }},
    {"resilience4j", "Resilience4j 2.4.0 RetryConfig.java: three attempts, 500 ms apart",
     [](RetryRules& r) { constant_delay(r, ms(500)); }},
    {"polly", "Polly 8.7.0 Polly.Core/Retry/RetryConstants.cs: three retries, 2 s apart",
     [](RetryRules& r) {
       r.max_attempts = 4;
       constant_delay(r, ms(2000));
     }},
    {"tower",
     "tower 0.5.3 retry/budget/tps_budget.rs, retry/backoff.rs: default budget, as its example "
     "uses "
     "it, and backoff; no limit on attempts",
     [](RetryRules& r) {
       r.max_attempts = RetryRules::kUnlimited;
       r.backoff = lengthened(ms(50), 0.99);
       r.budget = {BudgetKind::kWindow, 0.2, 10, ms(10'000), BudgetOf::kSuccesses};
       r.budget.slices = 11;  // ten past slices, and the one being written
     }},
    {"urllib3",
     "urllib3 1.26.12 and 2.7.0 util/retry.py (6a8536b), Retry(): ten retries at once; a factor "
     "for "
     "the backoff is left to the user",
     [](RetryRules& r) {
       r.max_attempts = 11;
       r.backoff = kNoBackoff;
       r.backoff.cap = ms(120'000);
       r.backoff.immediate_retries = 1;
       r.retry_after = RetryAfter::kReplace;
       r.retry_after_max = Duration::seconds(6 * 3600);
       r.errors.classifier = Classifier::kUrllib3;
     }},
    {"tenacity", "Tenacity 8.2.1 tenacity/__init__.py, @retry without arguments: at once, for ever",
     [](RetryRules& r) {
       r.max_attempts = RetryRules::kUnlimited;
       r.backoff = kNoBackoff;
     }},
    {"sre",
     "Google SRE book, Handling overload: three attempts, retries at most 10 % of requests, client "
     "throttle K = 2, both over two minutes",
     [](RetryRules& r) {
       r.backoff = backoff(ms(100), ms(100), kCap, kFull);
       r.budget = {BudgetKind::kWindow, 0.1, 0, ms(120'000)};
       r.throttle.enabled = true;
     }},
    {"retryguard",
     "RetryGuard (Tavori et al. 2025, arXiv 2511.23278), as the reimplementation "
     "topfull-retryguard-workshop states it; attempts and backoff of retry-breaker",
     [](RetryRules& r) {
       r.backoff = backoff(ms(100), ms(100), kCap, kFull);
       r.guard = {.enabled = true, .starts = GuardStart::kOff};
     }},
    {"hedging", "Dean and Barroso 2013, The tail at scale; gRFC A6, hedging",
     [](RetryRules& r) {
       r.max_attempts = 2;
       r.backoff = kNoBackoff;
       r.hedging = {true, ms(100)};
     }},
};

}  // namespace

std::span<const Comparison> comparisons() { return kComparisons; }

}  // namespace retrysim::preset

namespace retrysim {

namespace {

using namespace preset;

// --- Putting them together -----------------------------------------------------------------------

struct Row {
  std::string_view mode, revision, sdk, api;
  std::uint32_t max_attempts;
  const BackoffRules& backoff;
  const QuotaRules& quota;
  const ErrorRules& errors;
  RetryAfter retry_after = RetryAfter::kIgnore;
  LongPoll long_poll = LongPoll::kReturn;
  std::string_view source;
};

constexpr auto kIgnore = RetryAfter::kIgnore;
constexpr auto kMinimum = RetryAfter::kMinimum;
constexpr auto kClamp = RetryAfter::kClamp;
constexpr auto kAddWhenThrottled = RetryAfter::kAddWhenThrottled;
constexpr auto kReplace = RetryAfter::kReplace;
constexpr auto kReturn = LongPoll::kReturn;
constexpr auto kWait = LongPoll::kWait;
constexpr auto kWaitBase = LongPoll::kWaitBase;

constexpr std::string_view kLegacy = "legacy", kStandard = "standard", kCustom = "custom";
constexpr std::string_view kDynamodb = "dynamodb", kStreams = "dynamodb-streams";

constexpr std::string_view kBotocoreFiles = "botocore retryhandler.py, data/_retry.json";
constexpr std::string_view kJavaV1Files =
    "aws-sdk-java PredefinedRetryPolicies, PredefinedBackoffStrategies, AmazonHttpClient";
constexpr std::string_view kJavaV2Files =
    "aws-sdk-java-v2 2.44 DefaultRetryStrategy, SdkDefaultRetryStrategy, AwsErrorCode, "
    "DynamoDbRetryPolicy";
constexpr std::string_view kJavaV2FilesOf2026 =
    "aws-sdk-java-v2 2.44 DefaultRetryStrategy (V21), DefaultStandardRetryStrategy, "
    "AwsRetryStrategy, DynamoDbRetryPolicy, StsRetryStrategy";
constexpr std::string_view kJavaV2AdaptiveFiles =
    "aws-sdk-java-v2 2.44 DefaultAdaptiveRetryStrategy, RateLimiterTokenBucket";
constexpr std::string_view kJsV3Files =
    "smithy-typescript packages/core, StandardRetryStrategy.ts (6815d3e, August 2026)";
constexpr std::string_view kKotlinFiles =
    "smithy-kotlin StandardRetryTokenBucket.kt, ExponentialBackoffWithJitter.kt, "
    "StandardRetryStrategy.kt (1.7.6, a2753e0)";
constexpr std::string_view kSwiftFiles =
    "smithy-swift DefaultRetryStrategy.swift, RetryQuota.swift, ExponentialBackoffStrategy.swift "
    "(0.246.0, d55aa01), aws-sdk-swift AWSRetryErrorInfoProvider.swift";
constexpr std::string_view kSmithyPythonFiles =
    "smithy-python smithy_core/retries.py, aio/retries.py, smithy_http/aio/protocols.py (6924bc5, "
    "August 2026)";
constexpr std::string_view kDotnetFiles =
    "aws-sdk-net StandardRetryPolicy.cs (4.x, 2026, with UseNewRetries2026)";
constexpr std::string_view kDotnetDynamodbFiles =
    "aws-sdk-net DynamoDBRetryPolicy.cs (c91a2bc), DefaultRetryPolicy.cs";

// clang-format off
constexpr Row kRows[] = {
  {"none", "", "", "default", 1, kNoBackoff, kNoQuota, kErrors, kIgnore, kReturn, "no retries"},

  {kLegacy, "", "botocore", "default", 5, kBotocoreLegacy, kNoQuota, kBotocoreLegacyErrors,
   kIgnore, kReturn, kBotocoreFiles},
  {kLegacy, "", "botocore", kDynamodb, 10, kBotocoreLegacyDynamodb, kNoQuota,
   kBotocoreLegacyErrors, kIgnore, kReturn, kBotocoreFiles},
  {kLegacy, "", "java-v1", "default", 4, kJava, kJavaV1Legacy, kJavaV1Errors, kIgnore, kReturn,
   kJavaV1Files},
  {kLegacy, "", "java-v1", kDynamodb, 11, kJavaDynamodb, kJavaV1Legacy, kJavaV1Errors, kIgnore,
   kReturn, kJavaV1Files},
  {kLegacy, "", "java-v2", "default", 4, kJava, kJavaV2Legacy, kJavaV2Errors, kMinimum, kReturn,
   kJavaV2Files},
  {kLegacy, "", "java-v2", kDynamodb, 9, kJavaDynamodb, kJavaV2Legacy, kJavaV2Errors, kMinimum,
   kReturn, kJavaV2Files},
  {kLegacy, "", "js-v2", "default", 4, kJsV2, kNoQuota, kJsV2Errors, kIgnore, kReturn,
   "aws-sdk-js lib/util.js, lib/service.js, lib/services/route53.js, s3.js"},
  {kLegacy, "", "js-v2", kDynamodb, 11, kJsV2Dynamodb, kNoQuota, kJsV2Errors, kIgnore, kReturn,
   "aws-sdk-js lib/services/dynamodb.js"},
  {kLegacy, "", "js-v2", "metadata", 4, kJsV2, kNoQuota, kJsV2Errors, RetryAfter::kAdd, kReturn,
   "aws-sdk-js lib/util.js (handleRequestWithRetries), lib/metadata_service.js"},
  {kLegacy, "", "cpp", "default", 11, kCppLegacy, kNoQuota, kCppErrors, kIgnore, kReturn,
   "aws-sdk-cpp DefaultRetryStrategy.cpp, CoreErrors.cpp (20bc07a), HttpResponse.h"},
  {kLegacy, "", "dotnet", "default", 5, kDotnetLegacy, kDotnetLegacyQuota, kDotnetLegacyErrors,
   kIgnore, kReturn, "aws-sdk-net DefaultRetryPolicy.cs, RetryPolicy.cs, ClientConfig.cs"},
  // Ten is the number of retries: RetryLimitReached compares it with those made.
  {kLegacy, "", "dotnet", kDynamodb, 11, kDotnetLegacyDynamodb, kDotnetLegacyQuota,
   kDotnetLegacyErrors, kIgnore, kReturn, kDotnetDynamodbFiles},
  {kLegacy, "", "dotnet", kStreams, 11, kDotnetLegacyDynamodb, kDotnetLegacyQuota,
   kDotnetLegacyErrors, kIgnore, kReturn, kDotnetDynamodbFiles},
  {kLegacy, "", "ruby", "default", 4, kRubyLegacy, kNoQuota, kRubyErrors, kIgnore, kReturn,
   "aws-sdk-ruby plugins/retry_errors.rb"},
  {kLegacy, "", "ruby", kDynamodb, 11, kRubyLegacyDynamodb, kNoQuota, kRubyErrors, kIgnore,
   kReturn, "aws-sdk-ruby plugins/extended_retries.rb"},
  {kLegacy, "", "php", "default", 4, kPhpLegacy, kNoQuota, kErrors, kIgnore, kReturn,
   "aws-sdk-php RetryMiddleware.php, ClientResolver.php"},
  {kLegacy, "", "php", kDynamodb, 11, kPhpLegacyDynamodb, kNoQuota, kErrors, kIgnore, kReturn,
   "aws-sdk-php DynamoDbClient.php"},
  {kLegacy, "", "go-v1", "default", 4, kGoV1, kNoQuota, kGoV1Errors, kAddWhenThrottled, kReturn,
   "aws-sdk-go aws/client/default_retryer.go, aws/request/retryer.go"},
  {kLegacy, "", "go-v1", kDynamodb, 11, kGoV1Dynamodb, kNoQuota, kGoV1Errors, kAddWhenThrottled,
   kReturn, "aws-sdk-go service/dynamodb/customizations.go"},
  {kLegacy, "", "kotlin", "default", 3, kKotlin, kKotlinQuota, kKotlinErrors, kClamp, kReturn,
   kKotlinFiles},
  {kLegacy, "", "c-io", "default", 6, kCrt, kNoQuota, kErrors, kIgnore, kReturn,
   "aws-c-io exponential_backoff_retry_strategy.c"},
  {kLegacy, "", "guidance", "default", 4, kGuidance, kNoQuota, kErrors, kIgnore, kReturn,
   "AWS General Reference, error retries and exponential backoff"},

  {kStandard, "2.0", "botocore", "default", 3, kStandard20, kQuota20, kErrors, kIgnore, kReturn,
   "botocore retries/standard.py, retries/quota.py (1.34.107 and later)"},
  {kStandard, "2.0", "java-v1", "default", 3, kJava, kJavaV1Standard, kJavaV1Errors, kIgnore,
   kReturn, "aws-sdk-java RetryMode STANDARD; backoff as in legacy"},
  {kStandard, "2.0", "java-v2", "default", 3, kJavaV2Standard20, kJavaV2Standard, kJavaV2Errors,
   kMinimum, kReturn, kJavaV2Files},
  {kStandard, "2.0", "java-v2", kDynamodb, 9, kJavaV2Standard20Dynamodb, kJavaV2Standard,
   kJavaV2Errors, kMinimum, kReturn, kJavaV2Files},
  {kStandard, "2.0", "js-v3", "default", 3, kJsV3Standard20, kQuota20, kJsV3Errors, kClamp, kReturn,
   kJsV3Files},
  {kStandard, "2.0", "cpp", "default", 3, kCppStandard20, kQuota20, kCppErrors, kIgnore, kReturn,
   "aws-sdk-cpp RetryStrategy.cpp (10540c7), CoreErrors.cpp (20bc07a), HttpResponse.h"},
  {kStandard, "2.0", "dotnet", "default", 3, kJitterBeforeCap20, kQuota20, kErrors, kIgnore,
   kReturn, kDotnetFiles},
  {kStandard, "2.0", "dotnet", kDynamodb, 11, kJitterBeforeCap20, kQuota20, kErrors, kIgnore,
   kReturn, kDotnetFiles},
  {kStandard, "2.0", "dotnet", kStreams, 11, kJitterBeforeCap20, kQuota20, kErrors, kIgnore,
   kReturn, kDotnetFiles},
  {kStandard, "2.0", "ruby", "default", 3, kJitterBeforeCap20, kQuota20, kRubyErrors, kIgnore,
   kReturn, "aws-sdk-ruby plugins/retry_errors.rb, retries/retry_quota.rb"},
  {kStandard, "2.0", "php", "default", 3, kPhpStandard20, kPhpQuota20, kConnectionErrors, kIgnore,
   kReturn, "aws-sdk-php RetryMiddlewareV2.php, QuotaManager.php"},
  {kStandard, "2.0", "go-v2", "default", 3, kGoV2Standard20, kGoV2Quota20, kGoV2Errors, kIgnore,
   kReturn, "aws-sdk-go-v2 aws/retry/standard.go, timeout_error.go, middleware.go, "
   "jitter_backoff.go; pull request 3400"},
  {kStandard, "2.0", "rust", "default", 3, kStandard20, kQuota20, kRustErrors, kReplace, kReturn,
   "smithy-rs retries/strategy/standard.rs, token_bucket.rs"},
  {kStandard, "2.0", "kotlin", "default", 3, kKotlin, kKotlinQuota, kKotlinErrors, kClamp, kReturn,
   kKotlinFiles},
  {kStandard, "2.0", "swift", "default", 3, kJitterBeforeCap20, kQuota20, kSwiftErrors, kReplace,
   kReturn, kSwiftFiles},
  {kStandard, "2.0", "smithy-python", "default", 3, kStandard20, kQuota20, kSmithyPythonErrors,
   kIgnore, kReturn, "smithy-python smithy_core/aio/retries.py, retries.py (44b91b4, July 2026)"},
  {kStandard, "2.0", "c-io", "default", 4, kCrt, kCrtQuota, kConnectionErrors, kIgnore, kReturn,
   "aws-c-io standard_retry_strategy.c"},

  {kStandard, "2.1", "botocore", "default", 3, kStandard21, kQuota21, kErrors, kClamp, kWait,
   "botocore retries/standard.py (2.1)"},
  {kStandard, "2.1", "java-v2", "default", 3, kJavaV2Standard21, kQuota21, kJavaV2ErrorsOf2026,
   kClamp, kWait, kJavaV2FilesOf2026},
  {kStandard, "2.1", "js-v3", "default", 3, kWholeMilliseconds21, kQuota21, kJsV3Errors, kClamp,
   kWait, kJsV3Files},
  {kStandard, "2.1", "cpp", "default", 3, kCppStandard21, kQuota21, kCppErrorsOf2026, kClamp,
   kWait, "aws-sdk-cpp RetryStrategy.cpp (10540c7), CoreErrors.cpp (20bc07a), "
   "DynamoDBStreamsClientConfiguration.cpp (ffd539a)"},
  {kStandard, "2.1", "dotnet", "default", 3, kStandard21, kQuota21, kErrors, kClamp, kWait,
   kDotnetFiles},
  {kStandard, "2.1", "ruby", "default", 3, kStandard21, kQuota21, kRubyErrorsOf2026, kClamp, kWait,
   "aws-sdk-ruby plugins/retry_errors.rb (2026)"},
  {kStandard, "2.1", "php", "default", 3, kWholeMilliseconds21, kQuota21, kErrors, kClamp, kWait,
   "aws-sdk-php src/Retry/V3/RetryMiddleware.php (f3b213a), tests/Retry/Standard (2026)"},
  {kStandard, "2.1", "go-v2", "default", 3, kStandard21, kQuota21, kGoV2ErrorsOf2026, kClamp,
   kWaitBase, "aws-sdk-go-v2 aws/retry/jitter_backoff.go, retry2026_test.go (058d984); pull "
   "request 3400; release notes of 1.48.0"},
  {kStandard, "2.1", "rust", "default", 3, kStandard21, kQuota21, kErrors, kClamp, kWait,
   "smithy-rs retries/strategy/standard.rs (2026)"},
  {kStandard, "2.1", "kotlin", "default", 3, kWholeMilliseconds21, kQuota21, kErrors, kClamp, kWait,
   kKotlinFiles},
  {kStandard, "2.1", "swift", "default", 3, kStandard21, kQuota21, kSwiftErrors, kClamp, kWait,
   kSwiftFiles},
  {kStandard, "2.1", "smithy-python", "default", 3, kStandard21, kQuota21,
   kSmithyPythonErrorsOf2026, kClamp, kWait, kSmithyPythonFiles},

  // The condition "at 5 or more attempts" is asked of a counter that begins at 0 with the first
  // attempt: six attempts.
  {kStandard, "smithy", "", "default", 6, kSmithyBackoff, kSmithyQuota, kSmithyErrors, kMinimum,
   kReturn, "Smithy guide client-guidance/retries.md, example strategy (40ddb4a, February 2026)"},
  {kStandard, "smithy-2.1", "", "default", 6, kWholeMilliseconds21, kSmithyQuota21, kSmithyErrors,
   kMinimum, kWait,
   "Smithy guide client-guidance/retries.md, example strategy (524ebb7, April 2026)"},

  {kCustom, "", "", "default", 3, kNoBackoff, kNoQuota, kErrors, kIgnore, kReturn,
   "a plain starting point for theoretical studies"},
};

// APIs that have their own numbers in every SDK, in revision 2.1.
constexpr std::string_view kApisOf21[] = {kDynamodb, kStreams};
constexpr std::uint32_t kAttemptsOf21Apis = 4;
constexpr Duration kBaseOf21Apis = ms(25);

// --- Adaptive mode: the standard rules and a send-rate limiter -----------------------------------

constexpr SendRateRules limiter(void (*change)(SendRateRules&)) {
  SendRateRules rules;
  rules.enabled = true;
  change(rules);
  return rules;
}

struct AdaptiveRow {
  std::string_view revision, sdk;  // revision empty: all in which the SDK has standard mode
  SendRateRules rate_limit;
  std::string_view source;
  // Changes other than the send rate from standard mode; null: none.
  void (*change)(RetryRules&) = nullptr;
};

constexpr SendRateRules java_v2_limiter() {
  return limiter([](SendRateRules& r) {
    r.acquire = SendTokenTiming::kWithBackoff;
    r.update = LimiterUpdate::kRetriedThrottling;
  });
}

constexpr AdaptiveRow kAdaptiveRows[] = {
  {"", "botocore", limiter([](SendRateRules& r) { r.initial_fill_rate = 1; }),
   "botocore retries/adaptive.py, bucket.py, throttling.py"},
  {"2.0", "java-v2", java_v2_limiter(), kJavaV2AdaptiveFiles},
  // Only the standard strategy limits a suggested delay, and waits before a long poll returns.
  {"2.1", "java-v2", java_v2_limiter(), kJavaV2AdaptiveFiles, [](RetryRules& r) {
   r.retry_after = kMinimum; r.long_poll = kReturn; }},
  {"", "js-v3", limiter([](SendRateRules& r) { r.round_rates = true;
   r.wait = SendTokenWait::kRecheck; }),
   "smithy-typescript packages/core, DefaultRateLimiter.ts (6815d3e, August 2026)"},
  {"", "cpp", limiter([](SendRateRules& r) { r.wait = SendTokenWait::kOnce; }),
   "aws-sdk-cpp AdaptiveRetryStrategy.cpp (38947e6)"},
  {"", "dotnet", limiter([](SendRateRules& r) { r.acquire = SendTokenTiming::kBeforeBackoff;
   r.update = LimiterUpdate::kRetried; r.wait = SendTokenWait::kRecheck; }),
   "aws-sdk-net AdaptiveRetryPolicy.cs (3b2154f), TokenBucket.cs"},
  {"", "ruby", limiter([](SendRateRules&) {}),
   "aws-sdk-ruby plugins/retries/client_rate_limiter.rb"},
  {"", "php", limiter([](SendRateRules& r) { r.acquire = SendTokenTiming::kBeforeBackoff; }),
   "aws-sdk-php RateLimiter.php"},
  // The end of an attempt is reported to the limiter alone: a success earns no credit (issue 3550).
  {"", "go-v2", limiter([](SendRateRules& r) { r.wait = SendTokenWait::kRecheck; }),
   "aws-sdk-go-v2 aws/retry/adaptive.go (1674645), adaptive_ratelimit.go", [](RetryRules& r) {
   r.quota.credit = 0; r.quota.refund = Refund::kLast; }},
  {"2.0", "rust", limiter([](SendRateRules& r) { r.acquire = SendTokenTiming::kInsteadOfBackoff;
   r.retry_cost = 5; r.costly_retry_cost = 10; r.initial_measured_rate = 0.5; }),
   "smithy-rs retries/client_rate_limiter.rs, strategy/standard.rs (56ee88c, August 2026)"},
  {"2.1", "rust", limiter([](SendRateRules& r) { r.initial_measured_rate = 0.5; }),
   "smithy-rs client/orchestrator.rs, retries/client_rate_limiter.rs (56ee88c, August 2026)"},
  {"", "kotlin", limiter([](SendRateRules& r) { r.wait = SendTokenWait::kRecheck; }),
   "smithy-kotlin AdaptiveRetryStrategy.kt, AdaptiveRateLimiter.kt (1.7.6, d76a1ff)"},
  {"", "swift", limiter([](SendRateRules& r) { r.update = LimiterUpdate::kRetried;
   r.wait = SendTokenWait::kRecheck; }),
   "smithy-swift ClientSideRateLimiter.swift, DefaultRetryStrategy.swift (0.246.0, d55aa01)"},
};
// clang-format on

// -------------------------------------------------------------------------------------------------

RetryMode mode_of(std::string_view word) {
  for (const RetryMode mode : {RetryMode::kNone, RetryMode::kLegacy, RetryMode::kStandard,
                               RetryMode::kAdaptive, RetryMode::kCustom}) {
    if (name(mode) == word) return mode;
  }
  return RetryMode::kNone;
}

Preset preset_of(const Row& row) {
  RetryRules rules;
  rules.mode = mode_of(row.mode);
  rules.errors = row.errors;
  rules.api = row.api;
  rules.max_attempts = row.max_attempts;
  rules.backoff = row.backoff;
  rules.quota = row.quota;
  rules.retry_after = row.retry_after;
  // The strategy of the AWS SDK for Swift obeys suggested delays of any length.
  if (row.sdk == "swift") rules.retry_after_max = Duration::max();
  rules.long_poll = row.long_poll;
  return {row.mode, row.revision, row.sdk, row.api, std::move(rules), row.source};
}

std::vector<Preset> make_presets() {
  // A preset has more than a kilobyte: they are moved once, if at all.
  constexpr std::size_t kMany = 4 * std::size(kRows);
  std::vector<Preset> made, standard;
  made.reserve(kMany);
  standard.reserve(kMany);
  for (const Row& row : kRows) {
    made.push_back(preset_of(row));
    if (row.revision == "2.1") {
      for (const std::string_view api : kApisOf21) {
        Preset preset = made[made.size() - 1];
        preset.api = api;
        preset.rules.api = api;
        preset.rules.max_attempts = kAttemptsOf21Apis;
        preset.rules.backoff.base = kBaseOf21Apis;
        standard.push_back(preset);
      }
      made.insert(made.end(), standard.begin(), standard.end());
      standard.clear();
    }
  }
  const auto custom = std::prev(made.end());
  for (const Preset& preset : made) {
    if (preset.mode != kStandard || preset.sdk.empty()) continue;
    for (const AdaptiveRow& row : kAdaptiveRows) {
      if (row.sdk != preset.sdk || (!row.revision.empty() && row.revision != preset.revision)) {
        continue;
      }
      Preset adaptive = preset;
      adaptive.mode = "adaptive";
      adaptive.rules.mode = RetryMode::kAdaptive;
      adaptive.rules.rate_limit = row.rate_limit;
      if (row.change != nullptr) row.change(adaptive.rules);
      adaptive.source = row.source;
      standard.push_back(std::move(adaptive));
    }
  }
  for (const Comparison& row : comparisons()) {
    Preset preset = *custom;
    preset.sdk = row.sdk;
    preset.source = row.source;
    row.fill(preset.rules);
    standard.push_back(std::move(preset));
  }
  made.insert(custom, standard.begin(), standard.end());
  std::stable_partition(made.begin(), made.end(),
                        [](const Preset& p) { return p.mode != kCustom; });
  return made;
}

const std::vector<Preset>& table() {
  static const std::vector<Preset> presets = make_presets();
  return presets;
}

/// Whether a requested word means the word of a row. A row without a word matches any word that
/// some row of an SDK has.
bool matches(std::string_view asked, std::string_view row, std::string_view Preset::*column) {
  if (asked == row) return true;
  if (!row.empty()) return false;
  return std::any_of(table().begin(), table().end(), [&](const Preset& other) {
    return other.mode != kCustom && other.*column == asked;
  });
}

constexpr std::string_view kApis[] = {
    "default", "cloudsearch", "dynamodb", "dynamodb-streams", "ec2",
    "glacier", "kinesis",     "metadata", "organizations",    "route53",
    "s3",      "sqs",         "sts"};

}  // namespace

std::span<const Preset> presets() { return table(); }

const Preset* find_preset(std::string_view mode, std::string_view revision, std::string_view sdk,
                          std::string_view api) {
  if (revision.empty()) revision = release_revision(sdk);
  if (revision.empty()) revision = "2.0";
  sdk = canonical_sdk(sdk);
  if (sdk.empty() && mode != kCustom) sdk = "botocore";
  const Preset* fallback = nullptr;
  for (const Preset& preset : table()) {
    if (preset.mode != mode || !matches(revision, preset.revision, &Preset::revision)) continue;
    if (!matches(sdk, preset.sdk, &Preset::sdk)) continue;
    if (preset.api == api) return &preset;
    if (preset.api == "default" && fallback == nullptr) fallback = &preset;
  }
  return fallback;
}

std::span<const std::string_view> known_apis() { return kApis; }

}  // namespace retrysim
