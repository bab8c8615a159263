// The order in which a client decides about a retry: retryable, attempts left, quota, then the
// delay. Source: botocore retries/standard.py and the pseudo-code of the AWS SDK reference;
// README.md lists where SDKs differ. This runs once per failed attempt of a simulation: it
// allocates nothing and compares no text, and what only some rules ask for is a function in
// retry_strategy.cpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/response.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_state.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/time.hpp>

#include "retry/backoff.hpp"

#include <cassert>
#include <cstdint>
#include <optional>

namespace retrysim {

/// The same words as `Draws(key, id)`, none of which is computed before it is needed: nearly always
/// one word is enough, and often none is.
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
  // Not compiled into what calls it: the multiplications want all registers for themselves.
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

/// The quota's answer.
struct Payment {
  bool made = false;
  int amount = 0;
  Duration wait;  ///< until the tokens are there (QuotaOnEmpty::kWait)
};

Payment pay(const QuotaRules& rules, const RetryState& state, const ErrorInfo& error, Time now);

/// What a failed attempt tells the client, before any decision.
void take_note_of_failure(const RetryRules& rules, const RetryState& state, const ErrorInfo& error,
                          Time now);

/// `backoff` with the delay that the service suggests.
Duration with_suggestion(const RetryRules& rules, const Failure& failure, Duration backoff);

/// Send tokens that are asked for before the quota: takes them, or says how long they would take.
std::optional<Duration> ask_for_send_tokens(const RetryRules& rules, const RetryState& state,
                                            const ErrorInfo& error, Time now);

/// Adaptive mode: the limiter takes note of an error that will be retried, and the retry's tokens
/// are taken as far as they are now. `asked` is the answer to a question asked before the quota.
/// May change the delay. Returns the tokens that are still to be taken.
int take_send_tokens(const RetryRules& rules, const RetryState& state, const ErrorInfo& error,
                     Time now, std::optional<Duration> asked, Duration& delay);

/// Whether anything but the quota stands against a retry that attempts permit.
inline bool strategies_beyond_permit(const RetryRules& rules, const RetryState& state,
                                     const RetryProgress& progress, Time now) {
  if (state.breaker != nullptr && state.breaker->open(now)) return false;
  return state.budget == nullptr || state.budget->permits(rules.budget, progress.attempts > 1, now);
}

/// `refresh_retry_token`, compiled into its caller. `draws`: see backoff.hpp.
template <class BackoffDraws>
[[gnu::always_inline]] inline RetryDecision decide(
    const RetryRules& rules, const RetryState& state, RetryProgress& progress,
    const Failure& failure, Time now, BackoffDraws& draws,
    const std::optional<double>& fixed_draw = std::nullopt) {
  const ErrorInfo& error = failure.error;
  assert(error.response_class != ResponseClass::kSuccess);
  assert(state.quota != nullptr || !rules.quota.enabled);
  if (state.remembers()) take_note_of_failure(rules, state, error, now);
  const auto end = [](Outcome outcome) { return RetryDecision{outcome, Duration::zero(), 0}; };

  const bool has_quota = state.quota != nullptr && rules.quota.enabled;
  const QuotaOrder order = rules.quota.order;
  bool has_asked = false;  // the quota
  Payment payment{.made = true, .wait = {}};
  if (has_quota && order == QuotaOrder::kBeforeClassification) [[unlikely]] {
    payment = pay(rules.quota, state, error, now);
    has_asked = true;
    if (!payment.made && error.retryable() && failure.repeatable) {
      return end(Outcome::kQuotaExceeded);
    }
  }
  if (!error.retryable() || !failure.repeatable) return end(Outcome::kNotRetryable);
  const bool attempts_left =
      progress.attempts < rules.max_attempts || rules.max_attempts == RetryRules::kUnlimited;
  if (has_quota && !has_asked && order != QuotaOrder::kAfterAttempts) [[unlikely]] {
    payment = pay(rules.quota, state, error, now);
    has_asked = true;
    if (!attempts_left && payment.made && order == QuotaOrder::kRollback) {
      state.quota->release(payment.amount, rules.quota.capacity);
    }
    if (!attempts_left && !payment.made) return end(Outcome::kQuotaExceeded);
  }
  if (!attempts_left) return end(Outcome::kMaxAttemptsExceeded);
  if (state.limiter != nullptr && rules.rate_limit.update == LimiterUpdate::kRetried) {
    // Of what attempts permit; the quota comes later (aws-sdk-net).
    state.limiter->on_response(now, error.response_class == ResponseClass::kThrottling);
  }
  const auto refuse = [&](Outcome outcome) {
    if (has_asked && payment.made) state.quota->release(payment.amount, rules.quota.capacity);
    return end(outcome);
  };
  if (rules.probability < 1) [[unlikely]] {
    const double uniform = fixed_draw ? *fixed_draw : draws.uniform();
    if (!(uniform < rules.probability)) return refuse(Outcome::kMaxAttemptsExceeded);
  }
  if (!strategies_beyond_permit(rules, state, progress, now)) [[unlikely]]
    return refuse(Outcome::kQuotaExceeded);
  std::optional<Duration> asked;
  if (state.limiter != nullptr) asked = ask_for_send_tokens(rules, state, error, now);
  if (has_quota && !has_asked) payment = pay(rules.quota, state, error, now);
  const bool wait_though_refused = failure.long_poll && rules.long_poll != LongPoll::kReturn;
  if (!payment.made && !wait_though_refused) return end(Outcome::kQuotaExceeded);

  const ResponseClass backoff_class = !payment.made && rules.long_poll == LongPoll::kWaitBase
                                          ? ResponseClass::kTransient
                                          : error.response_class;
  const Duration backoff =
      backoff::delay(rules.backoff, backoff_class, progress, draws, fixed_draw);
  Duration delay = failure.retry_after ? with_suggestion(rules, failure, backoff) : backoff;
  if (!payment.made) return {Outcome::kQuotaExceeded, delay, 0};
  progress.held_cost = payment.amount;
  progress.previous_delay = backoff;
  if (state.budget != nullptr) [[unlikely]]
    state.budget->retry_granted(rules.budget, progress.attempts > 1, now);
  delay += payment.wait;
  if (state.limiter == nullptr) return {Outcome::kRetry, delay, 0};
  const int send_tokens = take_send_tokens(rules, state, error, now, asked, delay);
  return {Outcome::kRetry, delay, send_tokens};
}

}  // namespace retrysim::decision
