// The points of a tipping curve in their places: which line they are on, and where along it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/tip.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace retrysim::report {

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

}  // namespace retrysim::report
