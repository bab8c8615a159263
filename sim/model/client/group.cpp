// SPDX-License-Identifier: MIT
#include "model/client/group.hpp"

#include "model/client/gates.hpp"
#include "model/run/request.hpp"

#include <algorithm>
#include <stdexcept>

namespace retrysim::model {
namespace {

void require_same_rules(const ClientSpec& a, const ClientSpec& b) {
  if (different_state_rules(a.retry, b.retry).empty()) return;
  throw std::invalid_argument("clients " + a.name + " and " + b.name +
                              " share a retryer, but its rules are not the same for both");
}

}  // namespace

void ClientGroup::set_up(RunState& state, ByGroup<ClientGroup>& groups, GroupId group,
                         const OperationNames& operations) {
  spec = &state.scenario.clients[group];
  key = &state.streams.of_group(group);
  subject_key = &state.streams.of_requests(group);
  index = group;
  recorder = &state.recorder.client(group);
  taken_over = &state.taken_over_by_request;
  about = Addressing(*spec, operations);
  calls_several = about.calls_several();
  const RetryRules& rules = spec->retry;
  for (const Response& a : state.answers.all()) {
    errors.push_back(classify(rules.errors, rules.api, a));
  }
  note_final_errors(state);
  asks_what_repeats = spec->unrepeatable > 0 || !final_errors_.empty();
  share_states(state, groups);
  mutates = spec->side_effects.mutating > 0;
  counts_connections = Connections::are_simulated(state.scenario, *spec);
  has_bulkhead = spec->bulkhead.in_use();
  pools_connections = counts_connections || has_bulkhead;
  may_not_send = pools_connections || spec->send_rate.in_use();
  hedges = !spec->strategy && rules.hedging.enabled;
  const bool inside = spec->breaker.order == BreakerOrder::kRetryOutside;
  breaker_of_attempts = spec->breaker.in_use() && inside;
  breaker_of_requests = spec->breaker.in_use() && !inside;
  gated = states->limit_send_rate() || states->throttle() || may_not_send || hedges ||
          breaker_of_attempts;
  counts_requests = !spec->strategy && retrysim::counts_requests(rules);
  for (const ServiceShare& called : service_shares(*spec)) {
    balanced |= state.scenario.services[called.service].instances.count > 1;
  }
  if (balanced && !spec->strategy) avoid_hosts = rules.avoid_hosts;
  is_routed = balanced || calls_several;
  host_is_named = breaker_of_attempts && spec->breaker.scope == BreakerScope::kHost;
  const auto minds_retries = [](const ClientSpec& c) {
    return c.retry_only_at == RetryOnlyAt::kFirstAttempt;
  };
  const bool passes_mark_on =
      spec->makes_calls() && std::ranges::any_of(state.scenario.clients, minds_retries);
  extras_at_send = hedges || may_not_send || mutates || takes_over != nullptr || passes_mark_on ||
                   breaker_of_attempts || spec->retry_priority.has_value();
  ends_connections = pools_connections || balanced || breaker_of_attempts;
  remembers = !states->empty();
  books_successes = spec->strategy || remembers;
  has_only_quotas = !spec->strategy && states->only_quotas();
  const TimeoutSpec& timeouts = spec->timeouts;
  const bool has_deadline = timeouts.deadline != Duration::max() || timeouts.deadline_of_caller;
  extras_at_decision = spec->strategy || spec->retry_only_at != RetryOnlyAt::kAnywhere ||
                       has_breaker() || asks_what_repeats;
  const bool polls = spec->arrivals.process == ArrivalProcess::kPoll;
  extras_at_begin = counts_requests || spec->strategy || mutates || has_deadline || polls ||
                    may_not_send || has_breaker() || gated;
  reports_ends = spec->makes_calls() || polls;
  extras_at_end =
      has_deadline || has_due_times(*spec) || counts_requests || hedges || mutates || has_breaker();
  new_request.group = new_attempt.group = index;
  new_request.send_tokens = states->limit_send_rate() ? 1 : 0;
  new_attempt.clients = this;
  new_attempt.at = &state.instances[state.instances.first(ServiceId(spec->service))];
  new_attempt.priority = spec->priority & kMaxPriority;
  closed = spec->arrivals.process == ArrivalProcess::kClosed;
  if (closed || spec->makes_calls()) return;
  arrivals.emplace(*spec, *key, &state.sequence, state.end_of_submissions,
                   state.options.max_events);
  if (polls) polling.emplace(spec->arrivals, *key, &state.checks);
}

void ClientGroup::branch(Time now) {
  if (arrivals) arrivals->branch(*key, now);
  if (polling) polling->branch(*key);
}

void ClientGroup::note_final_errors(const RunState& state) {
  const auto has_some = [](const OperationSpec& o) { return !o.not_retried_on.empty(); };
  if (std::ranges::none_of(spec->operations, has_some)) return;
  ErrorRules table = spec->retry.errors;
  table.on = table.not_on = {};
  for (const OperationSpec& operation : spec->operations) {
    FinalErrors& own = final_errors_.emplace_back();
    for (const Response& a : state.answers.all()) {
      const ResponseClass by_table = classify(table, spec->retry.api, a).response_class;
      own.answers.push_back(
          std::ranges::any_of(operation.not_retried_on,
                              [&](const ErrorPattern& p) { return matches(p, a, by_table); }));
    }
    own.all = std::ranges::any_of(operation.not_retried_on, [](const ErrorPattern& p) {
      return p.of == ErrorPattern::Of::kAny;
    });
  }
}

bool ClientGroup::has_repeatable_body(const Request& r) const {
  if (spec->unrepeatable <= 0) return true;
  Draws draws(*subject_key, {r.entity, 0, 0, Purpose::kBody});
  return draws.uniform() >= spec->unrepeatable;
}

bool ClientGroup::can_repeat_after(const Request& r, std::uint16_t answer) const {
  if (!has_repeatable_body(r)) return false;
  return final_errors_.empty() ||
         !final_errors_[about.own_operation(*subject_key, r.entity)].answers[answer];
}

bool ClientGroup::can_be_hedged(const Request& r) const {
  if (!has_repeatable_body(r)) return false;
  return final_errors_.empty() || !final_errors_[about.own_operation(*subject_key, r.entity)].all;
}

// The first group, by name, of those that name the same retryer holds the states of all.
void ClientGroup::share_states(const RunState& state, ByGroup<ClientGroup>& groups) {
  const std::vector<ClientSpec>& clients = state.scenario.clients;
  states = &own_states;
  holder = index;
  if (spec->strategy) return;
  const RetryRules& rules = spec->retry;
  std::uint32_t count = spec->count;
  if (!spec->retryer.empty()) {
    for (const std::size_t i : name_order(clients)) {
      if (clients[i].retryer != spec->retryer || clients[i].strategy) continue;
      require_same_rules(clients[i], *spec);
      sharers.emplace_back(i);
      count = std::max(count, clients[i].count);
    }
    holder = sharers.front();
    if (sharers.size() == 1) sharers.clear();
  }
  if (holder == index) {
    const bool apart =
        rules.quota.scope > RetryScope::kGroup || rules.rate_limit.scope > RetryScope::kGroup;
    const StateCounts counts = apart ? state_counts(state.scenario) : StateCounts{};
    own_states = RetryStates(rules, count, Time::zero(), counts);
  }
  states = &groups[holder].own_states;
  keeps_states_apart = states->keep_apart();
}

}  // namespace retrysim::model
