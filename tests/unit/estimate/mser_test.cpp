// MSER-5: by hand, where it must give up, and on an autoregressive series whose warm-up is known.
//
// SPDX-License-Identifier: MIT
#include "estimate/steady_state.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "autoregression.hpp"

using namespace retrysim;
using stats::mser5;

namespace {

/// A series whose batches of five have these means.
std::vector<double> with_batches(std::initializer_list<double> means) {
  std::vector<double> series;
  for (const double mean : means) {
    for (const double offset : {-2.0, 1.0, 0.0, -1.0, 2.0}) series.push_back(mean + offset);
  }
  return series;
}

}  // namespace

TEST_CASE("the truncation that a calculation by hand gives") {
  // d = 0: 61.5 / 64 = 0.961; 1: 9.429 / 49 = 0.192; 2: 6 / 36 = 0.167; 3: 4.8 / 25 = 0.192;
  // 4: 4 / 16 = 0.25. The smallest is that of 2 batches of five.
  const auto found = mser5(with_batches({9, 3, 2, 0, 2, 0, 2, 0}));
  CHECK(found.found);
  CHECK(found.observations == 10);
}

TEST_CASE("observations after the last whole five are ignored") {
  std::vector<double> series = with_batches({9, 3, 2, 0, 2, 0, 2, 0});
  series.insert(series.end(), {1000, 1000, 1000, 1000});
  CHECK(mser5(series).observations == 10);
}

TEST_CASE("a steady series loses nothing") {
  CHECK(mser5(with_batches({3, 3, 3, 3, 3, 3})).observations == 0);
  CHECK(mser5(with_batches({3, 3, 3, 3, 3, 3})).found);
  // Equal values that are no sums of powers of two: their deviations are exactly zero all the same.
  const auto found = mser5(std::vector<double>(1000, 0.1));
  CHECK(found.found);
  CHECK(found.observations == 0);
}

TEST_CASE("a series that never settles, or is too short, has no truncation") {
  std::vector<double> ramp;
  for (int i = 0; i < 400; ++i) ramp.push_back(i);
  CHECK(!mser5(ramp).found);
  CHECK(!mser5(std::vector<double>(19, 1.0)).found);
  CHECK(!mser5({}).found);
  // A step in the second half: all before it goes, as far as that is allowed.
  std::vector<double> step(275, 0.0);
  step.resize(500, 10.0);
  CHECK(!mser5(step).found);
}

TEST_CASE("the warm-up of an autoregressive series ends where its bias has gone") {
  // x = 8 exp(-t / 40) + AR(1) of correlation 0.5 and standard deviation 1, 2000 observations. At
  // t = 40 ln(8 / 0.1) = 175 a bias of a tenth is left, which after that adds 0.002 to a mean with
  // a standard error of 0.04. Seeds are fixed; of these 200 series none may be cut later than a
  // quarter in, nor lose so little that more bias remains than a standard error.
  int early = 0, late = 0;
  double bias = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::Autoregression noise(seed, 0.5);
    std::vector<double> series;
    for (int t = 0; t < 2000; ++t) series.push_back(8 * std::exp(-t / 40.0) + noise.next());
    const auto found = mser5(series);
    REQUIRE(found.found);
    const auto cut = static_cast<double>(found.observations);
    const double left = 8 * 40 * std::exp(-cut / 40) / (2000 - cut);
    early += left > 0.04;
    late += found.observations > 500;
    bias += left / 200;
  }
  CAPTURE(early, late, bias);
  CHECK(early == 0);
  CHECK(late <= 10);
  CHECK(bias < 0.02);  // without truncation it is 0.16
}
