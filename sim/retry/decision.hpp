// The order in which a client decides about a retry: retryable, attempts left, quota, then the
// delay. Source: botocore retries/standard.py and the pseudo-code of the AWS SDK reference;
// README.md lists where SDKs differ. This runs once per failed attempt of a simulation: it
// allocates nothing and compares no text, and steps that only some rules need are functions in
// retry_strategy.cpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/time.hpp>

#include "retry/backoff.hpp"

#include <cassert>
#include <cstdint>
#include <optional>

namespace retrysim {

/// The words of `Draws(key, id)`, each computed when it is needed: nearly always one word is
/// enough, and often none is.
class DrawsOnDemand {
 public:
  DrawsOnDemand(const RandomKey& key, DrawId id) : key_(key), id_(id) {}

  /// Uniform on [0, 1).
  double uniform() {
    if (one_is_taken_ || draws_) [[unlikely]]
      return all().uniform();
    one_is_taken_ = true;
    return static_cast<double>(first_word(key_, id_) >> 11) * 0x1p-53;
  }
  /// The draws, from the next word on.
  Draws& all() {
    if (!draws_) {
      draws_.emplace(key_, id_);
      if (one_is_taken_) draws_->next();
    }
    return *draws_;
  }

 private:
  // Not compiled into its callers: the multiplications need all registers.
  [[gnu::noinline]] static std::uint64_t first_word(const RandomKey& key, DrawId id) {
    return Draws::first_word(key, id);
  }

  const RandomKey& key_;
  const DrawId id_;
  bool one_is_taken_ = false;
  std::optional<Draws> draws_;
};

}  // namespace retrysim

namespace retrysim::decision {

/// The answer of the quota to a request for tokens.
struct Payment {
  bool made = false;
  int amount = 0;
  Duration wait;  ///< until the tokens are available (QuotaOnEmpty::kWait)
};

/// The price of a retry after `error`, in tokens.
int price_of(const QuotaRules& quota, const ErrorInfo& error);

/// Takes the price of a retry after `error` from the quota.
Payment pay(const RetryRules& rules, const RetryState& state, const ErrorInfo& error, Time now);

/// Updates the client's state after a failed attempt, before any decision.
void take_note_of_failure(const RetryRules& rules, const RetryState& state, const ErrorInfo& error,
                          Time now);

/// The delay from `backoff` and the delay that the service suggests. `uniform`: the draw for the
/// jitter of the latter.
Duration with_suggestion(const RetryRules& rules, const Failure& failure, Duration backoff,
                         double uniform);

/// Whether the service suggests a longer delay than the client obeys, so that the client gives up.
/// Pure, so that a decision keeps its draws in registers: with a call that might change them each
/// retry took 39 more instructions.
[[gnu::pure]] bool suggests_too_long(const RetryRules& rules, const Failure& failure);

/// The backoff after an error with a base of its own (`ErrorInfo::own_base`).
Duration delay_from_own_base(const RetryRules& rules, const ErrorInfo& error,
                             ResponseClass response_class, RetryProgress& progress, Draws& draws,
                             const std::optional<double>& fixed_draw);

/// Asks for send tokens before the quota is charged: takes them, or returns how long they would
/// take. Empty if the rules do not ask then.
std::optional<Duration> ask_for_send_tokens(const RetryRules& rules, const RetryState& state,
                                            const ErrorInfo& error, Time now);

/// Adaptive mode: the limiter takes note of an error that will be retried, and the retry's tokens
/// are taken as far as they are now. `asked` is the answer to a question asked before the quota.
/// May change the delay. Returns the tokens that are still to be taken.
int take_send_tokens(const RetryRules& rules, const RetryState& state, const ErrorInfo& error,
                     Time now, std::optional<Duration> asked, Duration& delay);

/// Whether the rules beyond the SDKs (budget, retry breaker, ...) permit one more retry. As a
/// call it takes 25 more instructions a retry, and Charge::at 6.
[[gnu::always_inline]] inline bool limits_permit(const RetryRules& rules, const RetryState& state,
                                                 RetryAsked asked, Time now) {
  bool permitted = true;
  state.each_limit(rules, [&](auto& limit, const auto& its_rules) {
    permitted = permitted && limit.permits(its_rules, asked, now);
  });
  return permitted;
}

/// Tells the limits that the retry is made.
inline void limits_grant(const RetryRules& rules, const RetryState& state,
                         const RetryProgress& progress, Time now) {
  state.each_limit(rules, [&](auto& limit, const auto& its_rules) {
    limit.retry_granted(its_rules, progress.attempts > 1, now);
  });
}

inline bool attempts_left(const RetryRules& rules, const RetryProgress& progress) {
  return progress.attempts < rules.max_attempts || rules.max_attempts == RetryRules::kUnlimited;
}

/// The quota's part in one decision. It is charged once, at the step that `QuotaOrder` says: most
/// SDKs do it last, some before they look at the error or count attempts. Until then, and without a
/// quota, nothing is refused.
class Charge {
 public:
  enum class Step { kBeforeClassification, kBeforeAttempts, kLast };

  Charge(const RetryRules& rules, const RetryState& state)
      : rules_(rules), quota_(rules.quota.enabled ? state.quota : nullptr) {}

