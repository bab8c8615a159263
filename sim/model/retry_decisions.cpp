// SPDX-License-Identifier: MIT
#include "model/retry_decisions.hpp"

#include "kernel/memory.hpp"
#include "model/conservation.hpp"
#include "model/name_order.hpp"
#include "model/parts.hpp"
#include "model/state.hpp"
#include "model/trace.hpp"
#include "retry/decision.hpp"

#include <stdexcept>
#include <string>

namespace retrysim::model {
namespace {

/// What the user's own strategy decided; throws if that is not allowed.
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

std::int32_t quota_of(const RetryState& state) {
  return state.quota != nullptr ? state.quota->available : 0;
}

}  // namespace

void RetryDecisions::prepare() {
  const kernel::Claim claim;
  clients_.resize(state_.groups.size());
  for (const std::size_t at : name_order(state_.scenario.clients)) {
    const GroupId i(at);
    const ClientGroup& g = state_.groups[i];
    Clients& own = clients_[i];
    own.take_memory(*g.spec, claim);
    if (g.spec->strategy) {
      for (std::uint32_t k = 0; k < g.spec->count; ++k) {
        own.strategies.push_back(g.spec->strategy(k));
      }
    }
    const auto& quotas = g.states->quotas();
    if (!quotas.empty()) {
      g.recorder->quota.starts(quotas.size(), quotas.front().available);
    }
    if (state_.options.retries_until == Time::max()) continue;
    own.last_rules = g.spec->retry;
    own.last_rules.max_attempts = 1;
  }
}

// Every step of a strategy that may change a retry quota is taken here, between `quota_of` and
// this, so that the recorder hears of every change. Returns the change, in tokens.
std::int32_t RetryDecisions::note_quota(const ClientGroup& g, const RetryState& state,
                                        std::int32_t before) {
  const std::int32_t change = quota_of(state) - before;
  if (change == 0) return 0;
  if (g.sharers.empty()) {
    g.recorder->quota.changed(change, state_.now);
  } else {
    for (const GroupId i : g.sharers) {
      state_.recorder.client(i).quota.changed(change, state_.now);
    }
  }
  return change;
}

RetryState RetryDecisions::state_of(ClientGroup& g, const Request& r) { return g.state_of(r); }

bool RetryDecisions::open(ClientGroup& g, Request& r) {
  const ClientId client = r.client;
  if (g.counts_requests) {
    const RetryState state = state_of(g, r);
    const std::int32_t before = quota_of(state);
    begin_request(g.spec->retry, state, state_.now);
    note_quota(g, state, before);
  }
  Clients& own = clients_[g.index];
  if (!g.spec->strategy) return true;
  if (request_numbers_.size() < state_.requests.slots()) {
    request_numbers_.resize(state_.requests.slots());
  }
  const std::uint64_t number = request_numbers_[r.id] = own.strategy_requests[client]++;
  const Duration delay = own.strategies[client]->acquire_initial_token(number, state_.now);
  if (delay < Duration::zero()) {
    throw std::invalid_argument("client " + g.spec->name +
                                ": its strategy delays a request by a negative time");
  }
  if (delay == Duration::zero()) return true;
  parts_.send_gate.wait_once(g, r, delay);
  return false;
}

RETRYSIM_IN_LOOP RetryDecision RetryDecisions::decide(ClientGroup& g, Request& r,
                                                      const Failure& failure) {
  // The same steps, of which the compiler leaves few where nothing is remembered.
  if (g.states->empty()) return decide_by_rules(g, r, {}, failure);
  const RetryState state = state_of(g, r);
  const std::int32_t before = quota_of(state);
  const RetryDecision decision = decide_by_rules(g, r, state, failure);
  note_quota(g, state, before);
  RETRYSIM_TELL(Step::kRetryState, state_.now, r, quota_of(state), bits_of_rate(state.limiter));
  parts_.send_gate.limiter_changed(g, r);
  return decision;
}

RETRYSIM_IN_LOOP RetryDecision RetryDecisions::decide_by_rules(ClientGroup& g, Request& r,
                                                               const RetryState& state,
                                                               const Failure& failure) {
  DrawsOnDemand draws(*g.key, {r.entity, r.progress.attempts, 0, Purpose::kBackoff});
  const RetryRules& rules =
      state_.retries_are_over() ? clients_[g.index].last_rules : g.spec->retry;
  return decision::decide(rules, state, r.progress, failure, state_.now, draws);
}

RetryDecision RetryDecisions::ask_strategy(ClientGroup& g, Request& r, const Failure& failure) {
  const Clients& own = clients_[g.index];
  Draws draws(*g.key, {r.entity, r.progress.attempts, 0, Purpose::kBackoff});
  const RetryDecision decision =
      checked(g, own.strategies[r.client]->refresh_retry_token(
                     request_numbers_[r.id], r.progress.attempts, failure, state_.now, draws));
  const bool too_late = state_.retries_are_over() && decision.outcome == Outcome::kRetry;
  return too_late ? RetryDecision{Outcome::kMaxAttemptsExceeded, Duration::zero(), 0} : decision;
}

void RetryDecisions::book_success(ClientGroup& g, Request& r) {
  Clients& own = clients_[g.index];
  if (g.spec->strategy) [[unlikely]] {
    own.strategies[r.client]->record_success(request_numbers_[r.id], r.progress.attempts,
                                             state_.now);
    return;
  }
  const RetryState state = state_of(g, r);
  const std::int32_t before = quota_of(state);
  record_success(g.spec->retry, state, r.progress, state_.now);
  const std::int32_t change = note_quota(g, state, before);
  if (change != 0 && r.progress.attempts > 1) {
    own.tokens.refunded += change;
    own.tokens.refundable += largest_refund(g.spec->retry.quota, r.progress);
  }
  parts_.send_gate.limiter_changed(g, r);
}

RETRYSIM_FLATTEN void RetryDecisions::fail(ClientGroup& g, Request& r, const Failure& failure) {
  fail_here(g, r, failure);
}

RETRYSIM_IN_LOOP void RetryDecisions::fail_here(ClientGroup& g, Request& r,
                                                const Failure& failure) {
  if (g.polling) [[unlikely]]
    g.polling->failed(r.id, failure.error.response_class);
  const RetryDecision decision =
      g.spec->strategy ? ask_strategy(g, r, failure) : decide(g, r, failure);
  RETRYSIM_TELL(Step::kDecided, state_.now, r, decision.delay.count(),
                static_cast<int>(decision.outcome) + 256 * decision.send_tokens);
  if (decision.outcome != Outcome::kRetry) {
    if (r.attempt.exists()) {
      if (failure.error.retryable()) return;  // hedging: another attempt may still succeed
      parts_.timeouts.disarm(g, r);
      parts_.delivery.give_up(g, r, AttemptResult::kAbandoned);
    }
    if (decision.outcome == Outcome::kQuotaExceeded) g.recorder->quota.denied();
    if (decision.outcome == Outcome::kQuotaExceeded && decision.delay > Duration::zero()) {
      return back_off(g, r, decision.delay, EventKind::kErrorReturned);
    }
    return parts_.client_requests.finish(g, r, decision.outcome);
  }
  r.retrying = true;
  r.send_tokens = static_cast<std::uint8_t>(decision.send_tokens);
  if (g.hedges) return parts_.client_requests.begin_attempt(g, r);  // at once
  if (decision.send_tokens > 0 &&
      g.spec->retry.rate_limit.acquire == SendTokenTiming::kBeforeBackoff) {
    r.backoff_follows = true;
    r.pending_delay = decision.delay;
    if (!parts_.send_gate.take_tokens(g, r)) return;
    r.backoff_follows = false;
  }
  back_off(g, r, decision.delay);
}

bool RetryDecisions::permit_hedge(ClientGroup& g, Request& r) {
  if (!can_be_repeated(g, r)) return false;
  const RetryState state = state_of(g, r);
  const std::int32_t before = quota_of(state);
  const bool permitted = acquire_hedge(g.spec->retry, state, r.progress, state_.now);
  note_quota(g, state, before);
  return permitted;
}

RETRYSIM_IN_LOOP void RetryDecisions::back_off(ClientGroup& g, Request& r, Duration delay,
                                               EventKind then) {
  // A backoff that leaves no time for the next attempt is not waited for.
  if (parts_.timeouts.deadline_is_by(g, r, state_.now + delay)) {
    return parts_.client_requests.finish(g, r, Outcome::kDeadlineExceeded);
  }
  r.phase = Request::Phase::kInBackoff;
  r.phase_since = state_.now;
  g.recorder->backoff_begins(state_.now);
  state_.set_timer(then, g.index, r.id, delay);
}

RETRYSIM_IN_LOOP void RetryDecisions::backoff_over(ClientGroup& g, Request& r, EventKind then) {
  g.recorder->backoff_ends({.in_cohort = r.in_cohort,
                            .number = r.progress.attempts + 1,
                            .since = r.phase_since,
                            .now = state_.now});
  if (then == EventKind::kErrorReturned) {
    return parts_.client_requests.finish(g, r, Outcome::kQuotaExceeded);
  }
  parts_.client_requests.begin_attempt_here(g, r);
}

}  // namespace retrysim::model
