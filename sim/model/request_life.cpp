// The life of a request, step by step. Every rule about retries is asked of the retry strategy;
// every rule about serving of the service; this file only carries requests from one to the other.
//
// SPDX-License-Identifier: MIT
#include "model/conservation.hpp"
#include "model/world.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>

namespace retrysim::model {

using kernel::EventKey;

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

void World::submit(ClientGroup& g, std::uint32_t client, std::uint64_t entity,
                   std::uint32_t caller) {
  const std::uint32_t id = requests_.allocate();
  Request& r = requests_[id];
  r.entity = entity;
  r.submitted = now_;
  r.progress = RetryProgress{};
  r.client = client;
  r.attempt = kNone;
  r.group = g.index;
  r.open = true;
  r.retrying = r.backoff_follows = false;
  r.send_tokens = g.states.limit_send_rate() ? 1 : 0;
  if (caller == kNone) [[likely]] {
    r.in_cohort = recorder_.submitted(g.index);
  } else {
    r.in_cohort = enter_call(id, caller);
  }
  r.mutating = false;
  if (g.mutates) [[unlikely]]
    decide_side_effects(g, id);
  if (g.polling) [[unlikely]]
    g.polling->attach(id);
  ++submitted_;
  if (g.deadline_source != kNone) {
    const EventKey key = key_in(g.spec->deadline);
    g.deadlines.push_back(id, key, deadline_link());
    offer(g.deadline_source, key);
  }
  if (g.counts_requests) {
    const RetryState state = g.states.of(client);
    watch_quota(g, state, [&] { begin_request(g.spec->retry, state, now_); });
  }
  if (!g.strategies.empty()) {
    if (request_numbers_.size() < requests_.slots()) request_numbers_.resize(requests_.slots());
    request_numbers_[id] = g.strategy_requests[client]++;
    const Duration delay = g.strategies[client]->acquire_initial_token(request_numbers_[id], now_);
    if (delay < Duration::zero()) {
      throw std::invalid_argument("client " + g.spec->name +
                                  ": its strategy delays a request by a negative time");
    }
    if (delay > Duration::zero()) return wait_once(g, id, delay);
  }
  begin_attempt(g, id);
}

void World::begin_attempt(ClientGroup& g, std::uint32_t request) {
  if (must_not_be_sent(requests_[request])) [[unlikely]]
    return finish(g, request, Outcome::kMaxAttemptsExceeded);
  if (!g.gated || pass_gates(g, request)) send(g, request);
}

void World::send(ClientGroup& g, std::uint32_t request) {
  Request& r = requests_[request];
  const std::uint32_t id = attempts_.allocate();
  Attempt& a = attempts_[id];
  r.phase = Request::Phase::kInFlight;
  r.phase_since = now_;
  a.sibling = r.attempt;  // kNone, but for hedging
  r.attempt = id;
  ++r.progress.attempts;
  a.entity = r.entity;
  a.sent = now_;
  a.gave_up = Time::max();
  a.request = request;
  a.client = r.client;
  a.number = r.progress.attempts;
  a.group = r.group;
  a.service = g.service;
  a.answer = 0;
  a.stage = Attempt::Stage::kOnTheWire;
  a.in_cohort = r.in_cohort;
  a.executed = a.rejection = a.watched = false;
  a.connecting = r.connecting;
  a.goes_on = false;
  a.round = 0;
  a.priority = g.spec->priority;
  a.replay = a.has_session = false;
  a.mutating = r.mutating;
  if (a.mutating) [[unlikely]]
    side_effects_->attempt_sent(request, id);
  recorder_.sent(g.index, r.in_cohort, a.number, now_);
  if (a.sibling != kNone) disarm_timeout(g, request);  // it runs from the latest attempt
  if (g.spec->has_attempt_timeout) arm_timeout(g, request);
  if (g.spec->retry.hedging.enabled) [[unlikely]]
    schedule_hedge(g, request);
  travel_to_service(id);
}

void World::arm_timeout(ClientGroup& g, std::uint32_t request) {
  if (g.constant_timeout) {
    const EventKey key = key_in(g.spec->attempt_timeout.constant_value());
    g.timeouts.push_back(request, key, timeout_link());
    offer(g.timeout_source, key);
    return;
  }
  const Request& r = requests_[request];
  Draws draws(streams_.of_group(g.index), {r.entity, r.progress.attempts, 0, Purpose::kTimeout});
  const EventKey key = key_in(g.spec->attempt_timeout.sample(draws));
  varying_timeouts_.push(request, key, timeout_position());
  offer(varying_timeout_source_, key);
}

void World::disarm_timeout(ClientGroup& g, std::uint32_t request) {
  if (!g.spec->has_attempt_timeout) return;
  if (g.constant_timeout) {
    g.timeouts.erase(request, timeout_link());
  } else {
    varying_timeouts_.erase(request, timeout_position());
  }
}

Duration World::network_delay(const Attempt& a, Purpose purpose) const {
  const Distribution& latency = scenario_.network.latency;
  const Duration added = services_[a.service].impairment().latency;
  if (latency.is_constant()) return latency.constant_value() + added;
  if (a.round > 0) {
    purpose = purpose == Purpose::kNetwork ? Purpose::kSecondNetwork : Purpose::kSecondResponse;
  }
  Draws draws(streams_.of_group(a.group), {a.entity, a.number, 0, purpose});
  return latency.sample(draws) + added;
}

void World::travel_to_service(std::uint32_t attempt) {
  Attempt& a = attempts_[attempt];
  Duration delay = network_takes_time_ ? network_delay(a, Purpose::kNetwork) : Duration::zero();
  if (a.connecting) {
    a.connecting = false;
    const Duration setup = connection_setup(a);
    const Duration limit = groups_[a.group].spec->connect_timeout;
    if (setup > limit) {
      a.answer = no_answer_;
      return schedule_response(attempt, limit);
    }
    delay += setup;
  }
  if (services_[a.service].impairment().unreachable) {
    a.answer = refused_answer_;
    schedule_response(attempt, delay + network_delay(a, Purpose::kResponse));
    return;
  }
  const double request_loss = services_[a.service].impairment().request_loss;
  if (request_loss > 0) {
    Draws draws(streams_.of_group(a.group), {a.entity, a.number, 0, Purpose::kLoss});
    for (int i = 0; i < a.round; ++i) draws.next(), draws.next();
    if (draws.uniform() < request_loss) {
      recorder_.lost(a.group, a.in_cohort);
      return discard(attempt);
    }
  }
  if (delay == Duration::zero()) return arrive(attempt);
  const kernel::TimerEntry entry{key_in(delay), attempt,
                                 static_cast<std::uint32_t>(EventKind::kAttemptArrives)};
  if (scenario_.network.latency.is_constant() && requests_on_the_way_.push_back(entry)) {
    offer(request_lane_source_, requests_on_the_way_.head());
  } else {
    timers_.push(entry);
    offer(timer_source_, timers_.head());
  }
}

void World::arrive(std::uint32_t attempt) {
  Attempt& a = attempts_[attempt];
  Service& s = services_[a.service];
  a.arrived = now_;
  if (a.round == 0) recorder_.arrived(a.group, a.service, a.in_cohort);
  if (a.given_up() && s.spec().abandoned != Abandoned::kServe) {
    recorder_.dropped(a.group, a.in_cohort);  // its client gave up while it was on its way
    return release_attempt(attempt);
  }
  if (!s.impairment().errors.empty() && s.spec().model != ServiceModelKind::kIndependent) {
    Draws draws(streams_.of_group(a.group), {a.entity, a.number, 0, Purpose::kServiceError});
    const double u = draws.uniform();
    for (const auto& [cumulative, answer] : s.impairment().errors) {
      if (u >= cumulative) continue;
      recorder_.error_answered(a.service);
      if (is_throttling(a, answer)) recorder_.refused(a.group, a.in_cohort);
      return answer_with(attempt, answer);
    }
  }
  if (!s.pass_throttle(a.group, a.client, now_)) {
    recorder_.throttled(a.service);
    recorder_.refused(a.group, a.in_cohort);
    return turn_away(attempt, service_answers_[a.service].throttled);
  }
  const Service::Admission admission = s.admit(attempt, now_);
  if (admission == Service::Admission::kFull) return overflow(attempt);
  const bool must_wait = admission == Service::Admission::kQueued;
  recorder_.admitted(a.group, a.service, a.in_cohort, must_wait);
  if (!must_wait) recorder_.started(a.group, a.in_cohort, Duration::zero());
  if (s.watches_attempts()) [[unlikely]]
    enter_service(attempt);
  service_changed(a.service);
}

// The attempt is answered now. An answer that takes no time is there when the event is over: what
// its client makes of it may come back to the service, which is in the midst of something.
void World::answer_with(std::uint32_t attempt, std::uint16_t answer) {
  if (!send_answer(attempt, answer)) return;
  answered_.push_back(attempt);
  unsettled_ = true;
}

// True if the answer is to be delivered at once.
bool World::send_answer(std::uint32_t attempt, std::uint16_t answer) {
  Attempt& a = attempts_[attempt];
  a.answer = answer;
  a.stage = Attempt::Stage::kOnTheWire;
  const double response_loss = services_[a.service].impairment().response_loss;
  if (response_loss > 0) {
    Draws draws(streams_.of_group(a.group), {a.entity, a.number, 0, Purpose::kLoss});
    for (int i = 0; i < a.round; ++i) draws.next(), draws.next();
    draws.next();  // decided the request's own loss
    if (draws.uniform() < response_loss) {
      recorder_.lost(a.group, a.in_cohort);
      answer_unused(a);
      discard(attempt);
      return false;
    }
  }
  if (!network_takes_time_) return true;
  const Duration delay = network_delay(a, Purpose::kResponse);
  if (delay == Duration::zero()) return true;
  schedule_response(attempt, delay);
  return false;
}

// Free servers take what waits.
void World::serve_queue(std::size_t service) {
  Service& s = services_[service];
  for (std::uint32_t id = s.take_from_queue(); id != kNone; id = s.take_from_queue()) {
    const Attempt& a = attempts_[id];
    if (a.given_up() && s.spec().abandoned == Abandoned::kDropAtDequeue) {
      leave_service(id);
      s.turn_out(a, now_);
      recorder_.dropped(a.group, a.in_cohort);
      release_attempt(id);
    } else if (a.rejection) {
      s.start(id, now_);
    } else if (s.spec().drop_expired && would_be_late(id)) {
      leave_service(id);
      s.turn_out(a, now_);
      recorder_.dropped(a.group, a.in_cohort);
      discard(id);
    } else if (s.sheds(a, now_)) {
      leave_service(id);
      overflow(id);
    } else {
      s.start(id, now_);
      recorder_.started(a.group, a.in_cohort, now_ - a.arrived);
    }
  }
}

void World::complete(std::size_t service) {
  Service& s = services_[service];
  if (s.calls_others() && begin_calls(service)) [[unlikely]]
    return;
  const std::uint32_t id = s.complete(now_);
  note_event(EventKind::kCompletion, id);
  Attempt& a = attempts_[id];
  leave_service(id);
  const Reply reply = s.always_succeeds() || !a.executed ? Reply{a.answer} : s.reply(a);
  if (reply.answer != 0 && !a.rejection && is_throttling(a, reply.answer)) [[unlikely]]
    recorder_.refused(a.group, a.in_cohort);
  served(service, id, reply);
}

// What becomes of an attempt when its server is free again. The last step of its event, or of the
// work list it comes from: the answer need not be put down.
void World::served(std::size_t service, std::uint32_t id, Reply reply) {
  Attempt& a = attempts_[id];
  if (a.executed && !reply.goes_on) {
    recorder_.executed(a.group, service, a.in_cohort, a.given_up(), a.arrived, now_);
    if (a.mutating) [[unlikely]]
      mutation_executed(id, reply.answer == 0);
  }
  serve_queue(service);
  service_changed(service);
  a.goes_on = reply.goes_on;
  if (reply.goes_on) a.executed = false;
  if (a.given_up()) {
    worked_in_vain(a);
    answer_unused(a);
    return release_attempt(id);
  }
  if (send_answer(id, reply.answer)) deliver(id);
}

// The client has its answer, unless it has stopped waiting.
void World::deliver(std::uint32_t attempt) {
  const Attempt& a = attempts_[attempt];
  if (a.given_up()) {
    answer_unused(a);
    return release_attempt(attempt);
  }
  if (a.goes_on) [[unlikely]]
    return next_call(attempt);
  ClientGroup& g = groups_[a.group];
  const std::uint32_t request = a.request;
  Request& r = requests_[request];
  if (g.polling) [[unlikely]]
    g.polling->succeeded(request, a.finished);  // if it has: a failure says so below
  const ErrorInfo error = g.errors[a.answer];
  const std::optional<Duration> retry_after = answers_[a.answer].retry_after;
  forget_attempt(r, attempt);
  if (r.attempt == kNone) disarm_timeout(g, request);
  recorder_.attempt_ended(g.index, r.in_cohort, a.number, result_of(error.response_class), a.sent,
                          now_);
  if (a.executed && !error.success()) recorder_.execution_failed(a.service, a.finished);
  release_attempt(attempt);
  if (!g.connections.empty()) {
    return_connection(g, r.client,
                      error.response_class == ResponseClass::kSuccess ||
                          error.response_class == ResponseClass::kThrottling ||
                          error.response_class == ResponseClass::kNotRetryable);
  }
  if (error.response_class != ResponseClass::kSuccess) return fail(g, request, error, retry_after);
  book_success(g, request);
  if (r.attempt != kNone) {  // hedges that come too late
    disarm_timeout(g, request);
    give_up(g, request, AttemptResult::kAbandoned);
  }
  finish(g, request, Outcome::kSuccess);
}

// The client stops waiting for what is under way; the service may go on with it. Servers that this
// sets free look at the queue when all of the request's attempts are given up: another of them may
// have been waiting there.
void World::give_up(ClientGroup& g, std::uint32_t request, AttemptResult result) {
  Request& r = requests_[request];
  const bool connections = !g.connections.empty();
  bool servers_are_free = false;
  while (r.attempt != kNone) {
    const std::uint32_t id = r.attempt;
    r.attempt = attempts_[id].sibling;
    servers_are_free |= give_up_attempt(g, r, id, result);
    if (connections) return_connection(g, r.client, false);
  }
  if (!servers_are_free) return;
  serve_queue(g.service);
  service_changed(g.service);
}

// True if it sets a server free.
bool World::give_up_attempt(ClientGroup& g, const Request& r, std::uint32_t id,
                            AttemptResult result) {
  Attempt& a = attempts_[id];
  recorder_.attempt_ended(g.index, r.in_cohort, a.number, result, a.sent, now_);
  a.request = kNone;
  a.gave_up = now_;
  Service& s = services_[a.service];
  const Abandoned policy = s.spec().abandoned;
  if (a.stage == Attempt::Stage::kLost) {
    release_attempt(id);
  } else if (a.stage == Attempt::Stage::kQueued &&
             (policy == Abandoned::kRemove || policy == Abandoned::kAbort)) {
    leave_service(id);
    s.remove_from_queue(id, now_);
    recorder_.dropped(a.group, a.in_cohort);
    service_changed(a.service);
    release_attempt(id);
  } else if (a.stage == Attempt::Stage::kInService || a.stage == Attempt::Stage::kCalling) {
    if (a.stage == Attempt::Stage::kInService) s.given_up(now_);
    if (policy == Abandoned::kAbort) {
      if (a.stage == Attempt::Stage::kCalling) cancel_calls(id);
      leave_service(id);
      s.abort(id, now_);
      recorder_.dropped(a.group, a.in_cohort);
      release_attempt(id);
      return true;
    }
    if (s.shares_processor()) service_changed(a.service);
  }
  return false;
}

void World::time_out(std::uint32_t request) {
  Request& r = requests_[request];
  ClientGroup& g = groups_[r.group];
  disarm_timeout(g, request);
  give_up(g, request, AttemptResult::kTimeout);
  fail(g, request, g.errors[no_answer_], std::nullopt);
}

void World::pass_deadline(std::uint32_t request) {
  Request& r = requests_[request];
  ClientGroup& g = groups_[r.group];
  switch (r.phase) {
    case Request::Phase::kWaitingToSend:
      leave_send_queue(g, request);
      break;
    case Request::Phase::kWaitingForConnection:
      leave_connection_queue(g, request);
      break;
    case Request::Phase::kInFlight:
      disarm_timeout(g, request);
      give_up(g, request, AttemptResult::kAbandoned);
      break;
    case Request::Phase::kInBackoff:
      assert(false);  // a backoff that would end past the deadline does not begin
      break;
  }
  finish(g, request, Outcome::kDeadlineExceeded);
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
  if (g.spec->retry.hedging.enabled) return begin_attempt(g, request);  // at once
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

void World::finish(ClientGroup& g, std::uint32_t request, Outcome outcome) {
  Request& r = requests_[request];
  const std::uint32_t client = r.client;
  const Time submitted = r.submitted;
  if (g.deadline_source != kNone) g.deadlines.erase(request, deadline_link());
  recorder_.ended(g.index, client, r.in_cohort, outcome, r.progress.attempts, submitted, now_);
  if (!g.due.empty()) [[unlikely]]
    recorder_.ended_after_due(g.index, r.in_cohort, now_ - g.due[client]);
  ++ended_;
  if (g.counts_requests) end_request(g.states.of(client), r.retrying);
  if (!hedge_sequences_.empty()) cancel_hedge(request);
  if (r.mutating) [[unlikely]]
    side_effects_->request_ended(request, outcome != Outcome::kSuccess);
  r.open = false;
  requests_.release(request);
  if (g.closed) return think(g, client, submitted);
  if (g.spec->caller) [[unlikely]]
    return call_ended(request, outcome == Outcome::kSuccess);
  if (g.polling) [[unlikely]]
    check_ended(g, request, outcome);
}

// A closed-loop client thinks before its next request.
void World::think(ClientGroup& g, std::uint32_t client, Time last_submitted) {
  const ArrivalSpec& loop = g.spec->arrivals;
  Draws draws(streams_.of_group(g.index),
              {client_entity(client, g.thinks[client]++), 0, 0, Purpose::kThinkTime});
  Duration time = loop.think_time.sample(draws);
  if (!g.due.empty()) g.due[client] = last_submitted + time;
  if (loop.think_from_start) {
    time = std::max(Duration::zero(), time - (now_ - last_submitted));
  }
  if (now_ + time >= end_of_submissions_) return;
  schedule_timer(EventKind::kThinkEnd, g.index, client, time);
}

// The service's side of an attempt has ended, and no answer is on its way.
void World::discard(std::uint32_t attempt) {
  Attempt& a = attempts_[attempt];
  if (a.given_up()) return release_attempt(attempt);
  a.stage = Attempt::Stage::kLost;
}

void World::release_attempt(std::uint32_t attempt) {
  if (attempts_[attempt].mutating) [[unlikely]] {
    services_[attempts_[attempt].service].close_session(attempt);
    side_effects_->attempt_gone(attempt);
  }
  attempts_.release(attempt);
}

}  // namespace retrysim::model
