// SPDX-License-Identifier: MIT
#include "model/books.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

#include <algorithm>

namespace retrysim::model {

void Books::close() {
  parts_.jobs.close();
  open_attempts_.assign(state_.groups.size(), 0);
  for (std::uint32_t id = 0; id < state_.requests.slots(); ++id) {
    const Request& r = state_.requests[id];
    if (!r.open || !r.in_cohort) continue;
    for (std::uint32_t a = r.attempt; a != kNone; a = state_.attempts[a].sibling) {
      ++open_attempts_[r.group];
    }
  }
  parts_.client_requests.close();
  parts_.mutations.close();
  for (std::size_t i = 0; i < state_.services.size(); ++i) close_service(i);
}

// Work that nobody waits for goes on to the end of the window.
void Books::close_service(std::size_t service) {
  const Service& s = state_.services[service];
  state_.recorder.busy_in_vain(service, 0, state_.now);
  if (s.shares_processor()) return;
  const auto work_goes_on = [&](std::uint32_t id) {
    const Attempt& a = state_.attempts[id];
    if (!a.given_up()) return;
    state_.recorder.worked_in_vain(service, std::max(a.started, a.gave_up),
                                   state_.end_of_submissions);
  };
  s.for_each_in_service(work_goes_on);
  for (const std::uint32_t id : parts_.call_tree.calling_at(service)) work_goes_on(id);
}

// Attempts that are still there when the run is over stay until the last bin ends.
Service::TimeSpent Books::time_spent(std::size_t service, Time end) const {
  const Service& s = state_.services[service];
  Service::TimeSpent spent = s.time_spent();
  const auto stays = [&](std::uint32_t id) {
    spent.in_system += (end - state_.attempts[id].arrived).count();
  };
  s.for_each_in_service(stays);
  for (const std::uint32_t id : parts_.call_tree.calling_at(service)) stays(id);
  s.for_each_queued([&](std::uint32_t id) {
    stays(id);
    spent.queued += (end - state_.attempts[id].arrived).count();
  });
  return spent;
}

}  // namespace retrysim::model
