// The order of decisions, what each outcome costs and gives back, and the class that wraps it all.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <set>

using namespace retrysim;

namespace {

const RetryRules& preset(std::string_view mode, std::string_view revision = "",
                         std::string_view sdk = "") {
  return find_preset(mode, revision, sdk, "default")->rules;
}

RetryDecision decide(const RetryRules& rules, RetryQuota& quota, RetryToken& token,
                     const Failure& failure, double draw = 1) {
  Draws draws(RandomKey(1, 0), {});
  return refresh_retry_token(rules, rules.quota.enabled ? &quota : nullptr, token, failure, draws,
                             draw);
}

Outcome outcome(const RetryRules& rules, RetryQuota quota, std::uint32_t attempts,
                ResponseClass response_class) {
  RetryToken token{.attempts = attempts};
  return decide(rules, quota, token, {.response_class = response_class}).outcome;
}

constexpr Time at_ms(std::int64_t n) { return Time::zero() + Duration::milliseconds(n); }
constexpr auto kTransient = ResponseClass::kTransient;
constexpr auto kThrottling = ResponseClass::kThrottling;
constexpr auto kTimeout = ResponseClass::kTimeout;

}  // namespace

TEST_CASE("retryable comes before attempts, attempts before chance, chance before quota") {
  RetryRules rules = preset("standard");
  rules.probability = 0;
  const RetryQuota empty{0};
  const auto kNever = ResponseClass::kNotRetryable;
  // Every reason to refuse at once, then one less each time.
  CHECK(outcome(rules, empty, 3, kNever) == Outcome::kNotRetryable);
  CHECK(outcome(rules, empty, 3, kTransient) == Outcome::kMaxAttemptsExceeded);
  CHECK(outcome(rules, empty, 2, kTransient) == Outcome::kMaxAttemptsExceeded);  // by chance
  rules.probability = 1;
  CHECK(outcome(rules, empty, 2, kTransient) == Outcome::kQuotaExceeded);
  CHECK(outcome(rules, {500}, 2, kTransient) == Outcome::kRetry);
}

TEST_CASE("a refusal leaves quota and token as they were") {
  const RetryRules& rules = preset("standard");
  RetryQuota quota{4};
  RetryToken token{.attempts = 1, .held_cost = 7, .previous_delay = Duration::seconds(9)};
  CHECK(decide(rules, quota, token, {}).outcome == Outcome::kQuotaExceeded);
  CHECK(decide(rules, quota, token, {ResponseClass::kNotRetryable}).outcome ==
        Outcome::kNotRetryable);
  quota.available = 400;
  token.attempts = 3;
  CHECK(decide(rules, quota, token, {}).outcome == Outcome::kMaxAttemptsExceeded);
  CHECK(quota.available == 400);
  CHECK(token.held_cost == 7);
  CHECK(token.previous_delay == Duration::seconds(9));
}

TEST_CASE("the price of a retry depends on the class") {
  struct Prices {
    const RetryRules& rules;
    int transient, throttling, timeout;
  };
  for (const Prices& p :
       {Prices{preset("standard", "2.0"), 5, 5, 10}, Prices{preset("standard", "2.1"), 14, 5, 14},
        Prices{preset("legacy", "", "java-v1"), 5, 0, 5}}) {
    const auto price = [&p](ResponseClass c) {
      RetryQuota quota{500};
      RetryToken token{.attempts = 1};
      CHECK(decide(p.rules, quota, token, {c}).outcome == Outcome::kRetry);
      CHECK(token.held_cost == 500 - quota.available);
      return token.held_cost;
    };
    CHECK(price(kTransient) == p.transient);
    CHECK(price(kThrottling) == p.throttling);
    CHECK(price(kTimeout) == p.timeout);
  }
}

TEST_CASE("an empty quota does not stop free retries") {
  CHECK(outcome(preset("legacy", "", "java-v1"), {0}, 1, kThrottling) == Outcome::kRetry);
  CHECK(outcome(preset("legacy", "", "java-v1"), {0}, 1, kTransient) == Outcome::kQuotaExceeded);
  CHECK(outcome(preset("legacy", "", "botocore"), {0}, 1, kTransient) == Outcome::kRetry);
}

