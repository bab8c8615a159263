// SPDX-License-Identifier: MIT
#include "reference/client_rules.hpp"

#include "kernel/functions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace retrysim::reference {
namespace {

bool is_throttling(const ErrorInfo& error) {
  return error.response_class == ResponseClass::kThrottling;
}

bool has_attempts_left(const RetryRules& rules, const Progress& progress) {
  return rules.max_attempts == RetryRules::kUnlimited ||
         static_cast<std::uint32_t>(progress.attempts) < rules.max_attempts;
}

// --- The delay before a retry

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double in_ns(Duration d) {
  return d == Duration::max() ? kInfinity : static_cast<double>(d.count());
}

/// By repeated squaring, which is part of the rule: it decides how the power is rounded.
double power(double base, std::int64_t exponent) {
  double result = 1, square = base;
  for (std::int64_t e = std::abs(exponent); e > 0; e /= 2) {
    if (e % 2 == 1) result *= square;
    square *= square;
  }
  return exponent < 0 ? 1 / result : result;
}

/// The formula v = base x g(first_exponent + i), i = 0 for the first retry.
double grown(const BackoffRules& rules, double base, int attempts) {
  if (base == 0) return 0;
  const std::int64_t n =
      std::min<std::int64_t>(rules.first_exponent + attempts - 1, rules.max_exponent);
  if (rules.growth == Growth::kExponential) return base * power(rules.factor, n);
  const auto steps = static_cast<double>(n);
  if (rules.growth == Growth::kLinear) {
    return base * std::max(0.0, 1 + steps * (rules.factor - 1));
  }
  if (n < 0) return 0;
  if (rules.growth == Growth::kPolynomial) return base * kernel::pow(steps + 1, rules.power);
  std::vector<double> fibonacci = {1, 1};
  while (fibonacci.size() <= static_cast<std::size_t>(n)) {
    fibonacci.push_back(fibonacci.back() + fibonacci[fibonacci.size() - 2]);
  }
  return base * fibonacci[static_cast<std::size_t>(n)];
}

double spread(Jitter jitter, double share, double v, double u) {
  if (jitter == Jitter::kFull) return u == 0 ? 0 : u * v;
  if (jitter == Jitter::kEqual) return u == 0 ? v / 2 : v / 2 + u * (v / 2);
  if (jitter == Jitter::kAdditive) return u == 0 ? v : v + u * v;
  if (jitter == Jitter::kProportional) {
    const double factor = 1 - share + u * (2 * share);
    return factor == 0 ? 0 : factor * v;
  }
  return v;
}

std::int64_t below(double u, std::int64_t n, bool inclusive) {
  const double drawn = u * (static_cast<double>(n) + (inclusive ? 1 : 0));
  return drawn < static_cast<double>(n) ? static_cast<std::int64_t>(drawn) : n;
}

Duration in_integers(const BackoffRules& rules, Jitter jitter, double v, double u) {
  const Duration limited = Duration::from_nanoseconds(v);
  if (limited == Duration::max()) return rules.cap;
  const bool inclusive = rules.rounding == Rounding::kIntegersInclusive;
  std::int64_t n = limited.count() / rules.quantum.count();
  if (jitter == Jitter::kFull) n = below(u, n, inclusive);
  if (jitter == Jitter::kEqual) n = n / 2 + below(u, n / 2, true);
  if (jitter == Jitter::kAdditive) n = n + below(u, n, inclusive);
  if (jitter == Jitter::kProportional) {
    const auto reach = static_cast<std::int64_t>(rules.jitter_share * static_cast<double>(n));
    n = n - reach + below(u, 2 * reach, inclusive);
  }
  return rules.quantum * n;
}

Duration decorrelated(const BackoffRules& rules, Duration base, const Progress& progress,
                      double u) {
  const double b = in_ns(base), cap = in_ns(rules.cap), last = in_ns(progress.previous_delay);
  Duration delay;
  if (rules.decorrelated_from_full && progress.attempts == 1) {
    delay = Duration::from_nanoseconds(u * std::min(b, cap));
  } else if (rules.decorrelated_from_full) {
    const double x = std::min(cap, 3 * last);
    delay = Duration::from_nanoseconds(std::min(b, x) + u * (std::max(b, x) - std::min(b, x)));
    delay = std::min(delay, rules.cap);
  } else {
    const double high = std::max(b, 3 * (last == 0 ? b : last));
    delay = std::min(rules.cap, Duration::from_nanoseconds(b + u * (high - b)));
  }
  if (rules.quantum == Duration::zero() || delay == Duration::max()) return delay;
  return rules.quantum * (delay.count() / rules.quantum.count());
}

/// Polly's: 2^t tanh(sqrt(4 t)) of all delays so far, for a base of 1.4, less that of the last
/// time.
Duration decorrelated_v2(const BackoffRules& rules, Duration base, Progress& progress, double u) {
  const int before = progress.attempts - 1;
  const double reached =
      power(2, before) * kernel::exp2(u) * kernel::tanh(std::sqrt(4 * (before + u)));
  const double delay_ns = (reached - progress.jitter_level) * (1 / 1.4) * in_ns(base);
  progress.jitter_level = reached;
  if (base == Duration::zero()) return base;
  const Duration delay =
      reached < kInfinity ? std::min(Duration::from_nanoseconds(delay_ns), rules.cap) : rules.cap;
  if (rules.quantum == Duration::zero() || delay == Duration::max()) return delay;
  return rules.quantum * (delay.count() / rules.quantum.count());
}

Duration backoff(const BackoffRules& written, std::optional<Duration> own_base, bool throttling,
                 Progress& progress, Draws& draws) {
  BackoffRules rules = written;
  if (own_base) rules.base = rules.throttle_base = *own_base;
  if (!rules.delays.empty()) {
    auto retry = static_cast<std::size_t>(progress.attempts - 1);
    const std::size_t listed = rules.delays.size();
    if (rules.delays_then == DelaysThen::kRepeat) retry %= listed;
    const Duration delay = rules.delays[std::min(retry, listed - 1)].sample(draws);
    if (retry < listed || rules.delays_then == DelaysThen::kLast || delay == Duration::zero()) {
      return delay;
    }
    const auto more = static_cast<std::int64_t>(retry - (listed - 1));
    return std::min(rules.delays_cap,
                    Duration::from_nanoseconds(in_ns(delay) * power(rules.delays_factor, more)));
  }
  const Duration base = throttling ? rules.throttle_base : rules.base;
  const Jitter jitter = throttling ? rules.throttle_jitter : rules.jitter;
  const double u = jitter == Jitter::kNone ? 0 : draws.uniform();
  if (progress.attempts <= rules.immediate_retries) return Duration::zero();
  if (jitter == Jitter::kDecorrelated) return decorrelated(rules, base, progress, u);
  if (jitter == Jitter::kDecorrelatedV2) return decorrelated_v2(rules, base, progress, u);

  const double cap = in_ns(rules.cap);
  double v = grown(rules, static_cast<double>(base.count()), progress.attempts);
  if (rules.over_cap == OverCap::kFlat && v > cap) return rules.cap;
  if (rules.over_cap != OverCap::kRedraw && !rules.jitter_before_cap) v = std::min(v, cap);

  Duration delay;
  const double quantum = static_cast<double>(rules.quantum.count());
  if (jitter == Jitter::kPlusWidth || jitter == Jitter::kPlusMinusWidth) {
    const double w = in_ns(rules.jitter_width);
    const double least = jitter == Jitter::kPlusWidth ? v : v - w;
    if (v < kInfinity) v = std::max(0.0, least + u * (v + w - least));
    delay = Duration::from_nanoseconds(v);
    if (quantum > 0 && delay != Duration::max()) {
      delay = rules.quantum * (delay.count() / rules.quantum.count());
    }
    const bool cap_first = rules.over_cap == OverCap::kLimit && !rules.jitter_before_cap;
    return cap_first ? delay : std::min(delay, rules.cap);
  }
  if (quantum == 0) {
    delay = Duration::from_nanoseconds(spread(jitter, rules.jitter_share, v, u));
  } else if (rules.rounding == Rounding::kIntegers ||
             rules.rounding == Rounding::kIntegersInclusive) {
    delay = in_integers(rules, jitter, v, u);
  } else if (rules.rounding == Rounding::kMantissa && jitter == Jitter::kFull) {
    const double quanta = std::trunc(u * (static_cast<double>(base.count()) / quantum));
    delay = Duration::from_nanoseconds(grown(rules, quanta * quantum, progress.attempts));
  } else {
    const double quanta = spread(jitter, rules.jitter_share, v / quantum, u);
    delay = quanta < 9.2e18 ? rules.quantum * static_cast<std::int64_t>(quanta) : Duration::max();
  }
  if (delay <= rules.cap) return delay;
  const bool was_capped = !rules.jitter_before_cap && rules.over_cap != OverCap::kRedraw;
  if (jitter == Jitter::kProportional && was_capped) return delay;
  if (rules.over_cap != OverCap::kRedraw) return rules.cap;
  return Duration::from_nanoseconds(cap / 2 + draws.uniform() * (cap / 2));
}

Duration longest_obeyed(const RetryRules& rules) {
  if (rules.retry_after_max != Duration()) return rules.retry_after_max;
  const bool by_cap =
      rules.retry_after == RetryAfter::kReplace || rules.retry_after == RetryAfter::kMinimumCapped;
  return by_cap ? rules.backoff.cap : Duration::max();
}

bool gives_up_at_suggestion(const RetryRules& rules, const Failure& failure) {
  if (rules.retry_after_over != RetryAfterOver::kFail) return false;
  if (!failure.retry_after || failure.error.no_retry_after) return false;
  if (rules.retry_after == RetryAfter::kIgnore) return false;
  if (rules.retry_after == RetryAfter::kAddWhenThrottled && !is_throttling(failure.error)) {
    return false;
  }
  return *failure.retry_after > longest_obeyed(rules);
}

Duration with_suggestion(const RetryRules& rules, const Failure& failure, Duration t,
                         Draws& draws) {
  if (!failure.retry_after) return t;
  const double u = rules.retry_after_jitter > 0 ? draws.uniform() : 0;
  const Duration most = longest_obeyed(rules);
  if (failure.error.no_retry_after) return t;
  if (*failure.retry_after > most && rules.retry_after_over == RetryAfterOver::kBackoff) return t;
  Duration ra = std::min(*failure.retry_after, most);
  ra = ra +
       Duration::from_nanoseconds(static_cast<double>(ra.count()) * (rules.retry_after_jitter * u));
  switch (rules.retry_after) {
    case RetryAfter::kIgnore:
      return t;
    case RetryAfter::kMinimum:
      return std::max(ra, t);
    case RetryAfter::kClamp:
      return std::min(std::max(ra, t), t + Duration::seconds(5));
    case RetryAfter::kAdd:
      return t + ra;
    case RetryAfter::kReplace:
      return ra;
    case RetryAfter::kMinimumCapped:
      return std::max(ra, t);
    case RetryAfter::kAddWhenThrottled:
      return is_throttling(failure.error) ? t + ra : t;
  }
  return t;
}

// --- The quota

struct Payment {
  bool made = true;
  int amount = 0;
  Duration wait = {};
};

/// With hedging nothing waits for tokens.
Payment pay(const RetryRules& all_rules, Quota& quota, const ErrorInfo& error, Time now) {
  const QuotaRules& rules = all_rules.quota;
  quota.refill(rules, now);
  if (rules.threshold != 0 && quota.level <= rules.threshold * Quota::kToken) return {false};
  const bool may_wait = rules.on_empty == QuotaOnEmpty::kWait && !all_rules.hedging.enabled;
  Payment payment;
  payment.amount = error.timeout          ? rules.timeout_cost
                   : is_throttling(error) ? rules.throttle_cost
                                          : rules.cost;
  if (rules.partial && quota.whole() > 0) payment.amount = std::min(payment.amount, quota.whole());
  if (payment.amount <= quota.whole()) {
    quota.level -= payment.amount * Quota::kToken;
  } else if (may_wait && rules.refill_rate > 0) {
    // It takes the tokens of the time to come; whoever asks next waits behind it.
    const double missing =
        payment.amount - quota.whole() - static_cast<double>(quota.level % Quota::kToken) * 1e-9;
    quota.level = 0;
    quota.refilled_at = std::max(quota.refilled_at, now) +
                        Duration::from_nanoseconds(missing / rules.refill_rate * 1e9);
    payment.wait = quota.refilled_at - now;
  } else {
    return {false};
  }
  quota.last_cost = payment.amount;
  return payment;
}

// --- Budgets and breakers

/// Goes through all samples before the present one, each time from the first.
bool guard_permits(const GuardRules& rules, const Guard& guard, Time now) {
  bool on = rules.starts == GuardStart::kOn;
  int low = 0, high = 0;
  for (std::int64_t i = 0; i < now.count() / rules.sample.count(); ++i) {
    const auto found = guard.samples.find(i);
    const Guard::Sample s = found == guard.samples.end() ? Guard::Sample{} : found->second;
    const double share = s.attempts > 0 ? s.failures / s.attempts : 0;
    low = share < rules.failure_share ? low + 1 : 0;
    high = share > rules.failure_share ? high + 1 : 0;
    if (low >= rules.samples) on = true;
    if (high >= rules.samples) on = false;
  }
  return on;
}

void attempt_ended(const GuardRules& rules, Guard& guard, bool failed, Time now) {
  Guard::Sample& sample = guard.samples[now.count() / rules.sample.count()];
  ++sample.attempts;
  if (failed) ++sample.failures;
}

bool others_permit(const RetryRules& rules, const ClientState& state, const Progress& progress,
                   bool given_up, Time now) {
  if (state.breaker != nullptr && now < state.breaker->open_until) return false;
  if (state.guard != nullptr && !guard_permits(rules.guard, *state.guard, now)) return false;
  if (state.budget == nullptr) return true;
  Budget& budget = *state.budget;
  if (rules.budget.kind != BudgetKind::kWindow) {
    const bool active = rules.budget.kind == BudgetKind::kActive;
    // An attempt that timed out is gone; the request's earlier retry makes place for the next one.
    const double of = active ? budget.requests - (given_up ? 1 : 0)
                             : static_cast<double>(budget.counts.first(now));
    const double limit = std::max(rules.budget.minimum, rules.budget.share * of);
    return budget.retries - (progress.attempts > 1 ? 1 : 0) + 1 <= limit;
  }
  const double limit = rules.budget.share * budget.counts.first(now) +
                       rules.budget.minimum * rules.budget.window.in_seconds();
  return budget.counts.second(now) + 1 <= limit;
}

void count_retry(const RetryRules& rules, const ClientState& state, const Progress& progress,
                 Time now) {
  if (state.budget == nullptr) return;
  if (rules.budget.kind == BudgetKind::kWindow) state.budget->counts.add_second(now);
  if (rules.budget.kind == BudgetKind::kInterval) state.budget->counts.add_first(now);
  if (rules.budget.kind != BudgetKind::kWindow && progress.attempts == 1) ++state.budget->retries;
}

void attempt_ended(const RetryRules& rules, Breaker& breaker, bool failed, Time now) {
  breaker.counts.add_first(now);
  if (failed) breaker.counts.add_second(now);
  const double attempts = breaker.counts.first(now), failures = breaker.counts.second(now);
  const RetryBreakerRules& b = rules.retry_breaker;
  if (attempts < b.min_attempts || failures == 0 || failures < b.failure_share * attempts) return;
  breaker.open_until = std::max(breaker.open_until, now + b.open + Duration::nanoseconds(1));
}

void take_note(const RetryRules& rules, const ClientState& state, const ErrorInfo& error,
               Time now) {
  if (state.limiter != nullptr && rules.rate_limit.update == LimiterUpdate::kAll) {
    state.limiter->hear(now, is_throttling(error));
  }
  if (state.quota != nullptr && error.retryable()) {
    state.quota->level =
        std::max<std::int64_t>(0, state.quota->level - rules.quota.failure_cost * Quota::kToken);
  }
  if (state.breaker != nullptr) attempt_ended(rules, *state.breaker, error.retryable(), now);
  if (state.guard != nullptr) attempt_ended(rules.guard, *state.guard, error.retryable(), now);
  if (state.throttle != nullptr && !error.retryable()) state.throttle->counts.add_second(now);
}

}  // namespace

