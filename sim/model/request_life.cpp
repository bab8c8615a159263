// The life of a request, step by step. Every rule about retries is asked of the retry strategy;
// every rule about serving of the service; this file only carries requests from one to the other.
//
// SPDX-License-Identifier: MIT
#include "model/conservation.hpp"
#include "model/world.hpp"

#include <algorithm>
#include <cassert>

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

}  // namespace

void World::submit(ClientGroup& g, std::uint32_t client, std::uint64_t entity,
                   std::uint32_t caller) {
  const std::uint32_t id = requests_.allocate();
  Request& r = requests_[id];
  r = g.new_request;
  r.entity = entity;
  r.submitted = now_;
  r.client = client;
  if (caller == kNone) [[likely]] {
    r.in_cohort = recorder_.submitted(g.index);
  } else {
    r.in_cohort = enter_call(id, caller);
  }
  if (g.mutates) [[unlikely]]
    decide_side_effects(g, id);
  if (g.polling) [[unlikely]]
    g.polling->attach(id);
  ++submitted_;
  if (g.deadline_source != kNone) {
    const EventKey key = key_in(g.spec->deadline);
    g.deadlines.push_back(id, key, deadline_link());
    queue_.offer(g.deadline_source, key);
  }
  if (g.begins_in_steps && !open_request(g, id)) return;
  if (!g.gated) [[likely]]
    return send(g, id, r);
  begin_attempt(g, id);
}

void World::begin_attempt(ClientGroup& g, std::uint32_t request) {
  if (must_not_be_sent(requests_[request])) [[unlikely]]
    return finish(g, request, Outcome::kMaxAttemptsExceeded);
  if (!g.gated || pass_gates(g, request)) send(g, request, requests_[request]);
}

void World::send(ClientGroup& g, std::uint32_t request, Request& r) {
  const std::uint32_t id = attempts_.allocate();
  Attempt& a = attempts_[id];
  r.phase = Request::Phase::kInFlight;
  r.phase_since = now_;
  a = g.new_attempt;
  a.sibling = r.attempt;  // kNone, but for hedging
  r.attempt = id;
  ++r.progress.attempts;
  a.entity = r.entity;
  a.sent = now_;
  a.request = request;
  a.client = r.client;
  a.number = r.progress.attempts;
  a.in_cohort = r.in_cohort;
  if (r.connecting) a.connecting = true;
  if (r.mutating) [[unlikely]] {
    a.mutating = true;
    side_effects_->attempt_sent(request, id);
  }
  recorder_.sent(g.index, r.in_cohort, a.number, now_);
  if (a.sibling != kNone) [[unlikely]]
    disarm_timeout(g, request);  // it runs from the latest attempt
  if (g.constant_timeout) {
    const EventKey key = key_in(g.constant_timeout_length);
    g.timeouts.push_back(request, key, timeout_link());
    queue_.offer(g.timeout_source, key);
  } else if (g.spec->has_attempt_timeout) {
    arm_varying_timeout(g, request);
  }
  if (g.hedges) [[unlikely]]
    schedule_hedge(g, request);
  if (!network_takes_time_ && services_[a.service].impairment().request_loss == 0) [[likely]]
    return arrive(id, a);
  travel_to_service(id);
}

void World::arm_varying_timeout(ClientGroup& g, std::uint32_t request) {
  const Request& r = requests_[request];
  Draws draws(streams_.of_group(g.index), {r.entity, r.progress.attempts, 0, Purpose::kTimeout});
  const EventKey key = key_in(g.spec->attempt_timeout.sample(draws));
  varying_timeouts_.push(request, key, timeout_position());
  queue_.offer(varying_timeout_source_, key);
}

