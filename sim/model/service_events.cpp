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
  scaling_sources_.assign(state_.instances.services(), kNone);
  for (const ServiceId i : Ids<ServiceId>(scaling_sources_.size())) {
    if (state_.instances[state_.instances.first(i)].autoscaler() == nullptr) continue;
    scaling_sources_[i] = state_.add_source(EventKind::kScaling, i);
  }
  if (faults_.size() > 0) fault_source_ = state_.add_source(EventKind::kFault);
}

void ServiceEvents::start() {
  for (const std::size_t at : name_order(state_.scenario.services)) {
    const ServiceId i(at);
    if (scaling_sources_[i] == kNone) continue;
    Service& s = state_.instances[state_.instances.first(i)];
    parts_.serving.changed(s);
    state_.queue.offer(scaling_sources_[i], {s.autoscaler()->next(), state_.sequence++});
  }
  if (fault_source_ != kNone) state_.queue.offer(fault_source_, {faults_.next(), faults_begun_});
}

Impairment ServiceEvents::impairment(InstanceId instance) const {
  const Instances& all = state_.instances;
  return faults_.at(all.service_of(instance), all.number_of(instance), state_.now);
}

void ServiceEvents::change_faults() {
  const FaultTimeline::Change change = faults_.pop();
  const ServiceId service(change.service);
  state_.note_event(EventKind::kFault, ranks_[service]);
  for (const InstanceId instance : state_.instances.of(service)) {
    if (change.concerns(state_.instances.number_of(instance))) change_instance(instance, change);
  }
  state_.queue.set(fault_source_, {faults_.next(), ++faults_begun_});
}

void ServiceEvents::change_instance(InstanceId instance, const FaultTimeline::Change& change) {
  const bool whole = change.fault == nullptr || change.fault->instance == FaultSpec::kAllInstances;
  if (change.cold_restart) restart(instance, whole);
  Service& s = state_.instances[instance];
  s.impair(impairment(instance), state_.now);
  parts_.serving.serve_queue(s);
  parts_.serving.changed(s);
}

// The process dies and comes back empty: the connections of those that waited for it break, first
// of those it works on, in the order in which they would have been done, then of those in the
// queue, and then of those for which a server is held.
void ServiceEvents::restart(InstanceId instance, bool throttle_too) {
  Service& s = state_.instances[instance];
  std::vector<AttemptId> all;
  for (const std::uint32_t id : s.take_all(state_.now)) all.emplace_back(id);
  for (const AttemptId id : parts_.serving.waiting_at(s)) {
    parts_.serving.cancel_wait(id);
    s.in_service.abort(state_.attempts[id], state_.now);
    all.push_back(id);
  }
  for (const AttemptId id : all) {
    Attempt& a = state_.attempts[id];
    parts_.watch.leave(a);
    if (a.given_up()) {
      if (a.stage != Attempt::Stage::kQueued) parts_.serving.wasted_work(a);
      a.clients->recorder->passage.dropped(a.in_cohort);
      parts_.delivery.release(a);
    } else {
      s.place.recorder->error_answered();
      parts_.transport.answer_with(a, Answers::kConnectionRefused);
    }
  }
  s.forget(throttle_too);
}

void ServiceEvents::scale(ServiceId service) {
  Service& s = state_.instances[state_.instances.first(service)];
  Autoscaler& scaler = *s.autoscaler();
  state_.note_event(EventKind::kScaling, ranks_[service]);
  scaler.observe(s.servers().busy(), s.power().working_servers(), state_.now);
  scaler.step(state_.now);
  s.rescale(state_.now);
  parts_.serving.serve_queue(s);
  parts_.serving.changed(s);
  state_.queue.set(scaling_sources_[service], {scaler.next(), state_.sequence++});
}

}  // namespace retrysim::model
