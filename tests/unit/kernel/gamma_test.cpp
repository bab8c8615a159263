// The gamma distribution against its exact law. Seeds are fixed; the false-alarm probability of
// each single comparison is 1e-6.
//
// SPDX-License-Identifier: MIT
#include <retrysim/random.hpp>

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

namespace retrysim {
namespace {

constexpr double kQuantileOfMoments = 4.891638;  // of the normal distribution, 1e-6
constexpr double kGammaKolmogorov = 2.693407;    // of sqrt(n) D: 2 exp(-2 x^2) = 1e-6

std::vector<double> gamma_samples(const Distribution& d, std::size_t n, std::uint64_t seed) {
  std::vector<double> samples(n);
  for (std::size_t i = 0; i < n; ++i) {
    Draws draws(RandomKey(seed, 0), {i, 1, 0, Purpose::kServiceTime});
    samples[i] = d.sample(draws).in_seconds();
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

using GammaLaw = boost::math::gamma_distribution<>;

/// sqrt(n) times the largest distance to the distribution function.
double gamma_distance(const std::vector<double>& sorted, const GammaLaw& law) {
  const auto n = static_cast<double>(sorted.size());
  double largest = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double f = boost::math::cdf(law, sorted[i]);
    const auto rank = static_cast<double>(i);
    largest = std::max({largest, f - rank / n, (rank + 1) / n - f});
  }
  return largest * std::sqrt(n);
}

// Lengths around 10^6 s, so that the rounding of small values to nanoseconds does not show: with a
// shape of 0.3 a share of 4e-5 lies below one.
constexpr double kMeanS = 1e6;

TEST_CASE("gamma variates follow their law, for shapes below, at and above 1", "[repetitive]") {
  constexpr std::size_t kSamples = 200'000;
  std::uint64_t seed = 300;
  for (const double shape : {0.3, 0.7, 1.0, 1.01, 2.5, 40.0}) {
    INFO("shape " << shape);
    const Distribution d = Distribution::gamma(kMeanS, shape);
    CHECK(d.mean_seconds() == kMeanS);
    const auto samples = gamma_samples(d, kSamples, ++seed);
    CHECK(gamma_distance(samples, GammaLaw(shape, kMeanS / shape)) < kGammaKolmogorov);
    double sum = 0, squares = 0;
    for (const double x : samples) {
      sum += x / kMeanS - 1;
      squares += (x / kMeanS - 1) * (x / kMeanS - 1);
    }
    // In units of the mean: variance 1/k, fourth central moment 3/k^2 + 6/k^3.
    const auto n = static_cast<double>(kSamples);
    const double variance = 1 / shape;
    const double fourth = 3 * variance * variance + 6 * variance * variance * variance;
    CHECK(std::abs(sum / n) < kQuantileOfMoments * std::sqrt(variance / n));
    CHECK(std::abs(squares / n - variance) <
          kQuantileOfMoments * std::sqrt((fourth - variance * variance) / n));
  }
}

TEST_CASE("the test of gamma variates would notice a shape that is slightly off") {
  const auto samples = gamma_samples(Distribution::gamma(kMeanS, 0.52), 200'000, 320);
  CHECK(gamma_distance(samples, GammaLaw(0.5, kMeanS / 0.5)) > kGammaKolmogorov);
}

TEST_CASE("a gamma distribution has a mean or a scale") {
  const Distribution by_mean = Distribution::gamma(0.6, 3);
  const Distribution by_scale = Distribution::gamma_scaled(3, 0.2);
  CHECK(by_mean.kind() == Distribution::Kind::kGamma);
  CHECK(by_scale.mean_seconds() == Approx(0.6));
  CHECK(by_scale.parameters().a == Approx(0.2));
  CHECK(by_scale.parameters().b == 3);
  for (std::uint64_t i = 0; i < 100; ++i) {
    Draws a(RandomKey(5, 0), {i}), b(RandomKey(5, 0), {i});
    const double difference = by_mean.sample(a).in_seconds() - by_scale.sample(b).in_seconds();
    CHECK(std::abs(difference) <= 1e-9);  // the means differ in the last bit
  }
}

TEST_CASE("extreme shapes of the gamma distribution") {
  const auto narrow = gamma_samples(Distribution::gamma(1, Distribution::kMaxGammaShape), 1000, 7);
  CHECK(narrow.front() > 0.99);  // the standard deviation is 0.001
  CHECK(narrow.back() < 1.01);
  // P(X <= x) is about (x / scale)^0.01 / GammaLaw(1.01): half of all lie below 1e-28 s.
  const auto wide = gamma_samples(Distribution::gamma(1, Distribution::kMinGammaShape), 1000, 8);
  CHECK(wide[500] == 0);
  CHECK(wide.back() > 1);
}

}  // namespace
}  // namespace retrysim
