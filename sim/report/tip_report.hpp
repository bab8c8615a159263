// What `retrysim tip` finds: tables, JSON, and the summary that a person reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include "estimate/tipping.hpp"
#include "report/result_folder.hpp"
#include "report/sink.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

/// The search for a tipping point and its result.
struct TipResult {
  const LoadedScenario& scenario;  ///< as it is without the trigger's values
  std::string trigger;             ///< path of the key
  std::string unit;                ///< of its values: "s", "1/s", ...; "1" for plain numbers
  stats::TippingSearch search;
  stats::TippingPoint point;
  std::vector<std::string> notes;  ///< for the reader
};

/// One row a probe. `probability` is that of not recovering, with Wilson's interval; `metastable`
/// and `twin_recovered` are numbers of replications at the probe whose twins were run.
void write_tip_csv(Sink& sink, const TipResult& result);
/// One row a replication: between which values it tips. An empty cell is beyond the values tried.
void write_thresholds_csv(Sink& sink, const TipResult& result);
void write_tip_json(Sink& sink, const TipResult& result, const std::vector<FileRecord>& files);
void write_tip_text(Sink& sink, const TipResult& result);

/// Writes tip.csv, thresholds.csv, scenario.toml with its inputs and result.json, and commits.
void write_tip_files(ResultFolder& folder, const TipResult& result);

}  // namespace retrysim::report
