// What the comparison with the real SDKs (tests/sdks) has shown, each finding as a case of its own,
// so that it stays true where the SDKs are not installed.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include "retry/presets.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "unit/retry/short_names.hpp"

using namespace retrysim;
using retrysim::test::kNotRetryable;
using retrysim::test::kThrottling;
using retrysim::test::kTransient;

namespace {

const Preset& preset_of(const char* sdk, const char* mode, const char* revision = "2.0",
                        const char* api = "default") {
  const Preset* preset = find_preset(mode, revision, sdk, api);
  REQUIRE(preset != nullptr);
  return *preset;
}

ResponseClass class_of(const char* sdk, const char* mode, int status, const char* code = "",
                       const char* api = "default") {
  return classify(preset_of(sdk, mode, "2.0", api).rules.errors, api,
                  {.status = status, .code = code})
      .response_class;
}

/// The tokens that the first retry after an answer costs.
int price(const char* sdk, const char* revision, int status, const char* code) {
  const RetryRules& rules = preset_of(sdk, "standard", revision).rules;
  RetryStrategy strategy(rules, RandomKey(1, 0));
  const Failure failure = strategy.failure_of({.status = status, .code = code});
  return strategy
      .refresh_retry_token(strategy.acquire_initial_token(Time::zero()), failure, Time::zero())
      .held_cost();
}

}  // namespace

TEST_CASE("legacy botocore: Organizations replaces the rule for 429 by its own") {
  CHECK(class_of("botocore", "legacy", 429, "", "organizations") == kNotRetryable);
  CHECK(class_of("botocore", "legacy", 429, "TooManyRequestsException", "organizations") ==
        kNotRetryable);
  CHECK(class_of("botocore", "legacy", 400, "TooManyRequestsException", "organizations") ==
        kThrottling);
  CHECK(class_of("botocore", "legacy", 429, "", "kinesis") == kThrottling);
}

TEST_CASE("a 429 is throttling whatever its code says in js-v3 and ruby, not in botocore") {
  CHECK(class_of("js-v3", "standard", 429, "RequestTimeout") == kThrottling);
  CHECK(class_of("ruby", "standard", 429, "RequestTimeout") == kThrottling);
  CHECK(class_of("botocore", "standard", 429, "RequestTimeout") == kTransient);
  CHECK(class_of("botocore", "standard", 429, "ValidationException") == kNotRetryable);
}

TEST_CASE("js-v3 retries what DynamoDB's model marks as retryable") {
  const char* code = "ReplicatedWriteConflictException";
  CHECK(class_of("js-v3", "standard", 400, code, "dynamodb") == kTransient);
  CHECK(class_of("js-v3", "standard", 400, code, "kinesis") == kNotRetryable);
  CHECK(class_of("botocore", "standard", 400, code, "dynamodb") == kNotRetryable);
}

TEST_CASE("ruby: network errors by code cost 10, also those that are throttling by status") {
  CHECK(price("ruby", "2.0", 400, "IDPCommunicationError") == 10);  // at any service
  CHECK(price("ruby", "2.0", 429, "InternalError") == 10);
  CHECK(price("ruby", "2.0", 429, "") == 5);
  CHECK(price("ruby", "2.1", 429, "InternalError") == 5);
  CHECK(price("ruby", "2.1", 500, "InternalError") == 14);
}

TEST_CASE("js-v2 knows fewer throttling codes than its successor") {
  for (const char* code : {"ThrottledException", "BandwidthLimitExceeded", "SlowDown",
                           "LimitExceededException", "PriorRequestNotComplete"}) {
    INFO(code);
    CHECK(class_of("js-v2", "legacy", 400, code) == kNotRetryable);
    CHECK(class_of("js-v2", "legacy", 503, code) == kTransient);
  }
  CHECK(class_of("js-v2", "legacy", 400, "EC2ThrottledException") == kThrottling);
  CHECK(class_of("js-v2", "legacy", 400, "TimeoutError") == kTransient);
  CHECK(class_of("js-v2", "legacy", 400, "PriorRequestNotComplete", "route53") == kThrottling);
  CHECK(class_of("js-v2", "legacy", 403, "PriorRequestNotComplete", "route53") == kNotRetryable);
  CHECK(class_of("js-v2", "legacy", 400, "RequestTimeout") == kNotRetryable);
  CHECK(class_of("js-v2", "legacy", 400, "RequestTimeout", "s3") == kTransient);
}

