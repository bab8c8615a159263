// SPDX-License-Identifier: MIT
#include "series_statistics.hpp"

#include <numeric>
#include <stdexcept>

namespace retrysim::validation {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> batch_means(std::span<const double> values, std::size_t size) {
  std::vector<double> means;
  for (std::size_t from = 0; from + size <= values.size(); from += size) {
    means.push_back(mean_of(values.subspan(from, size)));
  }
  return means;
}

double asymptotic_variance(std::span<const double> values) {
  if (values.size() < 8) throw std::runtime_error("too few values for an asymptotic variance");
  const double mean = mean_of(values);
  const double n = static_cast<double>(values.size());
  double variance = 0, covariance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double d = values[i] - mean;
    variance += d * d;
    if (i > 0) covariance += d * (values[i - 1] - mean);
  }
  return (variance / n + 2 * covariance / (n - 1)) / (1 - 3 / n);
}

double autocorrelation(std::span<const double> values, std::size_t lag) {
  if (values.size() <= lag) throw std::runtime_error("too few values for an autocorrelation");
  const double mean = mean_of(values);
  double variance = 0, covariance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double d = values[i] - mean;
    variance += d * d;
    if (i >= lag) covariance += d * (values[i - lag] - mean);
  }
  return covariance / variance;
}

double index_of_dispersion(std::span<const double> counts) {
  if (counts.size() < 2) throw std::runtime_error("too few bins for an index of dispersion");
  const double mean = mean_of(counts);
  double squares = 0;
  for (const double c : counts) squares += (c - mean) * (c - mean);
  return squares / static_cast<double>(counts.size() - 1) / mean;
}

}  // namespace retrysim::validation
