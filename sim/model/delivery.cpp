// SPDX-License-Identifier: MIT
#include "model/delivery.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"
#include "model/trace.hpp"

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