// --- A circuit breaker that refuses calls

namespace {

/// What there is of the entries in the window at `now`: the entries are cut into slices, the last
/// of which count.
std::vector<CallBreaker::Entry> in_window(const BreakerRules& rules, const CallBreaker& breaker,
                                          Time now) {
  using Entry = CallBreaker::Entry;
  const std::vector<Entry>& all = breaker.entries;
  if (rules.window_calls > 0) {
    const std::size_t n = std::min<std::size_t>(all.size(), rules.window_calls);
    return {all.end() - static_cast<std::ptrdiff_t>(n), all.end()};
  }
  const std::int64_t length = std::max<std::int64_t>(1, rules.window.count() / rules.slices);
  std::vector<std::pair<std::int64_t, std::vector<Entry>>> slices;  // with their beginnings
  for (const Entry& e : all) {
    const std::int64_t at = e.at.count();
    if (slices.empty() || at - slices.back().first >= length) {
      const bool grid = rules.slicing == BreakerSlices::kGrid;
      slices.push_back({grid ? at / length * length : at, {}});
    }
    slices.back().second.push_back(e);
  }
  std::vector<Entry> found;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const bool among_last = slices.size() - i <= rules.slices;
    const bool young = now.count() - slices[i].first < length * rules.slices;
    if (!among_last || (!young && rules.slicing != BreakerSlices::kRing)) continue;
    found.insert(found.end(), slices[i].second.begin(), slices[i].second.end());
  }
  return found;
}

