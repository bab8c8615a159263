// SPDX-License-Identifier: MIT
#include "estimate/batch_means.hpp"

#include <retrysim/summary.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace retrysim::stats {
namespace {

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}

std::optional<BatchMeans> in_batches_of(std::size_t size, std::span<const double> numerators,
                                        std::span<const double> denominators) {
  const std::size_t batches = numerators.size() / size;
  const auto y = numerators.last(batches * size);
  const auto x = denominators.last(batches * size);
  const double all_x = sum_of(x);
  if (!(all_x > 0)) return std::nullopt;
  const double ratio = sum_of(y) / all_x;
  const auto k = static_cast<double>(batches);
  // Of equal batches nothing but rounding is left, which is no deviation.
  const double rounding = 1e-12 * std::fabs(ratio);
  std::vector<double> deviations;
  double squares = 0;
  for (std::size_t b = 0; b < batches; ++b) {
    const double sum_y = sum_of(y.subspan(b * size, size));
    const double sum_x = sum_of(x.subspan(b * size, size));
    double z = (sum_y - ratio * sum_x) / (all_x / k);
    if (std::fabs(z) <= rounding) z = 0;
    deviations.push_back(z);
    squares += z * z;
  }
  BatchMeans result;
  result.mean = ratio;
  result.half_width = student_t_95(batches - 1) * std::sqrt(squares / (k - 1) / k);
  result.batches = batches;
  result.observations_per_batch = size;
  result.correlation = lag1_correlation(deviations);
  return result;
}

}  // namespace

std::optional<BatchMeans> batch_means(std::span<const double> numerators,
                                      std::span<const double> denominators) {
  const std::size_t n = numerators.size();
  if (n < kBatches || denominators.size() != n) return std::nullopt;
  for (std::size_t size = n / kBatches; n / size >= kFewestBatches; size *= 2) {
    const auto result = in_batches_of(size, numerators, denominators);
    if (!result || result->correlation < kMostBatchCorrelation) return result;
  }
  return std::nullopt;
}

double lag1_correlation(std::span<const double> series) {
  const auto differs = [&](double v) { return v != series.front(); };
  if (std::none_of(series.begin(), series.end(), differs)) return 0;
  const double mean = sum_of(series) / static_cast<double>(series.size());
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double here = series[i] - mean;
    squares += here * here;
    if (i > 0) products += here * (series[i - 1] - mean);
  }
  return products / squares;
}

}  // namespace retrysim::stats
