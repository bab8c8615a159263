// SPDX-License-Identifier: MIT
#include "model/client/workload.hpp"

#include "model/run/request.hpp"
#include "model/run/state.hpp"

#include <algorithm>

namespace retrysim::model {

void ClosedLoop::prepare() {
  const kernel::Claim claim;
  for (const ClientGroup& g : groups_) clients_.emplace_back().take_memory(*g.spec, claim);
}

void ClosedLoop::start() {
  for (const std::size_t at : name_order(state_.scenario.clients)) {
    const GroupId i(at);
    ClientGroup& g = groups_[i];
    if (!g.closed) continue;
    for (const ClientId client : Ids<ClientId>(g.spec->count)) {
      for (std::uint32_t k = 0; k < g.spec->arrivals.concurrency; ++k) {
        think(g, client, Time::zero());
        state_.count_work();
      }
    }
  }
}

void ClosedLoop::think(ClientGroup& g, ClientId client, Time last_submitted) {
  OfGroup& own = clients_[g.index];
  const ArrivalSpec& loop = g.spec->arrivals;
  const std::uint32_t number = own.thinks.empty() ? own.ordinals[client] : own.thinks[client]++;
  Duration time =
      loop.think_time.sample(*g.key, {client_entity(client, number), 0, 0, Purpose::kThinkTime});
  if (!own.due.empty()) own.due[client] = last_submitted + time;
  if (loop.think_from_start) {
    time = std::max(Duration::zero(), time - (state_.now - last_submitted));
  }
  if (state_.now + time >= state_.end_of_submissions) return;
  state_.set_timer(EventKind::kThinkEnd, g.index, client, time);
}

void Jobs::begin(ClientGroup& g, ClientId client, std::uint64_t entity) {
  const bool in_cohort = g.recorder->jobs.begins();
  const std::uint32_t slots = g.polling->slots();
  const std::uint32_t job = g.polling->begin(client, entity, in_cohort, state_.now);
  slots_ += g.polling->slots() - slots;
  schedule_check(g, job);
}

void Jobs::schedule_check(ClientGroup& g, std::uint32_t job) {
  state_.set_timer(EventKind::kCheckDue, g.index, job, g.polling->next_pause(job));
}

void Jobs::check_ended(ClientGroup& g, RequestId request, Outcome outcome) {
  const std::uint32_t id = g.polling->job_of(request);
  const std::optional<JobEnd> end = g.polling->after_check(request, outcome);
  if (!end) return schedule_check(g, id);
  const Job& j = g.polling->job(id);
  g.recorder->jobs.ended({.in_cohort = j.in_cohort,
                          .end = *end,
                          .checks = j.checks,
                          .done = j.done,
                          .now = state_.now});
  g.polling->end(id);
}

bool Jobs::are_open() const {
  for (const ClientGroup& g : groups_) {
    if (g.polling && g.polling->live() > 0) return true;
  }
  return false;
}

std::uint64_t Jobs::bytes() const { return state_.checks.bytes() + slots_ * sizeof(Job); }

void Jobs::close() {
  for (ClientGroup& g : groups_) {
    if (!g.polling) continue;
    for (std::uint32_t id = 0; id < g.polling->slots(); ++id) {
      if (id % 8 == 0) state_.count_work();
      const Job& j = g.polling->job(id);
      if (!j.open) continue;
      g.recorder->jobs.ended({.in_cohort = j.in_cohort,
                              .end = JobEnd::kUnfinished,
                              .checks = j.checks,
                              .done = j.done,
                              .now = state_.now});
    }
  }
}

}  // namespace retrysim::model
