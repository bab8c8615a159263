// Sources: Kaplan and Meier 1958; Greenwood's variance; Brookmeyer and Crowley 1982.
//
// SPDX-License-Identifier: MIT
#include "estimate/survival.hpp"

#include "estimate/proportion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retrysim::stats {
namespace {

constexpr double kHalf = 0.5;
constexpr double kRounding = 1e-9;  // a product of quotients that should be one half

/// The first step from which `value` is at most one half; infinite if there is none.
template <class Value>
double first_below_half(std::span<const SurvivalStep> steps, Value value) {
  for (const SurvivalStep& s : steps) {
    if (value(s) <= kHalf + kRounding) return s.time;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<SurvivalStep> kaplan_meier(std::span<const Lifetime> lifetimes) {
  std::vector<Lifetime> sorted(lifetimes.begin(), lifetimes.end());
  std::sort(sorted.begin(), sorted.end(), [](const Lifetime& a, const Lifetime& b) {
    return a.time != b.time ? a.time < b.time : !a.censored && b.censored;
  });
  std::vector<SurvivalStep> steps;
  double survival = 1;
  double variance = 0;  // of the logarithm
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t at_risk = sorted.size() - i;
    std::size_t events = 0;
    const double time = sorted[i].time;
    for (; i < sorted.size() && sorted[i].time == time; ++i) events += sorted[i].censored ? 0 : 1;
    if (events == 0) continue;
    const double n = static_cast<double>(at_risk), d = static_cast<double>(events);
    survival *= (n - d) / n;
    if (events < at_risk) variance += d / (n * (n - d));
    steps.push_back({time, survival, survival * std::sqrt(variance), at_risk});
  }
  return steps;
}

std::optional<MedianLifetime> median_lifetime(std::span<const Lifetime> lifetimes) {
  if (lifetimes.empty()) return std::nullopt;
  const std::vector<SurvivalStep> steps = kaplan_meier(lifetimes);
  MedianLifetime result;
  for (std::size_t i = 0; i < steps.size() && !result.median; ++i) {
    if (steps[i].survival > kHalf + kRounding) continue;
    const bool exactly = steps[i].survival >= kHalf - kRounding && i + 1 < steps.size();
    result.median = exactly ? (steps[i].time + steps[i + 1].time) / 2 : steps[i].time;
  }
  const auto margin = [](const SurvivalStep& s) { return kNormal95 * s.standard_error; };
  result.low = first_below_half(steps, [&](const auto& s) { return s.survival - margin(s); });
  result.high = first_below_half(steps, [&](const auto& s) { return s.survival + margin(s); });
  return result;
}

}  // namespace retrysim::stats
