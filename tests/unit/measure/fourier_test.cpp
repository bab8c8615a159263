// The fast transforms against sums written out.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/burstiness.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <unsupported/Eigen/FFT>
#include <vector>

using namespace retrysim::stats;

namespace {

/// Numbers without any pattern, between 0 and 100.
std::vector<double> series(std::size_t n) {
  std::vector<double> values;
  unsigned x = 1;
  for (std::size_t i = 0; i < n; ++i) {
    x = x * 1664525 + 1013904223;
    values.push_back((x >> 16) % 101);
  }
  return values;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double ordinate(const std::vector<double>& values, std::size_t k) {
  const double mean = mean_of(values), n = static_cast<double>(values.size());
  double re = 0, im = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % values.size()) / n;
    re += (values[i] - mean) * std::cos(angle);
    im += (values[i] - mean) * std::sin(angle);
  }
  return (re * re + im * im) / n;
}

}  // namespace

TEST_CASE("the periodogram is that of the definition, for lengths of every kind") {
  for (const std::size_t n : {3u, 4u, 5u, 7u, 8u, 12u, 31u, 64u, 100u, 257u}) {
    CAPTURE(n);
    const std::vector<double> values = series(n);
    const std::vector<double> ordinates = periodogram(values);
    REQUIRE(ordinates.size() == (n - 1) / 2);
    for (std::size_t k = 1; k <= ordinates.size(); ++k) {
      CHECK(ordinates[k - 1] == Approx(ordinate(values, k)).epsilon(1e-9).margin(1e-9));
    }
  }
  CHECK(periodogram(series(2)).empty());
}

TEST_CASE("long periodograms are those of Eigen's Fourier transform", "[repetitive]") {
  for (const std::size_t n : {1000u, 4096u, 10007u, 32768u, 60000u}) {
    CAPTURE(n);
    std::vector<double> values = series(n);
    const std::vector<double> ordinates = periodogram(values);
    const double mean = mean_of(values);
    for (double& v : values) v -= mean;
    Eigen::FFT<double> transform;
    std::vector<std::complex<double>> spectrum;
    transform.fwd(spectrum, values);
    double largest = 0;
    for (std::size_t k = 1; k <= ordinates.size(); ++k) {
      const double expected = std::norm(spectrum[k]) / static_cast<double>(n);
      largest = std::max(largest, std::fabs(ordinates[k - 1] - expected));
    }
    CHECK(largest < 1e-6);  // ordinates are about 850, the variance
  }
}

TEST_CASE("the ordinates add up to the sum of squares") {
  // Parseval; with an odd length every frequency but 0 is there twice.
  const std::vector<double> values = series(9999);
  const double mean = mean_of(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const std::vector<double> ordinates = periodogram(values);
  CHECK(2 * std::accumulate(ordinates.begin(), ordinates.end(), 0.0) ==
        Approx(squares).epsilon(1e-11));
}

TEST_CASE("autocorrelations are those of the definition, up to the last lag") {
  const std::vector<double> values = series(37);
  const double mean = mean_of(values);
  const std::vector<double> correlations = autocorrelations(values, 36);
  REQUIRE(correlations.size() == 37);
  std::vector<double> covariances;
  for (std::size_t lag = 0; lag < 37; ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < 37; ++i) sum += (values[i] - mean) * (values[i - lag] - mean);
    covariances.push_back(sum);
  }
  for (std::size_t lag = 0; lag < 37; ++lag) {
    CHECK(correlations[lag] == Approx(covariances[lag] / covariances[0]).margin(1e-12));
  }
}

TEST_CASE("equal values have no correlations") {
  CHECK(autocorrelations(std::vector<double>(10, 3.0), 2).empty());
  CHECK(autocorrelations({}, 0).empty());
}
