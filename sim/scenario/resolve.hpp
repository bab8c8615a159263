// From the tree of a scenario to the `Scenario`: all tables, and what must hold between them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include "scenario/csv_inputs.hpp"
#include "scenario/document.hpp"

#include <set>
#include <string>

namespace retrysim::scenario {

/// Resolves a tree whose `like`s are applied; `incomplete` names the tables for which that failed.
/// Mistakes go to the problems of `files`; if there are any, the result is of no use.
LoadedScenario resolve(const Node& root, const std::set<std::string>& incomplete, CsvFiles& files);

}  // namespace retrysim::scenario
