// Counts the steps of a run, one by one, and compares what the recorders made of the same run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "model/run/trace.hpp"

#include <string>
#include <vector>

namespace retrysim::reference {

/// The first number of the result that differs, with both values; empty if there is none.
std::string recount(const Scenario& scenario, const std::vector<model::TraceStep>& steps,
                    const RunResult& result);

}  // namespace retrysim::reference
