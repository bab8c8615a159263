// SPDX-License-Identifier: MIT
#include "model/client/clients.hpp"

#include <retrysim/retry_rules.hpp>

#include "kernel/memory.hpp"
#include "kernel/stop.hpp"
#include "model/effects/effects.hpp"
#include "model/network/network.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"
#include "model/service/services.hpp"
#include "retry/decision.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <string>

namespace retrysim::model {

using kernel::armed;
using kernel::EventKey;
using kernel::SourceRole;

namespace {

/// The group of an attempt, to its own clients.
ClientGroup& own_group(const Attempt& a) { return static_cast<ClientGroup&>(*a.clients); }

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
  decision.send_tokens = 0;  // those are for RetryRules to ask for
  return decision;
}

std::int32_t quota_of(const RetryState& state) {
  return state.quota != nullptr ? state.quota->available : 0;
}

/// The most tokens that a success after retries may give back. This repeats the rules more
/// coarsely, on purpose: the check at the end of the run compares them with it.
int largest_refund(const QuotaRules& rules, const RetryProgress& progress) {
  if (rules.refill_rate > 0) return rules.capacity;  // time brings tokens as well
  const int credit = static_cast<int>(std::ceil(rules.credit));
  switch (rules.refund) {
    case Refund::kNone:
      return 0;
    case Refund::kCredit:
      return credit;
    case Refund::kCost:
      return rules.cost;
    case Refund::kLast:
      return progress.held_cost;
    case Refund::kLastAndCredit:
    case Refund::kLastOrCredit:
      return progress.held_cost + credit;
    case Refund::kSharedLast:
      return std::max({rules.cost, rules.throttle_cost, rules.timeout_cost});
  }
  return 0;
}

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

/// A hedge needs as many send tokens as a retry after a transient error.
std::uint8_t send_tokens_of_hedge(const SendRateRules& rules) {
  const bool takes_any = rules.enabled && rules.acquire != SendTokenTiming::kFirstAttempt;
  return static_cast<std::uint8_t>(takes_any ? rules.retry_cost : 0);
}

void check_calls(const ClientSpec& client) {
  const bool asks_caller =
      client.timeouts.deadline_of_caller || client.retry_only_at != RetryOnlyAt::kAnywhere;
  if (asks_caller && !client.makes_calls()) {
    throw std::invalid_argument("client " + client.name +
                                ": only calls of services have a caller, whose deadline or "
                                "retries they could go by");
  }
  if (client.timeouts.deadline_of_caller && client.timeouts.deadline != Duration::max()) {
    throw std::invalid_argument("client " + client.name +
                                ": its deadline is its own or that of its caller, not both");
  }
}

void check_reconciliation(const Scenario& scenario, const ClientSpec& client) {
  if (!client.side_effects.reconciles) return;
  bool occ = false;
  for (const ServiceShare& called : service_shares(client)) {
    occ |= scenario.services[called.service].model == ServiceModelKind::kOcc;
  }
  if (client.retry.hedging.enabled || occ) {
    throw std::invalid_argument(
        "clients that ask before they repeat neither hedge nor call a service with the model occ");
  }
}

}  // namespace

void Clients::prepare() {
  groups_.resize(state_.scenario.clients.size());
  for (const CallSpec& call : state_.scenario.calls) {
    if (call.client >= groups_.size()) continue;  // `Calls` says what is wrong
    if (!call.callers_operation && !call.callers_key && !call.callers_priority) continue;
    groups_[GroupId(call.client)].takes_over = &call;
  }
  const OperationNames operations(state_.scenario);
  for (const std::size_t at : name_order(state_.scenario.clients)) {
    stop_point();
    const GroupId i(at);
    check_calls(state_.scenario.clients[i]);
    check_reconciliation(state_.scenario, state_.scenario.clients[i]);
    groups_[i].set_up(state_, groups_, i, operations);
  }
  loops_.prepare();
  connections_.prepare();
  breakers_.prepare();
  decisions_.prepare();
}

void Clients::add_arrival_sources() {
  for (ClientGroup& g : groups_) {
    if (!g.arrivals) continue;
    g.arrival_source = state_.add_source(EventKind::kArrival, g.index);
    state_.sources[g.arrival_source].group = &g;
  }
}

void Clients::add_timeout_sources() {
  timeouts_.add_sources();
  gate_.prepare();
  connections_.add_source();
}

void Clients::offer_arrivals() {
  for (const ClientGroup& g : groups_) {
    if (g.arrivals && g.arrivals->head().time < state_.end_of_submissions) {
      state_.queue.offer(g.arrival_source, g.arrivals->head());
    }
  }
}

void Clients::branch() {
  for (ClientGroup& g : groups_) {
    g.branch(state_.now);
    if (!g.arrivals) continue;
    const EventKey next = g.arrivals->head();
    state_.queue.set(g.arrival_source,
                     next.time < state_.end_of_submissions ? next : EventKey::never());
  }
}

// --- A request begins.

void Clients::next_arrival(ClientGroup& g) {
  const Arrival arrival = g.arrivals->pop();
  const EventKey next = g.arrivals->head();
  state_.queue.set(g.arrival_source,
                   next.time < state_.end_of_submissions ? next : EventKey::never());
  state_.note_event(EventKind::kArrival, arrival.entity);
  const ClientId client(arrival.client);
  g.prefetch_state_of(ClientId(g.arrivals->next_client()));
  if (g.polling) return jobs_.begin(g, client, arrival.entity);
  submit(g, client, arrival.entity);
}

void Clients::submit(ClientGroup& g, ClientId client, std::uint64_t entity) {
  Request& r = new_request(g, client, entity);
  r.in_cohort = g.recorder->submitted();
  begin(g, r);
}

