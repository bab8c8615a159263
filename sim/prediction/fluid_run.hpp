// One run of the fluid over a system that is already in numbers.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/fluid.hpp>

#include "prediction/fluid_system.hpp"

namespace retrysim::prediction {

/// Bins of a run, about; a timeout shorter than such a bin has no fluid (`why_no_fluid`).
inline constexpr double kMostFluidSteps = 2e6;

/// Width of a bin, s: the shortest timeout is a whole number of them.
double fluid_step(const FluidSystem& system, double steps_per_timeout);

FluidRun run_system(const Scenario& scenario, const FluidSystem& system, double step,
                    double series_interval);

/// Whether fewer than half of the requests succeed in the last quarter of the time after the last
/// disturbance. The run ends as soon as that is certain: everybody has been served, or nobody, for
/// longer than the clients remember.
bool ends_down(const Scenario& scenario, const FluidSystem& system, double step);

}  // namespace retrysim::prediction
