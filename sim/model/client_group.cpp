// SPDX-License-Identifier: MIT
#include "model/client_group.hpp"

#include "model/connections.hpp"
#include "model/state.hpp"

namespace retrysim::model {

void ClientGroup::set_up(RunState& state, GroupId group) {
  spec = &state.scenario.clients[group];
  index = group;
  service = ServiceId(spec->service);
  const RetryRules& rules = spec->retry;
  for (const Response& a : state.answers.all()) {
    errors.push_back(classify(rules.errors, rules.api, a));
  }
  if (!spec->strategy) states = RetryStates(rules, spec->count, Time::zero());
  mutates = spec->mutating > 0;
  pools_connections = Connections::are_simulated(state.scenario, *spec);
  const bool hedging = !spec->strategy && rules.hedging.enabled;
  gated = states.limit_send_rate() || states.throttle() || pools_connections || hedging;
  counts_requests = !spec->strategy && (rules.budget.kind != BudgetKind::kNone ||
                                        rules.quota.credit_on == CreditOn::kStart);
  hedges = rules.hedging.enabled;
  balanced = state.scenario.services[service].instances > 1;
  sends_in_steps = hedges || balanced;
  ends_connections = pools_connections || balanced;
  books_successes = spec->strategy || !states.empty();
  begins_in_steps = counts_requests || spec->strategy;
  ends_in_steps = spec->deadline != Duration::max() || has_due_times(*spec) || counts_requests ||
                  hedges || mutates;
  new_request.group = new_attempt.group = index;
  new_request.open = true;
  new_request.send_tokens = states.limit_send_rate() ? 1 : 0;
  new_attempt.service = service;
  new_attempt.instance = state.instances.first(service);
  new_attempt.priority = spec->priority & kMostPriority;
  closed = !spec->caller && spec->arrivals.process == ArrivalProcess::kClosed;
  if (closed || spec->caller) return;
  const RandomKey& key = state.streams.of_group(group);
  arrivals.emplace(*spec, key, &state.sequence, state.end_of_submissions, state.options.max_events);
  if (spec->arrivals.process == ArrivalProcess::kPoll) polling.emplace(spec->arrivals, key);
}

}  // namespace retrysim::model