void Clients::submit_call(GroupId group, ClientId client, std::uint64_t entity, CallId call,
                          bool in_cohort) {
  ClientGroup& g = groups_[group];
  Request& r = new_request(g, client, entity);
  callers_.reach(r.id);
  callers_[r.id] = call;
  const Attempt& caller = state_.attempts[call.attempt];
  r.for_retry = caller.number > 1 || caller.is(Attempt::kForRetry);
  if (g.takes_over != nullptr) take_over(g, r, caller);
  g.recorder->called(in_cohort);
  r.in_cohort = in_cohort;
  begin(g, r);
}

// What a call shows its service of the attempt that it is made for.
void Clients::take_over(ClientGroup& g, const Request& r, const Attempt& caller) {
  const Group& above = *caller.clients;
  state_.taken_over_by_request.reach(r.id);
  TakenOver& taken = state_.taken_over_by_request[r.id];
  taken.operation = state_.operation_of(caller);
  taken.work = above.takes_over != nullptr && above.takes_over->callers_operation
                   ? state_.taken_over[caller.id].work
                   : above.about.work(*above.subject_key, caller.entity);
  taken.key = state_.key_of(caller);
  taken.priority = g.takes_over->callers_priority ? caller.priority : g.new_attempt.priority;
}

RETRYSIM_IN_LOOP Request& Clients::new_request(ClientGroup& g, ClientId client,
                                               std::uint64_t entity) {
  Request& r = state_.requests.allocate();
  r.begin_like(g.new_request);
  r.entity = entity;
  r.submitted = state_.now;
  r.client = client;
  return r;
}

RETRYSIM_IN_LOOP void Clients::begin(ClientGroup& g, Request& r) {
  ++submitted_;
  RETRYSIM_TELL(Step::kSubmitted, state_.now, r, r.client);
  if (!g.extras_at_begin) return send(g, r);
  if (begin_extras(g, r)) begin_attempt(g, r);
}

// What only some groups have to do when a request begins. False if it is held back.
bool Clients::begin_extras(ClientGroup& g, Request& r) {
  if (g.mutates) effects_.begin(g, r);
  if (g.polling) g.polling->attach(r.id);
  if (g.may_not_send) {
    unsent_.reach(r.id);
    unsent_[r.id] = 0;
    r.at_bulkhead = r.has_permit = false;
  }
  bool in_time = true;
  if (g.timers.deadlines_of_callers) {
    in_time = timeouts_.arm_deadline_at(g, r, end_of_caller(r));
  } else if (g.timers.deadline_source != kNone) {
    timeouts_.arm_deadline(g, r);
  }
  if (g.has_breaker()) breakers_.begin(r);
  if (in_time && g.breaker_of_requests && !breakers_.ask(g, r)) {
    finish(g, r, Outcome::kBreakerOpen);  // before its retry strategy hears of it
    return false;
  }
  const Duration held = decisions_.open(g, r);
  if (!in_time) {
    finish(g, r, Outcome::kDeadlineExceeded);
    return false;
  }
  return held == Duration::zero() || passes(g, r, gate_.wait_once(g, r, held));
}

// When the client of the attempt for which the call is made stops waiting for it, or has stopped.
Time Clients::end_of_caller(const Request& r) const {
  const Attempt& caller = state_.attempts[callers_[r.id].attempt];
  return caller.given_up() ? caller.gave_up : end_of_wait(caller);
}

// --- An attempt: through the gates, and on its way.

RETRYSIM_IN_LOOP void Clients::begin_attempt(ClientGroup& g, Request& r) {
  if (state_.must_not_be_sent(r)) return finish(g, r, Outcome::kMaxAttemptsExceeded);
  if (!g.gated || pass_gates(g, r)) send(g, r);
}

bool Clients::pass_gates(ClientGroup& g, Request& r) {
  if (!g.breaker_of_attempts) return passes(g, r, gate_.pass(g, r)) && enter(g, r);
  const bool is_hedge = r.attempt.exists();
  if (g.host_is_named) {
    const std::uint32_t number = r.progress.attempts + breakers_.refusals(r) + 1;
    breakers_.aim(r, network_.name_host(g, r, g.service_of(r), number, sent_attempts(g, r) > 0));
  }
  if (!breakers_.ask(g, r)) {
    if (!is_hedge) refuse(g, r);
    return false;
  }
  if (passes(g, r, gate_.pass(g, r)) && enter(g, r)) return true;
  if (is_hedge) breakers_.release_pending(g, r);  // it does not wait
  return false;
}

// The gates behind the send tokens.
bool Clients::enter(ClientGroup& g, Request& r) {
  return passes(g, r, gate_.permit(g, r)) && passes(g, r, connections_.take(g, r));
}

// The circuit breaker has refused the attempt, which fails at once.
void Clients::refuse(ClientGroup& g, Request& r) {
  if (g.polling) g.polling->failed(r.id, ResponseClass::kTransient);
  // With hedging a retry would ask again at once.
  if (!g.spec->breaker.retry_refused || g.hedges) return finish(g, r, Outcome::kBreakerOpen);
  const RetryDecision decision =
      decisions_.decide(g, r, {.error = {ResponseClass::kTransient}, .retry_after = {}}, {});
  gate_.limiter_changed(g, r);
  RETRYSIM_TELL(Step::kDecided, state_.now, r, decision.delay.count(),
                static_cast<int>(decision.outcome) + 256 * decision.send_tokens);
  if (decision.outcome == Outcome::kRetry) return retry(g, r, decision);
  finish(g, r, Outcome::kBreakerOpen);
}

