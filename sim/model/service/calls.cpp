// SPDX-License-Identifier: MIT
#include "model/service/calls.hpp"

#include "model/run/parts.hpp"
#include "model/run/state.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace retrysim::model {

void CallTree::link_services() {
  const std::vector<ClientSpec>& clients = state_.scenario.clients;
  const std::vector<ServiceSpec>& services = state_.scenario.services;
  callees_.resize(services.size());
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const ClientSpec& spec = clients[i];
    if (!spec.caller) continue;
    const ServiceId caller(*spec.caller);
    if (spec.count != services[caller].instances.count) {
      throw std::invalid_argument("a service calls another as one client for each instance");
    }
    callees_[caller].push_back(GroupId(i));
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
  // Services that call nobody, or only such services, and so on: all must be among them.
  std::vector<bool> ends(services.size(), false);
  for (std::size_t round = 0; round < services.size(); ++round) {
    for (const ServiceId i : Ids<ServiceId>(services.size())) {
      ends[i] = std::ranges::all_of(callees_[i],
                                    [&](GroupId group) { return ends[clients[group].service]; });
    }
  }
  if (std::ranges::find(ends, false) != ends.end()) {
    throw std::invalid_argument("services call each other in a circle");
  }
}

bool CallTree::begin(Service& s) {
  const AttemptId id(s.servers().next_to_complete());
  Attempt& a = state_.attempts[id];
  if (a.is(Attempt::kRejection | Attempt::kReplay)) return false;
  if (!s.traits().always_succeeds && s.reply(a).answer != 0) return false;
  s.in_service.hold(state_.now);
  state_.note_event(EventKind::kCompletion, id);
  parts_.serving.changed(s);
  calls_.reach(id);
  Calls& calls = calls_[id];
  calls = {calls.serial + 1, 0, 0, true, false};
  make_calls(id);
  return true;
}

// The next call, or all of them.
void CallTree::make_calls(AttemptId attempt) {
  const Attempt& a = state_.attempts[attempt];
  const std::vector<GroupId>& callees = callees_[a.at->place.service];
  Calls& calls = calls_[attempt];
  const std::uint16_t first = calls.next;
  calls.open = 1;
  if (state_.scenario.services[a.at->place.service].parallel_calls) {
    calls.open = static_cast<std::uint16_t>(callees.size());
  }
  const std::uint16_t end = calls.next = static_cast<std::uint16_t>(first + calls.open);
  // The same attempt makes the same calls whatever else happens.
  Draws name(*a.clients->key, {a.entity, a.number, 0, Purpose::kCall});
  const std::uint64_t entity = name.next();
  const ClientId client(state_.instances.number_of(a.at->place.instance));
  for (std::uint16_t i = first; i < end; ++i) {
    parts_.client_requests.submit(state_.groups[callees[i]], client, entity, attempt);
  }
}

bool CallTree::enter(const Request& r, AttemptId caller) {
  callers_.reach(r.id);
  callers_[r.id] = {caller, calls_[caller].serial};
  const bool in_cohort = state_.attempts[caller].in_cohort;
  state_.recorder.client(r.group).called(in_cohort);
  return in_cohort;
}

void CallTree::call_ended(RequestId request, bool succeeded) {
  const CallId id = callers_[request];
  Calls& calls = calls_[id.attempt];
  if (!calls.active || calls.serial != id.serial) return;  // nobody waits for it any more
  calls.failed |= !succeeded;
  if (--calls.open == 0) parts_.settlement.calls_over(id);
}

void CallTree::go_on(CallId id) {
  const Calls& calls = calls_[id.attempt];
  if (!calls.active || calls.serial != id.serial) return;
  if (!calls.failed &&
      calls.next < callees_[state_.attempts[id.attempt].at->place.service].size()) {
    make_calls(id.attempt);
  } else {
    end(id.attempt);
  }
}

void CallTree::end(AttemptId attempt) {
  Attempt& a = state_.attempts[attempt];
  Service& s = *a.at;
  calls_[attempt].active = false;
  s.in_service.release(a, state_.now);
  parts_.watch.leave(a);
  Reply reply;
  if (calls_[attempt].failed) {
    s.place.recorder->error_answered();
    reply.answer = state_.answers.of_service(a.at->place.service).call_failed;
  }
  parts_.serving.served(a, reply);
}

std::vector<AttemptId> CallTree::calling_at(const Service& s) const {
  std::vector<AttemptId> all;
  for (const AttemptId id : Ids<AttemptId>(calls_.size())) {
    if (calls_[id].active && state_.attempts[id].at == &s) all.push_back(id);
  }
  return all;
}

}  // namespace retrysim::model
