// Writing a complete result folder.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/result_folder.hpp"
#include "report/result_tables.hpp"

namespace retrysim::report {

/// Adds scenario.toml and copies of the CSV inputs to `folder`.
void write_scenario(ResultFolder& folder, const LoadedScenario& loaded);

/// Writes every file of a result into `folder` and commits it: the CSV tables, scenario.toml with
/// its CSV inputs, result.json. Needs at least one evaluation; the scenario of the first one is
/// the one that scenario.toml reproduces. Throws OutputError.
void write_result_files(ResultFolder& folder, Evaluations evaluations);

}  // namespace retrysim::report
