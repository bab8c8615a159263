// The bookkeeping of a client's retry quota and of its other limits, and the strategy as an object.
// The order in which a client decides about a retry is in decision.hpp. Runs once per failed
// attempt of a simulation: it allocates nothing and compares no text.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_strategy.hpp>

#include "retry/decision.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace retrysim {
namespace {

/// By how much a suggested delay may exceed the backoff under the rule `clamp`.
constexpr Duration kClampRange = Duration::seconds(5);

int send_cost_of(const SendRateRules& rules, const ErrorInfo& error) {
  return error.response_class == ResponseClass::kThrottling ? rules.costly_retry_cost
                                                            : rules.retry_cost;
}

/// Whether the quota is above its threshold. Fractions of a token count: 5.1 tokens are above a
/// threshold of 5.
bool above_threshold(const QuotaRules& rules, const RetryState& state) {
  if (rules.threshold == 0 || state.quota->available > rules.threshold) return true;
  return state.quota->available == rules.threshold && state.accrual != nullptr &&
         state.accrual->billionths > 0;
}

}  // namespace

namespace decision {

int price_of(const QuotaRules& quota, const ErrorInfo& error) {
  if (error.timeout) return quota.timeout_cost;
  return error.response_class == ResponseClass::kThrottling ? quota.throttle_cost : quota.cost;
}

Duration with_suggestion(const RetryRules& rules, const Failure& failure, Duration backoff,
                         double uniform) {
  if (!failure.retry_after || failure.error.no_retry_after) return backoff;
  const Duration limit = rules.suggestion_limit();
  if (rules.retry_after_over == RetryAfterOver::kBackoff && *failure.retry_after > limit) {
    return backoff;
  }
  Duration suggested = std::min(*failure.retry_after, limit);
  if (rules.retry_after_jitter > 0) {
    const double more = rules.retry_after_jitter * uniform;
    suggested += Duration::from_nanoseconds(static_cast<double>(suggested.count()) * more);
  }
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
      return suggested;
    case RetryAfter::kMinimumCapped:
      return std::max(suggested, backoff);
    case RetryAfter::kAddWhenThrottled:
      return failure.error.response_class == ResponseClass::kThrottling ? backoff + suggested
                                                                        : backoff;
  }
  return backoff;
}

bool suggests_too_long(const RetryRules& rules, const Failure& failure) {
  if (rules.retry_after_over != RetryAfterOver::kFail || failure.error.no_retry_after) return false;
  const bool reads = rules.retry_after != RetryAfter::kIgnore &&
                     (rules.retry_after != RetryAfter::kAddWhenThrottled ||
                      failure.error.response_class == ResponseClass::kThrottling);
  return reads && *failure.retry_after > rules.suggestion_limit();
}

Duration delay_from_own_base(const RetryRules& rules, const ErrorInfo& error,
                             ResponseClass response_class, RetryProgress& progress, Draws& draws,
                             const std::optional<double>& fixed_draw) {
  BackoffRules own = rules.backoff;
  own.base = own.throttle_base = rules.errors.bases[error.own_base - 1u].base;
  backoff::GivenDraws given{draws};
  return backoff::delay(own, response_class, progress, given, fixed_draw, progress.jitter_level);
}

Payment pay(const RetryRules& all_rules, const RetryState& state, const ErrorInfo& error,
            Time now) {
  const QuotaRules& rules = all_rules.quota;
  RetryQuota& quota = *state.quota;
  if (state.accrual != nullptr) state.accrual->refill(rules, quota, now);
  if (!above_threshold(rules, state)) return {};
  Payment payment{.made = true, .amount = price_of(rules, error), .wait = {}};
  if (rules.partial && quota.available > 0) {
    payment.amount = std::min(payment.amount, quota.available);
  }
  if (!quota.acquire(payment.amount)) {
    const bool may_wait = rules.on_empty == QuotaOnEmpty::kWait && !all_rules.hedging.enabled;
    if (!may_wait || state.accrual == nullptr || !(rules.refill_rate > 0)) return {};
    // The missing tokens are taken from the future: the next retry that asks waits behind this one.
    QuotaAccrual& accrual = *state.accrual;
    const double missing =
        payment.amount - quota.available - static_cast<double>(accrual.billionths) * 1e-9;
    accrual.refilled_at = std::max(accrual.refilled_at, now) +
                          Duration::from_nanoseconds(missing / rules.refill_rate * 1e9);
    quota.available = 0;
    accrual.billionths = 0;
    payment.wait = accrual.refilled_at - now;
  }
  if (state.accrual != nullptr) state.accrual->last_cost = payment.amount;
  return payment;
}

