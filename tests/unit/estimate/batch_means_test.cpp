// Batch means: by hand, and how often their intervals cover the known mean of autoregressive
// series.
//
// SPDX-License-Identifier: MIT
#include "estimate/steady_state.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "autoregression.hpp"

using namespace retrysim;
using stats::batch_means;
using stats::lag1_correlation;

TEST_CASE("the lag-1 correlation of five numbers") {
  // Mean 3, deviations -2 -1 0 1 2: products 2 + 0 + 0 + 2 = 4, squares 10.
  CHECK(lag1_correlation(std::array<double, 5>{1, 2, 3, 4, 5}) == Approx(0.4));
  CHECK(lag1_correlation(std::array<double, 4>{1, -1, 1, -1}) == Approx(-0.75));
  CHECK(lag1_correlation(std::array<double, 3>{0.1, 0.1, 0.1}) == 0);
  CHECK(lag1_correlation({}) == 0);
}

TEST_CASE("thirty batches that alternate") {
  // 60 observations in pairs: batch means 1, 3, 1, 3, ... have mean 2 and variance 30 / 29.
  std::vector<double> y;
  for (int b = 0; b < 30; ++b) y.insert(y.end(), {b % 2 == 0 ? 0.0 : 4.0, 2.0});
  const auto result = batch_means(y, std::vector<double>(60, 1.0));
  REQUIRE(result);
  CHECK(result->batches == 30);
  CHECK(result->observations_per_batch == 2);
  CHECK(result->mean == Approx(2));
  CHECK(result->correlation == Approx(-29.0 / 30));
  CHECK(result->half_width == Approx(2.0452296 * std::sqrt(30.0 / 29) / std::sqrt(30)));
}

TEST_CASE("what does not fill a batch is left out at the start") {
  std::vector<double> y(59, 1e6);
  for (int i = 0; i < 60; ++i) y.push_back((i / 2) % 2);  // 39 batches of 3, 2 left over
  const auto result = batch_means(y, std::vector<double>(y.size(), 1.0));
  REQUIRE(!result);  // the step is a correlation
  std::vector<double> tail(1, 1e6);
  for (int i = 0; i < 60; ++i) tail.push_back((i / 2) % 2);
  const auto good = batch_means(tail, std::vector<double>(61, 1.0));
  REQUIRE(good);
  CHECK(good->mean == 0.5);
  CHECK(good->batches == 30);
  std::vector<double> weights(61, 1.0);
  weights[0] = 1e6;  // of what is left out, too
  CHECK(batch_means(tail, weights)->mean == 0.5);
  CHECK(batch_means(tail, weights)->half_width == good->half_width);
}

TEST_CASE("a series without variation has an interval without width, whatever its rounding") {
  const auto result = batch_means(std::vector<double>(100, 0.1), std::vector<double>(100, 0.3));
  REQUIRE(result);
  CHECK(result->half_width == 0);
  CHECK(result->batches == 33);
  CHECK(result->correlation == 0);
}

TEST_CASE("a ratio is that of the sums, and its deviations those of the linearization") {
  // Latencies of 1 s in batches of one request, of 2 s in batches of three: 210 s over 60 requests.
  std::vector<double> y, x;
  for (int b = 0; b < 30; ++b) {
    y.push_back(b % 2 == 0 ? 1 : 6);
    x.push_back(b % 2 == 0 ? 1 : 3);
  }
  const auto result = batch_means(y, x);
  REQUIRE(result);
  CHECK(result->mean == Approx(1.75));
  // z = (1 - 1.75) / 2 and (6 - 5.25) / 2, so ±0.375.
  CHECK(result->half_width == Approx(2.0452296 * 0.375 * std::sqrt(30.0 / 29) / std::sqrt(30)));
}

TEST_CASE(
    "batches that depend on each other are doubled, and no interval comes from fewer than 10") {
  // Batches + + + - - - have a correlation of 1/3; doubled they are + 0 - + 0 -.
  std::vector<double> y;
  for (int i = 0; i < 30; ++i) y.push_back((i / 3) % 2 == 0 ? 1 : -1);
  const std::vector<double> one(30, 1.0);
  const auto result = batch_means(y, one);
  REQUIRE(result);
  CHECK(result->batches == 15);
  CHECK(result->observations_per_batch == 2);
  std::vector<double> ramp;
  for (int i = 0; i < 3000; ++i) ramp.push_back(i);
  CHECK(!batch_means(ramp, std::vector<double>(3000, 1.0)));
  CHECK(!batch_means(std::vector<double>(29, 1.0), std::vector<double>(29, 1.0)));
  CHECK(!batch_means(std::vector<double>(30, 1.0), std::vector<double>(30, 0.0)));
}

TEST_CASE("the intervals cover the mean of an autoregressive series as often as they say") {
  // Correlation 0.8: the variance of a mean of n is (1 + 0.8) / (1 - 0.8) / n = 9 / n. With 3000
  // observations batches of 100 have a correlation of about 0.04. Of 1000 intervals at 95 % fewer
  // than 920 or more than 975 cover with probability 2e-4. A few series look correlated and get no
  // interval.
  int covered = 0, intervals = 0;
  double variance = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    test::Autoregression series(seed + 10'000, 0.8);
    std::vector<double> y;
    for (int t = 0; t < 3000; ++t) y.push_back(5 + series.next());
    const auto result = batch_means(y, std::vector<double>(y.size(), 1.0));
    if (!result) continue;
    ++intervals;
    covered += std::fabs(result->mean - 5) <= result->half_width;
    const double t = result->batches == 30 ? 2.0452296 : 2.1447867;
    variance += std::pow(result->half_width / t, 2);
  }
  CAPTURE(covered, intervals, variance / intervals);
  CHECK(intervals >= 850);
  CHECK((covered >= 0.92 * intervals && covered <= 0.975 * intervals));
  CHECK(variance / intervals == Approx(9.0 / 3000).epsilon(0.1));
}
