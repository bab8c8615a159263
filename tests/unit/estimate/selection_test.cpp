// Selections among normal systems whose means are known: how often the right one is found, and how
// many observations that takes.
//
// SPDX-License-Identifier: MIT

#include "estimate/selection.hpp"
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

TEST_CASE("Equal allocation that knows the variances is not much quicker", "[repetitive]") {
  // Bechhofer 1954: ten systems of standard deviation sigma need (3.4182 sigma / zone)^2
  // observations each for 95 %.
  const Record record =
      thousand_races({10, true, 1, 0.95, {}}, {slippage(10, 1), Numbers(10, 3.0), 0});
  const double bechhofer = 10 * std::ceil(3.4182 * 3 * 3.4182 * 3);
  const double factor = bechhofer * 1000 / record.observations;
  WARN("known variances: equal allocation takes " << factor << " times as many observations");
  CHECK(factor > 0.8);
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
  CHECK(static_cast<double>(open.most_observations().value()) == std::floor(h2 * variance) + 1);
}

TEST_CASE("A race is over after as many observations as it says, also between equals") {
  const SelectionRules rules = {3, true, 0.5, 0.95, {}};
  test::NormalNumbers normal(7);
  const NormalSystems equal = {{0, 0, 0}, {1, 1, 1}, 0};
  Selection race(rules);
  for (int i = 0; i < 10; ++i) observe(race, equal, normal);
  race.judge();
  REQUIRE_FALSE(race.finished());
  std::size_t most = race.most_observations().value();
  while (!race.finished()) {
    REQUIRE(race.observations(race.racing().front()) < most);
    observe(race, equal, normal);
    race.judge();
    most = race.most_observations().value();
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

TEST_CASE("Nothing is decided of a difference that what is unseen may be") {
  SelectionRules rules{.systems = 2, .maximize = false, .indifference = 0.1};
  rules.unseen = [](std::size_t, std::size_t, std::size_t n) { return 40.0 / double(n); };
  Selection race(rules);
  const auto observe = [&](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      race.add(0, 1.0 + (i % 2 == 0 ? 0.01 : -0.01));
      race.add(1, 2.0);
    }
    race.judge();
  };
  observe(20);
  CHECK_FALSE(race.finished());
  CHECK_FALSE(race.most_observations());
  observe(20);  // one apart, and 40 / 40 may be unseen
  CHECK_FALSE(race.finished());
  observe(2);
  REQUIRE(race.finished());
  CHECK(race.best() == 0);
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
  CHECK_THROWS_AS(with([](auto& r) { r.indifference = -1; }), std::invalid_argument);
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

// Races by bounds: the promise needs no law of the differences, so it is tried with laws that break
// procedures for normal numbers.

namespace {

/// The differences of two systems, best minus other, with a known mean. Both observe within [0, 1].
struct DifferenceLaw {
  const char* name;
  double mean;
  double (*draw)(test::NormalNumbers& numbers);
  double level = 0.5;  ///< of the other system, to which differences are added
};

/// Without the tails beyond four standard deviations, on both sides: the mean stays.
double cut_normal(test::NormalNumbers& numbers) {
  while (true) {
    const double z = numbers.next();
    if (std::fabs(z) < 4) return z;
  }
}

/// The other system loses 0.9 in a share `p` of its observations, and is otherwise ahead by what
/// leaves the best a mean lead of `mean`.
double rare_collapse(test::NormalNumbers& numbers, double p, double mean) {
  const double ahead = (0.9 * p - mean) / (1 - p);
  return numbers.uniform() < p ? 0.9 : -ahead;
}

/// exp(0.8 z) - 1 for |z| < 3, divided by 30: mean of the cut lognormal by its distribution
/// function, exp(s^2 / 2) (Phi(3 - s) - Phi(-3 - s)) / (Phi(3) - Phi(-3)).
double phi(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }
constexpr double kSigma = 0.8, kCut = 3;
double lognormal_mean() {
  return std::exp(kSigma * kSigma / 2) * (phi(kCut - kSigma) - phi(-kCut - kSigma)) /
         (phi(kCut) - phi(-kCut));
}
double cut_lognormal(test::NormalNumbers& numbers) {
  while (true) {
    const double z = numbers.next();
    if (std::fabs(z) < kCut) return std::exp(kSigma * z);
  }
}

/// Pareto from 1 with exponent 1.2, cut at 100: the mean is 6 (1 - 100^-0.2) / (1 - 100^-1.2).
constexpr double kExponent = 1.2, kBound = 100;
double pareto_mean() {
  return kExponent / (kExponent - 1) * (1 - std::pow(kBound, 1 - kExponent)) /
         (1 - std::pow(kBound, -kExponent));
}
double cut_pareto(test::NormalNumbers& numbers) {
  const double u = numbers.uniform() * (1 - std::pow(kBound, -kExponent));
  return std::pow(1 - u, -1 / kExponent);
}

/// The indifference zone of the races below, and by how much the best is ahead: as little as
/// allowed.
constexpr double kZone = 0.01;

const DifferenceLaw kLaws[] = {
    {"normal", kZone, [](auto& n) { return kZone + 0.05 * cut_normal(n); }},
    {"lognormal, the other is far ahead at times", kZone,
     [](auto& n) { return kZone - (cut_lognormal(n) - lognormal_mean()) / 30; }},
    {"lognormal, the best is far ahead at times", kZone,
     [](auto& n) { return kZone + (cut_lognormal(n) - lognormal_mean()) / 30; }},
    {"the other collapses in 10 %", kZone, [](auto& n) { return rare_collapse(n, 0.1, kZone); },
     0.1},
    {"the other collapses in 3 %", kZone, [](auto& n) { return rare_collapse(n, 0.03, kZone); },
     0.1},
    {"the other collapses in 1.5 %", kZone, [](auto& n) { return rare_collapse(n, 0.015, kZone); },
     0.1},
    {"the best collapses in 0.5 %", kZone,
     [](auto& n) { return n.uniform() < 0.005 ? -0.9 : (kZone + 0.0045) / 0.995; }, 0.92},
    {"two modes", kZone,
     [](auto& n) { return n.uniform() < 0.55 ? -0.2 : kZone + 0.2 * 11 / 9 + kZone * 11 / 9; }},
    {"seven values", kZone,
     [](auto& n) { return kZone + 0.1 * (std::floor(7 * (1 - n.uniform())) - 3); }},
    {"Pareto cut at its bound, against the best", kZone,
     [](auto& n) { return kZone - (cut_pareto(n) - pareto_mean()) / 250; }},
    {"Pareto cut at its bound, for the best", kZone,
     [](auto& n) { return kZone + (cut_pareto(n) - pareto_mean()) / 250; }},
};

Selection race_by_bounds(const DifferenceLaw& law, test::NormalNumbers& numbers, double zone,
                         std::size_t most) {
  SelectionRules rules{2, true, zone, 0.95};
  rules.range = SelectionRange{0, 1};
  Selection race(rules);
  std::size_t next = 20, so_far = 0;
  while (!race.finished() && so_far < most) {
    for (; so_far < next; ++so_far) {
      // The one that should not be chosen comes first: it wins where nobody does.
      race.add(0, law.level);
      race.add(1, law.level + law.draw(numbers));
    }
    race.judge();
    next = so_far + std::max<std::size_t>(1, so_far / 10);
  }
  return race;
}

}  // namespace

TEST_CASE("Bounds keep the promise whatever the law of the differences", "[repetitive]") {
  for (const DifferenceLaw& law : kLaws) {
    test::NormalNumbers numbers(20240101);
    std::size_t right = 0, races = 0;
    double observations = 0;
    for (; races < 1000; ++races) {
      const Selection race = race_by_bounds(law, numbers, kZone, 100000);
      right += race.best() == std::size_t{1};
      observations += static_cast<double>(race.observations()) / 2;
    }
    WARN(law.name << ": right in " << right << " of 1000 races, with " << observations / 1000
                  << " observations of each system");
    CHECK(static_cast<double>(right) / 1000 >= kLeastShare);
  }
}

TEST_CASE("The means of the laws are what the races above assume", "[repetitive]") {
  // 400,000 draws: five standard errors, so one false alarm in 10^6 laws.
  for (const DifferenceLaw& law : kLaws) {
    test::NormalNumbers numbers(7);
    constexpr double kDraws = 400000;
    double sum = 0, squares = 0;
    for (int i = 0; i < static_cast<int>(kDraws); ++i) {
      const double value = law.draw(numbers);
      REQUIRE((law.level + value >= 0 && law.level + value <= 1));
      sum += value;
      squares += value * value;
    }
    const double mean = sum / kDraws;
    INFO(law.name << ": " << mean);
    CHECK(std::fabs(mean - law.mean) <= 5 * std::sqrt((squares / kDraws - mean * mean) / kDraws));
  }
}

TEST_CASE("A procedure for normal numbers breaks its promise for rare collapses", "[repetitive]") {
  // Why bounds are the default for shares: twenty observations often show no collapse at all.
  test::NormalNumbers numbers(20240101);
  const DifferenceLaw& law = kLaws[5];
  std::size_t right = 0;
  for (int r = 0; r < 1000; ++r) {
    Selection race({2, true, kZone, 0.95});
    for (int i = 0; i < 20; ++i) {
      race.add(0, law.level);
      race.add(1, law.level + law.draw(numbers) + 1e-4 * cut_normal(numbers));
    }
    race.judge();
    while (!race.finished()) {
      race.add(0, law.level);
      race.add(1, law.level + law.draw(numbers) + 1e-4 * cut_normal(numbers));
      race.judge();
    }
    right += race.best() == std::size_t{1};
  }
  CHECK(right < 900);
}

TEST_CASE("The capital of the gambler is the product of the bets") {
  // Two numbers, bets of 1, 1/2, ... 2^-12 in units of the worst case, by hand.
  const double numbers[] = {0.25, -0.5};
  double expected = 0, first = 0;
  for (int i = 0; i <= 12; ++i) {
    const double bet = std::ldexp(1.0, -i), stake = i == 0 ? 0.5 : 0.5 / 12;
    first += stake * (1 + bet * (0.25 + 0.1));
    expected += stake * (1 + bet * (0.25 + 0.1)) * (1 + bet * (-0.5 + 0.1));
  }
  CHECK(Selection::most_capital(std::span(numbers, 1), -0.1, 1) == Approx(first).epsilon(1e-14));
  CHECK(Selection::most_capital(numbers, -0.1, 1) == Approx(first).epsilon(1e-14));
  CHECK(expected < first);
  const double falling[] = {-1, -1, -1};
  CHECK(Selection::most_capital(falling, 0, 1) == 1);
}

TEST_CASE("Equals end a race by bounds as good as each other, and not before it can be known") {
  SelectionRules rules{3, true, 0.01, 0.95};
  rules.range = SelectionRange{0, 1};
  Selection race(rules);
  std::size_t observations = 0;
  while (!race.finished()) {
    race.add(0, 0.5);
    race.add(1, 0.5);
    race.add(2, observations % 2 == 0 ? 0.501 : 0.5);  // ahead by less than the zone
    ++observations;
    if (observations >= 2) race.judge();
  }
  CHECK(race.best() == std::size_t{2});
  CHECK(race.state(0).fate == SelectionFate::kAsGood);
  CHECK(race.state(1).fate == SelectionFate::kAsGood);
  // beta = 0.025. The lead of 0.0005 on average is added to the zone of 0.01.
  const double needed = std::log(2 / 0.025) / 0.0105;
  CHECK(static_cast<double>(observations) == Approx(needed).epsilon(0.02));
}

TEST_CASE("Limits are tested by bounds as well") {
  // 2 % failures against a limit of 99 % with a tolerance of 0.5 points, and 0.1 %.
  SelectionRules rules{2, false, 1, 0.95, {{0.99, true, 0.005, SelectionRange{0, 1}}}};
  test::NormalNumbers numbers(5);
  Selection race(rules);
  while (!race.finished()) {
    for (int i = 0; i < 50; ++i) {
      const auto racing = race.racing();
      for (const std::size_t system : racing) {
        const double failures = system == 0 ? 0.02 : 0.001;
        race.add(system, static_cast<double>(system) + numbers.next() / 10,
                 Numbers{numbers.uniform() < failures ? 0.0 : 1.0});
      }
    }
    race.judge();
  }
  CHECK(race.best() == std::size_t{1});
  CHECK(race.state(0).fate == SelectionFate::kBreaksLimit);
  CHECK(race.limited_mean(0, 0) < 0.985);
  CHECK_THROWS_AS(race.add(1, 0, Numbers{1.1}), std::invalid_argument);
}

TEST_CASE("A zone that was not given comes from the first stage") {
  // Bounds: 1 % of the best mean, or what equals need in the observations that are allowed.
  for (const double level : {0.1, 0.9}) {
    SelectionRules rules{2, true, 0, 0.95};
    rules.range = SelectionRange{0, 1};
    rules.patience = 1000;
    Selection race(rules);
    for (int i = 0; i < 10; ++i) {
      race.add(0, level);
      race.add(1, level);
    }
    race.judge();
    const double equals = 1.5 * (std::pow(0.025, -0.001) - 1);  // 0.00554
    CHECK(race.rules().indifference == Approx(std::max(level / 100, equals)).epsilon(0.02));
    CHECK(race.margin(0) > race.rules().indifference);
  }
  // Normal: eight systems that 1,000 observations cannot tell apart to 1 %, and one far behind.
  SelectionRules rules{9, false, 0, 0.95};
  rules.patience = 1000;
  test::NormalNumbers numbers(11);
  Selection race(rules);
  std::size_t observations = 0;
  while (!race.finished()) {
    for (const std::size_t i : race.racing()) {
      race.add(i, (i == 8 ? 90.7 : 71.5) + 15 * numbers.next());
    }
    if (++observations >= 20) race.judge();
  }
  CHECK(race.rules().indifference > 0.715);
  CHECK(race.rules().indifference < 5);
  CHECK(observations <= 1600);
  CHECK(race.state(8).fate == SelectionFate::kBeaten);
}

TEST_CASE("Nobody is better than the leader by more than the margin", "[repetitive]") {
  // Bounds and Normal, in 1,000 races each that end too early; 95 % promised.
  for (const bool bounds : {true, false}) {
    std::size_t right = 0;
    test::NormalNumbers numbers(99);
    for (int r = 0; r < 1000; ++r) {
      SelectionRules rules{2, true, 1e-6, 0.95};
      if (bounds) rules.range = SelectionRange{0, 1};
      Selection race(rules);
      for (int i = 0; i < 200; ++i) {
        race.add(0, 0.5 + 0.04 * cut_normal(numbers));
        race.add(1, 0.502 + 0.04 * cut_normal(numbers));
      }
      race.judge();
      const std::size_t leader = race.leader().value();
      right += leader == 1 || race.margin(0) >= 0.002;
      if (race.racing().size() == 2) CHECK(race.margin(leader) < 0.1);
    }
    CHECK(static_cast<double>(right) / 1000 >= kLeastShare);
  }
}