bool Clients::passes(ClientGroup& g, Request& r, GateResult result) {
  switch (result) {
    case GateResult::kGoes:
      return true;
    case GateResult::kWaits:
      break;
    case GateResult::kNotSent:
      finish(g, r, Outcome::kNoSendToken);
      break;
    case GateResult::kTooLate:
      finish(g, r, Outcome::kDeadlineExceeded);
      break;
    case GateResult::kNotPermitted:
    case GateResult::kBulkheadFull:
    case GateResult::kNoConnection:
      not_sent(g, r, result);
      break;
  }
  return false;
}

// The attempt fails before it is sent. It counts for the retry strategy, and for nobody else.
void Clients::not_sent(ClientGroup& g, Request& r, GateResult why) {
  const bool permitted = why != GateResult::kNotPermitted;
  const std::uint16_t answer = !permitted                         ? Answers::kNotPermitted
                               : why == GateResult::kBulkheadFull ? Answers::kBulkheadFull
                                                                  : Answers::kNoConnection;
  r.phase = Request::Phase::kWaitingForConnection;
  ++r.progress.attempts;
  ++unsent_[r.id];
  g.recorder->not_sent(r.in_cohort, permitted);
  if (g.breaker_of_attempts) breakers_.not_sent(g, r, g.errors[answer].to_breaker());
  RETRYSIM_TELL(Step::kNotSent, state_.now, r, mark_of(state_.answers[answer]));
  fail(g, r, answer,
       {.error = g.errors[answer], .retry_after = {}, .long_poll = g.spec->long_poll});
}

void Clients::connection_wait_ends() {
  Request& r = connections_.longest_waiter();
  ClientGroup& g = groups_[r.group];
  state_.note_event(EventKind::kConnectionWaitEnd, r.id);
  connections_.give_up_waiting(g, r);
  not_sent(g, r, r.at_bulkhead ? GateResult::kBulkheadFull : GateResult::kNoConnection);
}

// The request has waited long enough at the gate.
void Clients::go_on(ClientGroup& g, Request& r) {
  r.send_tokens = 0;
  if (state_.must_not_be_sent(r)) return finish(g, r, Outcome::kMaxAttemptsExceeded);
  if (r.backoff_follows) {
    r.backoff_follows = false;
    return back_off(g, r, Duration::nanoseconds(r.pending_delay_ns));
  }
  if (enter(g, r)) send(g, r);
}

void Clients::send_token_due(GroupId group) {
  if (Request* r = gate_.wake(groups_[group])) go_on(groups_[r->group], *r);
}

void Clients::connected(RequestId request) {
  Request& r = state_.requests[request];
  ClientGroup& g = groups_[r.group];
  if (state_.must_not_be_sent(r)) {
    if (r.at_bulkhead) {
      connections_.leave_bulkhead(g, r);
    } else {
      connections_.give_back(g, r, !r.connecting);
    }
    return finish(g, r, Outcome::kMaxAttemptsExceeded);
  }
  if (r.at_bulkhead && !passes(g, r, connections_.take_connection(g, r))) return;
  send(g, r);
}

RETRYSIM_IN_LOOP void Clients::send(ClientGroup& g, Request& r) {
  Attempt& a = state_.attempts.allocate();
  const Time now = state_.now;
  r.phase = Request::Phase::kInFlight;
  r.phase_since = now;
  a.begin_like(g.new_attempt);
  a.number = ++r.progress.attempts;
  a.entity = r.entity;
  a.sent = now;
  a.request = &r;
  a.client = r.client;
  a.in_cohort = r.in_cohort;
  if (g.extras_at_send) prepare_extras(g, r, a);
  r.attempt = a.id;
  stats::ClientRecorder& recorder = *g.recorder;
  recorder.sent(r.in_cohort, a.number, now);
  recorder.by_client.prefetch(r.client);
  timeouts_.arm(g, r);
  if (g.hedges) hedging_.schedule(g, r);
  network_.send(g, a);
}

// What only the attempts of some groups need before they are sent.
void Clients::prepare_extras(ClientGroup& g, Request& r, Attempt& a) {
  if (g.breaker_of_attempts) breakers_.sent(r, a);
  if (g.host_is_named) a.at = &state_.instances[breakers_.host(r)];
  if (g.may_not_send) a.number = sent_attempts(g, r);
  if (r.connecting) a.set(Attempt::kConnecting);
  if (r.for_retry) a.set(Attempt::kForRetry);
  if (g.takes_over != nullptr) {
    state_.taken_over.reach(a.id);
    const TakenOver& taken = state_.taken_over_by_request[r.id];
    state_.taken_over[a.id] = taken;
    a.priority = taken.priority;
  }
  if (a.number > 1 && g.spec->retry_priority) {
    a.priority = std::min(*g.spec->retry_priority, kMaxPriority);
  }
  if (r.mutating) {
    a.set(Attempt::kMutating);
    effects_.attempt_sent(r.id, a.id);
  }
  if (!r.attempt.exists()) return;
  a.sibling = r.attempt;   // the attempt is a hedge
  timeouts_.disarm(g, r);  // it runs from the latest attempt
}

void Clients::hedge_due(ClientGroup& g, Request& r, std::uint64_t sequence) {
  if (!hedging_.is_due(r, sequence) || !decisions_.permit_hedge(g, r)) return;
  r.retrying = true;
  r.send_tokens = send_tokens_of_hedge(g.spec->retry.rate_limit);
  if (pass_gates(g, r)) send(g, r);
}

// --- The client has an answer, or stops waiting.

RETRYSIM_IN_LOOP void Clients::answered(Attempt& a) {
  ClientGroup& g = own_group(a);
  if (!g.errors[a.answer].success()) return answered_with_error_apart(a);
  succeed(g, *a.request, a);
}

