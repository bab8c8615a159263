// result.json: the summary of summary.csv with what is needed to understand and reproduce it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"
#include "report/run/tables.hpp"

#include <functional>
#include <string>
#include <vector>

namespace retrysim::report {

/// An object that a command adds to result.json.
struct JsonSection {
  std::string name;
  std::string json;  ///< its value
};

/// Objects: program, version, scenario, description, seed, replications; `variants` (window,
/// services with their capacity, faults and surges, resolved keys as TOML texts); `summary` (the
/// rows of summary.csv, null where a cell is empty); `expectations`; the `sections`; and
/// what `sealed` adds of the files. Needs at least one evaluation.
void write_result_json(Sink& sink, Evaluations evaluations, const std::vector<FileRecord>& files,
                       const std::vector<JsonSection>& sections = {});

// Writing a complete result folder.

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
