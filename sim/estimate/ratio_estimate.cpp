// SPDX-License-Identifier: MIT
#include "estimate/ratio_estimate.hpp"

#include <retrysim/metrics.hpp>

#include <algorithm>
#include <vector>

namespace retrysim::stats {
std::optional<Estimate> jackknife_ratio(std::span<const double> numerators,
                                        std::span<const double> denominators) {
  const std::size_t count = numerators.size();
  if (count < 2) return std::nullopt;
  double y = 0, x = 0;
  for (std::size_t i = 0; i < count; ++i) {
    y += numerators[i];
    x += denominators[i];
  }
  const auto n = static_cast<double>(count);
  std::vector<double> pseudo, own;
  for (std::size_t i = 0; i < count; ++i) {
    const double without = (y - numerators[i]) / (x - denominators[i]);
    pseudo.push_back(n * (y / x) - (n - 1) * without);
    own.push_back(numerators[i] / denominators[i]);
  }
  auto result = estimate(pseudo);
  result->min = *std::min_element(own.begin(), own.end());
  result->max = *std::max_element(own.begin(), own.end());
  return result;
}

Estimate bounded_jackknife_ratio(std::span<const double> y, std::span<const double> x) {
  Estimate result = jackknife_ratio(y, x).value();
  result.mean = std::clamp(result.mean, result.min, result.max);
  result.ci_low = std::min(*result.ci_low, result.mean);
  result.ci_high = std::max(*result.ci_high, result.mean);
  return result;
}

std::optional<Estimate> estimate_of_small_counts(std::span<const double> y,
                                                 std::span<const double> x) {
  if (x.size() < kFewestToJackknife) return std::nullopt;
  const auto [fewest, most] = std::minmax_element(x.begin(), x.end());
  if (!(*fewest > 0) || *fewest >= kFewRequests || *fewest == *most) return std::nullopt;
  return bounded_jackknife_ratio(y, x);
}

std::optional<Estimate> estimate_of_small_counts(const MetricValues& values, std::size_t client,
                                                 std::size_t metric) {
  if (metric_table()[metric].per == nullptr) return std::nullopt;
  std::vector<double> y, x;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    const auto value = values.at(r, client, metric);
    if (!value) continue;
    x.push_back(values.per(r, client, metric));
    y.push_back(*value * x.back());
  }
  return estimate_of_small_counts(y, x);
}

}  // namespace retrysim::stats
