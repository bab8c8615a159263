// Statistics of arrivals on series whose answer can be worked out by hand.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/burstiness.hpp"

#include <catch2/catch.hpp>

#include <cmath>

using namespace retrysim;
using namespace retrysim::stats;

namespace {

/// `n` bins of half a second, in which the counts `pattern` repeat.
ArrivalCounts repeated(const std::vector<double>& pattern, std::size_t n) {
  ArrivalCounts a;
  a.bin_s = 0.5;
  for (std::size_t i = 0; i < n; ++i) a.counts.push_back(pattern[i % pattern.size()]);
  return a;
}

}  // namespace

TEST_CASE("index of dispersion: variance over mean") {
  // Mean 4, squares of the deviations 9 + 1 + 1 + 9 = 20, variance 20 / 3.
  CHECK(*dispersion_index(std::vector<double>{1, 3, 5, 7}) == Approx(20.0 / 3 / 4));
  CHECK(*dispersion_index(std::vector<double>{5, 5, 5}) == 0);
  CHECK_FALSE(dispersion_index(std::vector<double>{5}));
  CHECK_FALSE(dispersion_index(std::vector<double>{0, 0}));
}

TEST_CASE("the ladder joins bins two by two while 30 windows are left") {
  // 0, 8, 0, 8: variance 16 n / (n - 1) per mean 4; pairs are all alike.
  const auto ladder = dispersion_ladder(repeated({0, 8}, 241));
  REQUIRE(ladder.size() == 4);  // 241, 120, 60, 30
  CHECK(ladder[0].window_s == 0.5);
  CHECK(ladder[0].index == Approx(4.0).epsilon(0.01));
  CHECK(ladder[1].window_s == 1);
  CHECK(ladder[1].index == 0);
  CHECK(ladder[3].window_s == 4);
  CHECK(dispersion_ladder(repeated({0, 8}, 29)).empty());
  CHECK(dispersion_ladder(repeated({0}, 100)).empty());
}

TEST_CASE("an echo is found where it is, with its strength") {
  // A burst every 5 bins: what is left of the series after a shift by 5 is 95 of 100 bins.
  const auto echo = strongest_echo(repeated({10, 0, 0, 0, 0}, 100));
  REQUIRE(echo);
  CHECK(echo->lag_s == 2.5);
  CHECK(echo->correlation == Approx(0.95));
  CHECK_FALSE(strongest_echo(repeated({1}, 100)));
  CHECK_FALSE(strongest_echo(repeated({1, 2}, 7)));
}

TEST_CASE("a rhythm is found at its frequency") {
  ArrivalCounts a;
  a.bin_s = 0.5;
  for (int i = 0; i < 200; ++i) {
    const double noise = (i * 7919 % 13) / 13.0;
    a.counts.push_back(10 + 5 * std::cos(0.4 * M_PI * i) + noise);  // every 5 bins
  }
  const auto peak = spectral_peak(a);
  REQUIRE(peak);
  CHECK(peak->frequency == Approx(0.4));
  CHECK(peak->ratio > 1000);
  CHECK(peak->p_value < 1e-15);
}

TEST_CASE("a spectrum of nothing but one line has no ratio") {
  CHECK_FALSE(spectral_peak(repeated({4}, 64)));
  CHECK_FALSE(spectral_peak(repeated({4, 0, 0, 0}, 64)));
  CHECK_FALSE(spectral_peak(repeated({4, 1, 0}, 7)));
}

TEST_CASE("Fisher's test has the published critical values") {
  // Fisher 1929, 5 % points of the largest share of 5, 10, 20 and 50 ordinates.
  CHECK(fisher_p_value(0.68377, 5) == Approx(0.05).epsilon(1e-3));
  CHECK(fisher_p_value(0.44495, 10) == Approx(0.05).epsilon(1e-3));
  CHECK(fisher_p_value(0.27040, 20) == Approx(0.05).epsilon(1e-3));
  CHECK(fisher_p_value(0.13135, 50) == Approx(0.05).epsilon(1e-3));
  CHECK(fisher_p_value(1, 10) == 0);
  CHECK(fisher_p_value(0.5, 2) == 1);             // one of two has half of the sum
  CHECK(fisher_p_value(0.75, 2) == Approx(0.5));  // 2 (1 - g)
  CHECK(fisher_p_value(0.0002, 8000) == 1);       // every series has such a peak
  CHECK(fisher_p_value(0.002, 8000) == Approx(8000 * std::pow(0.998, 7999)).epsilon(1e-3));
}

TEST_CASE("arrivals are those of the window, and joined when there are very many") {
  RunResult run;
  run.interval = Duration::seconds(1);
  run.window_start = Time::zero() + Duration::seconds(2);
  run.window_end = Time::zero() + Duration::seconds(5);
  std::vector<ClientBin> bins(7);
  for (std::size_t i = 0; i < bins.size(); ++i) bins[i].flow.arrivals = i;
  CHECK(arrival_counts(run, bins).counts == std::vector<double>{2, 3, 4});
  run.window_start = Time::zero();
  run.window_end = Time::zero() + Duration::seconds(40'001);
  bins.assign(40'001, {});
  for (ClientBin& b : bins) b.flow.arrivals = 1;
  const ArrivalCounts joined = arrival_counts(run, bins);
  CHECK(joined.bin_s == 4);
  CHECK(joined.counts == std::vector<double>(10'000, 4.0));
  CHECK(arrival_counts(run, bins, false).counts.size() == 40'001);
}
