// SPDX-License-Identifier: MIT
#include "model/service_entrance.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {

void ServiceEntrance::arrive(AttemptId id, Attempt& a, Service& s) {
  a.arrived = state_.now;
  if (a.round == 0) state_.recorder.arrived(a.group, a.service, a.in_cohort);
  if (a.given_up() && s.spec().abandoned != Abandoned::kServe) {
    state_.recorder.dropped(a.group, a.in_cohort);  // its client gave up while it was on its way
    return parts_.delivery.release(id, a);
  }
  if (s.screens_arrivals() && answered_at_the_door(id, a, s)) [[unlikely]]
    return;
  const Service::Admission admission = s.admit(id, a, state_.now);
  if (admission == Service::Admission::kFull) return overflow(id, a, s);
  const bool must_wait = admission == Service::Admission::kQueued;
  state_.recorder.admitted(a.group, a.service, a.in_cohort, must_wait);
  if (!must_wait) state_.recorder.started(a.group, a.in_cohort, Duration::zero());
  if (s.times_waits() && !must_wait) [[unlikely]]
    parts_.serving.time_wait(a, s);
  if (s.watches_attempts()) [[unlikely]]
    parts_.watch.enter(id, a);
  parts_.serving.changed(a.instance, s);
}

// True if the attempt meets a random error, or does not pass the service's throttle.
bool ServiceEntrance::answered_at_the_door(AttemptId id, Attempt& a, Service& s) {
  if (s.times_waits()) state_.recorder.arrived_to_be_timed(a.group, a.in_cohort);
  if (!s.impairment().errors.empty() && s.spec().model != ServiceModelKind::kIndependent) {
    Draws draws(state_.streams.of_group(a.group), {a.entity, a.number, 0, Purpose::kServiceError});
    // The read of a retry and what follows it have luck of their own.
    if (a.round > 0 && s.spec().model != ServiceModelKind::kOcc) draws.next();
    const double u = draws.uniform();
    for (const auto& [cumulative, answer] : s.impairment().errors) {
      if (u >= cumulative) continue;
      state_.recorder.error_answered(a.service);
      if (state_.is_throttling(a, answer)) state_.recorder.refused(a.group, a.in_cohort);
      parts_.transport.answer_with(id, a, s, answer);
      return true;
    }
  }
  // The throttle is the service's, not an instance's: the first instance keeps it for all.
  Service& keeper = state_.instances[state_.instances.first(a.service)];
  if (passes_throttle(a, keeper)) return false;
  state_.recorder.throttled(a.service);
  state_.recorder.refused(a.group, a.in_cohort);
  turn_away(id, a, s, state_.answers.of_service(a.service).throttled);
  return true;
}

bool ServiceEntrance::passes_throttle(const Attempt& a, Service& s) {
  std::uint32_t number = a.client;
  if (s.spec().throttle.scope > ThrottleScope::kClient) {
    const Addressing& about = state_.groups[a.group].about;
    const RandomKey& key = state_.streams.of_group(a.group);
    number = s.spec().throttle.scope == ThrottleScope::kKey ? about.key(key, a.entity)
                                                            : about.operation(key, a.entity);
  }
  return s.pass_throttle(a.group, number, state_.now);
}

void ServiceEntrance::overflow(AttemptId id, Attempt& a, Service& s) {
  const Answers::OfService& answers = state_.answers.of_service(a.service);
  const bool no_answer = s.spec().overflow == Overflow::kDrop;
  state_.recorder.rejected(a.group, a.service, a.in_cohort,
                           no_answer || answers.overflow_is_throttling);
  state_.recorder.refused(a.group, a.in_cohort);
  if (!no_answer) return turn_away(id, a, s, answers.overflow);
  s.leave_unserved(a, state_.now);
  state_.recorder.dropped(a.group, a.in_cohort);
  parts_.delivery.discard(id, a);
}

// To say no may cost time, too.
void ServiceEntrance::turn_away(AttemptId id, Attempt& a, Service& s, std::uint16_t answer) {
  if (s.spec().reject_cost == Duration::zero()) {
    s.leave_unserved(a, state_.now);
    return parts_.transport.answer_with(id, a, s, answer);
  }
  a.answer = answer;
  s.turn_away(id, state_.now);
  parts_.serving.changed(a.instance, s);
}

}  // namespace retrysim::model
