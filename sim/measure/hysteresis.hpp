// Measuring a run whose load goes up step by step and down again.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/hysteresis.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

namespace retrysim::stats {

/// Measures a run of a scenario whose load follows `ramp` from time zero on. It is down at a step
/// if its success rate there is below recovery_share times that of the first step.
RampRun measure_ramp(const Scenario& scenario, const LoadRamp& ramp, const RunResult& run);

}  // namespace retrysim::stats
