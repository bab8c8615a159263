// Selections among normal systems whose means are known: how often the right one is found, and how
// many observations that takes.
//
// SPDX-License-Identifier: MIT
#include <retrysim/selection.hpp>

#include "unit/estimate/autoregression.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

using namespace retrysim;

namespace {

using Numbers = std::vector<double>;

/// Normal systems. Numbers of the same observation have the given correlation.
struct NormalSystems {
  Numbers means, deviations;
  double correlation = 0;
  /// [limit][system]: means of the numbers with limits, which have standard deviation 1.
  std::vector<Numbers> limited = {};
};

double correlated(double correlation, double shared, test::NormalNumbers& normal) {
  return std::sqrt(correlation) * shared + std::sqrt(1 - correlation) * normal.next();
}

void observe(Selection& race, const NormalSystems& systems, test::NormalNumbers& normal) {
  const double shared = normal.next();
  Numbers limited(systems.limited.size());
  for (const std::size_t i : race.racing()) {
    for (std::size_t j = 0; j < limited.size(); ++j) {
      limited[j] = systems.limited[j][i] + correlated(systems.correlation, shared, normal);
    }
    const double noise = correlated(systems.correlation, shared, normal);
    race.add(i, systems.means[i] + systems.deviations[i] * noise, limited);
  }
}

/// Judges after each observation, or, in stages, after a tenth more.
Selection run_race(const SelectionRules& rules, const NormalSystems& systems,
                   test::NormalNumbers& normal, bool in_stages) {
  Selection race(rules);
  for (std::size_t i = 0; i < 10; ++i) observe(race, systems, normal);
  race.judge();
  while (!race.finished()) {
    const std::size_t so_far = race.observations(race.racing().front());
    for (std::size_t i = 0; i < (in_stages ? so_far / 10 : 1); ++i) observe(race, systems, normal);
    race.judge();
  }
  return race;
}

struct Record {
  std::size_t races = 0, correct = 0;
  double observations = 0, equal = 0;

  double share() const { return static_cast<double>(correct) / static_cast<double>(races); }
  double factor() const { return equal / observations; }
};

/// Runs 1,000 races, in which system 0 is the right one.
Record thousand_races(const SelectionRules& rules, const NormalSystems& systems,
                      bool in_stages = false) {
  test::NormalNumbers normal(20010701);
  Record record;
  while (record.races < 1000) {
    const Selection race = run_race(rules, systems, normal, in_stages);
    ++record.races;
    record.correct += race.best() == std::size_t{0};
    record.observations += static_cast<double>(race.observations());
    record.equal += static_cast<double>(race.equal_allocation() * rules.systems);
  }
  return record;
}

/// A procedure that is right with probability 95 % exactly, and no more, is right this often or
/// more in 1,000 races with probability 99.9 %: three standard deviations of 0.0069 below.
constexpr double kLeastShare = 0.95 - 3.1 * 0.0069;

Numbers slippage(std::size_t systems, double zone) {
  Numbers means(systems, 0.0);
  means[0] = zone;
  return means;
}

/// Fed by hand: the same values of each system again and again, with a spread around them.
Selection after_first_stage(const SelectionRules& rules, const Numbers& means, double spread) {
  Selection race(rules);
  for (int r = 0; r < 10; ++r) {
    for (std::size_t i = 0; i < means.size(); ++i) {
      const double sign = (r + static_cast<int>(i)) % 2 == 0 ? 1 : -1;
      race.add(i, means[i] + sign * spread);
    }
  }
  race.judge();
  return race;
}

}  // namespace

