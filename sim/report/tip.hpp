// The output of `retrysim tip`: one tipping point, or with `--vary` a curve of tipping points.
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

/// The document on the search for one tipping point: the answer, then the results at each value.
/// tip.csv has a row for each probe: `probability` is the probability of not recovering, with
/// Wilson's interval; `metastable` and `twin_recovered` are numbers of replications at the probe
/// whose twins were run.
Document tip_document(const TipPlan& plan, const TipPoint& point);

/// The document on how the tipping point moves with other keys: the answer in sentences, one for
/// each line of the curve, and then its points, with D50, its interval, and the outcome of each
/// search.
Document curve_document(const TipPlan& plan, std::span<const TipPoint> points);

/// The tables tip.csv and thresholds.csv, and before them curve.csv if there are variations.
std::vector<TableSource> tip_tables(const TipPlan& plan, std::span<const TipPoint> points);

/// A point of a tipping curve, and its place along a line.
struct CurvePoint {
  std::size_t number = 0;   ///< number of the case
  std::optional<double> x;  ///< place along the axis, durations in seconds; empty: there is no axis
  std::string label;        ///< the place along the line, as the user gave it
};

struct CurveLine {
  std::string name;  ///< the values of the other keys; empty if there are none
  std::vector<CurvePoint> points;
};

/// The lines of a search with variations: one for each combination of the keys that are not the
/// axis, with its points in ascending order. Without an axis there is one line, in the order of the
/// cases.
struct TipCurve {
  explicit TipCurve(const TipPlan& plan);

  std::string axis;  ///< path of the key along the axis; empty: there is none
  std::string unit = "1";
  std::vector<CurveLine> lines;
};

}  // namespace retrysim::report
