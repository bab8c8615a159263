// What `retrysim tip` finds: tables, JSON, and the summary that a person reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>
#include <retrysim/tip.hpp>

#include "report/csv_writer.hpp"
#include "report/result_folder.hpp"
#include "report/sink.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// The search for a tipping point and its result.
struct TipReport {
  const LoadedScenario& scenario;  ///< as it is without the trigger's values
  const Trigger& trigger;
  const TipResult& found;
  std::uint64_t id = 0;  ///< of `TipPlan`
};

/// One row a probe. `probability` is that of not recovering, with Wilson's interval; `metastable`
/// and `twin_recovered` are numbers of replications at the probe whose twins were run.
void write_tip_csv(Sink& sink, const TipReport& result);
/// One row a replication: between which values it tips. An empty cell is beyond the values tried.
void write_thresholds_csv(Sink& sink, const TipReport& result);
void write_tip_json(Sink& sink, const TipReport& result, const std::vector<FileRecord>& files);
/// What a person reads, in lines of so many columns: the answer, then what happened at each value.
void write_tip_text(Sink& sink, const TipReport& result, std::size_t columns);

/// D50 with its bracket and its interval in ascending order; null if there is none.
nlohmann::ordered_json d50_json(const TipResult& found);
nlohmann::ordered_json trigger_json(const Trigger& trigger, const TippingSearch& search);

/// What rows of tip.csv and thresholds.csv begin with; of several searches with the variant.
struct TipHead {
  const std::string& scenario;
  std::optional<std::string_view> variant;
  const Trigger& trigger;
};
void write_probes_header(CsvWriter& csv, bool with_variant);
void write_probe_rows(CsvWriter& csv, const TipHead& head, const TipResult& found);
void write_thresholds_header(CsvWriter& csv, bool with_variant);
void write_threshold_rows(CsvWriter& csv, const TipHead& head, const TipResult& found);

/// Writes tip.csv, thresholds.csv, scenario.toml with its inputs and result.json, and commits.
void write_tip_files(ResultFolder& folder, const TipReport& result);

}  // namespace retrysim::report