bool reaches_a_share(const BreakerRules& rules, const std::vector<CallBreaker::Entry>& entries,
                     std::uint32_t least) {
  double calls = 0, failed = 0, slow = 0;
  for (const CallBreaker::Entry& e : entries) {
    calls += e.call ? 1 : 0;
    failed += e.failed ? 1 : 0;
    slow += e.slow ? 1 : 0;
  }
  const auto reached = [&](double n, double share, bool above) {
    if (share <= 0 || n == 0) return false;
    return calls == 0 || (above ? n / calls > share : n / calls >= share);
  };
  if (calls < least) return false;
  return reached(failed, rules.failure_share, rules.above) ||
         reached(slow, rules.slow_share, rules.above && rules.slow_share != 1);
}

void open_breaker(const BreakerRules& rules, CallBreaker& b, Time now) {
  double ns = static_cast<double>(rules.open.count());
  if (b.openings > 0 && rules.open_factor != 1) ns *= kernel::pow(rules.open_factor, b.openings);
  const Duration open =
      b.openings == 0 || rules.open_factor == 1 ? rules.open : Duration::from_nanoseconds(ns);
  ++b.openings;
  b.open_until = now + std::min(open, rules.open_cap);
  b.state = BreakerState::kOpen;
  ++b.era;
}

}  // namespace

