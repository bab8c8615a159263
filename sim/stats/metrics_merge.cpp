// The client groups of one replication as if they were one group.
//
// SPDX-License-Identifier: MIT
#include "stats/metrics_merge.hpp"

#include <algorithm>
#include <cstddef>

namespace retrysim::stats {
namespace {

template <typename Array>
void add_each(Array& into, const Array& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

void merge_counts(ClientResult& into, const ClientResult& from) {
  into.requests += from.requests;
  add_each(into.outcomes, from.outcomes);
  into.ended_within += from.ended_within;
  into.successes_within += from.successes_within;
  into.attempts += from.attempts;
  into.attempts_squared += from.attempts_squared;
  add_each(into.results, from.results);
  into.rejected += from.rejected;
  into.refused += from.refused;
  into.dropped += from.dropped;
  into.lost += from.lost;
  into.gave_up += from.gave_up;
  into.late += from.late;
  into.arrivals += from.arrivals;
  into.executed += from.executed;
  into.waited += from.waited;
  into.admitted += from.admitted;
  into.mutating += from.mutating;
  into.effects += from.effects;
  into.duplicated += from.duplicated;
  into.ambiguous += from.ambiguous;
  into.replays += from.replays;
  into.mismatches += from.mismatches;
  into.expired_replays += from.expired_replays;
  into.send_wait_ns += from.send_wait_ns;
  into.connection_wait_ns += from.connection_wait_ns;
  into.backoff_total_ns += from.backoff_total_ns;
  into.attempt_total_ns += from.attempt_total_ns;
  into.window.merge(from.window);
  into.jobs.merge(from.jobs);
}

void merge_latencies(ClientResult& into, const ClientResult& from) {
  into.latency.merge(from.latency);
  into.latency_ok.merge(from.latency_ok);
  into.latency_intended.merge(from.latency_intended);
  into.attempt_latency.merge(from.attempt_latency);
  into.service_latency.merge(from.service_latency);
  into.queueing_time.merge(from.queueing_time);
  into.latency_m.merge(from.latency_m);
  into.latency_ok_m.merge(from.latency_ok_m);
  into.latency_intended_m.merge(from.latency_intended_m);
  into.attempt_latency_m.merge(from.attempt_latency_m);
  into.service_latency_m.merge(from.service_latency_m);
  into.queueing_time_m.merge(from.queueing_time_m);
  into.backoff_time_m.merge(from.backoff_time_m);
}

/// A quota of the scope "client" is one bucket per client, else one for the group.
double buckets(const ClientSpec& client) {
  return client.retry.quota.scope == QuotaScope::kGroup ? 1 : client.count;
}

}  // namespace

std::vector<AttemptNumberCounts> merge_by_attempt(const Scenario& scenario, const RunResult& run) {
  std::vector<AttemptNumberCounts> all;
  const bool only_group = run.clients.size() == 1;
  for (std::size_t g = 0; g < run.clients.size(); ++g) {
    if (scenario.clients[g].caller) continue;
    const ClientResult& group = run.clients[g];
    if (all.size() < group.by_attempt.size()) all.resize(group.by_attempt.size());
    for (std::size_t i = 0; i < group.by_attempt.size(); ++i) {
      all[i].sent += group.by_attempt[i].sent;
      add_each(all[i].results, group.by_attempt[i].results);
      all[i].in_backoff_ns += group.by_attempt[i].in_backoff_ns;
      if (only_group) all[i].peak_sends_100ms = group.by_attempt[i].peak_sends_100ms;
    }
  }
  return all;
}

ClientResult merge_groups(const Scenario& scenario, const RunResult& run) {
  ClientResult all;
  double quota_sum = 0;
  double bucket_count = 0;
  for (std::size_t g = 0; g < run.clients.size(); ++g) {
    if (scenario.clients[g].caller) continue;  // what goes on behind a service is its own affair
    const ClientResult& group = run.clients[g];
    merge_counts(all, group);
    merge_latencies(all, group);
    if (group.has_quota) {
      const double n = buckets(scenario.clients[g]);
      quota_sum += n * group.quota_mean;
      bucket_count += n;
    }
  }
  all.by_attempt = merge_by_attempt(scenario, run);
  all.has_quota = bucket_count > 0;
  if (all.has_quota) all.quota_mean = quota_sum / bucket_count;
  return all;
}

}  // namespace retrysim::stats
