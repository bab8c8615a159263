// What `retrysim tip` finds: tables, JSON, and the summary that a person reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>
#include <retrysim/tip.hpp>

#include "report/document/csv_writer.hpp"
#include "report/document/text.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
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

// The points of a tipping curve in their places: which line they are on, and where along it.

struct CurvePoint {
  std::size_t number = 0;   ///< of the case
  std::optional<double> x;  ///< durations in seconds; empty: there is no axis
  std::string label;        ///< the place along the line, as the user gave it
};

struct CurveLine {
  std::string name;  ///< the values of the other keys; empty if there are none
  std::vector<CurvePoint> points;
};

/// The lines of a search with variations: one for each combination of the keys that are not the
/// axis, its points in ascending order. Without an axis one line, in the order of the cases.
struct TipCurve {
  explicit TipCurve(const TipPlan& plan);

  std::string axis;  ///< path of the key along the axis; empty: there is none
  std::string unit = "1";
  std::vector<CurveLine> lines;
};

/// The unit of a key's values in files, as the table of keys has it; "1" for words as well.
std::string unit_of_key(const std::string& path);

// What `retrysim tip --vary` finds: how the tipping point moves with other keys.

/// Searches for tipping points with variations, and their results.
struct TipCurveReport {
  const TipPlan& plan;
  std::span<const TipPoint> points;  ///< in the order of the cases

  /// How many points have a D50.
  std::size_t found() const;
};

/// One row a point: the varied keys, D50 with its interval, and what became of the search.
void write_curve_csv(Sink& sink, const TipCurveReport& result);
void write_curve_json(Sink& sink, const TipCurveReport& result,
                      const std::vector<FileRecord>& files);
/// The answer in sentences, a line of the curve each, and then its points.
void write_curve_text(Sink& sink, const TipCurveReport& result,
                      std::size_t columns = kNarrowColumns);

/// Writes curve.csv, tip.csv and thresholds.csv of all points, scenario.toml with its inputs and
/// result.json, and commits.
void write_curve_files(ResultFolder& folder, const TipCurveReport& result);

}  // namespace retrysim::report
