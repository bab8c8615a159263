// Two modes: found in mixtures, hardly ever in samples of one.
//
// SPDX-License-Identifier: MIT
#include "estimate/modes.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "autoregression.hpp"

using namespace retrysim;
using stats::find_modes;
using stats::mode_history;
using stats::wilson;

namespace {

/// Of 10,000 samples of `size` values, how many seem to have two modes.
template <typename Value>
int alarms(std::size_t size, Value value) {
  int count = 0;
  test::NormalNumbers numbers(size);
  for (int trial = 0; trial < 10'000; ++trial) {
    std::vector<double> sample;
    for (std::size_t i = 0; i < size; ++i) sample.push_back(value(numbers));
    count += find_modes(sample).has_value();
  }
  return count;
}

}  // namespace

TEST_CASE("a mixture of two levels is split where it has its gap") {
  const std::vector<double> sample = {9.8, 1.1, 10.2, 0.9, 10.0, 1.0, 9.9, 10.1, 10.0, 10.0};
  const auto modes = find_modes(sample);
  REQUIRE(modes);
  CHECK(modes->low == std::vector<std::size_t>{1, 3, 5});
  CHECK(modes->high.size() == 7);
  CHECK(modes->low_mean == Approx(1));
  CHECK(modes->high_mean == Approx(10));
  CHECK(modes->gap == Approx(8.7));
  // Squared deviations: 0.02 below, 0.10 above; 0.12 / 8.
  CHECK(modes->within_sd == Approx(std::sqrt(0.015)));
}

TEST_CASE("a gap that is too narrow, too small, or beside too few values is none") {
  CHECK(!find_modes(std::vector<double>{1, 2, 3, 4, 5, 9, 10, 11, 12, 13}));
  CHECK(!find_modes(std::vector<double>{1, 9, 9, 9, 9, 9, 9, 9, 9, 9}));  // one value
  CHECK(find_modes(std::vector<double>{1, 1, 9, 9, 9, 9, 9, 9, 9, 9}));
  CHECK(!find_modes(std::vector<double>{1, 1, 9, 9, 9, 9, 9, 9, 9}));  // nine values
  std::vector<double> rare(28, 9.0);
  rare.insert(rare.end(), {1, 1});  // 2 of 30 are less than a tenth
  CHECK(!find_modes(rare));
  // Exact values, 4 % apart.
  CHECK(!find_modes(std::vector<double>{96, 96, 96, 96, 96, 100, 100, 100, 100, 100}));
  CHECK(find_modes(std::vector<double>{94, 94, 94, 94, 94, 100, 100, 100, 100, 100}));
  CHECK(!find_modes(std::vector<double>(20, 7.0)));
}

TEST_CASE("mixtures of distant levels are found") {
  // Levels 8 standard deviations apart, equally likely: of 20 values both sides have at least two
  // with probability 0.99996, and their extremes leave a gap of about 4.5 of them.
  const auto mixture = [](double distance) {
    return [distance](test::NormalNumbers& numbers) {
      return 100 + (numbers.uniform() < 0.5 ? distance : 0) + numbers.next();
    };
  };
  CHECK(alarms(20, mixture(20)) >= 9'990);
  CHECK(alarms(50, mixture(20)) >= 9'990);
}

TEST_CASE("samples of one mode hardly ever seem to have two", "[repetitive]") {
  // Measured on 10,000 samples each: normal ones of 10 values 0.9 %, of 20 or more below 0.01 %;
  // exponential ones, skewed as no mean of a replication should be, 5.6, 1.7 and 0.2 % (10, 20 and
  // 30 values); lognormal ones of sigma 1 7.3, 5.4 and 0.9 %.
  const auto normal = [](test::NormalNumbers& numbers) { return 10 + numbers.next(); };
  const auto lognormal = [](test::NormalNumbers& numbers) { return std::exp(numbers.next()); };
  const auto exponential = [](test::NormalNumbers& numbers) {
    return -std::log(numbers.uniform());
  };
  struct Bound {
    std::size_t size;
    int normal, exponential, lognormal;
  };
  for (const Bound& most : {Bound{10, 150, 700, 900}, Bound{20, 5, 250, 700}, Bound{30, 5, 40, 150},
                            Bound{50, 5, 5, 15}}) {
    const int of_normal = alarms(most.size, normal);
    const int of_exponential = alarms(most.size, exponential);
    const int of_lognormal = alarms(most.size, lognormal);
    CAPTURE(most.size, of_normal, of_exponential, of_lognormal);
    CHECK(of_normal <= most.normal);
    CHECK(of_exponential <= most.exponential);
    CHECK(of_lognormal <= most.lognormal);
  }
}

TEST_CASE("Wilson's interval has the values of the literature") {
  // Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
  const auto near = [](double value) { return Approx(value).margin(0.00005); };
  CHECK(wilson(81, 263).ci_low == near(0.2553));
  CHECK(wilson(81, 263).ci_high == near(0.3662));
  CHECK(wilson(15, 148).ci_low == near(0.0624));
  CHECK(wilson(15, 148).ci_high == near(0.1605));
  CHECK(wilson(0, 20).ci_low == 0);
  CHECK(wilson(0, 20).ci_high == near(0.1611));
  CHECK(wilson(1, 29).ci_low == near(0.0061));
  CHECK(wilson(1, 29).ci_high == near(0.1718));
  CHECK(wilson(20, 20).ci_high == 1);
}

TEST_CASE(
    "a series changes its mode when it has come near the other, not by noise around the middle") {
  const std::vector<double> series = {10, 10, 10, 5, 10, 5, 6, 4, 10, 10, 0, 0, 0, 0, 5, 5, 0};
  const auto history = mode_history(series, 0, 10, 2);
  REQUIRE(history.switches.size() == 1);
  CHECK(history.switches[0].observation == 11);  // the first pair with a mean of at most 2.5
  CHECK(history.switches[0].to_low);
  CHECK(history.ends_low);
  const auto back = mode_history(std::vector<double>{0, 0, 9, 9, 9}, 0, 10, 1);
  REQUIRE(back.switches.size() == 1);
  CHECK(back.switches[0].observation == 2);
  CHECK(!back.ends_low);
  CHECK(mode_history({}, 0, 10, 3).switches.empty());
  CHECK(mode_history(std::vector<double>{1}, 0, 10, 3).ends_low);
}