void take_note_of_failure(const RetryRules& rules, const RetryState& state, const ErrorInfo& error,
                          Time now) {
  if (state.limiter != nullptr && rules.rate_limit.update == LimiterUpdate::kAll) {
    state.limiter->on_response(now, error.response_class == ResponseClass::kThrottling);
  }
  if (state.quota != nullptr && rules.quota.failure_cost > 0 && error.retryable()) {
    // The level becomes max(0, level - cost), as in gRFC A6: a cost above the level takes its
    // fraction, too.
    if (!state.quota->acquire(rules.quota.failure_cost)) {
      state.quota->available = 0;
      if (state.accrual != nullptr) state.accrual->billionths = 0;
    }
  }
  state.each_limit(rules, [&](auto& limit, const auto& its_rules) {
    limit.attempt_ended(its_rules, error.retryable(), now);
  });
}

std::optional<Duration> ask_for_send_tokens(const RetryRules& rules, const RetryState& state,
                                            const ErrorInfo& error, Time now) {
  const SendRateRules& r = rules.rate_limit;
  if (state.limiter == nullptr || r.acquire != SendTokenTiming::kInsteadOfBackoff ||
      r.wait == SendTokenWait::kReserve) {
    return std::nullopt;
  }
  const int tokens = send_cost_of(r, error);
  if (state.limiter->try_acquire(now, tokens)) return Duration::zero();
  return state.limiter->wait(now, tokens);
}

int take_send_tokens(const RetryRules& rules, const RetryState& state, const ErrorInfo& error,
                     Time now, std::optional<Duration> asked, Duration& delay) {
  const SendRateRules& r = rules.rate_limit;
  SendRateLimiter& limiter = *state.limiter;
  const bool throttling = error.response_class == ResponseClass::kThrottling;
  if (r.update == LimiterUpdate::kRetriedThrottling && throttling) limiter.on_response(now, true);
  const int tokens = send_cost_of(r, error);
  switch (r.acquire) {
    case SendTokenTiming::kBeforeSend:
    case SendTokenTiming::kBeforeBackoff:
      return tokens;
    case SendTokenTiming::kWithBackoff:
      delay += limiter.reserve(now, tokens);
      return 0;
    case SendTokenTiming::kInsteadOfBackoff:
      if (const Duration wait = asked ? *asked : limiter.reserve(now, tokens);
          wait > Duration::zero()) {
        delay = std::min(wait, rules.backoff.cap);
      }
      return 0;
    case SendTokenTiming::kFirstAttempt:
      return 0;
  }
  return 0;
}

}  // namespace decision

void begin_request(const RetryRules& rules, const RetryState& state, Time now) {
  state.each_limit(
      rules, [&](auto& limit, const auto& its_rules) { limit.request_begins(its_rules, now); });
  if (state.quota != nullptr && rules.quota.credit_on == CreditOn::kStart) {
    if (state.accrual != nullptr) {
      state.accrual->add(rules.quota.credit, *state.quota, rules.quota.capacity);
    } else {
      state.quota->release(static_cast<int>(rules.quota.credit), rules.quota.capacity);
    }
  }
}

bool permit_attempt(const RetryRules& rules, const RetryState& state, Time now, Draws& draws,
                    const std::optional<double>& fixed_draw) {
  if (state.throttle() == nullptr) return true;
  return state.throttle()->permit(rules.throttle, now, fixed_draw ? *fixed_draw : draws.uniform());
}

RetryDecision refresh_retry_token(const RetryRules& rules, const RetryState& state,
                                  RetryProgress& progress, const Failure& failure, Time now,
                                  Draws& draws, const std::optional<double>& fixed_draw) {
  backoff::GivenDraws given{draws};
  return decision::decide(rules, state, progress, failure, now, given, fixed_draw);
}

