// result.json: the summary of summary.csv with what is needed to understand and reproduce it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/result_manifest.hpp"
#include "report/result_tables.hpp"

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

}  // namespace retrysim::report
