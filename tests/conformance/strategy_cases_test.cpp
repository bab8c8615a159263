// Standard mode and its quota against the SDKs' own test cases: outcomes, quota levels and delays,
// response by response; and adaptive mode by the time that whole requests take.
//
// SPDX-License-Identifier: MIT
#include "csv_rows.hpp"

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <limits>
#include <memory>
#include <sstream>

using namespace retrysim;
using retrysim::conformance::CsvRow;
using retrysim::conformance::read_csv;

namespace {

RetryRules rules_of(std::string_view mode, std::string_view revision, std::string_view api,
                    std::string_view sdk = "botocore") {
  const Preset* preset = find_preset(mode, revision, sdk, api);
  REQUIRE(preset != nullptr);
  return preset->rules;
}

/// "500" or "400:Throttling".
Response answer_of(const std::string& text) {
  Response response;
  const std::size_t colon = text.find(':');
  response.status = std::stoi(text.substr(0, colon));
  if (colon != std::string::npos) response.code = text.substr(colon + 1);
  return response;
}

/// A strategy whose draws are all 1, so that delays are the upper bounds.
std::unique_ptr<RetryStrategy> upper_bounds(const RetryRules& rules) {
  auto strategy = std::make_unique<RetryStrategy>(rules, RandomKey(1, 0));
  strategy->fix_draws(1.0);
  return strategy;
}

/// How often a request that always fails with `status` is retried.
int count_retries(const RetryRules& rules, int status) {
  const auto strategy = upper_bounds(rules);
  const Failure failure = strategy->failure_of({.status = status});
  RetryToken token = strategy->acquire_initial_token(Time::zero());
  int retries = 0;
  while (true) {
    token = strategy->refresh_retry_token(std::move(token), failure, Time::zero());
    if (!token.may_send()) return retries;
    ++retries;
  }
}

/// Waits until the attempt may be sent.
void wait_for_send_token(RetryStrategy& strategy, RetryToken& token, Time& now) {
  for (Duration wait = strategy.acquire_send_token(token, now); wait > Duration::zero();
       wait = strategy.acquire_send_token(token, now)) {
    REQUIRE(wait < Duration::seconds(100));
    now = now + wait;
  }
}

/// One request whose attempts are answered at once, each by the next of `responses`.
void replay(RetryStrategy& strategy, const std::string& responses, Time& now) {
  std::istringstream words(responses);
  RetryToken token = strategy.acquire_initial_token(now);
  for (std::string word; words >> word;) {
    REQUIRE(token.may_send());
    wait_for_send_token(strategy, token, now);
    const Failure failure = strategy.failure_of(answer_of(word));
    if (failure.error.success()) return strategy.record_success(std::move(token), now);
    token = strategy.refresh_retry_token(std::move(token), failure, now);
    now = now + token.delay();
  }
  CHECK(token.outcome() == Outcome::kMaxAttemptsExceeded);
}

}  // namespace

TEST_CASE("standard mode decides, charges and waits as the SDKs' tests say") {
  const auto rows = read_csv("strategy_cases.csv", "revision", "case", "call", "api", "long_poll",
                             "max_attempts", "quota", "cap_ms", "response", "retry_after",
                             "outcome", "quota_after", "delay_ms", "deviation", "origin");
  std::unique_ptr<RetryStrategy> strategy;
  RetryToken token;
  std::string at_case, at_call;
  int checked = 0;
  for (const CsvRow& row : rows) {
    // One case is told apart by SDK: the base of a long poll's wait after throttling.
    const bool deviates = !row.empty("deviation");
    const std::string_view sdk = deviates ? "go-v2" : "botocore";
    INFO("revision " << row.text("revision") << ", " << row.text("case") << ", call "
                     << row.text("call") << ", response " << row.text("response"));
    const std::string case_id = row.text("revision") + row.text("case") + row.text("deviation");
    if (case_id != at_case) {
      RetryRules rules = rules_of("standard", row.text("revision"), row.text("api"), sdk);
      rules.max_attempts = static_cast<std::uint32_t>(row.integer("max_attempts"));
      rules.quota.initial = row.integer("quota");
      rules.backoff.cap = Duration::milliseconds(row.integer("cap_ms"));
      strategy = upper_bounds(rules);
      at_call.clear();
    }
    if (case_id != at_case || row.text("call") != at_call) {
      token = strategy->acquire_initial_token(Time::zero());
      at_case = case_id;
      at_call = row.text("call");
    }

    const Response response = answer_of(row.text("response"));
    Failure failure = strategy->failure_of(response);
    Outcome outcome = Outcome::kSuccess;
    Duration delay;
    if (failure.error.response_class == ResponseClass::kSuccess) {
      strategy->record_success(std::move(token), Time::zero());
    } else {
      failure.long_poll = row.boolean("long_poll");
      failure.retry_after = parse_retry_after(row.text("retry_after"));
      token = strategy->refresh_retry_token(std::move(token), failure, Time::zero());
      outcome = token.outcome();
      delay = token.delay();
    }
    CHECK(name(outcome) == row.text("outcome"));
    CHECK(strategy->quota() == row.integer("quota_after"));
    const int expected_ms = row.empty("delay_ms") ? 0 : row.integer("delay_ms");
    CHECK(delay.count() == Duration::milliseconds(expected_ms).count());
    ++checked;
  }
  CHECK(checked == 69);
}

