// The twin test: do the runs that did not recover fail to because of their retries?
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/replications.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "measure/storms.hpp"

#include <vector>

namespace retrysim::experiment {

/// The storms of each replication, in their order; those that are sustained with the verdict that
/// their twins lead to. Sets RunResult::metastable of each run; a run can be that without a storm.
std::vector<std::vector<stats::Storm>> storms_with_twins(const Scenario& scenario,
                                                         std::vector<RunResult>& runs,
                                                         const ReplicationOptions& options);

}  // namespace retrysim::experiment
