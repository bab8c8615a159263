// The output of `retrysim tip --hysteresis`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>

#include "report/document/document.hpp"

#include <vector>

namespace retrysim::report {

/// The document on a loop of at least one replication: where it tips and recovers, and what
/// happened at each load. `scenario` is the scenario at constant load.
Document hysteresis_document(const LoadedScenario& scenario, const LoadKey& load,
                             const HysteresisLoop& loop);

/// The table hysteresis.csv: a row for each step.
std::vector<TableSource> hysteresis_tables(const Scenario& scenario, const LoadKey& load,
                                           const HysteresisLoop& loop);

}  // namespace retrysim::report
