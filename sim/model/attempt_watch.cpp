// SPDX-License-Identifier: MIT
#include "model/attempt_watch.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {

using kernel::armed;
using kernel::EventKey;

auto AttemptWatch::link() {
  return
      [this](std::uint32_t a) -> kernel::LaneLink& { return state_.attempts[AttemptId(a)].limit; };
}

void AttemptWatch::add_sources() {
  limits_.resize(state_.instances.services());
  for (const ServiceId i : Ids<ServiceId>(limits_.size())) {
    if (state_.scenario.services[i].timeout == Duration::max()) continue;
    limits_[i].source =
        state_.add_source(EventKind::kServiceTimeout, i, kernel::SourceRole::kTimeout);
  }
}

void AttemptWatch::enter(AttemptId id, Attempt& a) {
  a.watched = true;
  const Duration timeout = state_.scenario.services[a.service].timeout;
  if (timeout == Duration::max()) return;
  Limit& limit = limits_[a.service];
  const EventKey key = state_.key_in(timeout);
  limit.lane.push_back(id, key, link());
  state_.queue.offer(limit.source, key);
}

void AttemptWatch::end(AttemptId id, Attempt& a) {
  a.watched = false;
  Limit& limit = limits_[a.service];
  if (limit.source != kNone) limit.lane.erase(id, link());
  state_.instances[a.instance].leave(id, state_.now);
}

void AttemptWatch::time_out(ServiceId service) {
  const AttemptId id(limits_[service].lane.front());
  state_.note_event(EventKind::kServiceTimeout, id);
  Attempt& a = state_.attempts[id];
  Service& s = state_.instances[a.instance];
  leave(id, a);
  if (a.stage == Attempt::Stage::kQueued) {
    s.remove_from_queue(id, state_.now);
  } else {
    if (a.stage == Attempt::Stage::kCalling) parts_.serving.cancel_wait(id);
    s.abort(id, state_.now);
    if (a.given_up()) parts_.serving.wasted_work(a);
    parts_.serving.serve_queue(s);
  }
  parts_.serving.changed(a.instance, s);
  if (a.given_up()) {
    state_.recorder.dropped(a.group, a.in_cohort);
    return parts_.delivery.release(id, a);
  }
  state_.recorder.error_answered(service);
  parts_.transport.answer_with(id, a, s, state_.answers.of_service(service).timeout);
}

EventKey AttemptWatch::next_timeout(ServiceId service) const {
  const kernel::TimerLane& lane = limits_[service].lane;
  return lane.empty() ? EventKey::never()
                      : armed(state_.attempts[AttemptId(lane.front())].limit.key());
}

}  // namespace retrysim::model