bool ask(const BreakerRules& rules, CallBreaker& b, Time now) {
  if (rules.counts_asked) b.entries.push_back({now, true, false, false});
  if (b.state == BreakerState::kOpen && now >= b.open_until) {
    b.state = BreakerState::kHalfOpen;
    ++b.era;
    b.permits = rules.probes;
    b.probes.clear();
  }
  if (b.state == BreakerState::kClosed) return true;
  if (b.state == BreakerState::kOpen || b.permits == 0) return false;
  --b.permits;
  return true;
}

void release(CallBreaker& b, int era) {
  if (b.state == BreakerState::kHalfOpen && b.era == era) ++b.permits;
}

void record(const BreakerRules& rules, CallBreaker& b, int era, ResponseClass result,
            Duration length, Time now) {
  if (result != ResponseClass::kSuccess && rules.ignored.has(result)) return release(b, era);
  if (era != b.era && !rules.counts_late) return;
  const CallBreaker::Entry entry{now, true,
                                 result != ResponseClass::kSuccess && rules.failures.has(result),
                                 rules.slow_share > 0 && length > rules.slow_call};
  const bool bad = entry.failed || entry.slow;
  const auto note = [&] {
    b.entries.push_back(entry);
    b.entries.back().call = !rules.counts_asked;
  };
  if (b.state == BreakerState::kClosed || rules.keeps_counts) note();
  if (b.state == BreakerState::kClosed) {
    b.in_row = entry.failed ? b.in_row + 1 : 0;
    if (!bad && !rules.judges_successes) return;
    const std::uint32_t least =
        rules.window_calls > 0 ? std::min(rules.window_calls, rules.min_calls) : rules.min_calls;
    const bool in_row = rules.consecutive > 0 && b.in_row >= rules.consecutive;
    if (in_row || reaches_a_share(rules, in_window(rules, b, now), least)) {
      open_breaker(rules, b, now);
    }
    return;
  }
  if (b.state == BreakerState::kOpen) return;
  b.probes.push_back(entry);
  if (rules.close_on == BreakerClose::kShare) {
    if (b.probes.size() < std::min(rules.probes, rules.min_calls)) return;
    if (reaches_a_share(rules, b.probes, 1)) return open_breaker(rules, b, now);
  } else {
    if (bad) return open_breaker(rules, b, now);
    const bool in_a_row = rules.close_on == BreakerClose::kConsecutive;
    if (in_a_row) ++b.permits;
    if (b.probes.size() < (in_a_row ? rules.close_after : rules.probes)) return;
  }
  b.state = BreakerState::kClosed;
  ++b.era;
  b.in_row = b.openings = 0;
  if (!rules.keeps_counts) b.entries.clear();
  if (rules.counts_probe) b.entries.push_back(entry);
}

