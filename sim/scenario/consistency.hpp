// What must hold between the parts of a scenario, as questions about the finished structure.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace retrysim::scenario {

/// The services, by index and in the order of the calls, of a circle in which services call each
/// other; empty if there is none.
std::vector<std::size_t> circle_of_calls(const Scenario& scenario);

/// What in the scenario can lose a message of `client` without an answer, as text for an error;
/// empty if nothing can. Its service and the faults must have been resolved.
std::string cause_of_lost_messages(const Scenario& scenario, const ClientSpec& client);

}  // namespace retrysim::scenario
