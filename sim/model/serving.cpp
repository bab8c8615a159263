// SPDX-License-Identifier: MIT
#include "model/serving.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"
#include "model/trace.hpp"

#include <algorithm>
#include <iterator>

namespace retrysim::model {

void Serving::add_sources() {
  for (const InstanceId i : state_.instances.ids()) {
    Service& s = state_.instances[i];
    s.place.completions = state_.add_source(EventKind::kCompletion, i, kernel::SourceRole::kAnswer);
    state_.sources[s.place.completions].instance = &s;
  }
}

void Serving::begin_levels() {
  others_observe_ = state_.instances.several();
  for (const InstanceId i : state_.instances.ids()) {
    Service& s = state_.instances[i];
    others_observe_ |= s.autoscaler() != nullptr;
    levels_changed(s);
  }
}

void Serving::complete(Service& s) {
  if (s.traits().calls_others && parts_.call_tree.begin(s)) [[unlikely]]
    return;
  Attempt& a = s.in_service.complete(state_.now);
  state_.note_event(EventKind::kCompletion, a.id);
  parts_.watch.leave(a);
  served(a, reply_to(a));
}

// What has been served is told to the client.
RETRYSIM_IN_LOOP Reply Serving::reply_to(Attempt& a) {
  Service& s = *a.at;
  const Reply reply = !a.is(Attempt::kExecuted)    ? answer_without_execution(a)
                      : s.traits().always_succeeds ? Reply{a.answer}
                                                   : s.reply(a);
  if (reply.answer != 0 && !a.is(Attempt::kRejection) && state_.is_throttling(a, reply.answer))
      [[unlikely]]
    a.clients->recorder->passage.refused(a.in_cohort);
  return reply;
}

void Serving::served(Attempt& a, Reply reply) {
  Service& s = *a.at;
  count_served(a, reply);
  serve_queue(s);
  changed(s);
  hand_over(a, reply);
}

RETRYSIM_IN_LOOP void Serving::count_served(Attempt& a, Reply reply) {
  if (reply.goes_on) [[unlikely]] {
    a.set(Attempt::kGoesOn);
    a.clear(Attempt::kExecuted);
  } else if (a.is(Attempt::kExecuted)) {
    a.at->place.recorder->executed(a.given_up());
    if (a.in_cohort) a.clients->recorder->executed(a.given_up(), state_.now - a.arrived);
    if (a.is(Attempt::kMutating)) [[unlikely]]
      parts_.mutations.executed(a, reply.answer == 0);
  }
}

RETRYSIM_IN_LOOP void Serving::hand_over(Attempt& a, Reply reply) {
  if (a.given_up()) return served_in_vain(a);
  if (parts_.transport.send_answer(a, reply.answer)) parts_.delivery.deliver_here(a);
}

void Serving::serve_at_once(Attempt& a) {
  parts_.limits.count_event();
  ++state_.sequence;  // the completion's
  RETRYSIM_TELL(Step::kWorking, state_.now, a);
  a.pass_within(state_.now);
  RETRYSIM_TELL(Step::kServed, state_.now, a, true);
  state_.note_event(EventKind::kCompletion, a.id);
  const Reply reply = reply_to(a);
  count_served(a, reply);
  hand_over(a, reply);
}

void Serving::served_in_vain(Attempt& a) {
  wasted_work(a);
  answer_unused(a);
  parts_.delivery.release(a);
}

void Serving::serve_queue(Service& s) {
  while (Attempt* next = s.take_from_queue()) {
    Attempt& a = *next;
    if (s.traits().screens_queue && leaves_unserved(a)) [[unlikely]]
      continue;
    s.start(a, state_.now);
    if (a.is(Attempt::kRejection)) [[unlikely]]
      continue;
    a.clients->recorder->passage.started(a.in_cohort, state_.now - a.arrived);
    if (s.traits().times_waits) [[unlikely]]
      time_wait(a);
  }
}

// Whether the attempt, whose turn has come, is dropped or shed instead of being served.
bool Serving::leaves_unserved(Attempt& a) {
  Service& s = *a.at;
  if (a.given_up() && s.spec().abandoned == Abandoned::kDropAtDequeue) {
    drop_from_queue(a);
    parts_.delivery.release(a);
    return true;
  }
  if (a.is(Attempt::kRejection)) return false;
  if (s.spec().queue.drop_expired && would_be_late(a)) {
    drop_from_queue(a);
    parts_.delivery.discard(a);
    return true;
  }
  if (!s.sheds(a, state_.now)) return false;
  parts_.watch.leave(a);
  parts_.entrance.overflow(a, Refusal::kShed);
  return true;
}

void Serving::time_wait(const Attempt& a) {
  const bool within = state_.now - a.arrived <= a.at->spec().wait_within;
  a.clients->recorder->passage.started_timed(a.in_cohort, within);
}

// Of an attempt that is turned away, whose token is known, or that has asked for its effect.
Reply Serving::answer_without_execution(Attempt& a) {
  Service& s = *a.at;
  if (!s.in_service.tokens.is_read(a)) return {a.answer};
  if (!s.traits().always_succeeds) {
    const Reply reply = s.reply(a);
    if (reply.answer != 0) return reply;
  }
  a.clear(Attempt::kReplay);
  return {Answers::kSuccess, !parts_.mutations.reconcile(a.id)};
}

void Serving::cancel_wait(AttemptId attempt) {
  if (!parts_.token_waits.cancel(attempt)) parts_.call_tree.cancel(attempt);
}

std::vector<AttemptId> Serving::waiting_at(const Service& s) const {
  std::vector<HeldAttempt> all = parts_.call_tree.calling_at(s);
  std::ranges::copy(parts_.token_waits.waiting_at(s), std::back_inserter(all));
  std::ranges::sort(all, {}, &HeldAttempt::since);
  std::vector<AttemptId> in_order;
  for (const HeldAttempt& w : all) in_order.push_back(w.attempt);
  return in_order;
}

// The attempt's turn has come, but it is not worth serving.
void Serving::drop_from_queue(Attempt& a) {
  RETRYSIM_TELL(Step::kLeftQueue, state_.now, a);
  parts_.watch.leave(a);
  a.at->leave_unserved(a, state_.now);
  a.clients->recorder->passage.dropped(a.in_cohort);
}

// Whether the answer would come after the client has stopped waiting, if service began now.
bool Serving::would_be_late(const Attempt& a) const {
  if (a.given_up()) return true;
  const Time end = parts_.timeouts.end_of_wait(a);
  if (end == Time::max()) return false;
  const Service& s = *a.at;
  const Distribution& latency = state_.scenario.network.latency;
  const Duration way_back =
      latency.is_constant() ? latency.constant_value() + s.impairment().latency : Duration::zero();
  return state_.now + s.in_service.time_of(a, s.impairment().speed) + way_back > end;
}

void Serving::changed(Service& s) {
  state_.queue.set(s.place.completions, s.servers().next_completion());
  levels_changed(s);
}

void Serving::levels_changed(Service& s) {
  if (others_observe_) [[unlikely]]
    return observe_levels(s);
  record_levels(s);
}

void Serving::record_levels(const Service& s) {
  stats::ServiceRecorder& recorder = *s.place.recorder;
  recorder.levels({.busy = s.servers().busy(),
                   .in_system = s.in_system(),
                   .queued = s.queued(),
                   .working = s.power().working_servers(),
                   .now = state_.now});
  if (s.servers().waste_is_a_level()) [[unlikely]]
    recorder.wasting_servers(s.servers().wasting_servers(), state_.now);
}

void Serving::observe_levels(Service& s) {
  if (state_.instances.several()) {
    parts_.balancer.levels_changed(s);
  } else {
    record_levels(s);
  }
  if (Autoscaler* a = s.autoscaler()) {
    a->observe(s.servers().busy(), s.power().working_servers(), state_.now);
  }
}

void Serving::wasted_work(const Attempt& a) {
  const Service& s = *a.at;
  if (s.servers().waste_is_a_level()) return;
  s.place.recorder->add_wasted_work(s.servers().wasted_since(a), state_.now);
}

void Serving::answer_unused(const Attempt& a) {
  if (!a.is(Attempt::kExecuted | Attempt::kGoesOn)) return;
  a.at->place.recorder->answer_unused(a.at->servers().server_time_ns(a), a.finished,
                                      a.is(Attempt::kExecuted));
}

}  // namespace retrysim::model