void Quota::give(const QuotaRules& rules, double tokens) {
  if (!(tokens > 0)) return;
  const double most = rules.capacity - whole();
  level += static_cast<std::int64_t>(std::min(tokens, most) * kToken + 0.5);
  level = std::min(level, rules.capacity * kToken);
}

void Quota::refill(const QuotaRules& rules, Time now) {
  if (rules.refill_rate <= 0 || now <= refilled_at) return;
  std::int64_t passed_ns = (now - refilled_at).count();
  const std::int64_t whole_ns = rules.refill_interval.count();
  if (whole_ns > 0) passed_ns = passed_ns / whole_ns * whole_ns;
  refilled_at = refilled_at + Duration::nanoseconds(passed_ns);
  give(rules, static_cast<double>(passed_ns) / 1e9 * rules.refill_rate);
}

// --- The send-rate limiter

Limiter::Limiter(const SendRateRules& rules)
    : rules_(rules), measured_(rules.initial_measured_rate) {
  if (rules.initial_fill_rate <= 0) return;
  fill_rate_ = rules.initial_fill_rate;
  capacity_ = std::max(1.0, fill_rate_);
  refilled_ = Time::zero();
}

double Limiter::level_at(Time now) const {
  if (!refilled_) return level_;
  return std::min(capacity_, level_ + (now - *refilled_).in_seconds() * fill_rate_);
}