  /// Charges the price of `error` if the quota is charged at this step.
  [[gnu::always_inline]] void at(Step step, const RetryState& state, const ErrorInfo& error,
                                 Time now) {
    if (quota_ != nullptr && step == step_of(rules_.quota.order))
      payment_ = pay(rules_, state, error, now);
  }
  bool refused() const { return !payment_.made; }
  /// Gives the payment back, if another rule refuses the retry that has been paid for.
  void give_back() {
    if (quota_ != nullptr && payment_.made) quota_->release(payment_.amount, rules_.quota.capacity);
  }
  int amount() const { return payment_.amount; }
  Duration wait() const { return payment_.wait; }

 private:
  static Step step_of(QuotaOrder order) {
    switch (order) {
      case QuotaOrder::kBeforeClassification:
        return Step::kBeforeClassification;
      case QuotaOrder::kBeforeAttempts:
      case QuotaOrder::kRollback:
        return Step::kBeforeAttempts;
      case QuotaOrder::kAfterAttempts:
        break;
    }
    return Step::kLast;
  }

  const RetryRules& rules_;
  RetryQuota* const quota_;
  Payment payment_{.made = true, .wait = {}};
};

/// `refresh_retry_token`, compiled into its caller: the steps of a failure, in order, until one of
/// them ends the request. `draws`: see backoff.hpp.
template <class BackoffDraws>
[[gnu::always_inline]] inline RetryDecision decide(
    const RetryRules& rules, const RetryState& state, RetryProgress& progress,
    const Failure& failure, Time now, BackoffDraws& draws,
    const std::optional<double>& fixed_draw = std::nullopt) {
  const ErrorInfo& error = failure.error;
  assert(error.response_class != ResponseClass::kSuccess);
  assert(state.quota != nullptr || !rules.quota.enabled);
  const auto end = [](Outcome outcome) { return RetryDecision{outcome, Duration::zero(), 0}; };
  if (state.remembers()) take_note_of_failure(rules, state, error, now);
  Charge charge(rules, state);

  // First question: may this request be retried after this error at all?
  charge.at(Charge::Step::kBeforeClassification, state, error, now);
  if (!error.retryable() || !failure.repeatable) return end(Outcome::kNotRetryable);
  if (failure.retry_after && suggests_too_long(rules, failure)) [[unlikely]]
    return end(Outcome::kNotRetryable);
  if (charge.refused()) [[unlikely]]
    return end(Outcome::kQuotaExceeded);

  // Second question: are attempts left?
  charge.at(Charge::Step::kBeforeAttempts, state, error, now);
  if (!attempts_left(rules, progress)) {
    if (charge.refused()) [[unlikely]]
      return end(Outcome::kQuotaExceeded);
    if (rules.quota.order == QuotaOrder::kRollback) charge.give_back();
    return end(Outcome::kMaxAttemptsExceeded);
  }
  if (state.limiter != nullptr && rules.rate_limit.update == LimiterUpdate::kRetried) {
    // Counts once the limit on attempts permits the retry, before the quota (aws-sdk-net).
    state.limiter->on_response(now, error.response_class == ResponseClass::kThrottling);
  }

  // Chance and the rules beyond the SDKs come next. A retry that they refuse costs nothing.
  if (rules.probability < 1) [[unlikely]] {
    const double uniform = fixed_draw ? *fixed_draw : draws.uniform();
    if (!(uniform < rules.probability)) {
      charge.give_back();
      return end(Outcome::kMaxAttemptsExceeded);
    }
  }
  const RetryAsked asked_for{.again = progress.attempts > 1, .given_up = failure.given_up};
  if (!limits_permit(rules, state, asked_for, now)) [[unlikely]] {
    charge.give_back();
    return end(Outcome::kQuotaExceeded);
  }

  // Third question: can the client pay? A long-polling operation that cannot pay may have to wait
  // before it returns.
  std::optional<Duration> asked;
  if (state.limiter != nullptr) asked = ask_for_send_tokens(rules, state, error, now);
  charge.at(Charge::Step::kLast, state, error, now);
  const bool waits_though_refused = failure.long_poll && rules.long_poll != LongPoll::kReturn;
  if (charge.refused() && !waits_though_refused) return end(Outcome::kQuotaExceeded);

  // Last question: how long does the client wait?
  const ResponseClass backoff_class = charge.refused() && rules.long_poll == LongPoll::kWaitBase
                                          ? ResponseClass::kTransient
                                          : error.response_class;
  const Duration backoff =
      error.own_base == 0
          ? backoff::delay(rules.backoff, backoff_class, progress, draws, fixed_draw,
                           progress.jitter_level)
          : delay_from_own_base(rules, error, backoff_class, progress, draws.all(), fixed_draw);
  Duration delay = backoff;
  if (failure.retry_after) {
    const bool jitters = rules.retry_after_jitter > 0;
    delay = with_suggestion(rules, failure, backoff,
                            !jitters     ? 0
                            : fixed_draw ? *fixed_draw
                                         : draws.uniform());
  }
  if (charge.refused()) return {Outcome::kQuotaExceeded, delay, 0};

  // The request is retried.
  progress.held_cost = charge.amount();
  progress.previous_delay = backoff;
  limits_grant(rules, state, progress, now);
  delay += charge.wait();
  if (state.limiter == nullptr) return {Outcome::kRetry, delay, 0};
  const int send_tokens = take_send_tokens(rules, state, error, now, asked, delay);
  return {Outcome::kRetry, delay, send_tokens};
}

}  // namespace retrysim::decision