bool acquire_hedge(const RetryRules& rules, const RetryState& state, RetryProgress& progress,
                   Time now) {
  if (!decision::attempts_left(rules, progress)) return false;
  if (!decision::limits_permit(rules, state, {.again = progress.attempts > 1}, now)) return false;
  if (state.quota != nullptr) {
    const decision::Payment payment = decision::pay(rules, state, {ResponseClass::kTransient}, now);
    if (!payment.made) return false;
    progress.held_cost = payment.amount;
  }
  decision::limits_grant(rules, state, progress, now);
  return true;
}

void record_success(const RetryRules& rules, const RetryState& state, const RetryProgress& progress,
                    Time now) {
  if (state.limiter != nullptr) state.limiter->on_response(now, false);
  state.each_limit(rules, [&](auto& limit, const auto& its_rules) {
    limit.attempt_ended(its_rules, false, now);
    limit.request_succeeded(its_rules, now);
  });
  if (!rules.quota.enabled) return;
  assert(state.quota != nullptr);
  const QuotaRules& q = rules.quota;
  double amount = q.credit_on == CreditOn::kSuccess ? q.credit : 0;
  if (progress.attempts > 1) {
    switch (q.refund) {
      case Refund::kLast:
        amount = progress.held_cost;
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
        amount += progress.held_cost;
        break;
      case Refund::kLastOrCredit:
        amount = std::max(amount, static_cast<double>(progress.held_cost));
        break;
      case Refund::kSharedLast:
        amount = state.accrual->last_cost;
        break;
    }
  }
  if (state.accrual != nullptr) {
    state.accrual->refill(q, *state.quota, now);
    state.accrual->add(amount, *state.quota, q.capacity);
  } else {
    state.quota->release(static_cast<int>(amount), q.capacity);
  }
}

// --- RetryStrategy -------------------------------------------------------------------------------

RetryToken& RetryToken::operator=(RetryToken&& other) noexcept {
  strategy_ = std::exchange(other.strategy_, nullptr);
  scope_ = other.scope_;
  progress_ = other.progress_;
  request_ = other.request_;
  attempt_ = other.attempt_;
  send_tokens_ = other.send_tokens_;
  outcome_ = other.outcome_;
  delay_ = other.delay_;
  in_backoff_ = other.in_backoff_;
  send_wait_ = other.send_wait_;
  return *this;
}

RetryStrategy::RetryStrategy(RetryRules rules, const RandomKey& key, Time start,
                             std::uint32_t client, std::uint16_t group)
    : rules_(std::move(rules)), key_(key), start_(start), client_(client), group_(group) {}

RetryStates& RetryStrategy::states(std::string_view scope) {
  const auto known = scopes_.find(scope);
  if (known != scopes_.end()) return known->second;
  return scopes_.emplace(std::string(scope), RetryStates(rules_, 1, start_)).first->second;
}

RetryState RetryStrategy::state_of(const RetryToken& token) const {
  return static_cast<RetryStates*>(token.scope_)->of(0);
}

void RetryStrategy::use(const RetryToken& token, const char* what) const {
  if (token.strategy_ == nullptr) {
    throw TokenMisuse(std::string(what) +
                      ": the token has been used already; each can be used only once");
  }
  if (token.strategy_ != this) {
    throw TokenMisuse(std::string(what) + ": the token belongs to another strategy");
  }
  if (token.outcome_ != Outcome::kRetry) {
    throw TokenMisuse(std::string(what) + ": the request has ended with " +
                      std::string(name(token.outcome_)));
  }
}

