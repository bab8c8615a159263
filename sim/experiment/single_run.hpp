// How a single run did, by its row: before anything goes wrong, and at its end.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>

#include "estimate/told.hpp"
#include "execution/run_bytes.hpp"
#include "measure/analyse/recovery.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace retrysim::experiment {

/// The success rate of all clients in the first phase of a run. That is before anything goes wrong
/// if its scenario `begins_undisturbed`; runs of different scenarios have different phases. Empty
/// if the run has none.
inline std::optional<double> success_at_first(const execution::UnitResult& row) {
  static const std::size_t kOfSuccess = [] {
    const auto& all = phase_metrics();
    const auto at =
        std::ranges::find_if(all, [](const auto& m) { return m->name == "success_rate"; });
    return static_cast<std::size_t>(at - all.begin());
  }();
  const PhaseValues phases = execution::combine_phases({&row, 1});
  if (phases.phases() == 0) return std::nullopt;
  return phases.at(0, phases.clients() - 1, 0, kOfSuccess);
}

/// Whether the first phase of a scenario's runs is the one before its disturbances.
inline bool begins_undisturbed(const Scenario& scenario) {
  const std::vector<Phase> phases = phases_of(scenario);
  return !phases.empty() && phases.front().kind == PhaseKind::kBefore;
}

/// Which of the rows tell whether they recover.
inline stats::ToldRecoveries told_by(std::span<const execution::UnitResult> rows) {
  std::vector<std::vector<double>> to_judge_s;
  for (const execution::UnitResult& row : rows) to_judge_s.push_back(row.to_judge_s);
  return stats::ToldRecoveries(std::move(to_judge_s));
}

/// Whether a run has recovered, from its metric `recovered`; empty if the run is too short to tell.
/// `scenario` gives the run's scenario, and is only asked if need be.
template <class ScenarioOf>
std::optional<bool> has_recovered(std::optional<double> recovered, const ScenarioOf& scenario) {
  if (!recovered) return std::nullopt;
  if (*recovered == 1) return true;
  if (!stats::can_confirm_recovery(*scenario())) return std::nullopt;
  return false;
}

}  // namespace retrysim::experiment
