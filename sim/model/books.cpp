// SPDX-License-Identifier: MIT
#include "model/books.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

#include <vector>

namespace retrysim::model {

void Books::close() {
  parts_.jobs.close();
  open_attempts_.assign(state_.groups.size(), 0);
  for (const RequestId id : Ids<RequestId>(state_.requests.slots())) {
    const Request& r = state_.requests[id];
    if (!r.open || !r.in_cohort) continue;
    for (AttemptId a = r.attempt; a.exists(); a = state_.attempts[a].sibling) {
      ++open_attempts_[r.group];
    }
  }
  parts_.client_requests.close();
  parts_.mutations.close();
  for (const ServiceId i : Ids<ServiceId>(state_.instances.services())) close_service(i);
}

// Work that nobody waits for goes on to the end of the window.
void Books::close_service(ServiceId service) {
  state_.recorder.service(service).wasting_servers(0, state_.now);
  for (const InstanceId i : state_.instances.of(service)) close_instance(service, i);
}

void Books::close_instance(ServiceId service, InstanceId instance) {
  const Service& s = state_.instances[instance];
  if (s.servers().waste_is_a_level()) return;
  std::vector<AttemptId> at_work;
  s.servers().for_each([&](std::uint32_t id) { at_work.emplace_back(id); });
  for (const AttemptId id : parts_.serving.waiting_at(s)) at_work.push_back(id);
  for (const AttemptId id : at_work) {
    const Attempt& a = state_.attempts[id];
    if (!a.given_up()) continue;
    state_.recorder.service(service).add_wasted_work(s.servers().wasted_since(a),
                                                     state_.end_of_submissions);
  }
}

// Attempts that are still there when the run is over stay until the last bin ends.
Service::TimeSpent Books::time_spent(InstanceId instance, Time end) const {
  const Service& s = state_.instances[instance];
  Service::TimeSpent spent = s.time_spent();
  const auto is_served = [&](const Attempt& a) { spent.in_system += (end - a.started).count(); };
  s.servers().for_each([&](std::uint32_t id) { is_served(state_.attempts[AttemptId(id)]); });
  for (const AttemptId id : parts_.serving.waiting_at(s)) is_served(state_.attempts[id]);
  s.queue().for_each([&](const Attempt& a) {
    spent.queued += (end - a.arrived).count();
    spent.in_system += (end - a.arrived).count();
  });
  return spent;
}

}  // namespace retrysim::model
