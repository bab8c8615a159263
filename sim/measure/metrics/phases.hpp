// The metrics of one phase, by the table of metrics.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace retrysim::stats {

/// In the order of `phase_metrics()`; `per` is what ratios of counts are divided by, 0 for others.
struct MeasuredPhase {
  std::vector<std::optional<double>> values;
  std::vector<double> per;
};

/// Values of a phase of client group `client`, or (empty) of all together.
MeasuredPhase measure_phase(const Scenario& scenario, const RunResult& run,
                            std::optional<std::size_t> client, const PhaseResult& phase);

}  // namespace retrysim::stats
