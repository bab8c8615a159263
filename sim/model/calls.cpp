// Services that call other services: what happens between the end of an attempt's own service time
// and its answer. Each call is a request of a client group that belongs to the calling service, so
// that it is retried, timed and counted as any other request is.
//
// SPDX-License-Identifier: MIT
#include "model/world.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace retrysim::model {

void World::link_services() {
  callees_.resize(services_.size());
  for (std::size_t i = 0; i < scenario_.clients.size(); ++i) {
    const ClientSpec& spec = scenario_.clients[i];
    if (!spec.caller) continue;
    if (spec.count != 1) throw std::invalid_argument("a service calls another as one client");
    callees_[*spec.caller].push_back(static_cast<std::uint16_t>(i));
    services_[*spec.caller].call_others();
  }
  // Calls that are made together have no order of their own.
  for (std::size_t i = 0; i < services_.size(); ++i) {
    if (!services_[i].spec().parallel_calls) continue;
    std::ranges::stable_sort(callees_[i], {}, [&](std::uint16_t group) -> const std::string& {
      return scenario_.clients[group].name;
    });
  }
  // Services that call nobody, or only such services, and so on: all must be among them.
  std::vector<bool> ends(services_.size(), false);
  for (std::size_t round = 0; round < services_.size(); ++round) {
    for (std::size_t i = 0; i < services_.size(); ++i) {
      ends[i] = std::all_of(callees_[i].begin(), callees_[i].end(), [&](std::uint16_t group) {
        return ends[scenario_.clients[group].service];
      });
    }
  }
  if (std::find(ends.begin(), ends.end(), false) != ends.end()) {
    throw std::invalid_argument("services call each other in a circle");
  }
}

// The own work on the attempt that completes next is done. False if that ends it: it has failed, or
// was not to be executed.
bool World::begin_calls(std::size_t service) {
  Service& s = services_[service];
  const std::uint32_t id = s.next_to_complete();
  Attempt& a = attempts_[id];
  if (a.rejection || a.replay) return false;
  if (!s.always_succeeds() && s.reply(a).answer != 0) return false;
  s.hold(now_);
  note_event(EventKind::kCompletion, id);
  service_changed(service);
  if (id >= calls_.size()) calls_.resize(2 * std::size_t{id} + 64);
  Calls& calls = calls_[id];
  calls = {calls.serial + 1, 0, 0, true, false};
  make_calls(id);
  return true;
}

// The next call, or all of them.
void World::make_calls(std::uint32_t attempt) {
  const Attempt& a = attempts_[attempt];
  const std::vector<std::uint16_t>& callees = callees_[a.service];
  Calls& calls = calls_[attempt];
  const std::uint16_t first = calls.next;
  calls.open = 1;
  if (services_[a.service].spec().parallel_calls) {
    calls.open = static_cast<std::uint16_t>(callees.size());
  }
  const std::uint16_t end = calls.next = static_cast<std::uint16_t>(first + calls.open);
  // The same attempt makes the same calls whatever else happens.
  Draws name(streams_.of_group(a.group), {a.entity, a.number, 0, Purpose::kCall});
  const std::uint64_t entity = name.next();
  for (std::uint16_t i = first; i < end; ++i) submit(groups_[callees[i]], 0, entity, attempt);
}

// The request is the call of an attempt, and belongs to the cohort if that does.
bool World::enter_call(std::uint32_t request, std::uint32_t caller) {
  if (request >= callers_.size()) callers_.resize(2 * std::size_t{request} + 64);
  callers_[request] = {caller, calls_[caller].serial};
  const bool in_cohort = attempts_[caller].in_cohort;
  recorder_.called(requests_[request].group, in_cohort);
  return in_cohort;
}

void World::call_ended(std::uint32_t request, bool succeeded) {
  const CallId id = callers_[request];
  Calls& calls = calls_[id.attempt];
  if (!calls.active || calls.serial != id.serial) return;  // nobody waits for it any more
  calls.failed |= !succeeded;
  if (--calls.open > 0) return;
  calls_over_.push_back(id);
  unsettled_ = true;
}

// The attempt does not wait any more. Calls under way run on to their own end.
void World::cancel_calls(std::uint32_t attempt) { calls_[attempt].active = false; }

// After the event in which they ended: an answer may have come at once, in the midst of the call.
void World::go_on_after_calls() {
  for (std::size_t i = 0; i < calls_over_.size(); ++i) {
    count_step();
    const CallId id = calls_over_[i];
    const Calls& calls = calls_[id.attempt];
    if (!calls.active || calls.serial != id.serial) continue;
    if (!calls.failed && calls.next < callees_[attempts_[id.attempt].service].size()) {
      make_calls(id.attempt);
    } else {
      end_calls(id.attempt);
    }
  }
  calls_over_.clear();
}

void World::end_calls(std::uint32_t attempt) {
  const std::size_t service = attempts_[attempt].service;
  calls_[attempt].active = false;
  services_[service].release(attempt, now_);
  leave_service(attempt);
  Reply reply;
  if (calls_[attempt].failed) {
    recorder_.error_answered(service);
    reply.answer = service_answers_[service].call_failed;
  }
  served(service, attempt, attempts_[attempt], reply);
}

std::vector<std::uint32_t> World::calling_at(std::size_t service) const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t id = 0; id < calls_.size(); ++id) {
    if (calls_[id].active && attempts_[id].service == service) all.push_back(id);
  }
  return all;
}

}  // namespace retrysim::model
