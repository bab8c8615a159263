// A scenario whose load rises and falls step by step, made from one at constant load.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "measure/hysteresis.hpp"

#include <cstddef>
#include <vector>

namespace retrysim::experiment {

/// `scenario` with the rates of the client groups `clients` following `ramp`; their rates now are
/// those of its first load. No warm-up, drain, faults or surges: nothing but the load changes.
/// The groups must have a rate and no profile.
Scenario with_load_ramp(Scenario scenario, const std::vector<std::size_t>& clients,
                        const LoadRamp& ramp);

}  // namespace retrysim::experiment
