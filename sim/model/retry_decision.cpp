// What a client's retry strategy is told, and asked: that a request begins, that it has succeeded,
// and what follows when an attempt has failed. The rules themselves are in sim/retry.
//
// SPDX-License-Identifier: MIT
#include "model/conservation.hpp"
#include "model/world.hpp"

#include <stdexcept>
#include <string>

namespace retrysim::model {
namespace {

/// What a strategy of the user's own decided; throws if it may not.
RetryDecision checked(const ClientGroup& g, RetryDecision decision) {
  const Outcome o = decision.outcome;
  const bool allowed = o == Outcome::kRetry || o == Outcome::kMaxAttemptsExceeded ||
                       o == Outcome::kQuotaExceeded || o == Outcome::kNotRetryable ||
                       o == Outcome::kNoSendToken;
  if (!allowed || decision.delay < Duration::zero()) {
    throw std::invalid_argument("client " + g.spec->name +
                                ": its strategy answers a failure with " + std::string(name(o)) +
                                " after " + std::to_string(decision.delay.count()) + " ns");
  }
  decision.send_tokens = 0;  // those are the business of RetryRules
  return decision;
}

}  // namespace

// What only some groups have to do when a request begins. False if it is held back.
bool World::open_request(ClientGroup& g, std::uint32_t request) {
  const std::uint32_t client = requests_[request].client;
  if (g.counts_requests) {
    const RetryState state = g.states.of(client);
    watch_quota(g, state, [&] { begin_request(g.spec->retry, state, now_); });
  }
  if (g.strategies.empty()) return true;
  if (request_numbers_.size() < requests_.slots()) request_numbers_.resize(requests_.slots());
  const std::uint64_t number = request_numbers_[request] = g.strategy_requests[client]++;
  const Duration delay = g.strategies[client]->acquire_initial_token(number, now_);
  if (delay < Duration::zero()) {
    throw std::invalid_argument("client " + g.spec->name +
                                ": its strategy holds a request back for a negative time");
  }
  if (delay == Duration::zero()) return true;
  wait_once(g, request, delay);
  return false;
}

// What the client's strategy says about a failed attempt, with its books kept.
RetryDecision World::decide(ClientGroup& g, std::uint32_t request, const Failure& failure) {
  Request& r = requests_[request];
  Draws draws(streams_.of_group(g.index), {r.entity, r.progress.attempts, 0, Purpose::kBackoff});
  if (!g.strategies.empty()) {
    const RetryDecision decision =
        checked(g, g.strategies[r.client]->refresh_retry_token(
                       request_numbers_[request], r.progress.attempts, failure, now_, draws));
    const bool too_late = retries_are_over() && decision.outcome == Outcome::kRetry;
    return too_late ? RetryDecision{Outcome::kMaxAttemptsExceeded, Duration::zero(), 0} : decision;
  }
  const RetryState state = g.states.of(r.client);
  const RetryRules& rules = retries_are_over() ? g.last_rules : g.spec->retry;
  RetryDecision decision;
  watch_quota(g, state, [&] {
    decision = refresh_retry_token(rules, state, r.progress, failure, now_, draws);
  });
  limiter_changed(g, r.client);
  return decision;
}

void World::book_success(ClientGroup& g, std::uint32_t request) {
  Request& r = requests_[request];
  if (!g.strategies.empty()) {
    g.strategies[r.client]->record_success(request_numbers_[request], r.progress.attempts, now_);
    return;
  }
  const RetryState state = g.states.of(r.client);
  const std::int32_t change =
      watch_quota(g, state, [&] { record_success(g.spec->retry, state, r.progress, now_); });
  if (change != 0 && r.progress.attempts > 1) {
    g.tokens.refunded += change;
    g.tokens.refundable += largest_refund(g.spec->retry.quota, r.progress);
  }
  limiter_changed(g, r.client);
}

// An attempt has failed: what now?
void World::fail(ClientGroup& g, std::uint32_t request, const ErrorInfo& error,
                 std::optional<Duration> retry_after) {
  Request& r = requests_[request];
  if (g.polling) [[unlikely]]
    g.polling->failed(request, error.response_class);
  const RetryDecision decision = decide(g, request, {error, retry_after, g.spec->long_poll});
  if (decision.outcome != Outcome::kRetry) {
    if (r.attempt != kNone) {
      if (error.retryable()) return;  // hedging: another attempt may still succeed
      disarm_timeout(g, request);
      give_up(g, request, AttemptResult::kAbandoned);
    }
    if (decision.outcome == Outcome::kQuotaExceeded) recorder_.quota_denied(g.index);
    if (decision.outcome == Outcome::kQuotaExceeded && decision.delay > Duration::zero()) {
      return back_off(g, request, decision.delay, EventKind::kErrorReturned);
    }
    return finish(g, request, decision.outcome);
  }
  r.retrying = true;
  if (g.hedges) return begin_attempt(g, request);  // at once
  r.send_tokens = static_cast<std::uint8_t>(decision.send_tokens);
  if (decision.send_tokens > 0 &&
      g.spec->retry.rate_limit.acquire == SendTokenTiming::kBeforeBackoff) {
    r.backoff_follows = true;
    r.pending_delay = decision.delay;
    if (!take_send_tokens(g, request)) return;
    r.backoff_follows = false;
  }
  back_off(g, request, decision.delay);
}

void World::back_off(ClientGroup& g, std::uint32_t request, Duration delay, EventKind then) {
  Request& r = requests_[request];
  // A backoff that leaves no time for the next attempt is not waited for.
  if (g.deadline_source != kNone && now_ + delay >= armed(r.deadline.key()).time) {
    return finish(g, request, Outcome::kDeadlineExceeded);
  }
  r.phase = Request::Phase::kInBackoff;
  r.phase_since = now_;
  recorder_.backoff_begins(g.index, now_);
  schedule_timer(then, g.index, request, delay);
}

}  // namespace retrysim::model