TEST_CASE("The constants solve the equations from which the error bounds follow") {
  for (const std::size_t first_stage : {2u, 5u, 10u, 20u, 100u}) {
    for (const double error : {0.025, 0.05 / 9, 0.05 / 999}) {
      const auto freedom = static_cast<double>(first_stage) - 1;
      const double eta = Selection::h2(error, first_stage) / (2 * freedom);
      CHECK(0.5 * std::pow(1 + 2 * eta, -freedom / 2) == Approx(error).epsilon(1e-12));
      // The mean of exp(-kappa S^2 / sigma^2), where S^2 has a chi-square distribution.
      const double kappa = Selection::kappa(error, first_stage);
      CHECK(std::pow(1 + 2 * kappa / freedom, -freedom / 2) == Approx(error).epsilon(1e-12));
    }
  }
  // Many observations: the bounds for a known variance.
  CHECK(Selection::h2(0.005, 1000001) == Approx(2 * std::log(100.0)).epsilon(1e-4));
  CHECK(Selection::kappa(0.005, 1000001) == Approx(std::log(200.0)).epsilon(1e-4));
  CHECK(Selection::error_of_each({10, true, 1, 0.95, {}}) == Approx(0.05 / 9));
  CHECK(Selection::error_of_each({10, true, 1, 0.95, {{0, true, 1}, {0, true, 1}}}) ==
        Approx(0.05 / 11));
}

TEST_CASE("The best of systems in the slippage configuration is found as often as promised",
          "[repetitive]") {
  struct Case {
    const char* name;
    std::size_t systems;
    double correlation, best_deviation, other_deviation;
    bool in_stages;
    double least_factor;  // by which equal allocation takes more observations: half of what it is
  };
  const Case cases[] = {
      {"two systems", 2, 0, 3, 3, false, 1.2},
      {"ten systems", 10, 0, 3, 3, false, 2.2},
      {"ten systems, common random numbers, in stages", 10, 0.8, 6, 6, true, 2.2},
      {"ten systems, the best one has the largest variance", 10, 0, 4, 1.5, false, 2.7},
      {"ten systems, the best one has the smallest variance", 10, 0, 1.5, 4, false, 3.2},
      {"twenty systems", 20, 0.3, 2, 2, false, 3},
  };
  for (const Case& c : cases) {
    Numbers deviations(c.systems, c.other_deviation);
    deviations[0] = c.best_deviation;
    const Record record =
        thousand_races({c.systems, true, 1, 0.95, {}},
                       {slippage(c.systems, 1), deviations, c.correlation}, c.in_stages);
    WARN(c.name << ": right in " << record.correct << " of 1000 races; equal allocation takes "
                << record.factor() << " times as many observations");
    CHECK(record.share() >= kLeastShare);
    CHECK(record.factor() > c.least_factor);
  }
}

TEST_CASE("Not even equal allocation that knows the variances is as quick", "[repetitive]") {
  // Bechhofer 1954: ten systems of standard deviation sigma need (3.4182 sigma / zone)^2
  // observations each for 95 %.
  const Record record =
      thousand_races({10, true, 1, 0.95, {}}, {slippage(10, 1), Numbers(10, 3.0), 0});
  const double bechhofer = 10 * std::ceil(3.4182 * 3 * 3.4182 * 3);
  const double factor = bechhofer * 1000 / record.observations;
  WARN("known variances: equal allocation takes " << factor << " times as many observations");
  CHECK(factor > 1);
}

TEST_CASE("Means that lie far apart take few observations", "[repetitive]") {
  Numbers means;
  for (int i = 0; i < 20; ++i) means.push_back(-i);
  const NormalSystems systems = {means, Numbers(20, 3.0), 0.5};
  // In steps of the zone, and in steps of 25 zones: then the lines decide, not KN's boundary.
  for (const double zone : {1.0, 0.04}) {
    const Record record = thousand_races({20, true, zone, 0.95, {}}, systems);
    WARN("means in steps of " << 1 / zone << " zones: right in " << record.correct
                              << " of 1000 races; equal allocation takes " << record.factor()
                              << " times as many observations");
    CHECK(record.share() >= kLeastShare);
    CHECK(record.factor() > (zone < 1 ? 300 : 8));
  }
}