TEST_CASE("rules whose quota is switched off charge nothing, whatever their prices") {
  RetryRules rules = preset("standard");
  rules.quota.enabled = false;
  RetryQuota quota{3};
  RetryToken token{.attempts = 1};
  Draws draws(RandomKey(1, 0), {});
  CHECK(refresh_retry_token(rules, &quota, token, {}, draws).outcome == Outcome::kRetry);
  CHECK(refresh_retry_token(rules, nullptr, token, {}, draws).outcome == Outcome::kRetry);
  CHECK(token.held_cost == 0);
  record_success(rules, &quota, {.attempts = 1});
  record_success(rules, nullptr, {.attempts = 2});
  CHECK(quota.available == 3);
}

TEST_CASE("success gives back what the rules say, up to the capacity") {
  RetryRules rules;
  rules.quota = {.enabled = true, .capacity = 100, .initial = 100, .cost = 5, .credit = 1};
  const auto returned = [&rules](Refund refund, std::uint32_t attempts, int available) {
    rules.quota.refund = refund;
    RetryQuota quota{available};
    record_success(rules, &quota, {.attempts = attempts, .held_cost = 14});
    return quota.available - available;
  };
  for (const Refund refund : {Refund::kLast, Refund::kCost, Refund::kCredit, Refund::kNone}) {
    CHECK(returned(refund, 1, 50) == 1);  // the first attempt holds nothing
    CHECK(returned(refund, 1, 100) == 0);
  }
  CHECK(returned(Refund::kLast, 2, 50) == 14);
  CHECK(returned(Refund::kCost, 2, 50) == 5);
  CHECK(returned(Refund::kCredit, 2, 50) == 1);
  CHECK(returned(Refund::kNone, 2, 50) == 0);
  CHECK(returned(Refund::kLast, 3, 95) == 5);
}

TEST_CASE("only the last retry is refunded") {
  RetryStrategy strategy(preset("standard", "2.1"), RandomKey(1, 0));
  StrategyToken token = strategy.acquire_initial_token(Time::zero());
  token = strategy.refresh_retry_token(token, {kTransient}, Time::zero());   // 14
  token = strategy.refresh_retry_token(token, {kThrottling}, Time::zero());  // 5
  CHECK(strategy.quota() == 481);
  strategy.record_success(token, Time::zero());
  CHECK(strategy.quota() == 486);
}

TEST_CASE("a long poll waits before it reports an empty quota, in revision 2.1 only") {
  const Failure failure{
      .response_class = kThrottling, .retry_after = Duration::seconds(3), .long_poll = true};
  RetryToken token{.attempts = 1};
  RetryQuota quota{0};
  const RetryDecision waits = decide(preset("standard", "2.1"), quota, token, failure);
  CHECK(waits.outcome == Outcome::kQuotaExceeded);
  CHECK(waits.delay == Duration::seconds(3));  // the header counts, as it would for the retry
  CHECK(token.held_cost == 0);
  CHECK(decide(preset("standard", "2.0"), quota, token, failure).delay == Duration::zero());
  Failure other = failure;
  other.long_poll = false;
  CHECK(decide(preset("standard", "2.1"), quota, token, other).delay == Duration::zero());
}

TEST_CASE("decorrelated jitter grows from the last backoff, not from a suggested delay") {
  RetryRules rules;
  rules.max_attempts = 9;
  rules.backoff.base = rules.backoff.throttle_base = Duration::milliseconds(100);
  rules.backoff.jitter = rules.backoff.throttle_jitter = Jitter::kDecorrelated;
  rules.retry_after = RetryAfter::kMinimum;
  RetryQuota none;
  RetryToken token{.attempts = 1};
  const Failure suggested{.retry_after = Duration::seconds(60)};
  CHECK(decide(rules, none, token, suggested).delay == Duration::seconds(60));
  CHECK(token.previous_delay == Duration::milliseconds(300));
  token.attempts = 2;
  CHECK(decide(rules, none, token, {}).delay == Duration::milliseconds(900));
}

