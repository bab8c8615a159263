// Faults at random, drawn a second time.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

namespace retrysim::reference {

/// The scenario with what this implementation draws in the place of what `draw_faults` does.
Scenario with_own_draw(const Scenario& scenario);

}  // namespace retrysim::reference