TEST_CASE("The best of those that keep two limits is found as often as promised", "[repetitive]") {
  // The right one is as near to both limits as the tolerance says, those that would be better break
  // one by as little, and all others are worse by the zone alone.
  NormalSystems systems;
  systems.means = {0, 1, 1, 5, 5, -1, -1, -1};
  systems.deviations = Numbers(8, 2.0);
  systems.correlation = 0.4;
  systems.limited = {{9.5, 10.5, 9.5, 10.5, 9.5, 9.5, 0, 9.5}, {3.5, 9, 2.5, 3.5, 2.5, 9, 9, 3.5}};
  const SelectionRules rules = {8, true, 1, 0.95, {{10, false, 0.5}, {3, true, 0.5}}};
  const Record record = thousand_races(rules, systems);
  WARN("two limits: right in " << record.correct << " of 1000 races; equal allocation takes "
                               << record.factor() << " times as many observations");
  CHECK(record.share() >= kLeastShare);
  CHECK(record.factor() > 1.2);
  // The other way round: what is smaller is better.
  for (double& mean : systems.means) mean = -mean;
  SelectionRules smaller = rules;
  smaller.maximize = false;
  CHECK(thousand_races(smaller, systems).share() >= kLeastShare);
}

TEST_CASE("Races that promise 51 % are not right in 95 % of cases: the tests above could fail",
          "[repetitive]") {
  const Record record =
      thousand_races({20, true, 1, 0.51, {}}, {slippage(20, 1), Numbers(20, 2.0), 0.3});
  CHECK(record.share() >= 0.51);
  CHECK(record.share() < kLeastShare);
}

TEST_CASE("A system leaves at the first judgement beyond its boundary") {
  // Of numbers that go up and down by 1 in turn, against each other: variance of the differences
  // 4 * 10 / 9. KN's boundary, and for a small zone that of the line with slope 8.
  const double variance = 4 * 10.0 / 9, h2 = Selection::h2(0.04, 10);
  const double kappa = Selection::kappa(0.0025, 10);
  struct Case {
    double zone, edge;
  };
  const Case cases[] = {{1, h2 * variance / 2 - 5},
                        {0.2, kappa * variance / (2 * 9 * 0.2) + 8 * 0.2 * 10}};
  for (const Case& c : cases) {
    const SelectionRules rules = {2, true, c.zone, 0.95, {}};
    REQUIRE(c.edge > 0);
    CHECK_FALSE(after_first_stage(rules, {c.edge / 10 - 1e-9, 0}, 1).finished());
    const Selection race = after_first_stage(rules, {c.edge / 10 + 1e-9, 0}, 1);
    CHECK(race.best() == std::size_t{0});
    CHECK(race.state(1).fate == SelectionFate::kBeaten);
    CHECK(race.state(1).by == 0);
    CHECK(race.mean(1) == Approx(0).margin(1e-12));
    CHECK(race.observations() == 20);
    // Smaller is better: the other one wins.
    const SelectionRules smaller = {2, false, c.zone, 0.95, {}};
    CHECK(after_first_stage(smaller, {c.edge / 10 + 1e-9, 0}, 1).best() == std::size_t{1});
  }
  const Selection open = after_first_stage({2, true, 1, 0.95, {}}, {0.01, 0}, 1);
  CHECK(static_cast<double>(open.most_observations()) == std::floor(h2 * variance) + 1);
}

TEST_CASE("A race is over after as many observations as it says, also between equals") {
  const SelectionRules rules = {3, true, 0.5, 0.95, {}};
  test::NormalNumbers normal(7);
  const NormalSystems equal = {{0, 0, 0}, {1, 1, 1}, 0};
  Selection race(rules);
  for (int i = 0; i < 10; ++i) observe(race, equal, normal);
  race.judge();
  REQUIRE_FALSE(race.finished());
  std::size_t most = race.most_observations();
  while (!race.finished()) {
    REQUIRE(race.observations(race.racing().front()) < most);
    observe(race, equal, normal);
    race.judge();
    CHECK(race.most_observations() <= most);
    most = race.most_observations();
  }
  CHECK(race.best());
}

