// Send tokens next to the quota: what a retry of the AWS SDK for Rust costs, in which order it
// asks, and what its releases before May 2026 did.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <memory>

#include "unit/retry/short_names.hpp"

using namespace retrysim;
using retrysim::test::at_ms;

namespace {

const Response kThrottled{.status = 400, .code = "ThrottlingException"};
const Response kTimedOut{.transport = TransportError::kTimeout};
const Response kUnavailable{.status = 503};
constexpr Time kFull = at_ms(12'000);  // the bucket has filled by then

RetryToken fail(RetryStrategy& strategy, const Response& response, Time now) {
  return strategy.refresh_retry_token(strategy.acquire_initial_token(now),
                                      strategy.failure_of(response), now);
}

/// A strategy of rust's whose limiter a throttling error has turned on at 10 s, when it measured 16
/// attempts a second: from then on it fills at 11.2 tokens a second, and holds as many.
std::unique_ptr<RetryStrategy> throttled(void (*change)(RetryRules&)) {
  RetryRules rules = find_preset("adaptive", "2.0", "rust", "")->rules;
  rules.rate_limit.initial_measured_rate = 0;
  change(rules);
  auto strategy = std::make_unique<RetryStrategy>(rules, RandomKey(1, 0), at_ms(9000));
  strategy->fix_draws(1);
  for (int i = 0; i < 19; ++i) {
    strategy->record_success(strategy->acquire_initial_token(at_ms(9000)), at_ms(9000));
  }
  fail(*strategy, kThrottled, at_ms(10'000));
  CHECK(strategy->limiter()->enabled());
  return strategy;
}

}  // namespace

TEST_CASE("only throttling takes ten send tokens, timeouts take five like other errors") {
  const auto taken = [](const Response& response) {
    const auto strategy = throttled([](RetryRules&) {});
    // The answer itself changes the rate; what is left is compared with what the bucket holds then.
    const RetryToken token = fail(*strategy, response, kFull);
    CHECK(token.delay() == Duration::seconds(1));  // its backoff, nothing to wait for
    return strategy->limiter()->max_capacity() - strategy->limiter()->capacity(kFull);
  };
  CHECK(taken(kTimedOut) == Approx(5));
  CHECK(taken(kUnavailable) == Approx(5));
  const auto strategy = throttled([](RetryRules& r) { r.rate_limit.min_rate = 10; });
  fail(*strategy, kThrottled, kFull);
  CHECK(strategy->limiter()->max_capacity() == Approx(10));
  CHECK(strategy->limiter()->capacity(kFull) == Approx(0));
}

TEST_CASE("a shortfall takes nothing, and its wait replaces the backoff up to the cap") {
  const auto strategy = throttled([](RetryRules&) {});
  const Time now = at_ms(10'100);
  const double before = strategy->limiter()->capacity(now);
  for (int i = 0; i < 3; ++i) {
    const RetryToken token = fail(*strategy, kUnavailable, now);
    const double missing = 5 - strategy->limiter()->capacity(now);
    CHECK(token.delay().in_seconds() ==
          Approx(missing / strategy->limiter()->fill_rate()).margin(2e-9));
    CHECK(strategy->limiter()->capacity(now) == Approx(before));
  }
  const auto slow = throttled([](RetryRules& r) { r.backoff.cap = Duration::milliseconds(100); });
  CHECK(fail(*slow, kUnavailable, now).delay() == Duration::milliseconds(100));
}

TEST_CASE("send tokens are asked for before the quota, and lost if that refuses") {
  const auto no_quota = [](RetryRules& r) { r.quota.initial = r.quota.capacity = 4; };
  const auto strategy = throttled(no_quota);
  CHECK(fail(*strategy, kUnavailable, kFull).outcome() == Outcome::kQuotaExceeded);
  CHECK(strategy->limiter()->max_capacity() - strategy->limiter()->capacity(kFull) == Approx(5));
  // Neither an error that is not retryable nor one without attempts left asks.
  const auto other = throttled([](RetryRules& r) { r.max_attempts = 1; });
  CHECK(fail(*other, kUnavailable, kFull).outcome() == Outcome::kMaxAttemptsExceeded);
  CHECK(fail(*other, {.status = 404}, kFull).outcome() == Outcome::kNotRetryable);
  CHECK(other->limiter()->capacity(kFull) == Approx(other->limiter()->max_capacity()));
}

TEST_CASE("with tokens reserved, a shortfall goes below zero and a refusal costs nothing") {
  const auto reserve = [](RetryRules& r) { find_defect("send-tokens-overdrawn")->apply(r); };
  const auto strategy = throttled(reserve);
  const Time now = at_ms(10'100);
  const double before = strategy->limiter()->capacity(now);
  double last = 0;
  for (int i = 1; i <= 3; ++i) {
    const double delay = fail(*strategy, kUnavailable, now).delay().in_seconds();
    CHECK(delay > last);  // each waits for those before it, too
    last = delay;
    CHECK(strategy->limiter()->capacity(now) == Approx(before - 5 * i));
  }
  const auto poor = throttled([](RetryRules& r) {
    find_defect("send-tokens-overdrawn")->apply(r);
    r.quota.initial = r.quota.capacity = 4;
  });
  CHECK(fail(*poor, kUnavailable, kFull).outcome() == Outcome::kQuotaExceeded);
  CHECK(poor->limiter()->capacity(kFull) == Approx(poor->limiter()->max_capacity()));
}
