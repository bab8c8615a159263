// SPDX-License-Identifier: MIT
#include "model/client_requests.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"
#include "model/trace.hpp"

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

}  // namespace retrysim::model
