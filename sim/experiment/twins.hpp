// The twin test: whether retries are the reason that runs do not recover, and what would be
// different without another part of the scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "measure/analyse/storms.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace retrysim::experiment {

/// The storms of each replication, in the order of `runs`; sustained storms have the verdict that
/// their twins lead to. Sets RunResult::metastable and metastable_groups of each run; a run can be
/// metastable without a storm.
std::vector<std::vector<stats::Storm>> storms_with_twins(const Scenario& scenario,
                                                         std::vector<RunResult>& runs,
                                                         const ReplicationOptions& options);

/// A part of the scenario that a twin of it lacks.
struct TwinPart {
  std::string_view word;   ///< the part's word on the command line
  std::string_view words;  ///< the part's name in sentences
  /// Removes the part, if it is there.
  bool (*remove)(Scenario&);
};
/// Quota, limiter, jitter and queue bound.
std::span<const TwinPart> twin_parts();

/// Simulates the replications of `runs` with `twin`, the scenario without one of its parts.
std::vector<RunResult> simulate_twin(const Scenario& twin, std::span<const RunResult> runs,
                                     const ReplicationOptions& options);

}  // namespace retrysim::experiment
