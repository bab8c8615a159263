// SPDX-License-Identifier: MIT
#include "model/service_events.hpp"

#include "model/name_order.hpp"
#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {

ServiceEvents::ServiceEvents(RunState& state, Parts& parts)
    : state_(state),
      parts_(parts),
      faults_(state.scenario, [&](const ErrorAnswer& e) { return state.answers.number(e); }),
      ranks_(state.scenario.services.size()) {
  state.sequence = faults_.size();  // the faults are scheduled first
  std::size_t rank = 0;
  for (const std::size_t i : name_order(state.scenario.services)) ranks_[ServiceId(i)] = rank++;
}

void ServiceEvents::add_sources() {
  scaling_sources_.assign(state_.services.size(), kNone);
  for (const ServiceId i : Ids<ServiceId>(state_.services.size())) {
    if (state_.services[i].autoscaler() == nullptr) continue;
    scaling_sources_[i] = state_.add_source(EventKind::kScaling, i);
  }
  if (faults_.size() > 0) fault_source_ = state_.add_source(EventKind::kFault);
}

void ServiceEvents::start() {
  for (const std::size_t at : name_order(state_.scenario.services)) {
    const ServiceId i(at);
    if (scaling_sources_[i] == kNone) continue;
    Service& s = state_.services[i];
    parts_.serving.changed(i, s);
    state_.queue.offer(scaling_sources_[i], {s.autoscaler()->next(), state_.sequence++});
  }
  if (fault_source_ != kNone) state_.queue.offer(fault_source_, {faults_.next(), faults_begun_});
}

Impairment ServiceEvents::impairment(ServiceId service) const {
  return faults_.at(service, state_.now);
}

void ServiceEvents::change_faults() {
  const FaultTimeline::Change change = faults_.pop();
  const ServiceId service(change.service);
  state_.note_event(EventKind::kFault, ranks_[service]);
  if (change.cold_restart) restart(service);
  Service& s = state_.services[service];
  s.impair(impairment(service), state_.now);
  parts_.serving.serve_queue(s);
  parts_.serving.changed(service, s);
  state_.queue.set(fault_source_, {faults_.next(), ++faults_begun_});
}

// The process dies and comes back empty: the connections of those that waited for it break.
void ServiceEvents::restart(ServiceId service) {
  Service& s = state_.services[service];
  std::vector<AttemptId> all;
  for (const std::uint32_t id : s.take_all(state_.now)) all.emplace_back(id);
  for (const AttemptId id : parts_.call_tree.calling_at(service)) {
    parts_.call_tree.cancel(id);
    s.abort(id, state_.now);
    all.push_back(id);
  }
  for (const AttemptId id : all) {
    Attempt& a = state_.attempts[id];
    parts_.watch.leave(id, a);
    if (a.given_up()) {
      if (a.stage != Attempt::Stage::kQueued) parts_.serving.wasted_work(a);
      state_.recorder.dropped(a.group, a.in_cohort);
      parts_.delivery.release(id, a);
    } else {
      state_.recorder.error_answered(service);
      parts_.transport.answer_with(id, a, s, Answers::kConnectionRefused);
    }
  }
  s.forget();
}

void ServiceEvents::scale(ServiceId service) {
  Service& s = state_.services[service];
  Autoscaler& scaler = *s.autoscaler();
  state_.note_event(EventKind::kScaling, ranks_[service]);
  scaler.observe(s.busy(), s.working_servers(), state_.now);
  scaler.step(state_.now);
  s.rescale(state_.now);
  parts_.serving.serve_queue(s);
  parts_.serving.changed(service, s);
  state_.queue.set(scaling_sources_[service], {scaler.next(), state_.sequence++});
}

}  // namespace retrysim::model
