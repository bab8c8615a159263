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

/// Values of a phase in the order of `phase_metrics()`; `per` is the divisor of a ratio of counts,
/// 0 for other metrics.
struct MeasuredPhase {
  std::vector<std::optional<double>> values;
  std::vector<double> per;
};

/// The metrics of a phase for client group `client`, or (empty) for all together.
MeasuredPhase measure_phase(const Scenario& scenario, const RunResult& run,
                            std::optional<std::size_t> client, const PhaseResult& phase);

}  // namespace retrysim::stats
