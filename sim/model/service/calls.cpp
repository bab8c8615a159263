// SPDX-License-Identifier: MIT
#include "model/service/calls.hpp"

#include "model/run/state.hpp"
#include "model/service/instance.hpp"
#include "scenario/derived/derived.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace retrysim::model {

void Calls::link_services() {
  const std::vector<ClientSpec>& clients = state_.scenario.clients;
  const std::vector<ServiceSpec>& services = state_.scenario.services;
  const scenario::CallGraph checked(state_.scenario);
  callees_.resize(services.size());
  for (const CallSpec& call : state_.scenario.calls) {
    const ServiceId caller(call.caller);
    if (clients[call.client].count != services[caller].instances.count) {
      throw std::invalid_argument("a service calls another as one client for each instance");
    }
    callees_[caller].push_back(GroupId(call.client));
    for (const InstanceId instance : state_.instances.of(caller)) {
      state_.instances[instance].call_others();
    }
  }
  // Calls that are made together have no order of their own.
  for (const ServiceId i : Ids<ServiceId>(services.size())) {
    if (!services[i].parallel_calls) continue;
    std::ranges::stable_sort(
        callees_[i], {}, [&](GroupId group) -> const std::string& { return clients[group].name; });
  }
  if (!scenario::circle_of_calls(state_.scenario).empty()) {
    throw std::invalid_argument("services call each other in a circle");
  }
}

const std::vector<GroupId>& Calls::callees_of(const Attempt& a) const {
  return callees_[a.at->place.service];
}

void Calls::begin(AttemptId attempt) {
  progress_.reach(attempt);
  Progress& p = progress_[attempt];
  p = {state_.sequence++, p.serial + 1, 0, 0, true, false};
}

Calls::Round Calls::next(const Attempt& a) {
  const std::vector<GroupId>& callees = callees_of(a);
  Progress& p = progress_[a.id];
  const bool together = state_.scenario.services[a.at->place.service].parallel_calls;
  p.open = together ? static_cast<std::uint16_t>(callees.size()) : std::uint16_t{1};
  const Round round{{a.id, p.serial}, std::span(callees).subspan(p.next, p.open)};
  p.next = static_cast<std::uint16_t>(p.next + p.open);
  return round;
}

bool Calls::has_more(const Attempt& a) const {
  const Progress& p = progress_[a.id];
  return !p.failed && p.next < callees_of(a).size();
}

bool Calls::ended(CallId id, bool succeeded) {
  if (!is_waiting(id)) return false;  // nobody waits for it any more
  Progress& p = progress_[id.attempt];
  p.failed |= !succeeded;
  return --p.open == 0;
}

bool Calls::end(AttemptId attempt) {
  progress_[attempt].active = false;
  return progress_[attempt].failed;
}

std::vector<HeldAttempt> Calls::waiting() const {
  std::vector<HeldAttempt> all;
  for (const AttemptId id : Ids<AttemptId>(progress_.size())) {
    if (progress_[id].active) all.push_back({progress_[id].since, id});
  }
  return all;
}

}  // namespace retrysim::model
