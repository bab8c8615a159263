// The bookkeeping of what clients remember between requests. Sources: the quota's fractions and its
// refill, smithy-rs token_bucket.rs and smithy-kotlin StandardRetryTokenBucket; budgets, Finagle's
// RetryBudget and Envoy's retry_budget; the throttle, Google's SRE book, "Handling overload".
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_state.hpp>

#include "kernel/claim.hpp"

#include <algorithm>
#include <cmath>

namespace retrysim {
namespace {

constexpr int kSlices = 10;
constexpr std::int64_t kBillion = 1'000'000'000;

/// A finite window to be cut into slices of at least a nanosecond.
Duration slice_of(Duration window) {
  return Duration::nanoseconds(std::max<std::int64_t>(1, window.count() / kSlices));
}

SlidingCounts throttle_counts(const ThrottleRules& rules) {
  return rules.window_calls > 0 ? SlidingCounts(rules.window_calls) : SlidingCounts(rules.window);
}

}  // namespace

void QuotaAccrual::add(double tokens, RetryQuota& quota, int capacity) {
  if (!std::isfinite(tokens) || tokens <= 0) return;
  const double room = capacity - quota.available;
  const std::int64_t sum =
      billionths + static_cast<std::int64_t>(std::min(tokens, room) * kBillion + 0.5);
  quota.available += static_cast<std::int32_t>(sum / kBillion);
  billionths = sum % kBillion;
  if (quota.available < capacity) return;
  quota.available = capacity;  // full: a fraction on top would be above the capacity
  billionths = 0;
}

void QuotaAccrual::refill(const QuotaRules& rules, RetryQuota& quota, Time now) {
  if (!(rules.refill_rate > 0) || now <= refilled_at) return;
  Duration passed = now - refilled_at;
  if (rules.refill_interval > Duration::zero()) {
    const std::int64_t intervals = passed.count() / rules.refill_interval.count();
    if (intervals == 0) return;
    passed = rules.refill_interval * intervals;
  }
  refilled_at = refilled_at + passed;
  add(static_cast<double>(passed.count()) / 1e9 * rules.refill_rate, quota, rules.capacity);
}

SlidingCounts::SlidingCounts(Duration window) : slices_(kSlices), slice_(slice_of(window)) {}

SlidingCounts::SlidingCounts(int calls) : slices_(static_cast<std::size_t>(std::max(calls, 1))) {}

void SlidingCounts::step() {
  at_ = at_ + 1 == slices_.size() ? 0 : at_ + 1;
  first_ -= slices_[at_].first;
  second_ -= slices_[at_].second;
  slices_[at_] = Slice{};
}

void SlidingCounts::advance(Time now) {
  if (slice_ == Duration::zero()) return;
  const std::int64_t number = now.count() / slice_.count();
  const auto slices = static_cast<std::int64_t>(slices_.size());
  for (std::int64_t n = std::min(number - newest_, slices); n > 0; --n) step();
  newest_ = std::max(newest_, number);
}

void SlidingCounts::add_first(Time now, std::uint32_t n) {
  advance(now);
  if (slice_ == Duration::zero()) step();
  slices_[at_].first += n;
  first_ += n;
}

void SlidingCounts::add_second(Time now, std::uint32_t n) {
  advance(now);
  slices_[at_].second += n;
  second_ += n;
}

RetryBudget::RetryBudget(const BudgetRules& rules) : counts_(rules.window) {}

void RetryBudget::request_begins(const BudgetRules& rules, Time now) {
  if (rules.of == BudgetOf::kRequests || rules.kind != BudgetKind::kWindow) counts_.add_first(now);
  ++active_requests_;
}

void RetryBudget::succeeded(const BudgetRules& rules, Time now) {
  if (rules.of == BudgetOf::kSuccesses && rules.kind == BudgetKind::kWindow) {
    counts_.add_first(now);
  }
}

bool RetryBudget::permits(const BudgetRules& rules, bool already_retrying, Time now) {
  if (rules.kind != BudgetKind::kWindow) {
    const std::uint64_t requests =
        rules.kind == BudgetKind::kInterval ? counts_.first(now) : active_requests_;
    const double limit = std::max(rules.minimum, rules.share * static_cast<double>(requests));
    // The retry under way of a request becomes its next one.
    return already_retrying || static_cast<double>(active_retries_) + 1 <= limit;
  }
  const double limit = rules.share * static_cast<double>(counts_.first(now)) +
                       rules.minimum * rules.window.in_seconds();
  return static_cast<double>(counts_.second(now)) + 1 <= limit;
}

void RetryBudget::retry_granted(const BudgetRules& rules, bool already_retrying, Time now) {
  if (rules.kind != BudgetKind::kWindow) {
    active_retries_ += already_retrying ? 0 : 1;
    if (rules.kind == BudgetKind::kInterval) counts_.add_first(now);  // it is an attempt, too
  } else {
    counts_.add_second(now);
  }
}

void RetryBudget::request_ends(bool retried) {
  --active_requests_;
  if (retried && active_retries_ > 0) --active_retries_;
}

void CircuitBreaker::attempt_ended(const BreakerRules& rules, bool failed, Time now) {
  counts_.add_first(now);
  if (failed) counts_.add_second(now);
  const auto attempts = static_cast<double>(counts_.first(now));
  const auto failures = static_cast<double>(counts_.second(now));
  if (attempts >= rules.min_attempts && failures > 0 &&
      failures >= rules.failure_share * attempts) {
    open_until_ = std::max(open_until_, now + rules.open + Duration::nanoseconds(1));
  }
}

ClientThrottle::ClientThrottle(const ThrottleRules& rules) : counts_(throttle_counts(rules)) {}

bool ClientThrottle::permit(const ThrottleRules& rules, Time now, double uniform) {
  const auto requests = static_cast<double>(counts_.first(now));
  const auto accepts = static_cast<double>(counts_.second(now));
  counts_.add_first(now);
  return !(uniform * (requests + 1) < requests - rules.k * accepts);
}

std::size_t RetryStates::states_of(RetryScope scope, std::size_t clients,
                                   const StateCounts& counts) {
  switch (scope) {
    case RetryScope::kClient:
      break;
    case RetryScope::kGroup:
      return 1;
    case RetryScope::kService:
      return clients * counts.services;
    case RetryScope::kOperation:
      return clients * counts.operations;
    case RetryScope::kKey:
      return clients * counts.keys;
  }
  return clients;
}

std::size_t RetryStates::at(RetryScope scope, std::size_t client, const StatePlace& place) const {
  switch (scope) {
    case RetryScope::kClient:
      break;
    case RetryScope::kGroup:
      return 0;
    case RetryScope::kService:
      return client * counts_.services + place.service;
    case RetryScope::kOperation:
      return client * counts_.operations + place.operation;
    case RetryScope::kKey:
      return client * counts_.keys + place.key;
  }
  return client;
}

template <class Take>
void RetryStates::take_memory(const RetryRules& rules, std::size_t clients, Time start,
                              const StateCounts& counts, Take& take) {
  const QuotaRules& quota = rules.quota;
  if (quota.enabled) {
    const std::size_t buckets = states_of(quota.scope, clients, counts);
    take(quotas_, buckets, RetryQuota{std::clamp(quota.initial, 0, std::max(quota.capacity, 0))});
    if (quota.accrues()) take(accruals_, buckets, QuotaAccrual{.refilled_at = start});
  }
  if (rules.rate_limit.enabled) {
    take(limiters_, states_of(rules.rate_limit.scope, clients, counts),
         SendRateLimiter(start, rules.rate_limit));
  }
  if (rules.budget.kind != BudgetKind::kNone) {
    take(budgets_, clients, RetryBudget(rules.budget), SlidingCounts(rules.budget.window).bytes());
  }
  if (rules.breaker.enabled) {
    take(breakers_, clients, CircuitBreaker(rules.breaker),
         SlidingCounts(rules.breaker.window).bytes());
  }
  if (rules.throttle.enabled) {
    take(throttles_, clients, ClientThrottle(rules.throttle),
         throttle_counts(rules.throttle).bytes());
  }
}

RetryStates::RetryStates(const RetryRules& rules, std::size_t clients, Time start,
                         const StateCounts& counts)
    : counts_(counts) {
  const kernel::Claim claim;
  take_memory(rules, clients, start, counts, claim);
  if (rules.quota.enabled) quota_scope_ = rules.quota.scope;
  if (rules.rate_limit.enabled) limiter_scope_ = rules.rate_limit.scope;
  beyond_ = !budgets_.empty() || !breakers_.empty() || !throttles_.empty();
}

std::uint64_t RetryStates::bytes(const RetryRules& rules, std::size_t clients,
                                 const StateCounts& counts) {
  RetryStates none;
  kernel::Tally tally;
  none.take_memory(rules, clients, Time::zero(), counts, tally);
  return tally.bytes();
}

}  // namespace retrysim