RETRYSIM_IN_LOOP void Clients::succeed(ClientGroup& g, Request& r, Attempt& a) {
  if (g.polling) g.polling->succeeded(r.id, a.finished);
  end_attempt(g, r, a, ResponseClass::kSuccess);
  if (g.books_successes && decisions_.learns_from_success(g, r)) {
    decisions_.book_success(g, r);
    if (g.gated) gate_.limiter_changed(g, r);
  }
  if (r.attempt.exists()) {  // hedges that come too late
    timeouts_.disarm(g, r);
    give_up(g, r, AttemptResult::kAbandoned);
  }
  finish(g, r, Outcome::kSuccess);
}

void Clients::answered_with_error_apart(Attempt& a) { answered_with_error(a); }

RETRYSIM_IN_LOOP void Clients::answered_with_error(Attempt& a) {
  ClientGroup& g = own_group(a);
  Request& r = *a.request;
  const std::uint16_t answer = a.answer;
  const ErrorInfo error = g.errors[answer];
  const Failure failure{error, state_.answers[answer].retry_after, g.spec->long_poll};
  if (a.is(Attempt::kExecuted)) services_.execution_failed(a);
  end_attempt(g, r, a, error.response_class);
  fail(g, r, answer, failure);
}

// The client has its answer, and the attempt is over.
RETRYSIM_IN_LOOP void Clients::end_attempt(ClientGroup& g, Request& r, Attempt& a,
                                           ResponseClass answer) {
  RETRYSIM_TELL(Step::kDelivered, state_.now, a, mark_of(state_.answers[a.answer]));
  forget(r, a);
  if (!r.attempt.exists()) timeouts_.disarm(g, r);
  g.recorder->attempt_ended({.in_cohort = r.in_cohort,
                             .number = a.number,
                             .result = result_of(answer),
                             .sent = a.sent,
                             .now = state_.now});
  if (g.ends_connections) end_connection(g, r, a, answer);
  attempts_.release(a);
}

// The answer has come over a connection, which the balancer and the client's pool count.
void Clients::end_connection(ClientGroup& g, const Request& r, const Attempt& a,
                             ResponseClass answer) {
  if (g.balanced) network_.ended(a, result_of(answer));
  if (g.breaker_of_attempts) breakers_.ended(g, r, a, g.errors[a.answer].to_breaker());
  if (!g.pools_connections) return;
  connections_.give_back(g, r, leaves_connection_usable(answer));
}

// One of the attempts of the request under way has ended.
void Clients::forget(Request& r, const Attempt& a) {
  if (r.attempt != a.id) return forget_later(r, a);
  r.attempt = a.sibling;
}

void Clients::forget_later(const Request& r, const Attempt& a) {
  AttemptId before = r.attempt;
  for (std::uint32_t steps = 0; state_.attempts[before].sibling != a.id; ++steps) {
    if (steps % 8 == 7) state_.count_work();
    before = state_.attempts[before].sibling;
  }
  state_.attempts[before].sibling = a.sibling;
}

RETRYSIM_IN_LOOP EventKey Clients::next_timeout(GroupId group) const {
  return timeouts_.next_timeout(group);
}

void Clients::attempt_times_out(GroupId group) {
  ClientGroup& g = groups_[group];
  time_out(g, timeouts_.expired(g));
}

void Clients::attempt_times_out_varying() {
  Request& r = timeouts_.expired_varying();
  time_out(groups_[r.group], r);
}

RETRYSIM_FLATTEN void Clients::time_out(ClientGroup& g, Request& r) {
  // Whether an answer comes at the same instant was asked of each source of answers.
  constexpr std::size_t kSourcesPerUnit = 64;
  if (state_.sources.size() >= kSourcesPerUnit)
    state_.count_work(state_.sources.size() / kSourcesPerUnit);
  state_.note_event(EventKind::kTimeout, r.id);
  timeouts_.disarm(g, r);
  give_up(g, r, AttemptResult::kTimeout);
  fail(g, r, Answers::kNoAnswer,
       {.error = g.errors[Answers::kNoAnswer],
        .retry_after = {},
        .long_poll = g.spec->long_poll,
        .given_up = true});
}

void Clients::deadline_passes(GroupId group) {
  ClientGroup& g = groups_[group];
  pass_deadline(g, timeouts_.past_deadline(g));
}

void Clients::callers_deadline_passes() {
  Request& r = timeouts_.past_callers_deadline();
  pass_deadline(groups_[r.group], r);
}

void Clients::pass_deadline(ClientGroup& g, Request& r) {
  state_.note_event(EventKind::kDeadline, r.id);
  switch (r.phase) {
    case Request::Phase::kWaitingToSend:
      gate_.leave_queue(g, r);
      break;
    case Request::Phase::kWaitingForConnection:
      connections_.give_up_waiting(g, r);
      break;
    case Request::Phase::kInFlight:
      timeouts_.disarm(g, r);
      give_up(g, r, AttemptResult::kAbandoned);
      break;
    case Request::Phase::kInBackoff:
      assert(false);  // a backoff that would end past the deadline does not begin
      break;
  }
  finish(g, r, Outcome::kDeadlineExceeded);
}

