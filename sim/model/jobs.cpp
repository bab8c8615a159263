// SPDX-License-Identifier: MIT
#include "model/jobs.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {

void Jobs::begin(ClientGroup& g, ClientId client, std::uint64_t entity) {
  const bool in_cohort = g.recorder->jobs.begins();
  schedule_check(g, g.polling->begin(client, entity, in_cohort, state_.now));
}

void Jobs::schedule_check(ClientGroup& g, std::uint32_t job) {
  state_.set_timer(EventKind::kCheckDue, g.index, job, g.polling->next_pause(job));
}

void Jobs::check_due(ClientGroup& g, std::uint32_t job) {
  const ClientId client = g.polling->job(job).client;
  parts_.client_requests.submit(g, client, g.polling->begin_check(job));
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
  for (const ClientGroup& g : state_.groups) {
    if (g.polling && g.polling->live() > 0) return true;
  }
  return false;
}

void Jobs::close() {
  for (ClientGroup& g : state_.groups) {
    if (!g.polling) continue;
    for (std::uint32_t id = 0; id < g.polling->slots(); ++id) {
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
