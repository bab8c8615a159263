// Properties that must hold for every preset, whatever a service answers: a million random
// responses each, with the quota often near its ends.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
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
  for (int i = 0; i < rules.first_exponent; ++i) v *= rules.factor;
  const bool additive = rules.jitter == Jitter::kAdditive;
  if (!additive) v = std::min(v, static_cast<double>(rules.cap.count()));
  if (static_cast<int>(attempts) <= rules.immediate_retries) return {0, 0};
  if (!rules.delays.empty()) return {0, 0};
  switch (throttling ? rules.throttle_jitter : rules.jitter) {
    case Jitter::kNone:
      return {v, v};
    case Jitter::kFull:
      return {0, v};
    case Jitter::kEqual:
      return {v / 2, v};
    case Jitter::kAdditive:
      return {std::min(v, static_cast<double>(rules.cap.count()) / 2), 2 * v};
    case Jitter::kProportional:
      return {v * (1 - rules.jitter_share), v * (1 + rules.jitter_share)};
    case Jitter::kDecorrelated:
    case Jitter::kDecorrelatedV2:
    case Jitter::kPlusWidth:
    case Jitter::kPlusMinusWidth:
      break;
  }
  FAIL("no preset uses decorrelated jitter, or one of constant width");
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

/// The tokens that a limiter may have granted since it was turned on: what was in the bucket then,
/// and what has flowed in.
class Inflow {
 public:
  /// The fill rate changes only with responses, so it was the same since the last call.
  void pass(const SendRateLimiter* limiter, Time now) {
    if (limiter == nullptr || !limiter->enabled()) return;
    if (since_ == Time::max()) {
      bound_ = limiter->capacity(now);
    } else {
      bound_ += (now - since_).in_seconds() * rate_;
    }
    since_ = now;
    rate_ = limiter->fill_rate();
  }
  bool on() const { return since_ != Time::max(); }
  /// Shortfalls below a nanosecond's worth may be forgiven.
  bool permits(double granted) const { return granted <= bound_ + 1 + granted * 1e-6; }

 private:
  Time since_ = Time::max();
  double bound_ = 0, rate_ = 0;
};

/// Requests in a row that are refused or wait. The throttle of preset sre refuses more than 200
/// behind a burst of failures.
constexpr int kMaxTries = 10'000;

