// What `retrysim tip --hysteresis` finds: table, JSON, and the summary that a person reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/hysteresis.hpp>
#include <retrysim/scenario_file.hpp>

#include "measure/analyse/recovery.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"

#include <vector>

namespace retrysim::report {

struct HysteresisReport {
  const LoadedScenario& scenario;  ///< as it is at constant load
  const LoadKey& load;
  const HysteresisLoop& loop;  ///< of at least one replication
};

/// One row a step, in their order: means over the replications with the interval of the goodput.
void write_hysteresis_csv(Sink& sink, const HysteresisReport& result);
void write_hysteresis_json(Sink& sink, const HysteresisReport& result,
                           const std::vector<FileRecord>& files);
/// What a person reads, in lines of so many columns.
void write_hysteresis_text(Sink& sink, const HysteresisReport& result, std::size_t columns);

/// Writes hysteresis.csv, scenario.toml with its inputs and result.json, and commits.
void write_hysteresis_files(ResultFolder& folder, const HysteresisReport& result);

}  // namespace retrysim::report
