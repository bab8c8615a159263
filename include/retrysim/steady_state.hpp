// Which scenarios settle: only then does it make sense to leave out a warm-up that the program
// finds, or to take the parts of one run for observations of the same thing.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <optional>
#include <string>

namespace retrysim {

/// Why the scenario has no steady state: "fault.dip is a disturbance", naming the part that makes
/// it a transient; the first of them. A fault, a surge, arrivals that come once or follow a trace
/// or a profile, and a capacity profile do. Empty if nothing changes from outside during the run.
/// Whether the system then settles (a service may be overloaded for good) is another question.
std::optional<std::string> why_transient(const Scenario& scenario);

}  // namespace retrysim