// The client stops waiting for all that is under way; services may go on with it. Servers that this
// sets free look at the queue when all of the request's attempts are given up: another of them may
// have been waiting there.
void Clients::give_up(ClientGroup& g, Request& r, AttemptResult result) {
  while (r.attempt.exists()) {
    Attempt& a = state_.attempts[r.attempt];
    r.attempt = a.sibling;
    if (r.attempt.exists()) state_.count_work();  // a hedge; there may be any number
    g.recorder->attempt_ended({.in_cohort = r.in_cohort,
                               .number = a.number,
                               .result = result,
                               .sent = a.sent,
                               .now = state_.now});
    RETRYSIM_TELL(Step::kGivenUp, state_.now, a, static_cast<int>(result));
    a.request = nullptr;
    a.set(Attempt::kGivenUp);
    a.gave_up = state_.now;
    if (g.balanced) network_.ended(a, result);
    if (g.breaker_of_attempts) breakers_.gave_up(g, r, a, result);
    services_.abandon(a);
    if (g.pools_connections) connections_.give_back(g, r, false);
  }
  services_.refill_freed();
}

// --- An attempt has failed: the retry strategy decides.

RETRYSIM_IN_LOOP void Clients::fail(ClientGroup& g, Request& r, std::uint16_t answer,
                                    const Failure& failure) {
  if (g.polling) g.polling->failed(r.id, failure.error.response_class);
  const RetryDecision decision = decisions_.decide(g, r, failure, answer);
  if (g.gated) gate_.limiter_changed(g, r);
  RETRYSIM_TELL(Step::kDecided, state_.now, r, decision.delay.count(),
                static_cast<int>(decision.outcome) + 256 * decision.send_tokens);
  if (decision.outcome == Outcome::kRetry) return retry(g, r, decision);
  if (r.attempt.exists()) {
    if (failure.error.retryable()) return;  // hedging: another attempt may still succeed
    timeouts_.disarm(g, r);
    give_up(g, r, AttemptResult::kAbandoned);
  }
  if (decision.outcome == Outcome::kQuotaExceeded) g.recorder->quota.denied();
  if (decision.outcome == Outcome::kQuotaExceeded && decision.delay > Duration::zero()) {
    return back_off(g, r, decision.delay, EventKind::kErrorReturned);
  }
  finish(g, r, decision.outcome);
}

RETRYSIM_IN_LOOP void Clients::retry(ClientGroup& g, Request& r, const RetryDecision& decision) {
  r.retrying = true;
  r.send_tokens = static_cast<std::uint8_t>(decision.send_tokens);
  // At once; but what has not been sent is not tried again at its own instant.
  if (g.hedges && r.phase == Request::Phase::kInFlight) return begin_attempt(g, r);
  if (decision.send_tokens > 0 &&
      g.spec->retry.rate_limit.acquire == SendTokenTiming::kBeforeBackoff) {
    r.backoff_follows = true;
    r.pending_delay_ns = decision.delay.count();
    if (!passes(g, r, gate_.take_tokens(g, r))) return;
    r.backoff_follows = false;
  }
  back_off(g, r, decision.delay);
}

// Waits; `then`: kBackoffEnd, or kErrorReturned if the request fails at the end of the wait.
RETRYSIM_IN_LOOP void Clients::back_off(ClientGroup& g, Request& r, Duration delay,
                                        EventKind then) {
  // A backoff that leaves no time for the next attempt is not waited for.
  if (timeouts_.deadline_is_by(g, r, state_.now + delay)) {
    return finish(g, r, Outcome::kDeadlineExceeded);
  }
  r.phase = Request::Phase::kInBackoff;
  r.phase_since = state_.now;
  g.recorder->backoff_begins(state_.now);
  if (g.counts_requests) backoff_begins(g.spec->retry, g.states->of(r.client));
  state_.set_timer(then, g.index, r.id, delay);
}

RETRYSIM_IN_LOOP void Clients::backoff_over(ClientGroup& g, Request& r, EventKind then) {
  g.recorder->backoff_ends({.in_cohort = r.in_cohort,
                            .number = sent_attempts(g, r) + 1,
                            .since = r.phase_since,
                            .now = state_.now});
  if (g.counts_requests) backoff_ends(g.spec->retry, g.states->of(r.client));
  if (then == EventKind::kErrorReturned) return finish(g, r, Outcome::kQuotaExceeded);
  begin_attempt(g, r);
}

// --- The request ends.

void Clients::finish(ClientGroup& g, Request& r, Outcome outcome) {
  const ClientId client = r.client;
  const Time submitted = r.submitted;
  std::uint32_t attempts = r.progress.attempts;
  if (g.may_not_send) attempts = sent_of(r);
  g.recorder->ended({.client = client,
                     .in_cohort = r.in_cohort,
                     .outcome = outcome,
                     .attempts = attempts,
                     .submitted = submitted,
                     .now = state_.now});
  ++ended_;
  RETRYSIM_TELL(Step::kEnded, state_.now, r, static_cast<int>(outcome), r.progress.attempts);
  if (g.extras_at_end) end_extras(g, r, outcome);
  r.open = false;
  state_.requests.release(r);
  if (g.closed) return loops_.think(g, client, submitted);
  if (g.reports_ends) report_end(g, r.id, outcome);
}

std::uint32_t Clients::sent_of(const Request& r) const {
  return r.progress.attempts - unsent_[r.id];
}

// What only some groups have to do when a request ends.
void Clients::end_extras(ClientGroup& g, Request& r, Outcome outcome) {
  if (g.timers.deadline_source != kNone) timeouts_.disarm_deadline(g, r);
  if (const Time* due = loops_.due_time(g, r.client)) {
    g.recorder->ended_after_due(r.in_cohort, state_.now - *due);
  }
  if (g.has_breaker()) breakers_.end(g, r, outcome);
  // A request that the breaker refused has not begun for the strategy.
  const bool never_began = g.breaker_of_requests && outcome == Outcome::kBreakerOpen;
  if (g.counts_requests && !never_began) {
    end_request(g.spec->retry, g.states->of(r.client), r.retrying);
  }
  if (g.hedges) hedging_.cancel(r.id);
  if (r.mutating) effects_.request_ended(r.id, outcome != Outcome::kSuccess);
}

