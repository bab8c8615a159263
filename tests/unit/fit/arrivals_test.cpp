// Constant, changing, bursty and even arrivals are told from each other.
//
// SPDX-License-Identifier: MIT
#include "fit/arrivals.hpp"

#include "fit/fit.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

constexpr std::int64_t kNs = 1'000'000'000;

/// A Poisson process with the rate of each moment, which is at most `most`.
std::vector<std::int64_t> poisson(double span_s, double most,
                                  const std::function<double(double)>& rate, std::uint64_t seed) {
  Draws draws(RandomKey(seed, 0), {1, 0, 0, Purpose::kServiceTime});
  std::vector<std::int64_t> times;
  for (double t = unit_exponential(draws) / most; t < span_s; t += unit_exponential(draws) / most) {
    if (draws.uniform() * most < rate(t)) times.push_back(static_cast<std::int64_t>(t * 1e9));
  }
  return times;
}

}  // namespace

TEST_CASE("requests at random at a constant rate are a Poisson process") {
  // Each of the 20 logs is taken for something else with a probability of at most 5 x 0.0005; the
  // rate is outside its interval in 1 % of the logs, so more than 2 of 20 would be in 0.1 %.
  int outside = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const FittedArrivals fit = fit_arrivals(poisson(
                                                1000, 60, [](double) { return 60; }, seed),
                                            1);
    CHECK(fit.kind == ArrivalKind::kPoisson);
    CHECK(fit.bin_s == 2);
    outside += fit.rate.low > 60 || fit.rate.high < 60;
    CHECK(fit.rate.high - fit.rate.low < 3);
  }
  CHECK(outside <= 2);
}

TEST_CASE("a rate that changes slowly is found, and so is the day in a week") {
  const auto wave = [](double t) { return 50 + 30 * std::sin(t / 100); };
  const FittedArrivals fit = fit_arrivals(poisson(2000, 80, wave, 1), 1);
  CHECK(fit.kind == ArrivalKind::kVarying);
  CHECK(fit.peak > 75);
  CHECK(fit.trough < 25);
  for (std::size_t i = 0; i < fit.rates.size(); ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * fit.bin_s;
    CHECK(fit.rates[i] == Approx(wave(middle)).margin(5 * std::sqrt(80 / fit.bin_s)));
  }
  const auto day = [](double t) { return 1 + 0.9 * std::cos(t / 86'400 * 2 * 3.14159265); };
  const FittedArrivals week = fit_arrivals(poisson(7 * 86'400, 1.9, day, 2), 1);
  CHECK(week.kind == ArrivalKind::kVarying);
  CHECK(week.bin_s == 900);
}

TEST_CASE("bursts and even arrivals are not taken for chance") {
  std::vector<std::int64_t> even, bursts;
  for (std::int64_t i = 0; i < 20'000; ++i) even.push_back(i * kNs / 50);
  for (const std::int64_t t : poisson(
           2000, 5, [](double) { return 5; }, 3)) {
    for (std::int64_t i = 0; i < 10; ++i) bursts.push_back(t + i * 1'000'000);
  }
  std::sort(bursts.begin(), bursts.end());
  const FittedArrivals of_even = fit_arrivals(even, 1);
  CHECK(of_even.kind == ArrivalKind::kOther);
  CHECK(of_even.within_bins.too_low());
  const FittedArrivals of_bursts = fit_arrivals(bursts, 1);
  CHECK(of_bursts.kind == ArrivalKind::kOther);
  CHECK(of_bursts.within_bins.too_high());
  // The interval of the rate knows of the bursts: that of a Poisson process would be 0.9 wide.
  CHECK(of_bursts.rate.high - of_bursts.rate.low > 1.5);
}

TEST_CASE("arrivals are said to be even only if that is all") {
  const auto words = [](const FittedArrivals& a) { return arrival_words(a); };
  FittedArrivals a;
  a.kind = ArrivalKind::kOther;
  a.rate = {5, 4, 6};
  a.peak = 9, a.trough = 2, a.bin_s = 10;
  const Dispersion low{0.5, 0.8, 1.2, 20}, high{3, 0.8, 1.2, 20}, as_chance{1, 0.8, 1.2, 20};
  a.within_bins = low, a.between_bins = as_chance;
  CHECK_THAT(words(a), Catch::StartsWith("Requests arrive more evenly than at random, at 5 per"));
  a.within_bins = as_chance, a.between_bins = low;
  CHECK_THAT(words(a), Catch::StartsWith("Requests arrive more evenly than at random, at 5 per"));
  a.within_bins = low, a.between_bins = high;
  CHECK_THAT(words(a), Catch::StartsWith("Requests arrive more evenly than at random, at a rate "
                                         "that changes from 2 to 9 per second (in bins of 10 s)"));
  a.within_bins = high, a.between_bins = low;
  CHECK_THAT(words(a), Catch::StartsWith("Requests arrive in bursts, at 5 per second"));
}

TEST_CASE("bins are wide enough for the resolution of the times") {
  std::vector<std::int64_t> times = poisson(
      1000, 200, [](double) { return 200; }, 4);
  for (std::int64_t& t : times) t = t / kNs * kNs;
  const FittedArrivals fit = fit_arrivals(times, kNs);
  CHECK(fit.bin_s == 10);
  CHECK(fit.kind == ArrivalKind::kPoisson);
}