TEST_CASE("the chance of a retry is what it says") {
  RetryRules rules;
  rules.max_attempts = RetryRules::kUnlimited;
  rules.probability = 0.3;
  int retries = 0;
  constexpr int kRequests = 100'000;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    Draws draws(RandomKey(5, 0), {.entity = i, .attempt = 1, .purpose = Purpose::kBackoff});
    RetryToken token{.attempts = 1};
    retries +=
        refresh_retry_token(rules, nullptr, token, {}, draws).outcome == Outcome::kRetry ? 1 : 0;
  }
  // 6 standard deviations, sqrt(0.3 x 0.7 x 100 000) = 145: false alarm below 2e-9.
  CHECK(retries == Approx(30'000).margin(870));
  rules.probability = 1;  // certain even for a draw of 1
  CHECK(outcome(rules, {}, 1, kTransient) == Outcome::kRetry);
}

TEST_CASE("unlimited attempts never end") {
  RetryRules rules;
  rules.max_attempts = RetryRules::kUnlimited;
  CHECK(outcome(rules, {}, RetryRules::kUnlimited - 1, kTransient) == Outcome::kRetry);
  CHECK(outcome(rules, {}, RetryRules::kUnlimited, kTransient) == Outcome::kRetry);
}

TEST_CASE("the first attempt is never refused") {
  for (const Preset& p : presets()) {
    RetryRules rules = p.rules;
    rules.quota.initial = 0;
    RetryStrategy strategy(rules, RandomKey(1, 0));
    const StrategyToken token = strategy.acquire_initial_token(Time::zero());
    CHECK(token.outcome == Outcome::kRetry);
    CHECK(token.delay == Duration::zero());
    CHECK(token.send_wait == Duration::zero());
    CHECK(token.state.attempts == 1);
    CHECK(strategy.acquire_send_token(Time::zero()) == Duration::zero());
  }
}

TEST_CASE("clients, requests and attempts draw different jitter, the same ones the same") {
  RetryRules rules = preset("standard");
  rules.max_attempts = 10;
  rules.backoff.factor = 1;
  std::set<std::int64_t> delays;
  const auto play = [&](std::uint64_t seed, std::uint32_t client, std::uint16_t group) {
    RetryStrategy strategy(rules, RandomKey(seed, 0), Time::zero(), client, group);
    for (int request = 0; request < 3; ++request) {
      StrategyToken token = strategy.acquire_initial_token(Time::zero());
      for (int i = 0; i < 4; ++i) {
        token = strategy.refresh_retry_token(token, {}, Time::zero());
        delays.insert(token.delay.count());
      }
    }
  };
  play(1, 0, 0);
  play(1, 1, 0);
  play(1, 0, 1);
  play(2, 0, 0);
  CHECK(delays.size() == 48);  // of 10^9 each: two alike with a probability of 1e-6
  play(1, 1, 0);
  CHECK(delays.size() == 48);
}

TEST_CASE("only throttling turns the limiter on, and it then makes attempts wait") {
  RetryRules rules = preset("adaptive");
  rules.max_attempts = 100;
  RetryStrategy strategy(rules, RandomKey(1, 0));
  strategy.fix_draws(0.5);
  StrategyToken token = strategy.acquire_initial_token(Time::zero());
  for (const ResponseClass c : {kTransient, kTimeout, ResponseClass::kNotRetryable}) {
    strategy.refresh_retry_token(token, {c}, at_ms(100));
    CHECK_FALSE(strategy.limiter()->enabled());
  }
  // A request that the quota refuses has told the limiter all the same.
  token = strategy.refresh_retry_token(token, {kThrottling}, at_ms(200));
  CHECK(strategy.limiter()->enabled());
  CHECK(token.delay == Duration::milliseconds(500));
  // 0.5 tokens a second since the first response at 0.1 s: 0.3 after the delay, 1.4 s to go.
  CHECK(token.send_wait.count() == 1'400'000'000);
  CHECK(strategy.acquire_send_token(at_ms(700)) == token.send_wait);
  CHECK(strategy.acquire_send_token(at_ms(2100)) == Duration::zero());
  CHECK(strategy.acquire_send_token(at_ms(2100)) == Duration::seconds(2));
}

TEST_CASE("the limiter measures successes and failures alike") {
  RetryStrategy strategy(preset("adaptive"), RandomKey(1, 0));
  const StrategyToken token = strategy.acquire_initial_token(Time::zero());
  strategy.record_success(token, at_ms(100));
  strategy.refresh_retry_token(token, {kTransient}, at_ms(200));
  strategy.record_success(token, at_ms(500));
  CHECK(strategy.limiter()->measured_rate() == Approx(0.8 * 3 / 0.5));
  CHECK_FALSE(strategy.limiter()->enabled());
}

TEST_CASE("rules without a limiter or a quota report none") {
  RetryStrategy strategy(preset("legacy"), RandomKey(1, 0));
  CHECK(strategy.limiter() == nullptr);
  CHECK_FALSE(strategy.quota().has_value());
  strategy.record_success(strategy.acquire_initial_token(Time::zero()), Time::zero());
  CHECK_FALSE(strategy.quota().has_value());
}