void Clients::report_end(ClientGroup& g, RequestId request, Outcome outcome) {
  if (g.polling) return jobs_.check_ended(g, request, outcome);
  services_.call_ended(callers_[request], outcome == Outcome::kSuccess);
}

void Clients::close() {
  jobs_.close();
  for (const RequestId id : Ids<RequestId>(state_.requests.slots())) {
    if (id % 8 == 0) state_.count_work();
    const Request& r = state_.requests[id];
    if (!r.open) continue;
    stats::ClientRecorder& recorder = state_.recorder.client(r.group);
    if (r.phase == Request::Phase::kInBackoff) {
      recorder.backoff_goes_on(sent_attempts(groups_[r.group], r) + 1, r.phase_since);
    }
    recorder.ended({.client = r.client,
                    .in_cohort = r.in_cohort,
                    .outcome = Outcome::kUnfinished,
                    .attempts = sent_attempts(groups_[r.group], r),
                    .submitted = r.submitted,
                    .now = state_.now});
    ++ended_;
  }
}

// --- Timers of clients and requests: thinking, backing off, waiting to send or to hedge.

// With very many clients or requests, what a timer is about is seldom in the cache when it is due.
inline void Clients::prefetch_for(const kernel::TimerEntry& timer) const {
  switch (static_cast<EventKind>(timer.kind & 0xff)) {
    case EventKind::kThinkEnd:
      return loops_.prefetch_client(groups_[GroupId(timer.kind >> 8)], ClientId(timer.entity));
    case EventKind::kCheckDue:
      return;
    default:
      return kernel::prefetch(state_.requests[RequestId(timer.entity)]);
  }
}

RETRYSIM_FLATTEN void Clients::timer_due() {
  const kernel::TimerEntry timer =
      state_.timers.pop([this](const kernel::TimerEntry& soon) { prefetch_for(soon); });
  state_.queue.set(state_.timer_source, state_.timers.head());
  const auto kind = static_cast<EventKind>(timer.kind & 0xff);
  ClientGroup& g = groups_[GroupId(timer.kind >> 8)];
  state_.note_event(kind, timer.entity);
  if (kind == EventKind::kThinkEnd) {
    const ClientId client(timer.entity);
    return submit(g, client, loops_.next_request(g, client));
  }
  if (kind == EventKind::kCheckDue) return check_due(g, timer.entity);
  Request& r = state_.requests[RequestId(timer.entity)];
  if (kind == EventKind::kHedgeDue) return hedge_due(g, r, timer.key.sequence);
  if (kind == EventKind::kSendWaitEnd) return send_wait_over(g, r);
  backoff_over(g, r, kind);
}

void Clients::check_due(ClientGroup& g, std::uint32_t job) {
  const ClientId client = g.polling->job(job).client;
  submit(g, client, g.polling->begin_check(job));
}

void Clients::send_wait_over(ClientGroup& g, Request& r) {
  if (passes(g, r, gate_.wait_over(g, r))) go_on(g, r);
}

// --- What the retry strategy is told, and asked.