void Limiter::refill(Time now) {
  level_ = level_at(now);
  refilled_ = now;
}

bool Limiter::take(Time now, int tokens) {
  if (!enabled_) return true;
  refill(now);
  if ((tokens - level_) / fill_rate_ * 1e9 >= 1) return false;
  level_ = std::max(0.0, level_ - tokens);
  return true;
}

Duration Limiter::wait(Time now, int tokens) const {
  if (!enabled_) return Duration::zero();
  const double ns = (tokens - level_at(now)) / fill_rate_ * 1e9;
  if (ns < 1) return Duration::zero();
  return ns >= 9e18 ? Duration::max()
                    : Duration::nanoseconds(static_cast<std::int64_t>(std::ceil(ns)));
}

Duration Limiter::reserve(Time now, int tokens) {
  if (!enabled_) return Duration::zero();
  const Duration time = wait(now, tokens);
  refill(now);
  level_ -= tokens;
  return time;
}

void Limiter::hear(Time now, bool throttling) {
  const auto rounded = [this](double rate) {
    if (!rules_.round_rates || !(rate < 1e10)) return rate;
    return std::trunc(rate * 1e8 + 0.5) / 1e8;
  };
  // The send rate, by half seconds. The first response of a new one is counted in the old one.
  ++responses_;
  const std::int64_t half_second = now.count() / 500'000'000;
  if (half_second > interval_) {
    const double rate = responses_ / (static_cast<double>(half_second - interval_) * 0.5);
    measured_ = rounded(rate * 0.8 + measured_ * (1 - 0.8));
    interval_ = half_second;
    responses_ = 0;
  }
  // The rate that it allows follows the CUBIC curve.
  double rate;
  if (throttling) {
    highest_ = enabled_ ? std::min(measured_, fill_rate_) : measured_;
    climb_s_ = kernel::cbrt(highest_ * (1 - 0.7) / 0.4);
    throttled_ = now;
    enabled_ = true;
    rate = highest_ * 0.7;
  } else {
    const double t = (now - throttled_).in_seconds() - climb_s_;
    rate = 0.4 * (t * t * t) + highest_;
  }
  refill(now);  // at the rate that held until now
  fill_rate_ = std::max(rounded(std::min(rate, 2 * measured_)), rules_.min_rate);
  capacity_ = std::max(fill_rate_, 1.0);
}

// --- Counts

Counts::Counts(Duration window, int tenths)
    : tenth_ns_(std::max<std::int64_t>(1, window.count() / 10)), most_tenths_(tenths) {}

void Counts::add_first(Time now) {
  if (tenth_ns_ > 0) {
    ++tenths_[now.count() / tenth_ns_].first;
    return;
  }
  calls_.pop_front();
  calls_.push_back({1, 0});
}

void Counts::add_second(Time now) {
  ++(tenth_ns_ > 0 ? tenths_[now.count() / tenth_ns_] : calls_.back()).second;
}

Counts::Pair Counts::sum(Time now) const {
  Pair all;
  const auto add = [&all](const Pair& p) {
    all.first += p.first;
    all.second += p.second;
  };
  for (const Pair& p : calls_) add(p);
  if (tenth_ns_ == 0) return all;
  for (auto t = tenths_.lower_bound(now.count() / tenth_ns_ - most_tenths_ + 1); t != tenths_.end();
       ++t) {
    add(t->second);
  }
  return all;
}

// --- What an answer means

/// Written out once more: a word for each kind of error that it is, of which the lists may name
/// any.
bool is_named(const ErrorPattern& p, const Response& response, ResponseClass by_table) {
  using Of = ErrorPattern::Of;
  std::vector<ErrorPattern> names = {{Of::kAny, 0, ""}};
  if (response.transport == TransportError::kTimeout) names.push_back({Of::kTimeout, 0, ""});
  if (response.transport == TransportError::kConnection) names.push_back({Of::kConnection, 0, ""});
  if (response.transport == TransportError::kNoConnection) {
    names.push_back({Of::kNoConnection, 0, ""});
  }
  if (response.transport == TransportError::kBulkheadFull) {
    names.push_back({Of::kBulkheadFull, 0, ""});
  }
  if (response.transport == TransportError::kNotPermitted) {
    names.push_back({Of::kNotPermitted, 0, ""});
  }
  if (by_table == ResponseClass::kThrottling) names.push_back({Of::kThrottled, 0, ""});
  if (response.transport == TransportError::kNone) {
    names.push_back({Of::kStatus, response.status, ""});
    names.push_back({Of::kStatus, response.status, response.code});
    names.push_back({Of::kHundred, response.status / 100, ""});
    names.push_back({Of::kCode, 0, response.code});
  }
  return std::ranges::find(names, p) != names.end();
}

