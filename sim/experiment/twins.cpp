// SPDX-License-Identifier: MIT
#include "experiment/twins.hpp"

#include <optional>

namespace retrysim::experiment {
namespace {

using stats::Storm;
using stats::StormVerdict;

/// What the storms of one run say together; empty if one of them leaves it open.
std::optional<bool> any_metastable(const std::vector<Storm>& storms) {
  bool open = false;
  for (const Storm& storm : storms) {
    if (storm.verdict == StormVerdict::kMetastable) return true;
    open = open || storm.verdict == StormVerdict::kCensored;
  }
  return open ? std::nullopt : std::optional(false);
}

}  // namespace

std::vector<std::vector<Storm>> storms_with_twins(const Scenario& scenario,
                                                  std::vector<RunResult>& runs,
                                                  const ReplicationOptions& options) {
  std::vector<std::vector<Storm>> storms;
  std::vector<TwinSpec> twins;
  struct Asked {
    std::size_t run, storm;
  };
  std::vector<Asked> asked;  // for each twin
  for (std::size_t r = 0; r < runs.size(); ++r) {
    storms.push_back(stats::detect_storms(scenario, runs[r]));
    for (std::size_t s = 0; s < storms[r].size(); ++s) {
      if (storms[r][s].verdict != StormVerdict::kSustained) continue;
      twins.push_back({runs[r].replication, storms[r][s].aftermath.trigger.end});
      asked.push_back({r, s});
    }
  }
  const std::vector<RunResult> results = run_twins(scenario, twins, options);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Storm& storm = storms[asked[i].run][asked[i].storm];
    storm.twin_recovery_s =
        stats::twin_recovery(scenario, runs[asked[i].run], results[i], storm.aftermath);
    storm.verdict = stats::with_twin(storm.verdict, storm.aftermath, storm.twin_recovery_s);
  }
  for (std::size_t r = 0; r < runs.size(); ++r) runs[r].metastable = any_metastable(storms[r]);
  return storms;
}

TwinCounts count_twins(const Scenario& scenario, const std::vector<RunResult>& runs,
                       const ReplicationOptions& options) {
  std::vector<TwinSpec> twins;
  struct Asked {
    std::size_t run;
    stats::Aftermath aftermath;
  };
  std::vector<Asked> asked;  // for each twin
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const stats::Fate fate = stats::fate_of(scenario, runs[r]);
    if (fate.verdict != StormVerdict::kSustained) continue;
    twins.push_back({runs[r].replication, fate.aftermath->trigger.end});
    asked.push_back({r, *fate.aftermath});
  }
  const std::vector<RunResult> results = run_twins(scenario, twins, options);
  TwinCounts counts;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const stats::Aftermath& after = asked[i].aftermath;
    const auto recovery = stats::twin_recovery(scenario, runs[asked[i].run], results[i], after);
    if (recovery && *recovery <= after.patience_s) ++counts.recovered;
    if (stats::with_twin(StormVerdict::kSustained, after, recovery) == StormVerdict::kMetastable) {
      ++counts.metastable;
    }
  }
  return counts;
}

}  // namespace retrysim::experiment
