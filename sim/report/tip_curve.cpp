// SPDX-License-Identifier: MIT
#include "report/tip_curve.hpp"

#include <retrysim/variation.hpp>

#include "scenario/keys.hpp"
#include "scenario/values.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace retrysim::report {
namespace {

/// A number, or a duration in seconds.
std::optional<double> place_along(const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return number;
  const auto duration = scenario::parse_duration(value);
  return duration ? std::optional(duration->duration.in_seconds()) : std::nullopt;
}

}  // namespace

std::string unit_of_key(const std::string& path) {
  const scenario::KeyInfo* key = scenario::find_key(path);
  if (key == nullptr) return "1";
  if (key->rules.kind == scenario::ValueKind::kDuration) return "s";
  return key->rules.unit.empty() ? "1" : std::string(key->rules.unit);
}

TipCurve::TipCurve(const TipPlan& plan) {
  const std::optional<std::size_t> along = plan.axis();
  if (!along) {
    CurveLine& line = lines.emplace_back();
    for (std::size_t i = 0; i < plan.cases.size(); ++i) {
      line.points.push_back({i, std::nullopt, plan.cases[i].name});
    }
    return;
  }
  std::vector<Variation> others = plan.variations;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(*along));
  axis = plan.variations[*along].paths.front();
  unit = unit_of_key(axis);
  for (Variant& variant : grid(others)) {
    lines.push_back({others.empty() ? "" : std::move(variant.name), {}});
  }
  // The last variation changes fastest, in the cases as in the lines.
  std::size_t column = 0, faster = 1;
  for (std::size_t i = 0; i < *along; ++i) column += plan.variations[i].paths.size();
  for (std::size_t i = *along + 1; i < plan.variations.size(); ++i) {
    faster *= plan.variations[i].choices.size();
  }
  const std::size_t choices = plan.variations[*along].choices.size();
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const std::size_t line = i / (faster * choices) * faster + i % faster;
    const std::string& value = plan.cases[i].keys[column];
    lines[line].points.push_back({i, place_along(value), value});
  }
  for (CurveLine& line : lines) {
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; });
  }
}

}  // namespace retrysim::report