TEST_CASE("the retry quota books single operations as botocore's does") {
  const auto rows = read_csv("quota_operations.csv", "case", "capacity", "operation", "amount",
                             "before", "after", "ok", "origin");
  int checked = 0;
  for (const CsvRow& row : rows) {
    INFO(row.text("case"));
    RetryQuota quota{row.integer("before")};
    bool ok = true;
    if (row.text("operation") == "acquire") {
      ok = quota.acquire(row.integer("amount"));
    } else if (row.text("operation") == "release") {
      quota.release(row.integer("amount"), row.integer("capacity"));
    } else if (row.text("operation") == "none") {
      // A request that fails for good gives nothing back.
      const RetryRules rules = rules_of("standard", "2.0", "default");
      RetryProgress progress{.attempts = rules.max_attempts, .held_cost = 5};
      Draws draws(RandomKey(1, 0), {});
      CHECK(refresh_retry_token(rules, {.quota = &quota}, progress, {}, Time::zero(), draws)
                .outcome == Outcome::kMaxAttemptsExceeded);
    } else {
      // 50 requests of 2 retries each use up 500 tokens; the 51st is not retried.
      REQUIRE(row.text("operation") == "acquire_total");
      const auto strategy = upper_bounds(rules_of("standard", "2.0", "default"));
      const auto next = [&strategy](RetryToken token) {
        return strategy->refresh_retry_token(std::move(token), {}, Time::zero());
      };
      int paid = 0;
      for (int call = 0; call < 50; ++call) {
        RetryToken token = next(strategy->acquire_initial_token(Time::zero()));
        for (; token.may_send(); token = next(std::move(token))) paid += token.held_cost();
        CHECK(token.outcome() == Outcome::kMaxAttemptsExceeded);
      }
      CHECK(paid == row.integer("amount"));
      quota.available = *strategy->quota();
      CHECK(next(strategy->acquire_initial_token(Time::zero())).outcome() ==
            Outcome::kQuotaExceeded);
    }
    CHECK(ok == row.boolean("ok"));
    CHECK(quota.available == row.integer("after"));
    ++checked;
  }
  CHECK(checked == 18);
}

TEST_CASE("the number of retries follows the mode, the API and the setting") {
  const auto rows =
      read_csv("max_attempts.csv", "mode", "config_max_attempts", "api", "retries", "origin");
  CHECK(rows.size() == 5);
  for (const CsvRow& row : rows) {
    INFO(row.text("mode") << ' ' << row.text("api") << ' ' << row.text("config_max_attempts"));
    RetryRules rules = rules_of(row.text("mode"), "", row.text("api"));
    if (!row.empty("config_max_attempts")) {
      rules.max_attempts = static_cast<std::uint32_t>(row.integer("config_max_attempts") + 1);
    }
    CHECK(count_retries(rules, 500) == row.integer("retries"));
  }
}

