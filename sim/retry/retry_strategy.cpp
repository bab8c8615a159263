// The order in which a client decides about a retry, and the bookkeeping of its quota. Source of
// the order: botocore retries/standard.py and the pseudo-code of the AWS SDK reference (retryable?
// attempts left? quota? then the delay). Runs once per failed attempt of a simulation: it allocates
// nothing and compares no text.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_strategy.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

namespace retrysim {
namespace {

/// How far above the backoff the rule `clamp` lets a suggested delay go.
constexpr Duration kClampRange = Duration::seconds(5);

int cost_of(const QuotaRules& quota, ResponseClass response_class) {
  switch (response_class) {
    case ResponseClass::kThrottling:
      return quota.throttle_cost;
    case ResponseClass::kTimeout:
      return quota.timeout_cost;
    default:
      return quota.cost;
  }
}

Duration apply_retry_after(const RetryRules& rules, Duration backoff, Duration suggested) {
  switch (rules.retry_after) {
    case RetryAfter::kIgnore:
      break;
    case RetryAfter::kMinimum:
      return std::max(suggested, backoff);
    case RetryAfter::kClamp:
      return std::clamp(suggested, backoff, backoff + kClampRange);
    case RetryAfter::kAdd:
      return backoff + suggested;
    case RetryAfter::kReplace:
      return std::min(suggested, rules.backoff.cap);
  }
  return backoff;
}

}  // namespace

RetryDecision refresh_retry_token(const RetryRules& rules, RetryQuota* quota, RetryToken& token,
                                  const Failure& failure, Draws& draws,
                                  std::optional<double> fixed_draw) {
  assert(failure.response_class != ResponseClass::kSuccess);
  assert(quota != nullptr || !rules.quota.enabled);
  if (failure.response_class == ResponseClass::kNotRetryable) {
    return {Outcome::kNotRetryable, Duration::zero()};
  }
  if (token.attempts >= rules.max_attempts && rules.max_attempts != RetryRules::kUnlimited) {
    return {Outcome::kMaxAttemptsExceeded, Duration::zero()};
  }
  if (rules.probability < 1) [[unlikely]] {
    const double uniform = fixed_draw ? *fixed_draw : draws.uniform();
    if (!(uniform < rules.probability)) return {Outcome::kMaxAttemptsExceeded, Duration::zero()};
  }
  const int cost = rules.quota.enabled ? cost_of(rules.quota, failure.response_class) : 0;
  const bool paid = !rules.quota.enabled || quota->acquire(cost);
  if (!paid && !(failure.long_poll && rules.long_poll_wait)) {
    return {Outcome::kQuotaExceeded, Duration::zero()};
  }
  const Duration backoff =
      backoff_delay(rules.backoff, failure.response_class, token, draws, fixed_draw);
  const Duration delay =
      failure.retry_after ? apply_retry_after(rules, backoff, *failure.retry_after) : backoff;
  if (!paid) return {Outcome::kQuotaExceeded, delay};
  token.held_cost = cost;
  token.previous_delay = backoff;
  return {Outcome::kRetry, delay};
}

void record_success(const RetryRules& rules, RetryQuota* quota, const RetryToken& token) {
  const QuotaRules& q = rules.quota;
  if (!q.enabled) return;
  assert(quota != nullptr);
  int amount = q.credit;
  if (token.attempts > 1) {
    switch (q.refund) {
      case Refund::kLast:
        amount = token.held_cost;
        break;
      case Refund::kCost:
        amount = q.cost;
        break;
      case Refund::kCredit:
        break;
      case Refund::kNone:
        amount = 0;
        break;
    }
  }
  quota->release(amount, q.capacity);
}

RetryStrategy::RetryStrategy(RetryRules rules, const RandomKey& key, Time start,
                             std::uint32_t client, std::uint16_t group)
    : rules_(std::move(rules)), key_(key), client_(client), group_(group) {
  quota_.available = std::clamp(rules_.quota.initial, 0, std::max(rules_.quota.capacity, 0));
  if (rules_.limit_send_rate) limiter_.emplace(start);
}

StrategyToken RetryStrategy::acquire_initial_token(Time now) {
  StrategyToken token;
  token.request = requests_++;
  token.state.attempts = 1;
  if (limiter_) token.send_wait = limiter_->wait(now);
  return token;
}

Duration RetryStrategy::acquire_send_token(Time now) {
  if (!limiter_ || limiter_->try_acquire(now)) return Duration::zero();
  return limiter_->wait(now);
}

StrategyToken RetryStrategy::refresh_retry_token(const StrategyToken& token, const Failure& failure,
                                                 Time now) {
  if (limiter_) {
    limiter_->on_response(now, failure.response_class == ResponseClass::kThrottling);
  }
  Draws draws(key_, {.entity = client_ << 32 | (token.request & 0xffff'ffff),
                     .attempt = token.state.attempts,
                     .group = group_,
                     .purpose = Purpose::kBackoff});
  StrategyToken next = token;
  const RetryDecision decision =
      retrysim::refresh_retry_token(rules_, &quota_, next.state, failure, draws, fixed_draw_);
  next.outcome = decision.outcome;
  next.delay = decision.delay;
  next.send_wait = Duration::zero();
  if (decision.outcome == Outcome::kRetry) {
    ++next.state.attempts;
    if (limiter_) next.send_wait = limiter_->wait(now + decision.delay);
  }
  return next;
}

void RetryStrategy::record_success(const StrategyToken& token, Time now) {
  if (limiter_) limiter_->on_response(now, false);
  retrysim::record_success(rules_, &quota_, token.state);
}

std::optional<std::int32_t> RetryStrategy::quota() const {
  if (!rules_.quota.enabled) return std::nullopt;
  return quota_.available;
}

}  // namespace retrysim
