// The order of decisions, what each outcome costs and gives back, and the class that wraps it all.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <set>

#include "unit/retry/short_names.hpp"

using namespace retrysim;
using retrysim::test::at_ms;
using retrysim::test::kThrottling;
using retrysim::test::kTransient;

namespace {

const RetryRules& preset(std::string_view mode, std::string_view revision = "",
                         std::string_view sdk = "") {
  return find_preset(mode, revision, sdk, "default")->rules;
}

/// A failure of one class. A timeout pays the price of timeouts, as in botocore.
Failure failed(ResponseClass response_class) {
  return {.error = {response_class, response_class == ResponseClass::kTimeout}};
}

RetryDecision decide(const RetryRules& rules, RetryQuota& quota, RetryProgress& token,
                     const Failure& failure, double draw = 1) {
  Draws draws(RandomKey(1, 0), {});
  return refresh_retry_token(rules, {.quota = rules.quota.enabled ? &quota : nullptr}, token,
                             failure, Time::zero(), draws, draw);
}

Outcome outcome(const RetryRules& rules, RetryQuota quota, std::uint32_t attempts,
                ResponseClass response_class) {
  RetryProgress token{.attempts = attempts};
  return decide(rules, quota, token, failed(response_class)).outcome;
}

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
  RetryProgress token{.attempts = 1, .held_cost = 7, .previous_delay = Duration::seconds(9)};
  CHECK(decide(rules, quota, token, {}).outcome == Outcome::kQuotaExceeded);
  CHECK(decide(rules, quota, token, failed(ResponseClass::kNotRetryable)).outcome ==
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
      RetryProgress token{.attempts = 1};
      CHECK(decide(p.rules, quota, token, failed(c)).outcome == Outcome::kRetry);
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
  RetryProgress token{.attempts = 1};
  Draws draws(RandomKey(1, 0), {});
  CHECK(refresh_retry_token(rules, {.quota = &quota}, token, {}, Time::zero(), draws).outcome ==
        Outcome::kRetry);
  CHECK(refresh_retry_token(rules, {}, token, {}, Time::zero(), draws).outcome == Outcome::kRetry);
  CHECK(token.held_cost == 0);
  record_success(rules, {.quota = &quota}, {.attempts = 1}, Time::zero());
  record_success(rules, {}, {.attempts = 2}, Time::zero());
  CHECK(quota.available == 3);
}

TEST_CASE("success gives back what the rules say, up to the capacity") {
  RetryRules rules;
  rules.quota.enabled = true;
  rules.quota.capacity = rules.quota.initial = 100;
  rules.quota.cost = 5;
  rules.quota.credit = 1;
  const auto returned = [&rules](Refund refund, std::uint32_t attempts, int available) {
    rules.quota.refund = refund;
    RetryQuota quota{available};
    record_success(rules, {.quota = &quota}, {.attempts = attempts, .held_cost = 14}, Time::zero());
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
  RetryToken token = strategy.acquire_initial_token(Time::zero());
  token = strategy.refresh_retry_token(std::move(token), failed(kTransient), Time::zero());   // 14
  token = strategy.refresh_retry_token(std::move(token), failed(kThrottling), Time::zero());  // 5
  CHECK(strategy.quota() == 481);
  strategy.record_success(std::move(token), Time::zero());
  CHECK(strategy.quota() == 486);
}

TEST_CASE("a long poll waits before it reports an empty quota, in revision 2.1 only") {
  const Failure failure{
      .error = {kThrottling}, .retry_after = Duration::seconds(3), .long_poll = true};
  RetryProgress token{.attempts = 1};
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
  RetryProgress token{.attempts = 1};
  const Failure suggested{.retry_after = Duration::seconds(60)};
  CHECK(decide(rules, none, token, suggested).delay == Duration::seconds(60));
  CHECK(token.previous_delay == Duration::milliseconds(300));
  token.attempts = 2;
  CHECK(decide(rules, none, token, {}).delay == Duration::milliseconds(900));
}

TEST_CASE("decorrelated-v2 jitter goes on from its last draw, whatever was suggested") {
  RetryRules rules;
  rules.max_attempts = 9;
  rules.backoff.base = rules.backoff.throttle_base = Duration::seconds(1);
  rules.backoff.jitter = rules.backoff.throttle_jitter = Jitter::kDecorrelatedV2;
  rules.retry_after = RetryAfter::kReplace;
  RetryQuota none;
  RetryProgress token{.attempts = 1};
  const Failure suggested{.retry_after = Duration::seconds(60)};
  CHECK(decide(rules, none, token, suggested).delay == Duration::seconds(60));
  token.attempts = 2;
  // From one end of an octave to the other: (g(2) - g(1)) / 1.4 = 1.460067301.
  CHECK(decide(rules, none, token, {}).delay.in_seconds() == Approx(1.460067301));
}

TEST_CASE("the chance of a retry is what it says") {
  RetryRules rules;
  rules.max_attempts = RetryRules::kUnlimited;
  rules.probability = 0.3;
  int retries = 0;
  constexpr int kRequests = 100'000;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    Draws draws(RandomKey(5, 0), {.entity = i, .attempt = 1, .purpose = Purpose::kBackoff});
    RetryProgress token{.attempts = 1};
    const RetryDecision d = refresh_retry_token(rules, {}, token, {}, Time::zero(), draws);
    retries += d.outcome == Outcome::kRetry ? 1 : 0;
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
    RetryToken token = strategy.acquire_initial_token(Time::zero());
    CHECK(token.may_send());
    CHECK(token.delay() == Duration::zero());
    CHECK(token.send_wait() == Duration::zero());
    CHECK(token.attempt() == 1);
    CHECK(strategy.acquire_send_token(token, Time::zero()) == Duration::zero());
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
      RetryToken token = strategy.acquire_initial_token(Time::zero());
      for (int i = 0; i < 4; ++i) {
        token = strategy.refresh_retry_token(std::move(token), {}, Time::zero());
        delays.insert(token.delay().count());
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
  for (const ResponseClass c : {kTransient, kTimeout, ResponseClass::kNotRetryable}) {
    strategy.refresh_retry_token(strategy.acquire_initial_token(Time::zero()), failed(c),
                                 at_ms(100));
    CHECK_FALSE(strategy.limiter()->enabled());
  }
  RetryToken token = strategy.acquire_initial_token(at_ms(100));
  // A request that the quota refuses has told the limiter all the same.
  token = strategy.refresh_retry_token(std::move(token), failed(kThrottling), at_ms(200));
  CHECK(strategy.limiter()->enabled());
  CHECK(token.delay() == Duration::milliseconds(500));
  // One token a second up to the first response at 0.1 s, then half a token: 0.4 after the delay,
  // 1.2 s to go.
  CHECK(token.send_wait().count() == 1'200'000'000);
  CHECK(strategy.acquire_send_token(token, at_ms(700)) == token.send_wait());
  CHECK(strategy.acquire_send_token(token, at_ms(2100)) == Duration::zero());
  RetryToken next = strategy.acquire_initial_token(at_ms(2100));
  CHECK(strategy.acquire_send_token(next, at_ms(2100)) == Duration::seconds(2));
}

TEST_CASE("the limiter measures successes and failures alike") {
  RetryStrategy strategy(preset("adaptive"), RandomKey(1, 0));
  const auto begin = [&strategy] { return strategy.acquire_initial_token(Time::zero()); };
  strategy.record_success(begin(), at_ms(100));
  strategy.refresh_retry_token(begin(), failed(kTransient), at_ms(200));
  strategy.record_success(begin(), at_ms(500));
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

TEST_CASE("a token is good once, and misuse is reported") {
  RetryStrategy strategy(preset("standard"), RandomKey(1, 0)),
      other(preset("standard"), RandomKey(1, 0));
  const Time now = Time::zero();
  RetryToken token = strategy.acquire_initial_token(now);
  RetryToken spent = std::move(token);
  CHECK_THROWS_AS(strategy.record_success(std::move(token), now), TokenMisuse);  // moved from
  CHECK_THROWS_AS(strategy.refresh_retry_token(RetryToken(), {}, now), TokenMisuse);
  CHECK_THROWS_AS(other.record_success(std::move(spent), now), TokenMisuse);
  CHECK(other.quota() == 500);

  token = strategy.acquire_initial_token(now);
  strategy.record_success(std::move(token), now);
  CHECK_THROWS_AS(strategy.record_success(std::move(token), now), TokenMisuse);  // twice
  CHECK_THROWS_AS(strategy.refresh_retry_token(std::move(token), {}, now), TokenMisuse);

  // A request that has failed for good can be neither retried nor recorded.
  const Failure final = failed(ResponseClass::kNotRetryable);
  token = strategy.refresh_retry_token(strategy.acquire_initial_token(now), final, now);
  CHECK(token.outcome() == Outcome::kNotRetryable);
  CHECK_FALSE(token.may_send());
  CHECK_THROWS_AS(strategy.acquire_send_token(token, now), TokenMisuse);
  CHECK_THROWS_AS(strategy.record_success(std::move(token), now), TokenMisuse);
  CHECK(strategy.quota() == 500);
}

TEST_CASE("a request that has ended, in whatever way, is no longer under way") {
  // One retry at a time, so that the next request may retry only if the last one has ended.
  RetryRules rules = preset("adaptive");
  rules.budget = {BudgetKind::kActive, 0, 1, Duration::seconds(10)};
  rules.rate_limit.on_empty = OnEmpty::kFail;
  const auto retried_again = [&rules](auto end) {
    RetryStrategy strategy(rules, RandomKey(1, 0));
    const Time now = at_ms(100);
    const auto retry = [&] {
      return strategy.refresh_retry_token(strategy.acquire_initial_token(now), failed(kTransient),
                                          now);
    };
    RetryToken token = retry();
    CHECK(token.outcome() == Outcome::kRetry);
    CHECK(retry().outcome() == Outcome::kQuotaExceeded);  // one is under way
    end(strategy, std::move(token), now);
    return retry().outcome() != Outcome::kQuotaExceeded;
  };
  CHECK(retried_again([](RetryStrategy& strategy, RetryToken token, Time now) {
    strategy.record_success(std::move(token), now);
  }));
  CHECK(retried_again(
      [](RetryStrategy& strategy, RetryToken token, Time) { strategy.abandon(std::move(token)); }));
  const auto not_retryable = [](RetryStrategy& strategy, RetryToken token, Time now) {
    const Failure failure = failed(ResponseClass::kNotRetryable);
    CHECK_FALSE(strategy.refresh_retry_token(std::move(token), failure, now).may_send());
  };
  CHECK(retried_again(not_retryable));
  // The limiter, switched on by another request, refuses the attempt.
  CHECK(retried_again([](RetryStrategy& strategy, RetryToken token, Time now) {
    strategy.refresh_retry_token(strategy.acquire_initial_token(now), failed(kThrottling), now);
    CHECK(strategy.acquire_send_token(token, now) == Duration::zero());
    CHECK(token.outcome() == Outcome::kNoSendToken);
  }));
  // The same where the token is taken before the backoff: the retry is given up at once.
  rules.rate_limit.acquire = SendTokenTiming::kBeforeBackoff;
  CHECK(retried_again([](RetryStrategy& strategy, RetryToken token, Time now) {
    token = strategy.refresh_retry_token(std::move(token), failed(kThrottling), now);
    CHECK(token.outcome() == Outcome::kNoSendToken);
    CHECK(token.delay() == Duration::zero());
  }));
}

TEST_CASE("requests are numbered from zero") {
  RetryStrategy strategy(preset("standard"), RandomKey(1, 0));
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(strategy.acquire_initial_token(Time::zero()).request() == i);
  }
}

TEST_CASE("an attempt that has its send token takes no other") {
  RetryStrategy strategy(preset("adaptive"), RandomKey(1, 0));
  strategy.refresh_retry_token(strategy.acquire_initial_token(at_ms(0)), failed(kThrottling),
                               at_ms(100));
  RetryToken token = strategy.acquire_initial_token(at_ms(10'000));
  CHECK(strategy.acquire_send_token(token, at_ms(10'000)) == Duration::zero());
  const double left = strategy.limiter()->capacity(at_ms(10'000));
  CHECK(left < 1);
  CHECK(strategy.acquire_send_token(token, at_ms(10'000)) == Duration::zero());
  CHECK(strategy.limiter()->capacity(at_ms(10'000)) == left);
}

TEST_CASE("scopes have quotas and limiters of their own") {
  RetryStrategy strategy(preset("adaptive"), RandomKey(1, 0));
  RetryToken a = strategy.acquire_initial_token(Time::zero(), "us-east-1");
  a = strategy.refresh_retry_token(std::move(a), failed(kThrottling), at_ms(100));
  CHECK(strategy.quota("us-east-1") == 495);
  CHECK(strategy.quota("eu-west-1") == 500);
  CHECK(strategy.limiter("us-east-1")->enabled());
  CHECK_FALSE(strategy.limiter("eu-west-1")->enabled());
}

TEST_CASE("the order of quota and attempts decides what the last failure costs") {
  RetryRules rules = preset("standard");
  const auto play = [&rules](QuotaOrder order, ResponseClass c, int available) {
    rules.quota.order = order;
    RetryQuota quota{available};
    RetryProgress progress{.attempts = 3};  // no attempt left
    const Outcome outcome = decide(rules, quota, progress, failed(c)).outcome;
    return std::pair(outcome, available - quota.available);
  };
  using Result = std::pair<Outcome, int>;
  const auto kNever = ResponseClass::kNotRetryable;
  const Result exhausted{Outcome::kMaxAttemptsExceeded, 0}, never{Outcome::kNotRetryable, 0},
      refused{Outcome::kQuotaExceeded, 0};
  CHECK(play(QuotaOrder::kAfterAttempts, kTransient, 500) == exhausted);
  CHECK(play(QuotaOrder::kAfterAttempts, kTransient, 0) == exhausted);
  CHECK(play(QuotaOrder::kBeforeAttempts, kTransient, 500) ==
        Result{Outcome::kMaxAttemptsExceeded, 5});
  CHECK(play(QuotaOrder::kBeforeAttempts, kTransient, 0) == refused);
  CHECK(play(QuotaOrder::kBeforeAttempts, kNever, 500) == never);
  CHECK(play(QuotaOrder::kBeforeClassification, kNever, 500) == Result{Outcome::kNotRetryable, 5});
  CHECK(play(QuotaOrder::kBeforeClassification, kNever, 0) == never);
  CHECK(play(QuotaOrder::kRollback, kTransient, 500) == exhausted);
  CHECK(play(QuotaOrder::kRollback, kTransient, 0) == refused);
}

TEST_CASE("further refunds") {
  RetryRules rules = preset("standard");
  const auto returned = [&rules](Refund refund, std::uint32_t attempts, int held) {
    rules.quota.refund = refund;
    RetryQuota quota{100};
    QuotaAccrual accrual;
    accrual.last_cost = 10;
    record_success(rules, {.quota = &quota, .accrual = &accrual},
                   {.attempts = attempts, .held_cost = held}, Time::zero());
    return quota.available - 100;
  };
  CHECK(returned(Refund::kLastAndCredit, 1, 0) == 1);
  CHECK(returned(Refund::kLastAndCredit, 2, 5) == 6);
  CHECK(returned(Refund::kLastOrCredit, 2, 5) == 5);
  CHECK(returned(Refund::kLastOrCredit, 2, 0) == 1);
  CHECK(returned(Refund::kSharedLast, 2, 5) == 10);
  CHECK(returned(Refund::kSharedLast, 1, 0) == 1);
}

TEST_CASE("PHP's quota gives back the last price that any request paid") {
  RetryStrategy strategy(preset("standard", "2.0", "php"), RandomKey(1, 0));
  const Time now = Time::zero();
  RetryToken cheap = strategy.acquire_initial_token(now),
             dear = strategy.acquire_initial_token(now);
  cheap = strategy.refresh_retry_token(std::move(cheap), failed(kThrottling), now);  // 5
  dear = strategy.refresh_retry_token(std::move(dear), failed(kTimeout), now);       // 10
  CHECK(strategy.quota() == 485);
  strategy.record_success(std::move(cheap), now);
  CHECK(strategy.quota() == 495);
}

TEST_CASE("a quota may take what there is, and waits for a refill if it is told to") {
  RetryStrategy crt(preset("standard", "2.0", "c-io"), RandomKey(1, 0));
  const Time now = Time::zero();
  for (int i = 0; i < 34; ++i) {  // 33 failures for good of 3 retries at 5, and one more retry
    RetryToken token = crt.acquire_initial_token(now);
    for (int retry = 0; retry < (i < 33 ? 3 : 1) && token.may_send(); ++retry) {
      token = crt.refresh_retry_token(std::move(token), failed(kTransient), now);
    }
    if (token.may_send()) crt.abandon(std::move(token));
  }
  CHECK(crt.quota() == 0);
  RetryToken token = crt.acquire_initial_token(now);
  token = crt.refresh_retry_token(std::move(token), failed(kTransient), now);
  CHECK(token.outcome() == Outcome::kQuotaExceeded);

  // Kotlin at first: 10 tokens a second; whoever comes next waits behind who came before.
  RetryRules rules =
      rules_of_release(*find_preset("standard", "2.0", "kotlin", ""), "kotlin@0.17.7");
  rules.quota.initial = 7;
  RetryStrategy kotlin(rules, RandomKey(1, 0));
  kotlin.fix_draws(0);
  const auto wait = [&](Time at) {
    RetryToken t = kotlin.acquire_initial_token(at);
    return kotlin.refresh_retry_token(std::move(t), failed(kTransient), at).delay().count();
  };
  CHECK(wait(now) == 0);                   // 7 - 5 = 2 left
  CHECK(wait(now) == 300'000'000);         // 3 more in 0.3 s
  CHECK(wait(now) == 800'000'000);         // 5 more in another 0.5 s
  CHECK(wait(at_ms(800)) == 500'000'000);  // nothing left from the past
  CHECK(wait(at_ms(800 + 500 + 10'000)) == 0);

  // Half a token that has flowed in shortens the wait: 5 - 2 - 0.5 more in 0.25 s.
  RetryStrategy half(rules, RandomKey(1, 0));
  half.fix_draws(0);
  const auto half_wait = [&](Time at) {
    RetryToken t = half.acquire_initial_token(at);
    return half.refresh_retry_token(std::move(t), failed(kTransient), at).delay().count();
  };
  CHECK(half_wait(now) == 0);
  CHECK(half_wait(at_ms(50)) == 250'000'000);
  CHECK(half_wait(at_ms(50)) == 750'000'000);  // the half is gone

  // A success brings what has flowed in until then, too.
  rules.quota.initial = 0;
  RetryStrategy refilled(rules, RandomKey(1, 0));
  refilled.record_success(refilled.acquire_initial_token(at_ms(1000)), at_ms(1000));
  CHECK(refilled.quota() == 10 + static_cast<int>(rules.quota.credit));
}

TEST_CASE("the client-side throttle takes an answer that is not retryable for accepted") {
  // The least draw: it refuses as soon as more than half of the answers were not accepted.
  const auto sent = [](ResponseClass answer) {
    RetryStrategy strategy(find_preset("custom", "", "sre", "")->rules, RandomKey(1, 0));
    strategy.fix_draws(0);
    int n = 0;
    for (int i = 0; i < 100; ++i) {
      RetryToken token = strategy.acquire_initial_token(Time::zero());
      strategy.acquire_send_token(token, Time::zero());
      if (!token.may_send()) continue;
      ++n;
      strategy.refresh_retry_token(std::move(token), failed(answer), Time::zero());
    }
    return n;
  };
  CHECK(sent(ResponseClass::kNotRetryable) == 100);
  CHECK(sent(kTransient) < 100);
}

TEST_CASE("fractions of tokens add up") {
  const RetryRules& grpc = find_preset("custom", "", "grpc", "")->rules;
  RetryStrategy strategy(grpc, RandomKey(1, 0));
  const Time now = Time::zero();
  // Five failures take the ten tokens to the half, at which retries end.
  for (int i = 0; i < 4; ++i) {
    RetryToken token = strategy.acquire_initial_token(now);
    CHECK(strategy.refresh_retry_token(std::move(token), failed(kTransient), now).may_send());
  }
  CHECK(strategy.quota() == 6);
  RetryToken token = strategy.acquire_initial_token(now);
  CHECK_FALSE(strategy.refresh_retry_token(std::move(token), failed(kTransient), now).may_send());
  CHECK(strategy.quota() == 5);
  for (int i = 0; i < 20; ++i) strategy.record_success(strategy.acquire_initial_token(now), now);
  CHECK(strategy.quota() == 7);
  token = strategy.acquire_initial_token(now);
  CHECK(strategy.refresh_retry_token(std::move(token), failed(kTransient), now).may_send());
  // gRFC A6: retries end when the count is less than or equal to the threshold; 5.1 is not.
  strategy.record_success(strategy.acquire_initial_token(now), now);
  token = strategy.acquire_initial_token(now);
  CHECK(strategy.refresh_retry_token(std::move(token), failed(kTransient), now).may_send());
  CHECK(strategy.quota() == 5);
  token = strategy.acquire_initial_token(now);
  CHECK_FALSE(strategy.refresh_retry_token(std::move(token), failed(kTransient), now).may_send());
  // 4.1 are left. A failure with 0.1 left takes that: 60 credits then make 6, not 6.1.
  for (int i = 0; i < 5; ++i) {
    token = strategy.acquire_initial_token(now);
    strategy.refresh_retry_token(std::move(token), failed(kTransient), now);
  }
  CHECK(strategy.quota() == 0);
  for (int i = 0; i < 60; ++i) strategy.record_success(strategy.acquire_initial_token(now), now);
  CHECK(strategy.quota() == 6);
  token = strategy.acquire_initial_token(now);
  CHECK_FALSE(strategy.refresh_retry_token(std::move(token), failed(kTransient), now).may_send());
}

TEST_CASE("failing fast ends a request wherever its SDK takes the token") {
  for (const char* sdk : {"botocore", "dotnet", "php"}) {
    INFO(sdk);
    RetryRules rules = preset("adaptive", "2.0", sdk);
    rules.rate_limit.on_empty = OnEmpty::kFail;
    RetryStrategy strategy(rules, RandomKey(1, 0));
    RetryToken token = strategy.acquire_initial_token(at_ms(10));
    token = strategy.refresh_retry_token(std::move(token), failed(kThrottling), at_ms(10));
    if (token.may_send()) strategy.acquire_send_token(token, at_ms(10));
    CHECK(token.outcome() == Outcome::kNoSendToken);
  }
}

TEST_CASE("C++ waits once for a token and then goes") {
  RetryRules rules = preset("adaptive", "2.0", "cpp");
  RetryStrategy strategy(rules, RandomKey(1, 0));
  strategy.refresh_retry_token(strategy.acquire_initial_token(at_ms(0)), failed(kThrottling),
                               at_ms(100));
  RetryToken a = strategy.acquire_initial_token(at_ms(100)),
             b = strategy.acquire_initial_token(at_ms(100));
  CHECK(strategy.acquire_send_token(a, at_ms(100)) == Duration::seconds(2));
  CHECK(strategy.acquire_send_token(b, at_ms(100)) == Duration::seconds(2));
  CHECK(strategy.acquire_send_token(a, at_ms(2100)) == Duration::zero());
  CHECK(strategy.acquire_send_token(b, at_ms(2100)) == Duration::zero());
  CHECK(strategy.limiter()->capacity(at_ms(2100)) == Approx(-1));
}

TEST_CASE("server-suggested delays of older SDKs") {
  const auto delay = [](const char* mode, const char* sdk, ResponseClass c, int suggested_s) {
    RetryStrategy strategy(preset(mode, "2.0", sdk), RandomKey(1, 0));
    strategy.fix_draws(0);
    Failure failure = failed(c);
    failure.retry_after = Duration::seconds(suggested_s);
    return strategy.refresh_retry_token(strategy.acquire_initial_token(at_ms(0)), failure, at_ms(0))
        .delay()
        .in_seconds();
  };
  CHECK(delay("standard", "js-v3", kTransient, 3) == 3);
  CHECK(delay("standard", "js-v3", kTransient, 100) == 5);
  CHECK(delay("standard", "java-v2", kTransient, 100) == 100);
  CHECK(delay("legacy", "go-v1", kThrottling, 3) == 3.5);
  CHECK(delay("legacy", "go-v1", kTransient, 3) == 0.03);
}

TEST_CASE("what a suggested delay makes of a backoff of a second, with a cap of ten") {
  const auto delay = [](RetryAfter rule, int suggested_s) {
    RetryRules rules = preset("standard");
    rules.retry_after = rule;
    rules.backoff = {};
    rules.backoff.base = rules.backoff.throttle_base = Duration::seconds(1);
    rules.backoff.cap = Duration::seconds(10);
    RetryStrategy strategy(rules, RandomKey(1, 0));
    Failure failure = failed(kTransient);
    failure.retry_after = Duration::seconds(suggested_s);
    return strategy.refresh_retry_token(strategy.acquire_initial_token(at_ms(0)), failure, at_ms(0))
        .delay()
        .in_seconds();
  };
  struct Case {
    RetryAfter rule;
    double zero, one, three, seven, hundred;
  };
  for (const Case& c :
       {Case{RetryAfter::kIgnore, 1, 1, 1, 1, 1}, Case{RetryAfter::kMinimum, 1, 1, 3, 7, 100},
        Case{RetryAfter::kClamp, 1, 1, 3, 6, 6}, Case{RetryAfter::kAdd, 1, 2, 4, 8, 101},
        Case{RetryAfter::kReplace, 0, 1, 3, 7, 10},
        Case{RetryAfter::kMinimumCapped, 1, 1, 3, 7, 10},
        Case{RetryAfter::kAddWhenThrottled, 1, 1, 1, 1, 1}}) {
    CAPTURE(static_cast<int>(c.rule));
    CHECK(delay(c.rule, 0) == c.zero);
    CHECK(delay(c.rule, 1) == c.one);
    CHECK(delay(c.rule, 3) == c.three);
    CHECK(delay(c.rule, 7) == c.seven);
    CHECK(delay(c.rule, 100) == c.hundred);
  }
}