TEST_CASE("go-v1 takes 502, 503 and 504 for throttling, and has codes of its own") {
  for (const int status : {429, 502, 503, 504}) {
    INFO(status);
    CHECK(class_of("go-v1", "legacy", status) == kThrottling);
    CHECK(class_of("go-v1", "legacy", status, "RequestTimeout") == kThrottling);
  }
  CHECK(class_of("go-v1", "legacy", 500) == kTransient);
  CHECK(class_of("go-v1", "legacy", 501) == kNotRetryable);
  CHECK(class_of("go-v1", "legacy", 400, "PriorRequestNotComplete") == kThrottling);
  CHECK(class_of("go-v1", "legacy", 400, "SlowDown") == kNotRetryable);
  CHECK(class_of("go-v1", "legacy", 400, "BandwidthLimitExceeded") == kNotRetryable);
  CHECK(class_of("go-v1", "legacy", 400, "ExpiredToken") == kTransient);
  CHECK(class_of("go-v1", "legacy", 400, "LimitExceededException") == kNotRetryable);
  CHECK(class_of("go-v1", "legacy", 400, "LimitExceededException", "kinesis") == kTransient);
  CHECK(class_of("go-v1", "legacy", 400, "IDPCommunicationError", "sts") == kTransient);
}

TEST_CASE("go-v1 adds a suggested delay only to the answers 429 and 503") {
  RetryStrategy strategy(preset_of("go-v1", "legacy").rules, RandomKey(1, 0));
  strategy.fix_draws(0);
  const auto delay = [&strategy](int status, const char* code) {
    const Failure failure =
        strategy.failure_of({.status = status, .code = code, .retry_after = Duration::seconds(3)});
    return strategy
        .refresh_retry_token(strategy.acquire_initial_token(Time::zero()), failure, Time::zero())
        .delay();
  };
  CHECK(delay(429, "") == Duration::milliseconds(3500));
  CHECK(delay(503, "") == Duration::milliseconds(3500));
  CHECK(delay(502, "") == Duration::milliseconds(500));
  CHECK(delay(400, "ThrottlingException") == Duration::milliseconds(500));
  CHECK(delay(500, "") == Duration::milliseconds(30));
}

TEST_CASE("whole milliseconds are rounded down, not up from just below") {
  constexpr double kLargestDraw = 1 - 0x1p-53;
  for (const char* revision : {"2.0", "2.1"}) {
    RetryStrategy strategy(preset_of("js-v3", "standard", revision).rules, RandomKey(1, 0));
    strategy.fix_draws(kLargestDraw);
    const Failure failure = strategy.failure_of({.status = 500});
    const RetryToken token = strategy.refresh_retry_token(
        strategy.acquire_initial_token(Time::zero()), failure, Time::zero());
    CHECK(token.delay() == Duration::milliseconds(std::string(revision) == "2.0" ? 99 : 49));
  }
}

TEST_CASE("each compared release belongs to presets that exist, and to those rows alone") {
  int compared = 0;
  for (const Preset& preset : presets()) compared += compared_release(preset).empty() ? 0 : 1;
  CHECK(compared == 24);
  CHECK(compared_release(preset_of("botocore", "adaptive")) == "1.29.27");
  CHECK(compared_release(preset_of("botocore", "adaptive", "2.1")).empty());
  CHECK(compared_release(preset_of("ruby", "legacy", "", "dynamodb")).empty());
  CHECK(compared_release(preset_of("java-v2", "legacy")).empty());
}
