// What `retrysim tip` finds: one tipping point, or with `--vary` a curve of them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>

#include "report/document/document.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim::report {

/// The search for one tipping point: the answer, then the results at each value. tip.csv has a row
/// for each probe: `probability` is that of not recovering, with Wilson's interval; `metastable`
/// and `twin_recovered` are numbers of replications at the probe whose twins were run.
Document tip_document(const TipPlan& plan, const TipPoint& point);

/// How the tipping point moves with other keys: the answer in sentences, a line of the curve each,
/// and then its points, with D50, its interval, and the outcome of each search.
Document curve_document(const TipPlan& plan, std::span<const TipPoint> points);

/// tip.csv and thresholds.csv, and in front of them curve.csv if there are variations.
std::vector<TableSource> tip_tables(const TipPlan& plan, std::span<const TipPoint> points);

/// A point of a tipping curve in its place along a line.
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

}  // namespace retrysim::report
