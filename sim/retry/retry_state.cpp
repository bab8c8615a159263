// The state that clients keep between requests: retry quotas, the limits beyond the SDKs, and the
// send-rate limiter of adaptive mode. Sources: for the quota's fractions and its refill, smithy-rs
// token_bucket.rs and smithy-kotlin StandardRetryTokenBucket; for budgets, Finagle's RetryBudget
// and Envoy's retry_budget; for the guard, RetryGuard (arXiv 2511.23278); for the throttle,
// Google's SRE book, "Handling overload".
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_strategy.hpp>

#include "kernel/functions.hpp"
#include "kernel/memory.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>

namespace retrysim {

namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

/// The length of a slice: a tenth of a finite window, at least a nanosecond.
Duration slice_of(Duration window) {
  return Duration::nanoseconds(std::max<std::int64_t>(1, window.count() / 10));
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
  if (quota.available >= capacity) billionths = 0;  // a fraction would exceed the capacity
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

SlidingCounts::SlidingCounts(Duration window, int slices)
    : slices_(static_cast<std::size_t>(std::max(slices, 1))), slice_(slice_of(window)) {}

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

RetryBudget::RetryBudget(const BudgetRules& rules) : counts_(rules.window, rules.slices) {}

void RetryBudget::request_begins(const BudgetRules& rules, Time now) {
  if (rules.of == BudgetOf::kRequests || rules.kind != BudgetKind::kWindow) counts_.add_first(now);
  ++active_requests_;
}

void RetryBudget::request_succeeded(const BudgetRules& rules, Time now) {
  if (rules.of == BudgetOf::kSuccesses && rules.kind == BudgetKind::kWindow) {
    counts_.add_first(now);
  }
}

// Follows Envoy's resource_manager_impl.h, retry_state_impl.cc and router.cc. A failed answer is
// judged while its stream is still open, so it counts itself; an attempt that has timed out is
// reset before. A request that retries again first gives back its place among the retries.
bool RetryBudget::permits(const BudgetRules& rules, RetryAsked asked, Time now) {
  if (rules.kind != BudgetKind::kWindow) {
    const std::uint64_t requests = rules.kind == BudgetKind::kInterval
                                       ? counts_.first(now)
                                       : active_requests_ - (asked.given_up ? 1 : 0);
    const double limit = std::max(rules.minimum, rules.share * static_cast<double>(requests));
    const std::uint64_t others = active_retries_ - (asked.again ? 1 : 0);
    return static_cast<double>(others) + 1 <= limit;
  }
  const double limit = rules.share * static_cast<double>(counts_.first(now)) +
                       rules.minimum * rules.window.in_seconds();
  return static_cast<double>(counts_.second(now)) + 1 <= limit;
}

void RetryBudget::retry_granted(const BudgetRules& rules, bool already_retrying, Time now) {
  if (rules.kind != BudgetKind::kWindow) {
    active_retries_ += already_retrying ? 0 : 1;
    if (rules.kind == BudgetKind::kInterval) counts_.add_first(now);  // a retry is an attempt, too
  } else {
    counts_.add_second(now);
  }
}

void RetryBudget::request_ends(bool retried) {
  --active_requests_;
  if (retried && active_retries_ > 0) --active_retries_;
}

void RetryBreaker::attempt_ended(const RetryBreakerRules& rules, bool failed, Time now) {
  counts_.add_first(now);
  if (failed) counts_.add_second(now);
  const auto attempts = static_cast<double>(counts_.first(now));
  const auto failures = static_cast<double>(counts_.second(now));
  if (attempts >= rules.min_attempts && failures > 0 &&
      failures >= rules.failure_share * attempts) {
    open_until_ = std::max(open_until_, now + rules.open + Duration::nanoseconds(1));
  }
}

void RetryGuard::attempt_ended(const GuardRules& rules, bool failed, Time now) {
  finish_samples(rules, now);
  ++attempts_;
  failures_ += failed ? 1 : 0;
}

bool RetryGuard::permits(const GuardRules& rules, RetryAsked /*asked*/, Time now) {
  finish_samples(rules, now);
  return retries_;
}

void RetryGuard::finish_samples(const GuardRules& rules, Time now) {
  const std::int64_t present = now.count() / rules.sample.count();
  if (present <= sample_) return;
  const double share =
      attempts_ == 0 ? 0 : static_cast<double>(failures_) / static_cast<double>(attempts_);
  const auto count = [&](double of_attempts, std::int64_t samples) {
    low_ = of_attempts < rules.failure_share ? low_ + samples : 0;
    high_ = of_attempts > rules.failure_share ? high_ + samples : 0;
    if (low_ >= rules.samples) retries_ = true;
    if (high_ >= rules.samples) retries_ = false;
  };
  count(share, 1);
  if (const std::int64_t empty = present - sample_ - 1; empty > 0) count(0, empty);
  sample_ = present;
  attempts_ = failures_ = 0;
}

ClientThrottle::ClientThrottle(const ThrottleRules& rules) : counts_(throttle_counts(rules)) {}

bool ClientThrottle::permit(const ThrottleRules& rules, Time now, double uniform) {
  const auto requests = static_cast<double>(counts_.first(now));
  const auto accepts = static_cast<double>(counts_.second(now));
  counts_.add_first(now);
  return !(uniform * (requests + 1) < requests - rules.k * accepts);
}

namespace {

/// Whether a limit has its own function for the beginning of requests, or for their end.
template <class Limit>
constexpr bool kHearsOfRequests =
    !std::is_same_v<decltype(&Limit::request_begins),
                    decltype(&RetryLimit<typename Limit::Rules>::request_begins)> ||
    !std::is_same_v<decltype(&Limit::request_ends),
                    decltype(&RetryLimit<typename Limit::Rules>::request_ends)>;
static_assert(kHearsOfRequests<RetryBudget> && !kHearsOfRequests<RetryGuard>);

static_assert(std::tuple_size_v<decltype(RetryState::limits)> ==
              std::tuple_size_v<decltype(RetryRules::kLimits)>);

}  // namespace

bool counts_requests(const RetryRules& rules) {
  bool found = rules.quota.credit_on == CreditOn::kStart;
  const auto look_at = [&]<class Limit>(Limit*) {
    found |= kHearsOfRequests<Limit> && rules.of_limit<typename Limit::Rules>().in_use();
  };
  std::apply([&](auto*... limit) { (look_at(limit), ...); }, RetryState().limits);
  return found;
}

std::string_view different_state_rules(const RetryRules& a, const RetryRules& b) {
  if (a.quota != b.quota) return "quota";
  if (a.rate_limit != b.rate_limit) return "rate_limit";
  std::string_view different;
  const auto compare = [&](auto limit) {
    if (different.empty() && a.*limit != b.*limit) different = (a.*limit).kName;
  };
  std::apply([&](auto... limit) { (compare(limit), ...); }, RetryRules::kLimits);
  return different;
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
    const std::size_t limiters = states_of(rules.rate_limit.scope, clients, counts);
    take(limiter_places_, limiters, kNotMade);
    take.room(limiters_, limiters, limiters);
    new_limiter_ = SendRateLimiter(start, rules.rate_limit);
  }
  const auto take_limit = [&]<class Limit>(std::vector<Limit>& states) {
    const typename Limit::Rules& its_rules = rules.of_limit<typename Limit::Rules>();
    if (!its_rules.in_use()) return;
    const Limit limit(its_rules);
    take(states, clients, limit, limit.further_bytes());
  };
  std::apply([&](auto&... states) { (take_limit(states), ...); }, limit_states_);
}

RetryStates::RetryStates(const RetryRules& rules, std::size_t clients, Time start,
                         const StateCounts& counts)
    : counts_(counts) {
  const kernel::Claim claim;
  take_memory(rules, clients, start, counts, claim);
  // They are filled from the front, as far as they are needed.
  kernel::use_large_pages(limiters_.data(), limiters_.capacity() * sizeof(SendRateLimiter));
  if (rules.quota.enabled) quota_scope_ = rules.quota.scope;
  if (rules.rate_limit.enabled) limiter_scope_ = rules.rate_limit.scope;
  beyond_ = clients > 0 && rules.has_limits();
}

std::size_t RetryStates::make_limiter(std::size_t number) {
  limiters_.push_back(new_limiter_);
  const std::size_t place = limiters_.size() - 1;
  limiter_places_[number] = static_cast<std::uint32_t>(place);
  return place;
}

std::uint64_t RetryStates::bytes(const RetryRules& rules, std::size_t clients,
                                 const StateCounts& counts) {
  RetryStates none;
  kernel::Tally tally;
  none.take_memory(rules, clients, Time::zero(), counts, tally);
  return tally.bytes();
}

// --- The send-rate limiter -----------------------------------------------------------------------

// Moments are integer nanoseconds; only differences between two moments become seconds in floating
// point, and measuring intervals are counted in whole half seconds, so that a response at exactly
// 1.0 s falls into the interval that begins there. Constants and equations: botocore
// retries/adaptive.py, bucket.py and throttling.py; smithy-rs client_rate_limiter.rs (which grants
// a token that is less than a nanosecond short).

namespace {

constexpr double kMinCapacity = 1;  // tokens
constexpr double kBeta = 0.7;       // factor on the rate at a throttling error
constexpr double kScale = 0.4;      // scale of the CUBIC curve, tokens / s^4
constexpr double kSmooth = 0.8;     // weight of the newest measurement
constexpr double kBucketSeconds = 0.5;
constexpr std::int64_t kBucketNanoseconds = 500'000'000;
constexpr double kNanosecondsPerSecond = 1e9;

double seconds(Duration d) { return static_cast<double>(d.count()) / kNanosecondsPerSecond; }

/// Time, ns, until a bucket with `capacity` tokens holds `tokens`; negative if it does already.
double nanoseconds_to_tokens(double capacity, int tokens, double fill_rate) {
  return (tokens - capacity) / fill_rate * kNanosecondsPerSecond;
}

/// The nearest multiple of 1e-8. Rates are far below 2^53 of these steps.
double rounded(double rate) {
  constexpr double kSteps = 1e8;
  if (!(rate < 1e10)) return rate;  // beyond the resolution of the steps
  return static_cast<double>(static_cast<std::int64_t>(rate * kSteps + 0.5)) / kSteps;
}

}  // namespace

SendRateLimiter::SendRateLimiter(Time start, const SendRateRules& rules)
    : last_throttle_(start),
      // The first interval begins at a whole second, as botocore's does.
      last_bucket_(start.count() / (2 * kBucketNanoseconds) * 2),
      measured_rate_(rules.initial_measured_rate),
      min_rate_(rules.min_rate),
      round_rates_(rules.round_rates) {
  if (rules.initial_fill_rate > 0) {
    fill_rate_ = rules.initial_fill_rate;
    max_capacity_ = std::max(fill_rate_, kMinCapacity);
    last_refill_ = start;
  }
}

double SendRateLimiter::capacity(Time now) const {
  if (last_refill_ == Time::max()) return current_capacity_;
  return std::min(max_capacity_, current_capacity_ + seconds(now - last_refill_) * fill_rate_);
}

Duration SendRateLimiter::wait(Time now, int tokens) const {
  if (!enabled_) return Duration::zero();
  const double missing = nanoseconds_to_tokens(capacity(now), tokens, fill_rate_);
  if (missing < 1) return Duration::zero();
  if (missing >= 9e18) return Duration::max();
  const auto whole = static_cast<std::int64_t>(missing);
  return Duration::nanoseconds(static_cast<double>(whole) < missing ? whole + 1 : whole);
}

bool SendRateLimiter::try_acquire(Time now, int tokens) {
  if (!enabled_) return true;
  refill(now);
  // This is the same expression as in wait(), so that a retry that has waited is granted the token.
  if (nanoseconds_to_tokens(current_capacity_, tokens, fill_rate_) >= 1) return false;
  current_capacity_ = std::max(0.0, current_capacity_ - tokens);
  return true;
}

Duration SendRateLimiter::reserve(Time now, int tokens) {
  if (!enabled_) return Duration::zero();
  const Duration time = wait(now, tokens);
  refill(now);
  current_capacity_ -= tokens;
  return time;
}

void SendRateLimiter::on_response(Time now, bool throttling) {
  measure(now);
  double rate;
  if (throttling) {
    // A client that is being limited may be sending less than it was allowed to, and the other way
    // round just after a cut: the smaller of the two is what the service refused.
    const double refused = enabled_ ? std::min(measured_rate_, fill_rate_) : measured_rate_;
    set_last_max_rate(refused);
    last_throttle_ = now;
    enabled_ = true;
    rate = refused * kBeta;
  } else {
    rate = rate_on_curve(now);
  }
  set_rate(now, std::min(rate, 2 * measured_rate_));
}

void SendRateLimiter::refill(Time now) {
  current_capacity_ = capacity(now);
  last_refill_ = now;
}

void SendRateLimiter::measure(Time now) {
  // The request that opens a new interval is counted in the one it closes.
  ++request_count_;
  const std::int64_t bucket = now.count() / kBucketNanoseconds;
  if (bucket <= last_bucket_) return;
  const double rate =
      request_count_ / (static_cast<double>(bucket - last_bucket_) * kBucketSeconds);
  measured_rate_ = rate * kSmooth + measured_rate_ * (1 - kSmooth);
  if (round_rates_) measured_rate_ = rounded(measured_rate_);
  request_count_ = 0;
  last_bucket_ = bucket;
}

void SendRateLimiter::set_rate(Time now, double rate) {
  refill(now);  // time since the last refill was earned at the old rate
  fill_rate_ = std::max(round_rates_ ? rounded(rate) : rate, min_rate_);
  max_capacity_ = std::max(fill_rate_, kMinCapacity);  // capacity() keeps the level below it
}

void SendRateLimiter::set_last_max_rate(double rate) {
  last_max_rate_ = rate;
  time_window_ = kernel::cbrt(rate * (1 - kBeta) / kScale);
}

double SendRateLimiter::rate_on_curve(Time now) const {
  const double t = seconds(now - last_throttle_) - time_window_;
  return kScale * (t * t * t) + last_max_rate_;
}

}  // namespace retrysim
