// What `retrysim tip` finds: tables, JSON, and the summary that a person reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>
#include <retrysim/tip.hpp>

#include "estimate/tipping.hpp"
#include "report/result_folder.hpp"
#include "report/sink.hpp"

#include <vector>

namespace retrysim::report {

/// The search for a tipping point and its result.
struct TipReport {
  const LoadedScenario& scenario;  ///< as it is without the trigger's values
  const Trigger& trigger;
  const TipResult& found;
};

/// One row a probe. `probability` is that of not recovering, with Wilson's interval; `metastable`
/// and `twin_recovered` are numbers of replications at the probe whose twins were run.
void write_tip_csv(Sink& sink, const TipReport& result);
/// One row a replication: between which values it tips. An empty cell is beyond the values tried.
void write_thresholds_csv(Sink& sink, const TipReport& result);
void write_tip_json(Sink& sink, const TipReport& result, const std::vector<FileRecord>& files);
void write_tip_text(Sink& sink, const TipReport& result);

/// Writes tip.csv, thresholds.csv, scenario.toml with its inputs and result.json, and commits.
void write_tip_files(ResultFolder& folder, const TipReport& result);

}  // namespace retrysim::report