Draws RetryStrategy::draws_for(const RetryToken& token, Purpose purpose) const {
  return Draws(key_, {.entity = client_ << 32 | (token.request_ & 0xffff'ffff),
                      .attempt = token.attempt_,
                      .group = group_,
                      .purpose = purpose});
}

void RetryStrategy::leave_backoff(RetryToken& token, const RetryState& state) const {
  if (std::exchange(token.in_backoff_, false)) backoff_ends(rules_, state);
}

RetryToken RetryStrategy::acquire_initial_token(Time now, std::string_view scope) {
  RetryStates& shared = states(scope);
  const RetryState state = shared.of(0);
  begin_request(rules_, state, now);
  RetryToken token;
  token.strategy_ = this;
  token.scope_ = &shared;
  token.request_ = requests_++;
  token.attempt_ = 1;
  token.send_tokens_ = state.limiter != nullptr ? 1 : 0;
  if (state.limiter != nullptr) token.send_wait_ = state.limiter->wait(now);
  return token;
}

Duration RetryStrategy::acquire_send_token(RetryToken& token, Time now) {
  use(token, "acquire_send_token");
  const RetryState state = state_of(token);
  const auto refuse = [&] {
    token.outcome_ = Outcome::kNoSendToken;
    end_request(rules_, state, token.attempt_ > 1);
    return Duration::zero();
  };
  leave_backoff(token, state);
  const bool first_asked = token.progress_.attempts < token.attempt_;
  token.progress_.attempts = token.attempt_;
  if (state.throttle() != nullptr && first_asked) {
    Draws draws = draws_for(token, Purpose::kClientThrottle);
    if (!permit_attempt(rules_, state, now, draws, fixed_draw_)) return refuse();
  }
  const int tokens = token.send_tokens_;
  if (tokens == 0) return Duration::zero();
  SendRateLimiter& limiter = *state.limiter;
  if (limiter.try_acquire(now, tokens)) {
    token.send_tokens_ = 0;
    return Duration::zero();
  }
  if (rules_.rate_limit.on_empty == OnEmpty::kFail) return refuse();
  if (rules_.rate_limit.wait == SendTokenWait::kReserve) {
    token.send_tokens_ = 0;
    return limiter.reserve(now, tokens);
  }
  if (rules_.rate_limit.wait == SendTokenWait::kOnce && !first_asked) {
    token.send_tokens_ = 0;  // the retry has waited already
    limiter.reserve(now, tokens);
    return Duration::zero();
  }
  return limiter.can_hold(tokens) ? limiter.wait(now, tokens) : Duration::max();
}

RetryToken RetryStrategy::refresh_retry_token(RetryToken token, const Failure& failure, Time now) {
  use(token, "refresh_retry_token");
  const RetryState state = state_of(token);
  leave_backoff(token, state);
  token.progress_.attempts = token.attempt_;
  Draws draws = draws_for(token, Purpose::kBackoff);
  const RetryDecision decision = retrysim::refresh_retry_token(rules_, state, token.progress_,
                                                               failure, now, draws, fixed_draw_);
  token.outcome_ = decision.outcome;
  token.delay_ = decision.delay;
  token.send_tokens_ = decision.send_tokens;
  token.send_wait_ = Duration::zero();
  if (decision.outcome != Outcome::kRetry) {
    end_request(rules_, state, token.attempt_ > 1);
    return token;
  }
  ++token.attempt_;
  token.in_backoff_ = true;
  backoff_begins(rules_, state);
  if (decision.send_tokens == 0) return token;
  if (rules_.rate_limit.acquire == SendTokenTiming::kBeforeBackoff) {
    const bool granted = state.limiter->try_acquire(now, decision.send_tokens);
    if (!granted && rules_.rate_limit.on_empty == OnEmpty::kFail) {
      token.outcome_ = Outcome::kNoSendToken;
      token.delay_ = Duration::zero();
      leave_backoff(token, state);
      end_request(rules_, state, true);
      return token;
    }
    if (!granted) token.delay_ += state.limiter->reserve(now, decision.send_tokens);
    token.send_tokens_ = 0;
  } else {
    token.send_wait_ = state.limiter->wait(now + decision.delay, decision.send_tokens);
  }
  return token;
}

void RetryStrategy::record_success(RetryToken token, Time now) {
  use(token, "record_success");
  const RetryState state = state_of(token);
  leave_backoff(token, state);
  token.progress_.attempts = token.attempt_;
  retrysim::record_success(rules_, state, token.progress_, now);
  end_request(rules_, state, token.attempt_ > 1);
}

void RetryStrategy::abandon(RetryToken token) {
  use(token, "abandon");
  const RetryState state = state_of(token);
  leave_backoff(token, state);
  end_request(rules_, state, token.attempt_ > 1);
}

Failure RetryStrategy::failure_of(const Response& response) const {
  return {.error = classify(rules_.errors, rules_.api, response),
          .retry_after = response.retry_after};
}

std::optional<std::int32_t> RetryStrategy::quota(std::string_view scope) {
  const RetryState state = states(scope).of(0);
  if (state.quota == nullptr) return std::nullopt;
  return state.quota->available;
}

const SendRateLimiter* RetryStrategy::limiter(std::string_view scope) {
  return states(scope).of(0).limiter;
}

}  // namespace retrysim
