// What `retrysim tip --hysteresis` finds: table, JSON, and the summary that a person reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include "measure/hysteresis.hpp"
#include "report/result_folder.hpp"
#include "report/sink.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

struct HysteresisResult {
  const LoadedScenario& scenario;  ///< as it is at constant load
  std::string load;                ///< path of the key
  std::string unit;                ///< of its values
  stats::LoadRamp ramp;
  std::vector<stats::RampRun> runs;  ///< by replication, at least one
  std::vector<std::string> notes;    ///< for the reader
};

/// One row a step, in their order: means over the replications with the interval of the goodput.
void write_hysteresis_csv(Sink& sink, const HysteresisResult& result);
void write_hysteresis_json(Sink& sink, const HysteresisResult& result,
                           const std::vector<FileRecord>& files);
void write_hysteresis_text(Sink& sink, const HysteresisResult& result);

/// Writes hysteresis.csv, scenario.toml with its inputs and result.json, and commits.
void write_hysteresis_files(ResultFolder& folder, const HysteresisResult& result);

}  // namespace retrysim::report
