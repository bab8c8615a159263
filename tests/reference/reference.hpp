// The rules of the simulator once more, as a specification that runs: one map of events, one object
// for each request and attempt, nothing shared with the engine but scenarios, random draws, and the
// table of what SDKs take an answer for. See README.md for what it covers.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/run/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retrysim::reference {

/// What the scenario uses that the reference does not know; empty if there is nothing.
std::string not_covered(const Scenario& scenario);

/// The steps of one replication; no more than `most`.
std::vector<model::TraceStep> simulate(const Scenario& scenario, std::uint32_t replication,
                                       std::size_t most);

}  // namespace retrysim::reference