ErrorInfo what_it_means(const RetryRules& rules, const Response& response) {
  ErrorRules table = rules.errors;
  table.on = table.not_on = {};
  table.bases = {};
  ErrorInfo info = classify(table, rules.api, response);
  if (info.success()) return info;
  const ResponseClass by_table = info.response_class;
  const auto named_in = [&](const std::vector<ErrorPattern>& list) {
    for (const ErrorPattern& p : list) {
      if (is_named(p, response, by_table)) return true;
    }
    return false;
  };
  bool retried = info.retryable();
  if (!rules.errors.on.empty()) retried = named_in(rules.errors.on);
  if (named_in(rules.errors.not_on)) retried = false;
  if (retried && !info.retryable()) {
    info.response_class =
        response.status == 429 ? ResponseClass::kThrottling : ResponseClass::kTransient;
  }
  if (!retried) {
    info.response_class = ResponseClass::kNotRetryable;
    if (by_table != ResponseClass::kNotRetryable) info.before_lists = by_table;
    info.timeout = false;
  }
  for (std::size_t i = rules.errors.bases.size(); i > 0; --i) {
    if (!is_named(rules.errors.bases[i - 1].after, response, by_table)) continue;
    info.own_base = static_cast<std::uint8_t>(i) & 127;
  }
  return info;
}

bool is_final_for(const RetryRules& rules, const std::vector<ErrorPattern>& list,
                  const Response* answer) {
  RetryRules table = rules;
  table.errors.on = table.errors.not_on = {};
  for (const ErrorPattern& p : list) {
    if (p.of == ErrorPattern::Of::kAny) return true;
    if (answer == nullptr) continue;
    if (is_named(p, *answer, what_it_means(table, *answer).response_class)) return true;
  }
  return false;
}

// --- The steps of a request

bool counts_successes(const RetryRules& rules) {
  return rules.budget.kind == BudgetKind::kWindow && rules.budget.of == BudgetOf::kSuccesses;
}

void request_begins(const RetryRules& rules, const ClientState& state, Time now) {
  if (state.budget != nullptr) {
    if (!counts_successes(rules)) state.budget->counts.add_first(now);
    ++state.budget->requests;
  }
  if (state.quota != nullptr && rules.quota.credit_on == CreditOn::kStart) {
    state.quota->give(rules.quota, rules.quota.credit);
  }
}

void backoff_begins(const ClientState& state) {
  if (state.budget != nullptr) --state.budget->requests;
}

void backoff_ends(const ClientState& state) {
  if (state.budget != nullptr) ++state.budget->requests;
}

void request_ends(const ClientState& state, bool retried) {
  if (state.budget == nullptr) return;
  --state.budget->requests;
  if (retried && state.budget->retries > 0) --state.budget->retries;
}

bool throttle_permits(const RetryRules& rules, const ClientState& state, Time now, double uniform) {
  Counts& counts = state.throttle->counts;
  const double requests = counts.first(now), accepts = counts.second(now);
  counts.add_first(now);
  return uniform * (requests + 1) >= requests - rules.throttle.k * accepts;
}