TEST_CASE("a server-suggested delay changes the backoff by the rule") {
  const auto rows = read_csv("retry_after_rules.csv", "rule", "suggested_ms", "backoff_ms",
                             "cap_ms", "delay_ms", "origin");
  CHECK(rows.size() == 10);
  for (const CsvRow& row : rows) {
    INFO(row.text("rule") << ' ' << row.text("suggested_ms") << ' ' << row.text("backoff_ms"));
    RetryRules rules;
    rules.max_attempts = 2;
    rules.backoff.base = Duration::milliseconds(row.integer("backoff_ms"));
    rules.backoff.throttle_base = rules.backoff.base;
    if (!row.empty("cap_ms")) rules.backoff.cap = Duration::milliseconds(row.integer("cap_ms"));
    for (const RetryAfter rule : {RetryAfter::kIgnore, RetryAfter::kMinimum, RetryAfter::kClamp,
                                  RetryAfter::kAdd, RetryAfter::kReplace}) {
      if (name(rule) == row.text("rule")) rules.retry_after = rule;
    }
    REQUIRE(name(rules.retry_after) == row.text("rule"));
    RetryProgress progress{.attempts = 1};
    Failure failure;
    failure.retry_after = Duration::milliseconds(row.integer("suggested_ms"));
    Draws draws(RandomKey(1, 0), {});
    const RetryDecision decision =
        refresh_retry_token(rules, {}, progress, failure, Time::zero(), draws);
    CHECK(decision.outcome == Outcome::kRetry);
    CHECK(decision.delay.count() == Duration::milliseconds(row.integer("delay_ms")).count());
  }
}

TEST_CASE(
    "delays of the AWS SDK for JavaScript v3 are whole milliseconds, also with a suggestion") {
  const auto rows = read_csv("js_v3_delays.csv", "revision", "class", "retry", "draw",
                             "suggested_ms", "delay_ms", "origin");
  CHECK(rows.size() == 52);
  for (const CsvRow& row : rows) {
    INFO(row.text("revision") << ' ' << row.text("class") << ", retry " << row.text("retry")
                              << ", draw " << row.text("draw") << ", suggested "
                              << row.text("suggested_ms"));
    for (const char* mode : {"standard", "adaptive"}) {
      RetryRules rules = rules_of(mode, row.text("revision"), "default", "js-v3");
      rules.max_attempts = RetryRules::kUnlimited;
      Failure failure;
      failure.error.response_class = row.text("class") == "throttling" ? ResponseClass::kThrottling
                                                                       : ResponseClass::kTransient;
      failure.retry_after = parse_retry_after(row.text("suggested_ms"));
      RetryProgress progress{.attempts = static_cast<std::uint32_t>(row.integer("retry"))};
      RetryQuota quota{500};
      Draws draws(RandomKey(1, 0), {});
      const RetryDecision decision = refresh_retry_token(
          rules, {.quota = &quota}, progress, failure, Time::zero(), draws, row.number("draw"));
      CHECK(decision.outcome == Outcome::kRetry);
      CHECK(decision.delay.count() == Duration::milliseconds(row.integer("delay_ms")).count());
    }
  }
}

TEST_CASE("adaptive requests take as long as smithy-rs's own test says") {
  const auto rows = read_csv("adaptive_replays.csv", "case", "revision", "wait", "responses",
                             "min_total_s", "max_total_s", "origin");
  CHECK(rows.size() == 12);
  std::unique_ptr<RetryStrategy> strategy;
  std::string at_case;
  Time now = Time::zero();
  for (const CsvRow& row : rows) {
    INFO(row.text("case") << ' ' << row.text("revision") << ": " << row.text("responses"));
    if (row.text("case") + row.text("revision") != at_case) {
      at_case = row.text("case") + row.text("revision");
      RetryRules rules = find_preset("adaptive", row.text("revision"), "rust", "dynamodb")->rules;
      rules.max_attempts = 4;
      if (!row.empty("wait")) {
        REQUIRE(row.text("wait") == name(SendTokenWait::kReserve));
        rules.rate_limit.wait = SendTokenWait::kReserve;
      }
      strategy = std::make_unique<RetryStrategy>(rules, RandomKey(1, 0));
      strategy->fix_draws(1);
      now = Time::zero();
    }
    replay(*strategy, row.text("responses"), now);
    const double total_s = (now - Time::zero()).in_seconds();
    CHECK(total_s >= row.number("min_total_s"));
    CHECK(total_s <= row.number("max_total_s"));
  }
}
