// SPDX-License-Identifier: MIT
#include "estimate/pooled_quantile.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/summary.hpp>

#include <algorithm>
#include <cmath>

namespace retrysim::stats {

std::optional<PooledQuantile> pooled_quantile(std::span<const Histogram* const> replications,
                                              const Histogram& pooled, double p) {
  const std::optional<double> value = quantile_seconds(pooled, p);
  if (!value) return std::nullopt;
  PooledQuantile result{*value, std::nullopt, std::nullopt};
  const bool supported =
      std::all_of(replications.begin(), replications.end(),
                  [p](const Histogram* h) { return quantile_is_well_supported(*h, p); });
  if (replications.size() < 2 || !supported) return result;
  double squares = 0;
  for (const Histogram* histogram : replications) {
    const double distance = histogram->quantile(p) / 1e9 - *value;
    squares += distance * distance;
  }
  const auto n = static_cast<double>(replications.size());
  const double half = student_t_95(replications.size() - 1) * std::sqrt(squares / (n - 1) / n);
  const Histogram::Bounds bounds = pooled.quantile_bounds(p);
  result.ci_low_s = std::max(0.0, bounds.low / 1e9 - half);
  result.ci_high_s = bounds.high / 1e9 + half;
  return result;
}

}  // namespace retrysim::stats
