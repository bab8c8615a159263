// Lists of errors of the user's own: which errors are retried, from which base, and how far a
// suggested delay is obeyed.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "unit/retry/short_names.hpp"

namespace retrysim::error_lists {

using retrysim::test::kNotRetryable;
using retrysim::test::kThrottling;
using retrysim::test::kTransient;

namespace {

using Of = ErrorPattern::Of;

ErrorPattern error(std::string_view text) {
  const auto pattern = parse_error_pattern(text);
  INFO(std::string(text));
  REQUIRE(pattern.has_value());
  return *pattern;
}

RetryRules standard() { return find_preset("standard", "2.0", "botocore", "default")->rules; }

Response answer(int status, std::string code = "") {
  return {.status = status, .code = std::move(code)};
}
Response no_answer(TransportError transport) { return {.status = 0, .transport = transport}; }

ResponseClass class_of(const ErrorRules& rules, const Response& response) {
  return classify(rules, "default", response).response_class;
}

/// What follows the first failure, with every draw in the middle.
RetryDecision after(const RetryRules& rules, const Response& response) {
  RetryQuota quota{500};
  RetryProgress progress{.attempts = 1};
  Draws draws(RandomKey(1, 0), {});
  const Failure failure{.error = classify(rules.errors, rules.api, response),
                        .retry_after = response.retry_after};
  return refresh_retry_token(rules, {.quota = rules.quota.enabled ? &quota : nullptr}, progress,
                             failure, Time::zero(), draws, 0.5);
}

}  // namespace

TEST_CASE("errors by status, hundred, code and kind") {
  CHECK(error("503") == ErrorPattern{Of::kStatus, 503, ""});
  CHECK(error("503:SlowDown") == ErrorPattern{Of::kStatus, 503, "SlowDown"});
  CHECK(error("SlowDown") == ErrorPattern{Of::kCode, 0, "SlowDown"});
  CHECK(error("5xx") == ErrorPattern{Of::kHundred, 5, ""});
  CHECK(error("internal") == error("500"));
  CHECK(error("unavailable") == error("503"));
  for (const char* wrong :
       {"", "200", "399", "600", "3xx", "503:", "503:lower", "slow", "503x", "Slow Down", "-1"}) {
    INFO(wrong);
    CHECK_FALSE(parse_error_pattern(wrong).has_value());
  }
}

TEST_CASE("retry.on has the only errors that are retried") {
  ErrorRules rules = standard().errors;
  REQUIRE(class_of(rules, answer(500)) == kTransient);
  REQUIRE(class_of(rules, answer(404)) == kNotRetryable);
  rules.on = {error("404"), error("429"), error("SlowDown")};
  CHECK(class_of(rules, answer(500)) == kNotRetryable);
  CHECK(class_of(rules, answer(404)) == kTransient);
  CHECK(class_of(rules, answer(429)) == kThrottling);
  CHECK(class_of(rules, answer(503, "SlowDown")) == kThrottling);  // as the table has it
  CHECK(class_of(rules, no_answer(TransportError::kTimeout)) == kNotRetryable);
  CHECK(class_of(rules, answer(200)) == ResponseClass::kSuccess);
  rules.on = {error("timeout")};
  CHECK(class_of(rules, no_answer(TransportError::kTimeout)) == ResponseClass::kTimeout);
  CHECK(class_of(rules, no_answer(TransportError::kConnection)) == kNotRetryable);
  rules.on = {error("any")};
  CHECK(class_of(rules, answer(400)) == kTransient);
}

TEST_CASE("retry.not_on goes before retry.on") {
  ErrorRules rules = standard().errors;
  rules.not_on = {error("5xx"), error("connection")};
  CHECK(class_of(rules, answer(503)) == kNotRetryable);
  CHECK(class_of(rules, no_answer(TransportError::kConnection)) == kNotRetryable);
  CHECK(class_of(rules, no_answer(TransportError::kTimeout)) == ResponseClass::kTimeout);
  CHECK(class_of(rules, answer(400, "ThrottlingException")) == kThrottling);
  rules.on = {error("503")};
  CHECK(class_of(rules, answer(503)) == kNotRetryable);
  rules.not_on = {error("throttled")};
  rules.on = {error("any")};
  CHECK(class_of(rules, answer(400, "ThrottlingException")) == kNotRetryable);
}

TEST_CASE("an error that only the list makes retryable pays no timeout price") {
  ErrorRules rules = standard().errors;
  rules.timeout_class = TimeoutClass::kRequestTimeout;
  rules.on = {error("408")};
  const ErrorInfo info = classify(rules, "default", answer(408));
  CHECK(info.response_class == kTransient);
  CHECK_FALSE(info.timeout);
}

TEST_CASE("a base of its own grows and is spread as the base is") {
  RetryRules rules = standard();
  rules.errors.status_429 = Status429::kThrottling;
  rules.errors.bases = {{error("429"), Duration::seconds(4)}, {error("5xx"), Duration::seconds(2)}};
  CHECK(after(rules, answer(429)).delay == Duration::seconds(2));  // full jitter, halfway
  CHECK(after(rules, answer(503)).delay == Duration::seconds(1));
  CHECK(after(rules, no_answer(TransportError::kTimeout)).delay == Duration::milliseconds(500));
  RetryProgress third{.attempts = 3};
  Draws draws(RandomKey(1, 0), {});
  rules.max_attempts = 9;
  rules.quota.enabled = false;
  const RetryDecision d = refresh_retry_token(
      rules, {}, third, {.error = classify(rules.errors, "default", answer(503))}, Time::zero(),
      draws, 0.5);
  CHECK(d.delay == Duration::seconds(4));  // 2 s x 2^2, halfway
}

TEST_CASE("a suggestion above the longest that is obeyed") {
  for (const RetryAfter rule : {RetryAfter::kMinimum, RetryAfter::kReplace, RetryAfter::kAdd}) {
    RetryRules rules = standard();  // 1 s, halfway: 0.5 s
    rules.retry_after = rule;
    rules.retry_after_max = Duration::seconds(60);
    Response hour = answer(503), minute = answer(503);
    hour.retry_after = Duration::seconds(3600);
    minute.retry_after = Duration::seconds(60);
    const Duration own = rule == RetryAfter::kAdd ? Duration::milliseconds(500) : Duration();
    CHECK(after(rules, hour).delay == Duration::seconds(60) + own);
    rules.retry_after_over = RetryAfterOver::kBackoff;
    CHECK(after(rules, hour).delay == Duration::milliseconds(500));
    CHECK(after(rules, minute).delay == Duration::seconds(60) + own);
    rules.retry_after_over = RetryAfterOver::kFail;
    CHECK(after(rules, hour).outcome == Outcome::kNotRetryable);
    CHECK(after(rules, minute).outcome == Outcome::kRetry);
    rules.retry_after_jitter = 0.2;
    CHECK(after(rules, minute).delay == Duration::seconds(66) + own);
  }
}

TEST_CASE("a suggestion that the client does not read does not end a request") {
  RetryRules rules = standard();
  rules.retry_after_max = Duration::seconds(1);
  rules.retry_after_over = RetryAfterOver::kFail;
  Response hour = answer(503);
  hour.retry_after = Duration::seconds(3600);
  REQUIRE(rules.retry_after == RetryAfter::kIgnore);
  CHECK(after(rules, hour).outcome == Outcome::kRetry);
  rules.retry_after = RetryAfter::kAddWhenThrottled;
  CHECK(after(rules, hour).outcome == Outcome::kRetry);
  hour.code = "SlowDown";
  CHECK(after(rules, hour).outcome == Outcome::kNotRetryable);
}

TEST_CASE("a suggestion that is too long is final whether or not a retry could be paid for") {
  RetryRules rules = standard();
  rules.quota.cost = 1000;  // more than there is
  rules.quota.order = QuotaOrder::kBeforeClassification;
  rules.retry_after = RetryAfter::kReplace;
  rules.retry_after_max = Duration::seconds(60);
  rules.retry_after_over = RetryAfterOver::kFail;
  Response hour = answer(503), minute = answer(503);
  hour.retry_after = Duration::seconds(3600);
  minute.retry_after = Duration::seconds(60);
  CHECK(after(rules, hour).outcome == Outcome::kNotRetryable);
  CHECK(after(rules, minute).outcome == Outcome::kQuotaExceeded);
}

// Of 100,000 draws, uniform on [60 s, 72 s]: the mean is 66 s with a standard deviation of 0.011 s;
// five of them are exceeded with probability 6 x 10^-7.
TEST_CASE("an obeyed suggestion is spread evenly above itself") {
  RetryRules rules = standard();
  rules.quota.enabled = false;
  rules.retry_after = RetryAfter::kReplace;
  rules.retry_after_max = Duration::max();
  rules.retry_after_jitter = 0.2;
  constexpr int kDraws = 100'000;
  double sum = 0;
  Failure failure{.error = {kTransient}, .retry_after = Duration::seconds(60)};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    RetryProgress progress{.attempts = 1};
    Draws draws(RandomKey(7, 0), {i, 1, 0, Purpose::kBackoff});
    const Duration d = refresh_retry_token(rules, {}, progress, failure, Time::zero(), draws).delay;
    REQUIRE((d >= Duration::seconds(60) && d <= Duration::seconds(72)));
    sum += d.in_seconds();
  }
  CHECK(std::abs(sum / kDraws - 66) < 0.055);
}

}  // namespace retrysim::error_lists
