// Properties that must hold for every preset, whatever a service answers: a million random
// responses each, with the quota often near its ends.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <algorithm>

using namespace retrysim;

namespace {

/// The range of the delay before retry `token.attempts` by the definition of the jitter, in
/// nanoseconds; computed with a plain loop, apart from the code under test.
struct Range {
  double low = 0, high = 0;
};

Range delay_range(const BackoffRules& rules, ResponseClass response_class, std::uint32_t attempts) {
  const bool throttling = response_class == ResponseClass::kThrottling;
  double v = static_cast<double>((throttling ? rules.throttle_base : rules.base).count());
  for (std::uint32_t i = 1; i < attempts; ++i) v *= rules.factor;
  v = std::min(v, static_cast<double>(rules.cap.count()));
  switch (throttling ? rules.throttle_jitter : rules.jitter) {
    case Jitter::kNone:
      return {v, v};
    case Jitter::kFull:
      return {0, v};
    case Jitter::kEqual:
      return {v / 2, v};
    case Jitter::kDecorrelated:
      break;
  }
  FAIL("no preset uses decorrelated jitter");
  return {};
}

/// Random failures: bursts of one class, so that quotas run empty and fill again.
class RandomService {
 public:
  std::optional<ResponseClass> failure(Draws& draws) {
    if (draws.below(200) == 0) success_share_ = draws.below(100);
    if (draws.below(100) < success_share_) return std::nullopt;
    constexpr ResponseClass kFailures[] = {ResponseClass::kThrottling, ResponseClass::kTransient,
                                           ResponseClass::kTimeout, ResponseClass::kNotRetryable};
    const std::uint32_t i = draws.below(10);
    return kFailures[std::min<std::uint32_t>(i / 3, 3)];
  }

 private:
  std::uint32_t success_share_ = 50;
};

/// A million assertions of Catch2 would take longer than the rest.
void must(bool holds, const char* otherwise) {
  if (!holds) FAIL(otherwise);
}

void check_invariants(const Preset& preset, std::uint64_t responses) {
  const RetryRules& rules = preset.rules;
  RetryStrategy strategy(rules, RandomKey(1, 0));
  RandomService service;
  Time now;
  std::uint64_t refused = 0, retried = 0;
  std::int64_t acquired = 0, returned = 0;
  const int capacity = rules.quota.capacity;
  StrategyToken token = strategy.acquire_initial_token(now);
  int paid_by_request = 0;
  for (std::uint64_t i = 0; i < responses; ++i) {
    Draws draws(RandomKey(9, 0), {.entity = i, .purpose = Purpose::kServiceError});
    now = now + Duration::microseconds(draws.below(20'000));
    while (strategy.acquire_send_token(now) > Duration::zero()) {
      now = now + strategy.acquire_send_token(now);
    }
    must(token.state.attempts <= rules.max_attempts, "more attempts than allowed");
    const int before = strategy.quota().value_or(0);
    const auto failure = service.failure(draws);
    bool ended = true;
    if (!failure) {
      strategy.record_success(token, now);
      const int change = strategy.quota().value_or(0) - before;
      returned += change;
      must(change >= 0, "a success took quota");
      if (token.state.attempts == 1)
        must(change <= rules.quota.credit, "a first-try success gave more than the credit");
      // No more than the request paid; where the refund is a fixed amount, no more than that.
      if (token.state.attempts > 1) {
        must(change <= (rules.quota.refund == Refund::kCost ? rules.quota.cost : paid_by_request),
             "a refund beyond what was paid");
      }
    } else {
      const auto attempts = token.state.attempts;
      token = strategy.refresh_retry_token(token, {*failure}, now);
      const int paid = before - strategy.quota().value_or(0);
      must(paid >= 0, "a failure gave quota back");
      ended = token.outcome != Outcome::kRetry;
      if (ended) {
        must(paid == 0, "a refusal was charged");
        must(token.delay == Duration::zero(), "a refusal made wait");
        refused += token.outcome == Outcome::kQuotaExceeded ? 1 : 0;
      } else {
        ++retried;
        acquired += paid;
        paid_by_request += paid;
        must(paid == token.state.held_cost, "the token holds another cost than was paid");
        must(token.state.attempts == attempts + 1, "attempts not counted");
        const Range range = delay_range(rules.backoff, *failure, attempts);
        const auto delay = static_cast<double>(token.delay.count());
        must(delay >= range.low, "delay too short");
        must(delay <= range.high, "delay too long");
      }
    }
    must(strategy.quota().value_or(0) >= 0, "quota below zero");
    must(strategy.quota().value_or(0) <= capacity, "quota above capacity");
    if (ended) {
      token = strategy.acquire_initial_token(now);
      paid_by_request = 0;
    }
  }
  CHECK(strategy.quota().value_or(0) == rules.quota.initial - acquired + returned);
  // The run has been through what it is to check.
  CHECK((retried > 1000) == (rules.max_attempts > 1));
  CHECK((refused > 1000) == rules.quota.enabled);
}

}  // namespace

TEST_CASE("quota, attempts, delays and refunds stay within their bounds in every preset") {
  for (const Preset& preset : presets()) {
    INFO(preset.mode << ' ' << preset.revision << ' ' << preset.sdk << ' ' << preset.api);
    check_invariants(preset, 1'000'000);
  }
}
