// SPDX-License-Identifier: MIT
#include "model/service/services.hpp"

#include "model/run/parts.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"

namespace retrysim::model {

namespace {

void record_arrival(const Attempt& a) {
  a.clients->recorder->passage.arrived(a.in_cohort);
  a.at->place.recorder->arrived();
}

}  // namespace

void ServiceEntrance::arrive_by_event(Attempt& a) {
  if (!a.at->traits().takes_no_time || !parts_.serving.finds_nobody(a)) return arrive(a);
  a.arrived = state_.now;
  RETRYSIM_TELL(Step::kArrived, state_.now, a);
  if (!a.is(Attempt::kSecondCall)) record_arrival(a);
  a.at->place.recorder->admitted();
  a.clients->recorder->passage.admitted(a.in_cohort, false);
  parts_.serving.serve_at_once(a);
}

void ServiceEntrance::arrive(Attempt& a) { arrive_here(a); }

RETRYSIM_IN_LOOP void ServiceEntrance::arrive_here(Attempt& a) {
  Service& s = *a.at;
  a.arrived = state_.now;
  RETRYSIM_TELL(Step::kArrived, state_.now, a);
  if (!a.is(Attempt::kSecondCall)) [[likely]]
    record_arrival(a);
  if (a.given_up() && s.spec().abandoned != Abandoned::kServe) {
    a.clients->recorder->passage.dropped(
        a.in_cohort);  // its client gave up while it was on its way
    return parts_.delivery.release(a);
  }
  if (s.traits().screens_arrivals && answered_at_the_door(a)) [[unlikely]]
    return;
  const Service::Admission admission = s.admit(a, state_.now);
  if (admission >= Service::Admission::kFull) {
    return overflow_here(
        a, admission == Service::Admission::kFull ? Refusal::kQueueFull : Refusal::kLimit);
  }
  const bool must_wait = admission == Service::Admission::kQueued;
  s.place.recorder->admitted();
  a.clients->recorder->passage.admitted(a.in_cohort, must_wait);
  if (s.traits().times_waits && !must_wait) [[unlikely]]
    parts_.serving.time_wait(a);
  if (s.traits().watches_attempts) [[unlikely]]
    parts_.watch.enter(a);
  parts_.serving.changed(s);
}

// True if the attempt meets a random error, or does not pass the service's throttle.
bool ServiceEntrance::answered_at_the_door(Attempt& a) {
  const Service& s = *a.at;
  if (s.traits().times_waits) a.clients->recorder->passage.arrived_to_be_timed(a.in_cohort);
  if (!s.impairment().errors.empty() && s.spec().model != ServiceModelKind::kIndependent) {
    Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kServiceError});
    // The read of a retry and what follows it have luck of their own.
    if (a.is(Attempt::kSecondCall) && s.spec().model != ServiceModelKind::kOcc) draws.next();
    const double u = draws.uniform();
    for (const auto& [cumulative, answer] : s.impairment().errors) {
      if (u >= cumulative) continue;
      a.at->place.recorder->error_answered();
      if (state_.is_throttling(a, answer)) a.clients->recorder->passage.refused(a.in_cohort);
      parts_.transport.answer_with(a, answer);
      return true;
    }
  }
  // The throttle is the service's, not an instance's: the first instance keeps it for all.
  Service& keeper = state_.instances[state_.instances.first(a.at->place.service)];
  if (passes_throttle(a, keeper)) return false;
  a.at->place.recorder->throttled();
  a.clients->recorder->passage.refused(a.in_cohort);
  turn_away(a, state_.answers.of_service(a.at->place.service).throttled);
  return true;
}

bool ServiceEntrance::passes_throttle(const Attempt& a, Service& s) {
  if (s.spec().throttle.rate <= 0) return true;
  std::uint32_t number = a.client;
  if (s.spec().throttle.scope > ThrottleScope::kClient) {
    const Addressing& about = a.clients->about;
    const RandomKey& key = *a.clients->key;
    number = s.spec().throttle.scope == ThrottleScope::kKey ? about.key(key, a.entity)
                                                            : about.operation(key, a.entity);
  }
  if (s.spec().throttle.has_limits()) [[unlikely]]
    return passes_limits(a, s, number);
  return s.throttle.pass(a.group, number, state_.now);
}

