// Runs of the fluid that answer one question: is the service down in the end?
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstddef>

namespace retrysim::prediction {

/// Whether the scenario has a fault of the service, or a surge of its clients, before its end.
bool has_disturbance(const Scenario& scenario, std::size_t service);

/// The scenario without them.
Scenario calm_scenario(Scenario scenario, std::size_t service);

/// The same with an outage of many timeouts instead; where servers are unlimited, with a surge.
Scenario pushed_scenario(Scenario scenario, std::size_t service);

/// Ten timeouts of calm, then an outage of the service, or a surge where servers are unlimited.
/// Takes a calm scenario.
Scenario with_outage(Scenario scenario, std::size_t service, double duration);

/// What times are measured by: the shortest attempt timeout, s.
double time_unit(const Scenario& scenario, std::size_t service);

/// With a duration of at least 80 timeouts after the last disturbance, unless its load is not
/// constant.
Scenario long_scenario(Scenario scenario, std::size_t service);

/// The answers for these scenarios, with bins of a hundredth of a timeout.
bool is_down_when_calm(const Scenario& scenario, std::size_t service);
bool is_down_when_pushed(const Scenario& scenario, std::size_t service);
bool is_down_after_disturbances(const Scenario& scenario, std::size_t service);

}  // namespace retrysim::prediction