Decision decide(const RetryRules& rules, const ClientState& state, Progress& progress,
                const Failure& failure, Time now, Draws draws) {
  const ErrorInfo& error = failure.error;
  const SendRateRules& sending = rules.rate_limit;
  const bool has_quota = state.quota != nullptr;
  const QuotaOrder order = rules.quota.order;
  take_note(rules, state, error, now);

  // Who pays before it is known whether there will be a retry.
  std::optional<Payment> paid;
  if (has_quota && order == QuotaOrder::kBeforeClassification) {
    paid = pay(rules, *state.quota, error, now);
  }
  // What is final is so whether or not it could have been paid for.
  if (!error.retryable() || !failure.repeatable) return {Outcome::kNotRetryable};
  if (gives_up_at_suggestion(rules, failure)) return {Outcome::kNotRetryable};
  if (paid && !paid->made) return {Outcome::kQuotaExceeded};

  const bool attempts_left = has_attempts_left(rules, progress);
  if (has_quota && (order == QuotaOrder::kBeforeAttempts || order == QuotaOrder::kRollback)) {
    paid = pay(rules, *state.quota, error, now);
    if (!attempts_left && !paid->made) return {Outcome::kQuotaExceeded};
  }
  const auto give_back = [&] {
    if (paid && paid->made) state.quota->give(rules.quota, paid->amount);
  };
  if (!attempts_left) {
    if (order == QuotaOrder::kRollback) give_back();
    return {Outcome::kMaxAttemptsExceeded};
  }
  if (state.limiter != nullptr && sending.update == LimiterUpdate::kRetried) {
    state.limiter->hear(now, is_throttling(error));
  }
  if (rules.probability < 1 && draws.uniform() >= rules.probability) {
    give_back();
    return {Outcome::kMaxAttemptsExceeded};
  }
  if (!others_permit(rules, state, progress, failure.given_up, now)) {
    give_back();
    return {Outcome::kQuotaExceeded};
  }

  // Send tokens that are asked for before the quota, and only if they are there.
  const int send_cost = is_throttling(error) ? sending.costly_retry_cost : sending.retry_cost;
  std::optional<Duration> send_wait;
  if (state.limiter != nullptr && sending.acquire == SendTokenTiming::kInsteadOfBackoff &&
      sending.wait != SendTokenWait::kReserve) {
    send_wait = state.limiter->take(now, send_cost) ? Duration::zero()
                                                    : state.limiter->wait(now, send_cost);
  }

  if (has_quota && !paid) paid = pay(rules, *state.quota, error, now);
  const bool refused = paid && !paid->made;
  if (refused && !(failure.long_poll && rules.long_poll != LongPoll::kReturn)) {
    return {Outcome::kQuotaExceeded};
  }
  const bool as_throttling =
      is_throttling(error) && !(refused && rules.long_poll == LongPoll::kWaitBase);
  std::optional<Duration> own_base;
  if (error.own_base > 0) own_base = rules.errors.bases[error.own_base - 1u].base;
  const Duration t = backoff(rules.backoff, own_base, as_throttling, progress, draws);
  Duration delay = with_suggestion(rules, failure, t, draws);
  if (refused) return {Outcome::kQuotaExceeded, delay};

  progress.held_cost = paid ? paid->amount : 0;
  progress.previous_delay = t;
  count_retry(rules, state, progress, now);
  if (paid) delay += paid->wait;
  if (state.limiter == nullptr) return {Outcome::kRetry, delay};

  if (sending.update == LimiterUpdate::kRetriedThrottling && is_throttling(error)) {
    state.limiter->hear(now, true);
  }
  switch (sending.acquire) {
    case SendTokenTiming::kBeforeSend:
    case SendTokenTiming::kBeforeBackoff:
      return {Outcome::kRetry, delay, send_cost};
    case SendTokenTiming::kWithBackoff:
      return {Outcome::kRetry, delay + state.limiter->reserve(now, send_cost)};
    case SendTokenTiming::kInsteadOfBackoff:
      if (!send_wait) send_wait = state.limiter->reserve(now, send_cost);
      if (*send_wait > Duration::zero()) delay = std::min(*send_wait, rules.backoff.cap);
      return {Outcome::kRetry, delay};
    case SendTokenTiming::kFirstAttempt:
      break;
  }
  return {Outcome::kRetry, delay};
}

bool permit_hedge(const RetryRules& rules, const ClientState& state, Progress& progress, Time now) {
  if (!has_attempts_left(rules, progress)) return false;
  if (!others_permit(rules, state, progress, false, now)) return false;
  if (state.quota != nullptr) {
    const Payment payment = pay(rules, *state.quota, {ResponseClass::kTransient}, now);
    if (!payment.made) return false;
    progress.held_cost = payment.amount;
  }
  count_retry(rules, state, progress, now);
  return true;
}

void request_succeeds(const RetryRules& rules, const ClientState& state, const Progress& progress,
                      Time now) {
  if (state.limiter != nullptr) state.limiter->hear(now, false);
  if (state.breaker != nullptr) attempt_ended(rules, *state.breaker, false, now);
  if (state.guard != nullptr) attempt_ended(rules.guard, *state.guard, false, now);
  if (state.throttle != nullptr) state.throttle->counts.add_second(now);
  if (state.budget != nullptr && counts_successes(rules)) state.budget->counts.add_first(now);
  if (state.quota == nullptr) return;
  const QuotaRules& q = rules.quota;
  const double credit = q.credit_on == CreditOn::kSuccess ? q.credit : 0;
  const double held = progress.held_cost;
  double amount = credit;
  if (progress.attempts > 1) {
    switch (q.refund) {
      case Refund::kLast:
        amount = held;
        break;
      case Refund::kCost:
        amount = q.cost;
        break;
      case Refund::kCredit:
        break;
      case Refund::kNone:
        amount = 0;
        break;
      case Refund::kLastAndCredit:
        amount = credit + held;
        break;
      case Refund::kLastOrCredit:
        amount = std::max(credit, held);
        break;
      case Refund::kSharedLast:
        amount = state.quota->last_cost;
        break;
    }
  }
  state.quota->refill(q, now);
  state.quota->give(q, amount);
}

}  // namespace retrysim::reference
