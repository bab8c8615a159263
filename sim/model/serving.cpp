// SPDX-License-Identifier: MIT
#include "model/serving.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

#include <algorithm>

namespace retrysim::model {

void Serving::add_sources() {
  first_source_ = static_cast<std::uint32_t>(state_.sources.size());
  for (const InstanceId i : state_.instances.ids()) {
    state_.add_source(EventKind::kCompletion, i, kernel::SourceRole::kAnswer);
  }
}

void Serving::begin_levels() {
  others_observe_ = state_.instances.several();
  for (const InstanceId i : state_.instances.ids()) {
    Service& s = state_.instances[i];
    others_observe_ |= s.autoscaler() != nullptr;
    levels_changed(i, s);
  }
}

void Serving::complete(InstanceId instance) {
  Service& s = state_.instances[instance];
  if (s.calls_others() && parts_.call_tree.begin(instance)) [[unlikely]]
    return;
  const AttemptId id(s.complete(state_.now));
  state_.note_event(EventKind::kCompletion, id);
  Attempt& a = state_.attempts[id];
  parts_.watch.leave(id, a);
  const Reply reply = !a.executed           ? answer_without_execution(id, a, s)
                      : s.always_succeeds() ? Reply{a.answer}
                                            : s.reply(a);
  if (reply.answer != 0 && !a.rejection && state_.is_throttling(a, reply.answer)) [[unlikely]]
    state_.recorder.refused(a.group, a.in_cohort);
  served(id, a, s, reply);
}

void Serving::served(AttemptId id, Attempt& a, Service& s, Reply reply) {
  if (a.executed && !reply.goes_on) {
    state_.recorder.executed({.group = a.group,
                              .service = a.service,
                              .in_cohort = a.in_cohort,
                              .given_up = a.given_up(),
                              .arrived = a.arrived,
                              .now = state_.now});
    if (a.mutating) [[unlikely]]
      parts_.mutations.executed(id, reply.answer == 0);
  }
  serve_queue(s);
  changed(a.instance, s);
  a.goes_on = reply.goes_on;
  if (reply.goes_on) a.executed = false;
  if (a.given_up()) {
    wasted_work(a);
    answer_unused(a);
    return parts_.delivery.release(id, a);
  }
  if (parts_.transport.send_answer(id, a, s, reply.answer)) parts_.delivery.deliver(id, a);
}

void Serving::serve_queue(Service& s) {
  for (;;) {
    const AttemptId id(s.take_from_queue());
    if (!id.exists()) return;
    Attempt& a = state_.attempts[id];
    if (a.given_up() && s.spec().abandoned == Abandoned::kDropAtDequeue) {
      drop_from_queue(id, a, s);
      parts_.delivery.release(id, a);
    } else if (a.rejection) {
      s.start(id, a, state_.now);
    } else if (s.spec().drop_expired && would_be_late(id, a, s)) {
      drop_from_queue(id, a, s);
      parts_.delivery.discard(id, a);
    } else if (s.sheds(a, state_.now)) {
      parts_.watch.leave(id, a);
      parts_.entrance.overflow(id, a, s);
    } else {
      s.start(id, a, state_.now);
      state_.recorder.started(a.group, a.in_cohort, state_.now - a.arrived);
      if (s.times_waits()) [[unlikely]]
        time_wait(a, s);
    }
  }
}

void Serving::time_wait(const Attempt& a, const Service& s) {
  const bool within = state_.now - a.arrived <= s.spec().wait_within;
  state_.recorder.started_timed(a.group, a.in_cohort, within);
}

// Of an attempt that is turned away, whose token is known, or that has asked for its effect.
Reply Serving::answer_without_execution(AttemptId id, Attempt& a, Service& s) {
  if (!s.is_read(a)) return {a.answer};
  if (!s.always_succeeds()) {
    const Reply reply = s.reply(a);
    if (reply.answer != 0) return reply;
  }
  a.replay = false;
  return {Answers::kSuccess, !parts_.mutations.reconcile(id)};
}

void Serving::cancel_wait(AttemptId attempt) {
  if (!parts_.token_waits.cancel(attempt)) parts_.call_tree.cancel(attempt);
}

std::vector<AttemptId> Serving::waiting_at(InstanceId instance) const {
  std::vector<AttemptId> all = parts_.call_tree.calling_at(instance);
  for (const AttemptId id : parts_.token_waits.waiting_at(instance)) all.push_back(id);
  return all;
}

// The attempt's turn has come, but it is not worth serving.
void Serving::drop_from_queue(AttemptId id, Attempt& a, Service& s) {
  parts_.watch.leave(id, a);
  s.leave_unserved(a, state_.now);
  state_.recorder.dropped(a.group, a.in_cohort);
}

// Whether the answer would come after the client has stopped waiting, if service began now.
bool Serving::would_be_late(AttemptId id, const Attempt& a, const Service& s) const {
  if (a.given_up()) return true;
  const Time end = parts_.timeouts.end_of_wait(a);
  if (end == Time::max()) return false;
  const Distribution& latency = state_.scenario.network.latency;
  const Duration way_back =
      latency.is_constant() ? latency.constant_value() + s.impairment().latency : Duration::zero();
  return state_.now + s.service_time_of(id) + way_back > end;
}

void Serving::changed(InstanceId instance, Service& s) {
  state_.queue.set(first_source_ + std::uint32_t{instance}, s.next_completion());
  levels_changed(instance, s);
}

void Serving::levels_changed(InstanceId instance, Service& s) {
  if (others_observe_) [[unlikely]]
    return observe_levels(instance, s);
  record_levels(instance, s);
}

void Serving::record_levels(InstanceId instance, const Service& s) {
  const std::size_t service = instance;  // each is the only one of its service
  state_.recorder.service_levels({.service = service,
                                  .busy = s.busy(),
                                  .in_system = s.in_system(),
                                  .queued = s.queued(),
                                  .working = s.working_servers(),
                                  .now = state_.now});
  if (s.shares_processor())
    state_.recorder.wasting_servers(service, s.wasting_servers(), state_.now);
}

void Serving::observe_levels(InstanceId instance, Service& s) {
  if (state_.instances.several()) {
    parts_.balancer.levels_changed(instance, s);
  } else {
    record_levels(instance, s);
  }
  if (Autoscaler* a = s.autoscaler()) a->observe(s.busy(), s.working_servers(), state_.now);
}

void Serving::wasted_work(const Attempt& a) {
  // Where attempts share the servers, a level is kept of them: `changed`.
  if (state_.instances[a.instance].shares_processor()) return;
  state_.recorder.add_wasted_work(a.service, std::max(a.started, a.gave_up), state_.now);
}

void Serving::answer_unused(const Attempt& a) {
  if (!a.executed && !a.goes_on) return;
  const double server_ns = state_.instances[a.instance].shares_processor()
                               ? a.work_left_ns
                               : static_cast<double>((a.finished - a.started).count());
  state_.recorder.answer_unused(a.service, server_ns, a.finished, a.executed);
}

}  // namespace retrysim::model
