// What faults and surges use of error budgets, in the mean of the replications.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "measure/analyse/slo.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

/// The figures of one event of one SLO.
struct SloSummary {
  const SloSpec* slo = nullptr;
  SloEvent event = {};
  SloFigures mean = {};   ///< mean of each figure, over the replications that have it
  Estimate used = {};     ///< `budget_used`, with its interval
  std::size_t ended = 0;  ///< replications in which the event ended
  std::size_t runs = 0;   ///< replications that have a budget
  std::optional<double> per_year = {};
  double users = 0;  ///< clients of the SLO's groups

  std::optional<double> year_used() const;
};
/// Summaries by SLO and event. Events that have a budget in no replication are left out. The
/// scenario must outlive the summaries.
std::vector<SloSummary> summarize_slos(const Scenario& scenario, std::span<const RunResult> runs);
/// As above, from the `slo_numbers` of each replication.
std::vector<SloSummary> summarize_slos(const Scenario& scenario,
                                       std::span<const std::span<const double>> numbers_by_run);

}  // namespace retrysim::stats
