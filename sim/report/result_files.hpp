// Writing a complete result folder.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/result_folder.hpp"
#include "report/result_json.hpp"
#include "report/result_tables.hpp"

#include <functional>
#include <string>
#include <vector>

namespace retrysim::report {

/// What a command adds to the usual files.
struct ResultAdditions {
  struct Table {
    std::string name;
    std::function<void(Sink&)> write;
  };
  std::vector<Table> tables;
  std::vector<JsonSection> sections;  ///< of result.json
  /// Lines at the top of the scenario file of each evaluation, "# " in front; may be empty.
  std::function<std::string(const Evaluation&)> comment;
};

/// Writes every file of a result into `folder` and commits it: the CSV tables, the resolved
/// scenarios with their CSV inputs, result.json. Needs at least one evaluation; scenario.toml
/// reproduces the first one exactly, scenario-2.toml the second, and so on. Throws OutputError.
void write_result_files(ResultFolder& folder, Evaluations evaluations,
                        const ResultAdditions& additions = {});

/// Writes scenario.toml and copies the CSV inputs that it names.
void write_scenario_files(ResultFolder& folder, const LoadedScenario& loaded);

}  // namespace retrysim::report
