// SPDX-License-Identifier: MIT
#include "model/attempt_watch.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {

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