// Operations or keys may have limits of their own.
bool ServiceEntrance::passes_limits(const Attempt& a, Service& s, std::uint32_t number) {
  const Addressing& about = a.clients->about;
  const RandomKey& key = *a.clients->key;
  const std::uint32_t own =
      s.spec().throttle.keys.empty() ? about.operation(key, a.entity) : about.key(key, a.entity);
  return s.throttle.pass(a.group, number, state_.now, own);
}

void ServiceEntrance::overflow(Attempt& a, Refusal refusal) { overflow_here(a, refusal); }

RETRYSIM_IN_LOOP void ServiceEntrance::overflow_here(Attempt& a, Refusal refusal) {
  Service& s = *a.at;
  const bool no_answer = s.spec().rejection.overflow == Overflow::kDrop;
  const std::uint16_t answer = state_.answers.of_service(s.place.service).refused(refusal);
  s.place.recorder->rejected();
  stats::PassageCounts& passage = a.clients->recorder->passage;
  if (!no_answer && !state_.is_throttling(a, answer)) passage.rejected(a.in_cohort);
  passage.refused(a.in_cohort);
  if (!no_answer) return turn_away(a, answer);
  s.leave_unserved(a, state_.now);
  a.clients->recorder->passage.dropped(a.in_cohort);
  parts_.delivery.discard(a);
}

// To say no may cost time, too.
void ServiceEntrance::turn_away(Attempt& a, std::uint16_t answer) {
  Service& s = *a.at;
  if (s.spec().rejection.cost == Duration::zero()) {
    s.leave_unserved(a, state_.now);
    return parts_.transport.answer_with(a, answer);
  }
  a.answer = answer;
  s.turn_away(a, state_.now);
  parts_.serving.changed(s);
}

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
  std::vector<AttemptId> all = parts_.call_tree.calling_at(s);
  for (const AttemptId id : parts_.token_waits.waiting_at(s)) all.push_back(id);
  return all;
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

using kernel::armed;
using kernel::EventKey;

auto AttemptWatch::link() {
  return [this](AttemptId a) -> kernel::LaneLink<AttemptId>& { return links_[a]; };
}

void AttemptWatch::add_sources() {
  limits_.resize(state_.instances.services());
  for (const ServiceId i : Ids<ServiceId>(limits_.size())) {
    if (state_.scenario.services[i].timeout == Duration::max()) continue;
    limits_[i].source =
        state_.add_source(EventKind::kServiceTimeout, i, kernel::SourceRole::kTimeout);
  }
}

void AttemptWatch::enter(Attempt& a) {
  a.set(Attempt::kWatched);
  const Duration timeout = state_.scenario.services[a.at->place.service].timeout;
  if (timeout == Duration::max()) return;
  Limit& limit = limits_[a.at->place.service];
  const EventKey key = state_.key_in(timeout);
  links_.reach(a.id);
  limit.lane.push_back(a.id, key, link());
  state_.queue.offer(limit.source, key);
}

void AttemptWatch::end(Attempt& a) {
  a.clear(Attempt::kWatched);
  Limit& limit = limits_[a.at->place.service];
  if (limit.source != kNone) limit.lane.erase(a.id, link());
  a.at->leave(a, state_.now);
}

void AttemptWatch::time_out(ServiceId service) {
  const AttemptId id = limits_[service].lane.front();
  state_.note_event(EventKind::kServiceTimeout, id);
  Attempt& a = state_.attempts[id];
  Service& s = *a.at;
  leave(a);
  if (a.stage == Attempt::Stage::kQueued) {
    s.remove_from_queue(a, state_.now);
  } else {
    if (a.stage == Attempt::Stage::kCalling) parts_.serving.cancel_wait(id);
    s.in_service.abort(a, state_.now);
    if (a.given_up()) parts_.serving.wasted_work(a);
    parts_.serving.serve_queue(s);
  }
  parts_.serving.changed(s);
  if (a.given_up()) {
    a.clients->recorder->passage.dropped(a.in_cohort);
    return parts_.delivery.release(a);
  }
  s.place.recorder->error_answered();
  parts_.transport.answer_with(a, state_.answers.of_service(service).timeout);
}

EventKey AttemptWatch::next_timeout(ServiceId service) const {
  const kernel::TimerLane<AttemptId>& lane = limits_[service].lane;
  return lane.empty() ? EventKey::never() : armed(links_[lane.front()].key());
}

}  // namespace retrysim::model