void check_invariants(const Preset& preset, std::uint64_t responses) {
  const RetryRules& rules = preset.rules;
  const QuotaRules& q = rules.quota;
  RetryStrategy strategy(rules, RandomKey(1, 0));
  RandomService service;
  Time now;
  std::uint64_t refused = 0, retried = 0;
  Inflow inflow;
  double granted = 0;
  const bool limiter_adds_nothing =
      !rules.rate_limit.enabled || rules.rate_limit.acquire == SendTokenTiming::kBeforeSend;
  const bool counts_grants = rules.rate_limit.enabled && limiter_adds_nothing;
  const auto level = [&strategy] { return strategy.quota().value_or(0); };
  RetryToken token = strategy.acquire_initial_token(now);
  int paid_by_request = 0;
  for (std::uint64_t i = 0; i < responses; ++i) {
    Draws draws(RandomKey(9, 0), {.entity = i, .purpose = Purpose::kServiceError});
    now = now + Duration::microseconds(draws.below(20'000));
    int tries = 0;
    for (Duration wait; (wait = strategy.acquire_send_token(token, now)) > Duration::zero() ||
                        !token.may_send();) {
      must(++tries < kMaxTries, "a token or the throttle lets no attempt pass");
      now = now + wait;
      if (!token.may_send())
        token = strategy.acquire_initial_token(now);  // refused by the throttle
    }
    inflow.pass(strategy.limiter(), now);
    if (counts_grants && inflow.on()) {
      ++granted;
      must(inflow.permits(granted), "the limiter granted more than flowed in");
    }
    must(token.attempt() <= rules.max_attempts, "more attempts than allowed");
    const std::uint32_t attempt = token.attempt();
    const int before = level();
    const auto failure = service.failure(draws);
    bool ended = true;
    if (!failure) {
      strategy.record_success(std::move(token), now);
      const int change = level() - before;
      must(change >= 0, "a success took quota");
      // A fraction of a token that was kept may complete a whole one; refills come with time.
      const double extra = 1 + q.refill_rate * 30;
      const double credit = q.credit + (q.accrues() ? extra : 0);
      if (attempt == 1) must(change <= credit, "a first-try success gave more than the credit");
      // No more than the request paid; where the refund is a fixed amount, no more than that.
      const double refund = q.refund == Refund::kCost ? q.cost : paid_by_request;
      if (attempt > 1) {
        must(change <= refund + (q.refund == Refund::kLast ? 0 : credit),
             "a refund beyond what was paid");
      }
    } else {
      const Failure failed{.error = {*failure, *failure == ResponseClass::kTimeout}};
      token = strategy.refresh_retry_token(std::move(token), failed, now);
      const int paid = before - level();
      must(paid >= 0 || q.refill_rate > 0, "a failure gave quota back");
      ended = !token.may_send();
      if (ended) {
        const bool charged = q.failure_cost > 0 || q.order == QuotaOrder::kBeforeAttempts;
        must(paid <= 0 || charged, "a refusal was charged");
        must(token.delay() == Duration::zero(), "a refusal made wait");
        refused += token.outcome() == Outcome::kQuotaExceeded ? 1 : 0;
        // A bucket on its own can take from refusals as well; it is then part of no request.
      } else {
        ++retried;
        paid_by_request += token.held_cost();
        const bool plain = q.refill_rate == 0 && q.failure_cost == 0;
        must(!plain || paid == token.held_cost(), "the token holds another cost than was paid");
        must(token.attempt() == attempt + 1, "attempts not counted");
        const Range range = delay_range(rules.backoff, *failure, attempt);
        const auto delay = static_cast<double>(token.delay().count());
        const auto quantum = static_cast<double>(rules.backoff.quantum.count());
        if (limiter_adds_nothing) must(delay >= range.low - quantum, "delay too short");
        if (limiter_adds_nothing && q.on_empty == QuotaOnEmpty::kFail) {
          must(delay <= range.high, "delay too long");
        }
      }
    }
    must(level() >= 0, "quota below zero");
    must(level() <= q.capacity, "quota above capacity");
    inflow.pass(strategy.limiter(), now);
    if (ended) {
      token = strategy.acquire_initial_token(now);
      paid_by_request = 0;
    }
  }
  // The run has been through what it is to check.
  // Far more fails here than a guard tolerates: one that starts off stays off.
  CHECK((retried > responses / 100'000) ==
        (rules.max_attempts > 1 && rules.guard.starts == GuardStart::kOn));
  const bool can_refuse = (q.enabled && q.on_empty == QuotaOnEmpty::kFail) ||
                          rules.budget.kind == BudgetKind::kWindow || rules.retry_breaker.enabled ||
                          rules.guard.enabled;
  CHECK((refused > responses / 10'000) == can_refuse);
  CHECK((granted > static_cast<double>(responses) / 10) == counts_grants);
}

/// A quarter of the presets, so that as many processes can share the work.
void check_quarter(std::size_t quarter) {
#ifdef NDEBUG
  constexpr std::uint64_t kResponses = 200'000;
#else
  constexpr std::uint64_t kResponses = 10'000;  // slow builds look for other things
#endif
  const auto all = presets();
  for (std::size_t i = quarter; i < all.size(); i += 4) {
    const Preset& preset = all[i];
    INFO(preset.mode << ' ' << preset.revision << ' ' << preset.sdk << ' ' << preset.api);
    check_invariants(preset, kResponses);
  }
}

}  // namespace

TEST_CASE("quota, attempts, delays, refunds and grants stay within their bounds: first quarter") {
  check_quarter(0);
}
TEST_CASE("quota, attempts, delays, refunds and grants stay within their bounds: second quarter") {
  check_quarter(1);
}
TEST_CASE("quota, attempts, delays, refunds and grants stay within their bounds: third quarter") {
  check_quarter(2);
}
TEST_CASE("quota, attempts, delays, refunds and grants stay within their bounds: last quarter") {
  check_quarter(3);
}
