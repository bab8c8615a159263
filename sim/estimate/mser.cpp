// SPDX-License-Identifier: MIT
#include "estimate/mser.hpp"

#include <vector>

namespace retrysim::stats {

Truncation mser5(std::span<const double> series) {
  constexpr std::size_t kFewestToTruncate = 4;
  const std::size_t m = series.size() / kMserBatch;
  if (m < kFewestToTruncate) return {};
  std::vector<double> batches;
  for (std::size_t b = 0; b < m; ++b) {
    double sum = 0;
    for (const double x : series.subspan(b * kMserBatch, kMserBatch)) sum += x;
    batches.push_back(sum / static_cast<double>(kMserBatch));
  }
  // From the end to the start, so that each step adds one batch to mean and squared deviations;
  // nothing cancels, and equal values have no deviations at all.
  double mean = 0, squares = 0, best = 0;
  std::size_t best_d = m / 2;
  for (std::size_t d = m; d-- > 0;) {
    const double kept = static_cast<double>(m - d);
    const double distance = batches[d] - mean;
    mean += distance / kept;
    squares += distance * (batches[d] - mean);
    const double marginal_error = squares / (kept * kept);
    if (d > m / 2) continue;
    if (d == m / 2 || marginal_error <= best) {
      best = marginal_error;
      best_d = d;
    }
  }
  return {best_d * kMserBatch, best_d < m / 2};
}

}  // namespace retrysim::stats
