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
  if (g.ends_connections) end_connection(g, r, a, error.response_class);
  release(id, a);
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

// The answer has come over a connection, which the balancer and the client's pool count.
void Delivery::end_connection(const ClientGroup& g, const Request& r, const Attempt& a,
                              ResponseClass answer) {
  if (g.balanced) parts_.balancer.ended(a, result_of(answer));
  if (!g.pools_connections) return;
  parts_.connections.give_back(state_.groups[g.index], r, leaves_connection_usable(answer));
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
  freed_.clear();
  while (r.attempt.exists()) {
    const AttemptId id = r.attempt;
    const InstanceId instance = state_.attempts[id].instance;
    r.attempt = state_.attempts[id].sibling;
    const bool frees = give_up_attempt(g, r, id, result);
    if (frees && (freed_.empty() || freed_.back() != instance)) freed_.push_back(instance);
    if (g.pools_connections) parts_.connections.give_back(g, r, false);
  }
  for (const InstanceId instance : freed_) {
    Service& s = state_.instances[instance];
    parts_.serving.serve_queue(s);
    parts_.serving.changed(instance, s);
  }
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
  if (g.balanced) [[unlikely]]
    parts_.balancer.ended(a, result);
  Service& s = state_.instances[a.instance];
  const Abandoned policy = s.spec().abandoned;
  if (a.stage == Attempt::Stage::kLost) {
    release(id, a);
  } else if (a.stage == Attempt::Stage::kQueued &&
             (policy == Abandoned::kRemove || policy == Abandoned::kAbort)) {
    parts_.watch.leave(id, a);
    s.remove_from_queue(id, state_.now);
    state_.recorder.dropped(a.group, a.in_cohort);
    parts_.serving.changed(a.instance, s);
    release(id, a);
  } else if (a.stage == Attempt::Stage::kInService || a.stage == Attempt::Stage::kCalling) {
    if (a.stage == Attempt::Stage::kInService) s.given_up(state_.now);
    if (policy == Abandoned::kAbort) {
      if (a.stage == Attempt::Stage::kCalling) parts_.serving.cancel_wait(id);
      parts_.watch.leave(id, a);
      s.abort(id, state_.now);
      state_.recorder.dropped(a.group, a.in_cohort);
      release(id, a);
      return true;
    }
    if (s.shares_processor()) parts_.serving.changed(a.instance, s);
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
