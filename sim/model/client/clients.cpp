// SPDX-License-Identifier: MIT
#include "model/client/clients.hpp"

#include "kernel/memory.hpp"
#include "model/run/books.hpp"
#include "model/run/names.hpp"
#include "model/run/parts.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"
#include "retry/decision.hpp"

#include <stdexcept>
#include <string>

namespace retrysim::model {

using kernel::EventKey;

void ClientRequests::add_sources() {
  for (ClientGroup& g : state_.groups) {
    if (!g.arrivals) continue;
    g.arrival_source = state_.add_source(EventKind::kArrival, g.index);
    state_.sources[g.arrival_source].group = &g;
  }
}

void ClientRequests::next_arrival(ClientGroup& g) {
  const Arrival arrival = g.arrivals->pop();
  const EventKey next = g.arrivals->head();
  state_.queue.set(g.arrival_source,
                   next.time < state_.end_of_submissions ? next : EventKey::never());
  state_.note_event(EventKind::kArrival, arrival.entity);
  const ClientId client(arrival.client);
  if (g.gated) [[unlikely]]
    parts_.send_gate.expect(g, ClientId(g.arrivals->next_client()));
  if (g.polling) [[unlikely]]
    return parts_.jobs.begin(g, client, arrival.entity);
  submit(g, client, arrival.entity);
}

void ClientRequests::submit(ClientGroup& g, ClientId client, std::uint64_t entity,
                            AttemptId caller) {
  Request& r = state_.requests.allocate();
  r.begin_like(g.new_request);
  r.entity = entity;
  r.submitted = state_.now;
  r.client = client;
  if (!caller.exists()) [[likely]] {
    r.in_cohort = g.recorder->submitted();
  } else {
    r.in_cohort = parts_.call_tree.enter(r, caller);
  }
  ++submitted_;
  RETRYSIM_TELL(Step::kSubmitted, state_.now, r, client);
  if (g.begins_in_steps && !begin_in_steps(g, r)) return;
  if (!g.gated) [[likely]]
    return parts_.transport.send_here(g, r);
  begin_attempt(g, r);
}

// What only some groups have to do when a request begins. False if it is held back.
bool ClientRequests::begin_in_steps(ClientGroup& g, Request& r) {
  if (g.mutates) parts_.mutations.decide(g, r);
  if (g.polling) g.polling->attach(r.id);
  if (g.timers.deadline_source != kNone) parts_.timeouts.arm_deadline(g, r);
  return parts_.retry_decisions.open(g, r);
}

void ClientRequests::begin_attempt(ClientGroup& g, Request& r) { begin_attempt_here(g, r); }

RETRYSIM_IN_LOOP void ClientRequests::begin_attempt_here(ClientGroup& g, Request& r) {
  if (state_.must_not_be_sent(r)) [[unlikely]]
    return finish(g, r, Outcome::kMaxAttemptsExceeded);
  if (!g.gated || parts_.send_gate.pass(g, r)) parts_.transport.send_here(g, r);
}

void ClientRequests::finish(ClientGroup& g, Request& r, Outcome outcome) {
  finish_here(g, r, outcome);
}

RETRYSIM_IN_LOOP void ClientRequests::finish_here(ClientGroup& g, Request& r, Outcome outcome) {
  const ClientId client = r.client;
  const Time submitted = r.submitted;
  g.recorder->ended({.client = client,
                     .in_cohort = r.in_cohort,
                     .outcome = outcome,
                     .attempts = r.progress.attempts,
                     .submitted = submitted,
                     .now = state_.now});
  ++ended_;
  RETRYSIM_TELL(Step::kEnded, state_.now, r, static_cast<int>(outcome), r.progress.attempts);
  if (g.ends_in_steps) end_in_steps(g, r, outcome);
  r.open = false;
  state_.requests.release(r);
  if (g.closed) return parts_.closed_loop.think(g, client, submitted);
  if (!g.reports_ends) [[likely]]
    return;
  if (g.polling) return parts_.jobs.check_ended(g, r.id, outcome);
  parts_.call_tree.call_ended(r.id, outcome == Outcome::kSuccess);
}

// What only some groups have to do when a request ends.
void ClientRequests::end_in_steps(ClientGroup& g, Request& r, Outcome outcome) {
  if (g.timers.deadline_source != kNone) parts_.timeouts.disarm_deadline(g, r);
  if (const Time* due = parts_.closed_loop.due_time(g, r.client)) {
    g.recorder->ended_after_due(r.in_cohort, state_.now - *due);
  }
  if (g.counts_requests) end_request(g.states->of(r.client), r.retrying);
  if (g.hedges) parts_.hedging.cancel(r.id);
  if (r.mutating) parts_.mutations.request_ended(r.id, outcome != Outcome::kSuccess);
}

void ClientRequests::close() {
  for (const RequestId id : Ids<RequestId>(state_.requests.slots())) {
    const Request& r = state_.requests[id];
    if (!r.open) continue;
    stats::ClientRecorder& recorder = state_.recorder.client(r.group);
    if (r.phase == Request::Phase::kInBackoff) {
      recorder.backoff_goes_on(r.progress.attempts + 1, r.phase_since);
    }
    recorder.ended({.client = r.client,
                    .in_cohort = r.in_cohort,
                    .outcome = Outcome::kUnfinished,
                    .attempts = r.progress.attempts,
                    .submitted = r.submitted,
                    .now = state_.now});
    ++ended_;
  }
}

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
  if (g.hedges) return parts_.client_requests.begin_attempt(g, r);  // at once
  r.send_tokens = static_cast<std::uint8_t>(decision.send_tokens);
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

namespace {

constexpr std::uint64_t kNoHedge = ~std::uint64_t{0};

}  // namespace

void Hedging::schedule(ClientGroup& g, Request& r) {
  const RetryRules& rules = g.spec->retry;
  if (sequences_.size() < state_.requests.slots()) sequences_.resize(state_.requests.slots());
  const std::uint32_t attempts = r.progress.attempts;
  if (attempts >= rules.max_attempts && rules.max_attempts != RetryRules::kUnlimited) {
    sequences_[r.id] = kNoHedge;
    return;
  }
  sequences_[r.id] = state_.sequence;
  state_.set_timer(EventKind::kHedgeDue, g.index, r.id, rules.hedging.delay);
}

void Hedging::cancel(RequestId request) {
  if (request < sequences_.size()) sequences_[request] = kNoHedge;
}

void Hedging::due(ClientGroup& g, Request& r, std::uint64_t sequence) {
  if (sequences_[r.id] != sequence) return;  // its attempt has ended, or its request
  if (!r.open || !r.attempt.exists() || state_.retries_are_over()) return;
  if (!parts_.retry_decisions.permit_hedge(g, r)) return;
  r.retrying = true;
  if (parts_.send_gate.pass(g, r)) parts_.transport.send(g, r);
}

namespace {

AttemptResult result_of(ResponseClass response_class) {
  switch (response_class) {
    case ResponseClass::kSuccess:
      return AttemptResult::kSuccess;
    case ResponseClass::kThrottling:
      return AttemptResult::kThrottled;
    case ResponseClass::kTimeout:
      return AttemptResult::kTimeout;
    default:
      return AttemptResult::kError;
  }
}

/// Whether the client may use the connection again after such an answer.
bool leaves_connection_usable(ResponseClass response_class) {
  return response_class == ResponseClass::kSuccess ||
         response_class == ResponseClass::kThrottling ||
         response_class == ResponseClass::kNotRetryable;
}

}  // namespace

// The client has its answer, and the attempt is no more.
RETRYSIM_IN_LOOP void Delivery::end_attempt(ClientGroup& g, Request& r, Attempt& a,
                                            ResponseClass answer) {
  RETRYSIM_TELL(Step::kDelivered, state_.now, a, mark_of(state_.answers[a.answer]));
  forget(r, a);
  if (!r.attempt.exists()) parts_.timeouts.disarm(g, r);
  g.recorder->attempt_ended({.in_cohort = r.in_cohort,
                             .number = a.number,
                             .result = result_of(answer),
                             .sent = a.sent,
                             .now = state_.now});
  if (g.ends_connections) end_connection(g, r, a, answer);
  release_here(a);
}

void Delivery::deliver(Attempt& a) { deliver_here(a); }

RETRYSIM_IN_LOOP void Delivery::deliver_here(Attempt& a) {
  if (a.is(Attempt::kGivenUp | Attempt::kGoesOn)) [[unlikely]]
    return deliver_unawaited(a);
  ClientGroup& g = *a.clients;
  if (!g.errors[a.answer].success()) return deliver_failure(g, *a.request, a);
  deliver_success(g, *a.request, a);
}

RETRYSIM_IN_LOOP void Delivery::deliver_put_down(Attempt& a) {
  ClientGroup& g = *a.clients;
  if (a.is(Attempt::kGivenUp | Attempt::kGoesOn) || g.errors[a.answer].success()) [[unlikely]]
    return deliver(a);
  deliver_failure_here(g, *a.request, a);
}

// Nobody waits for this answer, or another message follows it.
void Delivery::deliver_unawaited(Attempt& a) {
  if (!a.given_up()) return next_call(a);
  RETRYSIM_TELL(Step::kUnused, state_.now, a);
  parts_.serving.answer_unused(a);
  release(a);
}

RETRYSIM_IN_LOOP void Delivery::deliver_success(ClientGroup& g, Request& r, Attempt& a) {
  if (g.polling) [[unlikely]]
    g.polling->succeeded(r.id, a.finished);
  end_attempt(g, r, a, ResponseClass::kSuccess);
  if (g.books_successes && parts_.retry_decisions.learns_from_success(g, r)) {
    parts_.retry_decisions.book_success(g, r);
  }
  if (r.attempt.exists()) {  // hedges that come too late
    parts_.timeouts.disarm(g, r);
    give_up(g, r, AttemptResult::kAbandoned);
  }
  parts_.client_requests.finish_here(g, r, Outcome::kSuccess);
}

void Delivery::deliver_failure(ClientGroup& g, Request& r, Attempt& a) {
  deliver_failure_here(g, r, a);
}

RETRYSIM_IN_LOOP void Delivery::deliver_failure_here(ClientGroup& g, Request& r, Attempt& a) {
  const ErrorInfo error = g.errors[a.answer];
  const Failure failure{error, state_.answers[a.answer].retry_after, g.spec->long_poll,
                        parts_.retry_decisions.can_be_repeated(g, r)};
  if (a.is(Attempt::kExecuted)) a.at->place.recorder->execution_failed(a.finished);
  end_attempt(g, r, a, error.response_class);
  parts_.retry_decisions.fail_here(g, r, failure);
}

// The answer has come over a connection, which the balancer and the client's pool count.
void Delivery::end_connection(ClientGroup& g, const Request& r, const Attempt& a,
                              ResponseClass answer) {
  if (g.balanced) parts_.balancer.ended(a, result_of(answer));
  if (!g.pools_connections) return;
  parts_.connections.give_back(g, r, leaves_connection_usable(answer));
}

// The client has the answer to one message of its attempt, and sends the next.
void Delivery::next_call(Attempt& a) {
  a.clear(Attempt::kGoesOn);
  a.set(Attempt::kSecondCall);
  parts_.transport.travel_to_service(a);
}

// One of the attempts of the request under way has ended.
void Delivery::forget(Request& r, const Attempt& a) {
  if (r.attempt != a.id) [[unlikely]]
    return forget_later(r, a);
  r.attempt = a.sibling;
}

void Delivery::forget_later(const Request& r, const Attempt& a) {
  AttemptId before = r.attempt;
  while (state_.attempts[before].sibling != a.id) before = state_.attempts[before].sibling;
  state_.attempts[before].sibling = a.sibling;
}

void Delivery::give_up(ClientGroup& g, Request& r, AttemptResult result) {
  give_up_here(g, r, result);
}

// Servers that this sets free look at the queue when all of the request's attempts are given up:
// another of them may have been waiting there.
RETRYSIM_IN_LOOP void Delivery::give_up_here(ClientGroup& g, Request& r, AttemptResult result) {
  freed_.clear();
  while (r.attempt.exists()) {
    Attempt& a = state_.attempts[r.attempt];
    Service* const at = a.at;
    r.attempt = a.sibling;
    const bool frees = give_up_attempt(g, r, a, result);
    if (frees && (freed_.empty() || freed_.back() != at)) freed_.push_back(at);
    if (g.pools_connections) parts_.connections.give_back(g, r, false);
  }
  for (Service* s : freed_) {
    parts_.serving.serve_queue(*s);
    parts_.serving.changed(*s);
  }
}

// True if it sets a server free.
RETRYSIM_IN_LOOP bool Delivery::give_up_attempt(ClientGroup& g, Request& r, Attempt& a,
                                                AttemptResult result) {
  g.recorder->attempt_ended({.in_cohort = r.in_cohort,
                             .number = a.number,
                             .result = result,
                             .sent = a.sent,
                             .now = state_.now});
  RETRYSIM_TELL(Step::kGivenUp, state_.now, a, static_cast<int>(result));
  a.request = nullptr;
  a.set(Attempt::kGivenUp);
  a.gave_up = state_.now;
  if (g.balanced) [[unlikely]]
    parts_.balancer.ended(a, result);
  Service& s = *a.at;
  const Abandoned policy = s.spec().abandoned;
  if (a.stage == Attempt::Stage::kLost) {
    release(a);
  } else if (a.stage == Attempt::Stage::kQueued &&
             (policy == Abandoned::kRemove || policy == Abandoned::kAbort)) {
    parts_.watch.leave(a);
    s.remove_from_queue(a, state_.now);
    a.clients->recorder->passage.dropped(a.in_cohort);
    parts_.serving.changed(s);
    release(a);
  } else if (a.stage == Attempt::Stage::kInService || a.stage == Attempt::Stage::kCalling) {
    const bool in_service = a.stage == Attempt::Stage::kInService;
    const bool is_a_level = in_service ? s.in_service.given_up(state_.now) : false;
    if (policy == Abandoned::kAbort) {
      if (a.stage == Attempt::Stage::kCalling) parts_.serving.cancel_wait(a.id);
      parts_.watch.leave(a);
      s.in_service.abort(a, state_.now);
      a.clients->recorder->passage.dropped(a.in_cohort);
      release(a);
      return true;
    }
    if (is_a_level) parts_.serving.changed(s);
  }
  return false;
}

void Delivery::discard(Attempt& a) {
  RETRYSIM_TELL(Step::kLost, state_.now, a);
  if (a.given_up()) return release(a);
  a.stage = Attempt::Stage::kLost;
}

void Delivery::release(Attempt& a) { release_here(a); }

RETRYSIM_IN_LOOP void Delivery::release_here(Attempt& a) {
  if (a.is(Attempt::kMutating)) [[unlikely]]
    parts_.mutations.attempt_gone(a);
  state_.attempts.release(a);
}

}  // namespace retrysim::model
