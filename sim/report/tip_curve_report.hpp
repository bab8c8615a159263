// What `retrysim tip --vary` finds: how the tipping point moves with other keys.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/tip.hpp>

#include "report/display.hpp"
#include "report/result_folder.hpp"
#include "report/sink.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace retrysim::report {

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
