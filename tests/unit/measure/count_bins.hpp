// Count bins for runs whose time-series bins were filled in by hand: as wide as those.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/simulation.hpp>

#include <cstdint>
#include <vector>

namespace retrysim {

inline std::vector<RequestCounts> counts_of(const std::vector<ClientBin>& bins) {
  std::vector<RequestCounts> counts;
  for (const ClientBin& bin : bins) {
    const ClientFlow& f = bin.flow;
    counts.push_back(
        {static_cast<std::uint32_t>(f.requests), static_cast<std::uint32_t>(f.failures),
         static_cast<std::uint32_t>(f.successes), static_cast<std::uint32_t>(f.failures),
         static_cast<std::uint32_t>(f.throttled + f.errors + f.timeouts)});
  }
  return counts;
}

/// The run with the counts that its bins say: the first group has those of all together, any other
/// its own.
inline RunResult with_counts(RunResult run) {
  run.count_width = run.interval;
  if (run.clients.empty()) run.clients.resize(1);
  for (ClientResult& client : run.clients) {
    client.counts = counts_of(client.bins);
    client.counts.resize(run.all_bins.size());
  }
  run.clients.front().counts = counts_of(run.all_bins);
  return run;
}

}  // namespace retrysim
