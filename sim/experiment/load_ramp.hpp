// The scenario of a load ramp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>

#include <cstddef>
#include <vector>

namespace retrysim::experiment {

/// `scenario` with the rates of the client groups `clients` following `ramp`; their present rates
/// are those of the ramp's first load. No warm-up, drain, faults or surges: only the load changes.
/// The groups must have a rate and no profile.
Scenario with_load_ramp(Scenario scenario, const std::vector<std::size_t>& clients,
                        const LoadRamp& ramp);

}  // namespace retrysim::experiment
