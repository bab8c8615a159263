// The client groups of one replication as if they were one group.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include <vector>

namespace retrysim::stats {

/// Cohort and window measurements of all groups together. Bins and goodput per client are left
/// empty: RunResult::all_bins has the bins.
ClientResult merge_groups(const Scenario& scenario, const RunResult& run);

/// The counts by attempt number of all groups together. The largest number of sends in 100 ms is
/// not known for several groups together; `peak_sends_100ms` is then zero.
std::vector<AttemptNumberCounts> merge_by_attempt(const Scenario& scenario, const RunResult& run);

/// The sum of terms that come in the order of a scenario's tables: the same to the last bit in any
/// other order.
double sum_in_any_order(std::vector<double> terms);

}  // namespace retrysim::stats
