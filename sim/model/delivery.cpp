// SPDX-License-Identifier: MIT
#include "model/delivery.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {
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

void Delivery::deliver(AttemptId id, Attempt& a) {
  if (a.given_up()) {
    parts_.serving.answer_unused(a);
    return release(id, a);
  }
  if (a.goes_on) [[unlikely]]
    return next_call(id, a);
  ClientGroup& g = state_.groups[a.group];
  Request& r = state_.requests[a.request];
  if (g.polling) [[unlikely]]
    g.polling->succeeded(r.id, a.finished);  // if it has: a failure says so below
  const ErrorInfo error = g.errors[a.answer];
  const std::uint16_t answer = a.answer;
  forget(r, id, a);
  if (!r.attempt.exists()) parts_.timeouts.disarm(g, r);
  state_.recorder.attempt_ended({.group = g.index,
                                 .in_cohort = r.in_cohort,
                                 .number = a.number,
                                 .result = result_of(error.response_class),
                                 .sent = a.sent,
                                 .now = state_.now});
  if (!error.success() && a.executed) state_.recorder.execution_failed(a.service, a.finished);
  release(id, a);
  if (g.pools_connections) {
    parts_.connections.give_back(g, r, leaves_connection_usable(error.response_class));
  }
  if (error.response_class != ResponseClass::kSuccess) {
    return parts_.retry_decisions.fail(g, r, error, state_.answers[answer].retry_after);
  }
  if (g.books_successes) parts_.retry_decisions.book_success(g, r);
  if (r.attempt.exists()) {  // hedges that come too late
    parts_.timeouts.disarm(g, r);
    give_up(g, r, AttemptResult::kAbandoned);
  }
  parts_.client_requests.finish(g, r, Outcome::kSuccess);
}

// The client has the answer to one message of its attempt, and sends the next.
void Delivery::next_call(AttemptId id, Attempt& a) {
  a.goes_on = false;
  ++a.round;
  parts_.transport.travel_to_service(id, a);
}

// One of the attempts of the request under way has ended.
void Delivery::forget(Request& r, AttemptId id, const Attempt& a) {
  if (r.attempt == id) {
    r.attempt = a.sibling;
    return;
  }
  AttemptId before = r.attempt;
  while (state_.attempts[before].sibling != id) before = state_.attempts[before].sibling;
  state_.attempts[before].sibling = a.sibling;
}

// Servers that this sets free look at the queue when all of the request's attempts are given up:
// another of them may have been waiting there.
void Delivery::give_up(ClientGroup& g, Request& r, AttemptResult result) {
  bool servers_are_free = false;
  ServiceId service = g.service;
  while (r.attempt.exists()) {
    const AttemptId id = r.attempt;
    r.attempt = state_.attempts[id].sibling;
    service = state_.attempts[id].service;  // of all attempts of the request
    servers_are_free |= give_up_attempt(g, r, id, result);
    if (g.pools_connections) parts_.connections.give_back(g, r, false);
  }
  if (!servers_are_free) return;
  Service& s = state_.services[service];
  parts_.serving.serve_queue(s);
  parts_.serving.changed(service, s);
}

// True if it sets a server free.
bool Delivery::give_up_attempt(ClientGroup& g, Request& r, AttemptId id, AttemptResult result) {
  Attempt& a = state_.attempts[id];
  state_.recorder.attempt_ended({.group = g.index,
                                 .in_cohort = r.in_cohort,
                                 .number = a.number,
                                 .result = result,
                                 .sent = a.sent,
                                 .now = state_.now});
  a.request = {};
  a.gave_up = state_.now;
  Service& s = state_.services[a.service];
  const Abandoned policy = s.spec().abandoned;
  if (a.stage == Attempt::Stage::kLost) {
    release(id, a);
  } else if (a.stage == Attempt::Stage::kQueued &&
             (policy == Abandoned::kRemove || policy == Abandoned::kAbort)) {
    parts_.watch.leave(id, a);
    s.remove_from_queue(id, state_.now);
    state_.recorder.dropped(a.group, a.in_cohort);
    parts_.serving.changed(a.service, s);
    release(id, a);
  } else if (a.stage == Attempt::Stage::kInService || a.stage == Attempt::Stage::kCalling) {
    if (a.stage == Attempt::Stage::kInService) s.given_up(state_.now);
    if (policy == Abandoned::kAbort) {
      if (a.stage == Attempt::Stage::kCalling) parts_.call_tree.cancel(id);
      parts_.watch.leave(id, a);
      s.abort(id, state_.now);
      state_.recorder.dropped(a.group, a.in_cohort);
      release(id, a);
      return true;
    }
    if (s.shares_processor()) parts_.serving.changed(a.service, s);
  }
  return false;
}

void Delivery::discard(AttemptId id, Attempt& a) {
  if (a.given_up()) return release(id, a);
  a.stage = Attempt::Stage::kLost;
}

void Delivery::release(AttemptId id, const Attempt& a) {
  if (a.mutating) [[unlikely]]
    parts_.mutations.attempt_gone(id);
  state_.attempts.release(id);
}

}  // namespace retrysim::model
