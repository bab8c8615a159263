// SPDX-License-Identifier: MIT
#include "model/service_entrance.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"
#include "model/trace.hpp"

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

}  // namespace retrysim::model
