// Kaplan and Meier's estimate against the textbooks' example: weeks of remission of 21 patients
// under 6-mercaptopurine, 12 of them censored, and of 21 under placebo (Freireich et al. 1963; Cox
// and Oakes 1984, table 1.1).
//
// SPDX-License-Identifier: MIT
#include "estimate/tipping.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <initializer_list>
#include <vector>

using namespace retrysim::stats;

namespace {

std::vector<Lifetime> lifetimes(std::initializer_list<double> events,
                                std::initializer_list<double> censored = {}) {
  std::vector<Lifetime> all;
  for (const double t : censored) all.push_back({t, true});
  for (const double t : events) all.push_back({t, false});
  return all;
}

const std::vector<Lifetime> kMercaptopurine =
    lifetimes({6, 6, 6, 7, 10, 13, 16, 22, 23}, {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35});
const std::vector<Lifetime> kPlacebo =
    lifetimes({1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23});

}  // namespace

TEST_CASE("survival and standard errors of the textbook example") {
  const auto steps = kaplan_meier(kMercaptopurine);
  struct Row {
    double time;
    std::size_t at_risk;
    double survival, standard_error;
  };
  const std::vector<Row> expected = {{6, 21, 0.857, 0.0764},  {7, 17, 0.807, 0.0869},
                                     {10, 15, 0.753, 0.0963}, {13, 12, 0.690, 0.1068},
                                     {16, 11, 0.627, 0.1141}, {22, 7, 0.538, 0.1282},
                                     {23, 6, 0.448, 0.1346}};
  REQUIRE(steps.size() == expected.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].time == expected[i].time);
    CHECK(steps[i].at_risk == expected[i].at_risk);
    CHECK(steps[i].survival == Approx(expected[i].survival).margin(6e-4));
    CHECK(steps[i].standard_error == Approx(expected[i].standard_error).margin(6e-5));
  }
}

TEST_CASE("median and interval of the textbook example") {
  const auto treated = median_lifetime(kMercaptopurine);
  REQUIRE(treated);
  CHECK(treated->median == 23.0);
  CHECK(treated->low == 13);  // 0.690 - 1.96 * 0.1068 is the first below one half
  CHECK(std::isinf(treated->high));
  const auto placebo = median_lifetime(kPlacebo);
  REQUIRE(placebo);
  CHECK(placebo->median == 8.0);
  CHECK(placebo->low == 4);    // 14 of 21 are left: 0.667 - 1.96 * 0.103
  CHECK(placebo->high == 11);  // 6 of 21: 0.286 + 1.96 * 0.099
}

TEST_CASE("more than half censored leaves no median, but a lower end") {
  const auto result = median_lifetime(lifetimes({1, 2, 3, 4}, {9, 9, 9, 9, 9, 9}));
  REQUIRE(result);
  CHECK(!result->median);
  CHECK(result->low == 3);  // 0.7 - 1.96 * 0.145
  CHECK(std::isinf(result->high));
  CHECK(!median_lifetime({}));
  CHECK(std::isinf(median_lifetime(lifetimes({}, {5, 5}))->low));
}

TEST_CASE("an estimate of exactly one half has the middle of its stretch as median") {
  CHECK(median_lifetime(lifetimes({1, 2, 4, 5}))->median == 3.0);
  CHECK(median_lifetime(lifetimes({1, 2, 4}))->median == 2.0);
}

TEST_CASE("an event comes before what is censored at the same time") {
  CHECK(kaplan_meier(lifetimes({5}, {5})).at(0).survival == 0.5);
}
