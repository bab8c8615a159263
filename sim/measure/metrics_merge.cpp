// The client groups of one replication as if they were one group.
//
// SPDX-License-Identifier: MIT
#include "measure/metrics_merge.hpp"

#include "measure/result_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace retrysim::stats {
namespace {

/// A quota of the scope "client" is one bucket per client, else one for the group.
double buckets(const ClientSpec& client) {
  return client.retry.quota.scope == RetryScope::kGroup ? 1 : client.count;
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
      add_fields(all[i], group.by_attempt[i]);
      if (!only_group) all[i].peak_sends_100ms = 0;
    }
  }
  return all;
}

ClientResult merge_groups(const Scenario& scenario, const RunResult& run) {
  ClientResult all;
  std::vector<double> quota_levels;
  double bucket_count = 0;
  for (std::size_t g = 0; g < run.clients.size(); ++g) {
    if (scenario.clients[g].caller) continue;  // what goes on behind a service is its own affair
    const ClientResult& group = run.clients[g];
    add_fields(all, group);
    if (group.has_quota) {
      const double n = buckets(scenario.clients[g]);
      quota_levels.push_back(n * group.quota_mean);
      bucket_count += n;
    }
  }
  all.by_attempt = merge_by_attempt(scenario, run);
  all.has_quota = bucket_count > 0;
  all.quota_mean = all.has_quota ? sum_in_any_order(quota_levels) / bucket_count : 0;
  return all;
}

double sum_in_any_order(std::vector<double> terms) {
  std::ranges::sort(terms);
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

}  // namespace retrysim::stats
