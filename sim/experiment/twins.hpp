// The twin test: do the runs that did not recover fail to because of their retries?
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/replications.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "stats/aftermath.hpp"
#include "stats/storms.hpp"

#include <optional>
#include <vector>

namespace retrysim::experiment {

/// The storms of each replication, in their order; those that are sustained with the verdict that
/// their twins lead to. Sets RunResult::metastable of each run.
std::vector<std::vector<stats::Storm>> storms_with_twins(const Scenario& scenario,
                                                         std::vector<RunResult>& runs,
                                                         const ReplicationOptions& options);

/// What a twin has shown about one replication.
struct TwinVerdict {
  std::uint32_t replication = 0;
  std::optional<double> recovery_s;  ///< of the twin
  stats::StormVerdict verdict = stats::StormVerdict::kSustained;
};

/// Twins of the sustained ones among `aftermaths`, by replication; runs without one are empty.
std::vector<TwinVerdict> verdicts_with_twins(
    const Scenario& scenario, const std::vector<RunResult>& runs,
    const std::vector<std::optional<stats::Aftermath>>& aftermaths,
    const ReplicationOptions& options);

}  // namespace retrysim::experiment