void RetryDecisions::prepare() {
  const kernel::Claim claim;
  by_group_.resize(groups_.size());
  for (const std::size_t at : name_order(state_.scenario.clients)) {
    stop_point();
    const GroupId i(at);
    const ClientGroup& g = groups_[i];
    OfGroup& own = by_group_[i];
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
    if (g.spec->retry_only_at != RetryOnlyAt::kAnywhere) {
      own.rules_without_retry = g.spec->retry;
      own.rules_without_retry.max_attempts = 1;
      own.rules_without_retry.quota.order =
          QuotaOrder::kAfterAttempts;  // no retry is charged (a failure may be)
    }
    if (state_.options.retries_until == Time::max()) continue;
    own.rules_after_retries_end = g.spec->retry;
    own.rules_after_retries_end.max_attempts = 1;
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

Duration RetryDecisions::open(ClientGroup& g, Request& r) {
  const ClientId client = r.client;
  if (g.counts_requests) {
    const RetryState state = g.state_of(r);
    const std::int32_t before = quota_of(state);
    begin_request(g.spec->retry, state, state_.now);
    note_quota(g, state, before);
  }
  OfGroup& own = by_group_[g.index];
  if (!g.spec->strategy) return Duration::zero();
  request_numbers_.reach(r.id);
  const std::uint64_t number = request_numbers_[r.id] = own.strategy_requests[client]++;
  const Duration delay = own.strategies[client]->acquire_initial_token(number, state_.now);
  if (delay < Duration::zero()) {
    throw std::invalid_argument("client " + g.spec->name +
                                ": its strategy delays a request by a negative time");
  }
  return delay;
}

RETRYSIM_IN_LOOP RetryDecision RetryDecisions::decide(ClientGroup& g, Request& r,
                                                      const Failure& failure,
                                                      std::optional<std::uint16_t> answer) {
  if (g.extras_at_decision) return decide_extras(g, r, failure, answer);
  return decide_and_note(g, r, rules_of(g), failure);
}

RETRYSIM_IN_LOOP const RetryRules& RetryDecisions::rules_of(const ClientGroup& g) const {
  return state_.retries_are_over() ? by_group_[g.index].rules_after_retries_end : g.spec->retry;
}

// With a strategy of the user's own, where only some requests are retried, or only some can be sent
// again, or with a breaker, whose refusals count as attempts to the strategy.
RetryDecision RetryDecisions::decide_extras(ClientGroup& g, Request& r, Failure failure,
                                            std::optional<std::uint16_t> answer) {
  if (g.asks_what_repeats && answer) failure.repeatable = g.can_repeat_after(r, *answer);
  const std::uint32_t refusals = g.has_breaker() ? breakers_.note_failure(r, failure) : 0;
  r.progress.attempts += refusals;
  const bool once = !g.may_repeat(r);
  const RetryDecision decision =
      g.spec->strategy
          ? ask_strategy(g, r, failure)
          : decide_and_note(g, r, once ? by_group_[g.index].rules_without_retry : rules_of(g),
                            failure);
  r.progress.attempts -= refusals;
  return decision;
}

RETRYSIM_IN_LOOP RetryDecision RetryDecisions::decide_and_note(ClientGroup& g, Request& r,
                                                               const RetryRules& rules,
                                                               const Failure& failure) {
  // With an empty state most of these steps compile away.
  if (!g.remembers) return decide_by_rules(g, r, rules, {}, failure);
  const RetryState state = g.state_of(r);
  const std::int32_t before = quota_of(state);
  const RetryDecision decision = decide_by_rules(g, r, rules, state, failure);
  note_quota(g, state, before);
  RETRYSIM_TELL(Step::kRetryState, state_.now, r, quota_of(state), bits_of_rate(state.limiter));
  return decision;
}

RETRYSIM_IN_LOOP RetryDecision RetryDecisions::decide_by_rules(ClientGroup& g, Request& r,
                                                               const RetryRules& rules,
                                                               const RetryState& state,
                                                               const Failure& failure) {
  DrawsOnDemand draws(*g.key, {r.entity, r.progress.attempts, 0, Purpose::kBackoff});
  return decision::decide(rules, state, r.progress, failure, state_.now, draws);
}

RetryDecision RetryDecisions::ask_strategy(ClientGroup& g, Request& r, const Failure& failure) {
  const OfGroup& own = by_group_[g.index];
  Draws draws(*g.key, {r.entity, r.progress.attempts, 0, Purpose::kBackoff});
  const RetryDecision decision =
      checked(g, own.strategies[r.client]->refresh_retry_token(
                     request_numbers_[r.id], r.progress.attempts, failure, state_.now, draws));
  const bool refused = state_.retries_are_over() || !g.may_repeat(r);
  return refused && decision.outcome == Outcome::kRetry
             ? RetryDecision{Outcome::kMaxAttemptsExceeded, Duration::zero(), 0}
             : decision;
}

RETRYSIM_IN_LOOP bool RetryDecisions::learns_from_success(const ClientGroup& g,
                                                          const Request& r) const {
  if (!g.has_only_quotas) return true;
  const std::vector<RetryQuota>& quotas = g.states->quotas();
  const RetryQuota& quota = quotas[quotas.size() == 1 ? 0 : std::size_t{r.client}];
  return quota.available != g.spec->retry.quota.capacity;
}

void RetryDecisions::book_success(ClientGroup& g, Request& r) {
  const std::uint32_t refusals = g.has_breaker() ? breakers_.refusals(r) : 0;
  r.progress.attempts += refusals;
  book_success_of(g, r);
  r.progress.attempts -= refusals;
}

void RetryDecisions::book_success_of(ClientGroup& g, const Request& r) {
  OfGroup& own = by_group_[g.index];
  if (g.spec->strategy) {
    own.strategies[r.client]->record_success(request_numbers_[r.id], r.progress.attempts,
                                             state_.now);
    return;
  }
  const RetryState state = g.state_of(r);
  const std::int32_t before = quota_of(state);
  record_success(g.spec->retry, state, r.progress, state_.now);
  const std::int32_t change = note_quota(g, state, before);
  if (change != 0 && r.progress.attempts > 1) {
    own.tokens.refunded += change;
    own.tokens.refundable += largest_refund(g.spec->retry.quota, r.progress);
  }
}

bool RetryDecisions::permit_hedge(ClientGroup& g, Request& r) {
  if (g.asks_what_repeats && !g.can_be_hedged(r)) return false;
  const RetryState state = g.state_of(r);
  const std::int32_t before = quota_of(state);
  const bool permitted = acquire_hedge(g.spec->retry, state, r.progress, state_.now);
  note_quota(g, state, before);
  return permitted;
}

// --- Hedges.

namespace {

constexpr std::uint64_t kNoHedge = ~std::uint64_t{0};

}  // namespace

void Hedging::schedule(const ClientGroup& g, const Request& r) {
  const RetryRules& rules = g.spec->retry;
  sequences_.reach(r.id);
  const std::uint32_t attempts = r.progress.attempts;
  const bool last = attempts >= rules.max_attempts && rules.max_attempts != RetryRules::kUnlimited;
  if (last || !g.may_repeat(r)) {
    sequences_[r.id] = kNoHedge;
    return;
  }
  sequences_[r.id] = state_.sequence;
  state_.set_timer(EventKind::kHedgeDue, g.index, r.id, rules.hedging.delay);
}

void Hedging::cancel(RequestId request) {
  if (request < sequences_.size()) sequences_[request] = kNoHedge;
}

bool Hedging::is_due(const Request& r, std::uint64_t sequence) const {
  if (sequences_[r.id] != sequence) return false;  // its attempt has ended, or its request
  return r.open && r.attempt.exists() && !state_.retries_are_over();
}

// --- Timeouts ------------------------------------------------------------------------------------

namespace {

kernel::LaneLink<Request*>& link_of(Request* r) { return r->timeout.in_lane; }

}  // namespace

RETRYSIM_IN_LOOP void Timeouts::arm(ClientGroup& g, Request& r) {
  if (!g.timers.constant_timeout) return arm_other(g, r);
  const EventKey key = state_.key_in(g.timers.constant_timeout_length);
  if (g.timers.timeouts.push_back(&r, key, link_of)) {
    state_.queue.offer(g.timers.timeout_source, key);
  }
}

RETRYSIM_IN_LOOP void Timeouts::disarm(ClientGroup& g, Request& r) {
  if (!g.timers.constant_timeout) return disarm_other(g, r);
  g.timers.timeouts.erase(&r, link_of);
}

auto Timeouts::deadline_link() {
  return [this](RequestId r) -> kernel::LaneLink<RequestId>& { return deadlines_[r]; };
}

auto Timeouts::position() {
  return [this](std::uint32_t r) -> std::uint32_t& {
    return state_.requests[RequestId(r)].timeout.in_heap;
  };
}

auto Timeouts::callers_position() {
  return [this](std::uint32_t r) -> std::uint32_t& {
    return callers_deadlines_[RequestId(r)].position;
  };
}

void Timeouts::add_sources() {
  for (ClientGroup& g : groups_) {
    ClientTimers& t = g.timers;
    t.constant_timeout = g.spec->timeouts.has_attempt && g.spec->timeouts.attempt.is_constant();
    t.constant_timeout_length = g.spec->timeouts.attempt.constant_value();
    if (t.constant_timeout) {
      t.timeout_source = state_.add_source(EventKind::kTimeout, g.index, SourceRole::kTimeout);
    } else if (g.spec->timeouts.has_attempt && varying_source_ == kNone) {
      varying_source_ = state_.add_source(EventKind::kVaryingTimeout, 0, SourceRole::kTimeout);
    }
    t.deadlines_of_callers = g.spec->timeouts.deadline_of_caller;
    if (t.deadlines_of_callers) {
      if (of_callers_source_ == kNone) {
        of_callers_source_ =
            state_.add_source(EventKind::kCallersDeadline, 0, SourceRole::kTimeout);
      }
      t.deadline_source = of_callers_source_;
      continue;
    }
    if (g.spec->timeouts.deadline == Duration::max()) continue;
    t.deadline_source = state_.add_source(EventKind::kDeadline, g.index, SourceRole::kTimeout);
  }
}

void Timeouts::arm_other(ClientGroup& g, Request& r) {
  if (!g.spec->timeouts.has_attempt) return;
  Draws draws(*g.key, {r.entity, r.progress.attempts, 0, Purpose::kTimeout});
  const EventKey key = state_.key_in(g.spec->timeouts.attempt.sample(draws));
  varying_.push(r.id, key, position());
  state_.queue.offer(varying_source_, key);
}

void Timeouts::disarm_other(ClientGroup& g, Request& r) {
  if (g.spec->timeouts.has_attempt) varying_.erase(r.id, position());
}

void Timeouts::arm_deadline(ClientGroup& g, Request& r) {
  const EventKey key = state_.key_in(g.spec->timeouts.deadline);
  deadlines_.reach(r.id);
  if (g.timers.deadlines.push_back(r.id, key, deadline_link())) {
    state_.queue.offer(g.timers.deadline_source, key);
  }
}

bool Timeouts::arm_deadline_at(ClientGroup& g, Request& r, Time end) {
  callers_deadlines_.reach(r.id);
  callers_deadlines_[r.id].at = end;
  if (end <= state_.now) return false;
  if (end == Time::max()) return true;
  const EventKey key{end, state_.sequence++};
  of_callers_.push(r.id, key, callers_position());
  state_.queue.offer(g.timers.deadline_source, key);
  return true;
}

void Timeouts::disarm_deadline(ClientGroup& g, Request& r) {
  if (g.timers.deadlines_of_callers) {
    const auto position = callers_position();
    if (position(r.id) != kernel::IndexedHeap::kNotInHeap) of_callers_.erase(r.id, position);
    return;
  }
  g.timers.deadlines.erase(r.id, deadline_link());
}

Time Timeouts::end_of_wait(const Attempt& a) const {
  const auto& g = static_cast<const ClientGroup&>(*a.clients);
  const Request& r = *a.request;
  Time end = Time::max();
  if (g.timers.constant_timeout) {
    end = armed(r.timeout.in_lane.key()).time;
  } else if (g.spec->timeouts.has_attempt) {
    end = armed(varying_.key_of(r.id, [this](std::uint32_t id) {
            return state_.requests[RequestId(id)].timeout.in_heap;
          })).time;
  }
  if (g.timers.deadline_source != kNone) end = std::min(end, deadline_of(g, r));
  return end;
}

RETRYSIM_IN_LOOP Request& Timeouts::expired(ClientGroup& g) {
  Request& r = *g.timers.timeouts.front();
  // The event queue is told now, which saves it a look at an event that no longer exists.
  state_.queue.set(g.timers.timeout_source, look_ahead(r.timeout.in_lane.next()));
  return r;
}

RETRYSIM_IN_LOOP EventKey Timeouts::next_timeout(GroupId group) const {
  return look_ahead(groups_[group].timers.timeouts.front());
}

EventKey Timeouts::look_ahead(const Request* r) const {
  if (r == nullptr) return EventKey::never();
  // The attempt and the next request will be looked at when timers expire, after a long time.
  kernel::prefetch(state_.attempts[r->attempt]);
  if (const Request* next = r->timeout.in_lane.next()) kernel::prefetch(*next);
  return armed(r->timeout.in_lane.key());
}

EventKey Timeouts::next_deadline(GroupId group) const {
  const kernel::TimerLane<RequestId>& lane = groups_[group].timers.deadlines;
  return lane.empty() ? EventKey::never() : armed(deadlines_[lane.front()].key());
}

}  // namespace retrysim::model
