// The keys that say how long and how often to measure: what the table of keys cannot check by
// itself of warmup = "auto" and precision.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/document.hpp"
#include "scenario/key_resolution.hpp"
#include "scenario/problems.hpp"

#include <string>
#include <string_view>

namespace retrysim::scenario {

/// "NAME is unknown; ..." for a metric that does not exist, with the nearest one that does.
std::string unknown_metric(std::string_view name);

/// Before the top level is resolved: with a precision the fewest replications are 10.
void prepare_precision(KeyResolution& keys, const Node& root);

/// After it: reads precision_metrics, and checks the keys around precision against each other.
void read_precision(const KeyResolution& keys, Scenario& scenario, Problems& problems);

/// After everything: a warm-up can be found, at `warmup_place`, only where the scenario has a
/// steady state, and in a series long enough.
void check_steady_state(const Scenario& scenario, Place warmup_place, Problems& problems);

}  // namespace retrysim::scenario