void World::disarm_timeout(ClientGroup& g, std::uint32_t request) {
  if (g.constant_timeout) {
    g.timeouts.erase(request, timeout_link());
  } else if (g.spec->has_attempt_timeout) {
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
  if (delay == Duration::zero()) return arrive(attempt, a);
  const kernel::TimerEntry entry{key_in(delay), attempt,
                                 static_cast<std::uint32_t>(EventKind::kAttemptArrives)};
  if (scenario_.network.latency.is_constant() && requests_on_the_way_.push_back(entry)) {
    queue_.offer(request_lane_source_, requests_on_the_way_.head());
  } else {
    timers_.push(entry);
    queue_.offer(timer_source_, timers_.head());
  }
}

void World::arrive(std::uint32_t attempt, Attempt& a) {
  Service& s = services_[a.service];
  a.arrived = now_;
  if (a.round == 0) recorder_.arrived(a.group, a.service, a.in_cohort);
  if (a.given_up() && s.spec().abandoned != Abandoned::kServe) {
    recorder_.dropped(a.group, a.in_cohort);  // its client gave up while it was on its way
    return release_attempt(attempt);
  }
  if (s.screens_arrivals() && answered_at_the_door(attempt)) [[unlikely]]
    return;
  const Service::Admission admission = s.admit(attempt, a, now_);
  if (admission == Service::Admission::kFull) return overflow(attempt);
  const bool must_wait = admission == Service::Admission::kQueued;
  recorder_.admitted(a.group, a.service, a.in_cohort, must_wait);
  if (!must_wait) recorder_.started(a.group, a.in_cohort, Duration::zero());
  if (s.watches_attempts()) [[unlikely]]
    enter_service(attempt);
  service_changed(a.service);
}

// True if the attempt meets a random error, or does not pass the service's throttle.
bool World::answered_at_the_door(std::uint32_t attempt) {
  const Attempt& a = attempts_[attempt];
  Service& s = services_[a.service];
  if (!s.impairment().errors.empty() && s.spec().model != ServiceModelKind::kIndependent) {
    Draws draws(streams_.of_group(a.group), {a.entity, a.number, 0, Purpose::kServiceError});
    const double u = draws.uniform();
    for (const auto& [cumulative, answer] : s.impairment().errors) {
      if (u >= cumulative) continue;
      recorder_.error_answered(a.service);
      if (is_throttling(a, answer)) recorder_.refused(a.group, a.in_cohort);
      answer_with(attempt, answer);
      return true;
    }
  }
  if (s.pass_throttle(a.group, a.client, now_)) return false;
  recorder_.throttled(a.service);
  recorder_.refused(a.group, a.in_cohort);
  turn_away(attempt, service_answers_[a.service].throttled);
  return true;
}

// The attempt is answered now. An answer that takes no time is there when the event is over: what
// its client makes of it may come back to the service, which is in the midst of something.
void World::answer_with(std::uint32_t attempt, std::uint16_t answer) {
  if (!send_answer(attempt, attempts_[attempt], answer)) return;
  answered_.push_back(attempt);
  unsettled_ = true;
}

// True if the answer is to be delivered at once.
bool World::send_answer(std::uint32_t attempt, Attempt& a, std::uint16_t answer) {
  a.answer = answer;
  a.stage = Attempt::Stage::kOnTheWire;
  if (services_[a.service].impairment().response_loss > 0 && lose_answer(attempt)) [[unlikely]]
    return false;
  return !network_takes_time_ || !answer_travels(attempt);
}

// True if the answer is lost on its way.
bool World::lose_answer(std::uint32_t attempt) {
  const Attempt& a = attempts_[attempt];
  Draws draws(streams_.of_group(a.group), {a.entity, a.number, 0, Purpose::kLoss});
  for (int i = 0; i < a.round; ++i) draws.next(), draws.next();
  draws.next();  // decided the request's own loss
  if (draws.uniform() >= services_[a.service].impairment().response_loss) return false;
  recorder_.lost(a.group, a.in_cohort);
  answer_unused(a);
  discard(attempt);
  return true;
}

// True if the answer takes time to its client.
bool World::answer_travels(std::uint32_t attempt) {
  const Duration delay = network_delay(attempts_[attempt], Purpose::kResponse);
  if (delay == Duration::zero()) return false;
  schedule_response(attempt, delay);
  return true;
}

// Free servers take what waits.
void World::serve_queue(std::size_t service) {
  Service& s = services_[service];
  for (std::uint32_t id = s.take_from_queue(); id != kNone; id = s.take_from_queue()) {
    Attempt& a = attempts_[id];
    if (a.given_up() && s.spec().abandoned == Abandoned::kDropAtDequeue) {
      leave_service(id);
      s.turn_out(a, now_);
      recorder_.dropped(a.group, a.in_cohort);
      release_attempt(id);
    } else if (a.rejection) {
      s.start(id, a, now_);
    } else if (s.spec().drop_expired && would_be_late(id)) {
      leave_service(id);
      s.turn_out(a, now_);
      recorder_.dropped(a.group, a.in_cohort);
      discard(id);
    } else if (s.sheds(a, now_)) {
      leave_service(id);
      overflow(id);
    } else {
      s.start(id, a, now_);
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
  if (a.watched) [[unlikely]]
    leave_service(id);
  const Reply reply = s.always_succeeds() || !a.executed ? Reply{a.answer} : s.reply(a);
  if (reply.answer != 0 && !a.rejection && is_throttling(a, reply.answer)) [[unlikely]]
    recorder_.refused(a.group, a.in_cohort);
  served(service, id, a, reply);
}

// What becomes of an attempt when its server is free again. The last step of its event, or of the
// work list it comes from: the answer need not be put down.
void World::served(std::size_t service, std::uint32_t id, Attempt& a, Reply reply) {
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
  if (send_answer(id, a, reply.answer)) deliver(id, a);
}

// The client has its answer, unless it has stopped waiting.
void World::deliver(std::uint32_t attempt, const Attempt& a) {
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
  const std::uint16_t answer = a.answer;
  forget_attempt(r, attempt);
  if (r.attempt == kNone) disarm_timeout(g, request);
  recorder_.attempt_ended(g.index, r.in_cohort, a.number, result_of(error.response_class), a.sent,
                          now_);
  if (!error.success() && a.executed) recorder_.execution_failed(a.service, a.finished);
  if (a.mutating) [[unlikely]] {
    release_attempt(attempt);
  } else {
    attempts_.release(attempt);
  }
  if (!g.connections.empty()) {
    return_connection(g, r.client,
                      error.response_class == ResponseClass::kSuccess ||
                          error.response_class == ResponseClass::kThrottling ||
                          error.response_class == ResponseClass::kNotRetryable);
  }
  if (error.response_class != ResponseClass::kSuccess) {
    return fail(g, request, error, answers_[answer].retry_after);
  }
  if (g.books_successes) book_success(g, request);
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

void World::finish(ClientGroup& g, std::uint32_t request, Outcome outcome) {
  Request& r = requests_[request];
  const std::uint32_t client = r.client;
  const Time submitted = r.submitted;
  recorder_.ended(g.index, client, r.in_cohort, outcome, r.progress.attempts, submitted, now_);
  ++ended_;
  if (g.ends_in_steps) close_request(g, request, outcome);
  r.open = false;
  requests_.release(request);
  if (g.closed) return think(g, client, submitted);
  if (g.spec->caller) [[unlikely]]
    return call_ended(request, outcome == Outcome::kSuccess);
  if (g.polling) [[unlikely]]
    check_ended(g, request, outcome);
}

// What only some groups have to do when a request ends.
void World::close_request(ClientGroup& g, std::uint32_t request, Outcome outcome) {
  const Request& r = requests_[request];
  if (g.deadline_source != kNone) g.deadlines.erase(request, deadline_link());
  if (!g.due.empty()) recorder_.ended_after_due(g.index, r.in_cohort, now_ - g.due[r.client]);
  if (g.counts_requests) end_request(g.states.of(r.client), r.retrying);
  if (g.hedges) cancel_hedge(request);
  if (r.mutating) side_effects_->request_ended(request, outcome != Outcome::kSuccess);
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