TEST_CASE("Of systems that behave in the same way the first one stays") {
  const SelectionRules rules = {3, true, 1, 0.95, {}};
  Selection race(rules);
  test::NormalNumbers normal(3);
  for (int i = 0; i < 5; ++i) {
    const double value = normal.next();
    for (const std::size_t system : {0u, 1u, 2u}) race.add(system, value - (system == 0 ? 3 : 0));
  }
  race.judge();
  CHECK(race.best() == std::size_t{1});
  CHECK(race.state(0).fate == SelectionFate::kBeaten);
  CHECK(race.state(2).fate == SelectionFate::kSame);
  CHECK(race.state(2).by == 1);
}

TEST_CASE("Only systems that keep the limits remove others") {
  // 0 is the best but breaks the limit, and that is clear only after 1 has lost against it.
  const SelectionRules rules = {2, true, 1, 0.95, {{10, false, 0.1}}};
  Selection race(rules);
  const auto observe_both = [&](int r) {
    const double noise = r % 2 == 0 ? 0.5 : -0.5;
    race.add(0, 20 + noise, Numbers{10.2 + noise});
    race.add(1, 0 - noise, Numbers{5 - noise});
  };
  for (int r = 0; r < 10; ++r) observe_both(r);
  race.judge();
  CHECK(race.racing().size() == 2);
  for (int r = 10; !race.finished(); ++r) {
    observe_both(r);
    race.judge();
  }
  CHECK(race.best() == std::size_t{1});
  CHECK(race.state(0).fate == SelectionFate::kBreaksLimit);
  CHECK(race.state(0).by == 0);
  CHECK(race.limited_mean(0, 0) > 10.1);
}

TEST_CASE("A race that nobody may win has no best system") {
  Selection race({2, true, 1, 0.95, {{0.999, true, 0.001}}});
  for (int r = 0; r < 4; ++r) {
    for (const std::size_t i : {0u, 1u}) race.add(i, r, Numbers{0.5});
  }
  race.judge();
  CHECK(race.finished());
  CHECK_FALSE(race.best());
  // A limit that is met exactly is kept.
  Selection exact({2, true, 1, 0.95, {{0, false, 0.001}}});
  for (int r = 0; r < 4; ++r) {
    for (const std::size_t i : {0u, 1u}) exact.add(i, static_cast<double>(i), Numbers{0});
  }
  exact.judge();
  CHECK(exact.best() == std::size_t{1});
}

TEST_CASE("A system that cannot be observed any more leaves without a verdict") {
  Selection race({3, true, 1, 0.95, {}});
  race.drop(1);
  for (int r = 0; r < 4; ++r) {
    race.add(0, 1);
    race.add(2, 5);
  }
  race.judge();
  CHECK(race.best() == std::size_t{2});
  CHECK(race.state(1).fate == SelectionFate::kDropped);
  CHECK_THROWS_AS(race.add(1, 0), std::invalid_argument);
}

TEST_CASE("Rules and observations that make no sense are refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const SelectionRules good = {2, true, 1, 0.95, {}};
  const auto with = [&](auto change) {
    SelectionRules rules = good;
    change(rules);
    return Selection(rules);
  };
  CHECK_THROWS_AS(with([](auto& r) { r.systems = 1; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](auto& r) { r.indifference = 0; }), std::invalid_argument);
  CHECK_THROWS_AS(with([&](auto& r) { r.indifference = nan; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](auto& r) { r.confidence = 1; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](auto& r) { r.confidence = 0.5; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](auto& r) { r.limits = {{1, true, 0}}; }), std::invalid_argument);
  Selection race(good);
  CHECK_THROWS_AS(race.add(0, nan), std::invalid_argument);
  CHECK_THROWS_AS(race.add(0, 1, Numbers{1}), std::invalid_argument);
  race.add(0, 1);
  CHECK_THROWS_AS(race.judge(), std::logic_error);  // of the other one there is none
  race.add(1, 1);
  CHECK_THROWS_AS(race.judge(), std::logic_error);  // one tells nothing of the variance
}
