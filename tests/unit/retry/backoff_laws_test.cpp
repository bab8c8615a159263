// Laws of growth beside the exponential one, jitter of constant width, and lists of delays that go
// on.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "unit/retry/short_names.hpp"

namespace retrysim::backoff_laws {

using retrysim::test::kTransient;

namespace {

constexpr Duration ms(std::int64_t n) { return Duration::milliseconds(n); }

Duration delay(const BackoffRules& rules, std::uint32_t retry, double draw = 0.5) {
  Draws draws(RandomKey(1, 0), {});
  return backoff_delay(rules, kTransient, {.attempts = retry}, draws, draw);
}

std::vector<std::int64_t> delays_ms(const BackoffRules& rules, std::uint32_t retries) {
  std::vector<std::int64_t> all;
  for (std::uint32_t i = 1; i <= retries; ++i) all.push_back(delay(rules, i).count() / 1'000'000);
  return all;
}

BackoffRules growing(Growth growth) {
  BackoffRules rules;
  rules.base = rules.throttle_base = ms(100);
  rules.growth = growth;
  return rules;
}

using Delays = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("linear growth: the base, and factor - 1 bases more from retry to retry") {
  BackoffRules rules = growing(Growth::kLinear);
  CHECK(delays_ms(rules, 5) == Delays{100, 200, 300, 400, 500});
  rules.factor = 1.5;
  CHECK(delays_ms(rules, 4) == Delays{100, 150, 200, 250});
  rules.factor = 2;
  rules.first_exponent = -1;  // from nothing, as tenacity's wait_incrementing(start=0)
  CHECK(delays_ms(rules, 4) == Delays{0, 100, 200, 300});
  rules.first_exponent = 0;
  rules.cap = ms(250);
  CHECK(delays_ms(rules, 4) == Delays{100, 200, 250, 250});
}

TEST_CASE("Fibonacci growth") {
  BackoffRules rules = growing(Growth::kFibonacci);
  CHECK(delays_ms(rules, 8) == Delays{100, 100, 200, 300, 500, 800, 1300, 2100});
  rules.max_exponent = 4;
  CHECK(delays_ms(rules, 8) == Delays{100, 100, 200, 300, 500, 500, 500, 500});
  rules.max_exponent = BackoffRules::kUnlimited;
  rules.cap = Duration::seconds(60);
  CHECK(delay(rules, 4'000'000'000) == Duration::seconds(60));
}

TEST_CASE("polynomial growth") {
  BackoffRules rules = growing(Growth::kPolynomial);
  CHECK(delays_ms(rules, 5) == Delays{100, 400, 900, 1600, 2500});
  rules.power = 0.5;
  CHECK(std::abs(delay(rules, 4).in_seconds() - 0.2) < 1e-9);
  rules.power = 0;
  CHECK(delays_ms(rules, 3) == Delays{100, 100, 100});
}

TEST_CASE("the other laws have the jitters of the exponential one") {
  BackoffRules rules = growing(Growth::kLinear);
  rules.jitter = Jitter::kFull;
  CHECK(delay(rules, 3, 0.5) == ms(150));
  rules.jitter = Jitter::kEqual;
  CHECK(delay(rules, 3, 0.5) == ms(225));
}

TEST_CASE("jitter of constant width: beside the backoff, and after the cap") {
  BackoffRules rules = growing(Growth::kExponential);
  rules.jitter_width = ms(50);
  rules.jitter = Jitter::kPlusWidth;
  CHECK(delay(rules, 1, 0) == ms(100));
  CHECK(delay(rules, 1, 1) == ms(150));
  CHECK(delay(rules, 3, 0.5) == ms(425));
  rules.jitter = Jitter::kPlusMinusWidth;
  CHECK(delay(rules, 1, 0) == ms(50));
  CHECK(delay(rules, 1, 1) == ms(150));
  rules.jitter_width = ms(300);
  CHECK(delay(rules, 1, 0) == ms(0));  // not below zero
  CHECK(delay(rules, 1, 0.5) == ms(100));
  rules.cap = ms(200);
  CHECK(delay(rules, 4, 1) == ms(500));
  rules.jitter_before_cap = true;  // tenacity's wait_exponential_jitter
  CHECK(delay(rules, 4, 1) == ms(200));
}

TEST_CASE("a list of delays goes on with its last, from its first, or growing") {
  BackoffRules rules;
  rules.delays = {Distribution::constant(ms(100)), Distribution::constant(ms(300))};
  CHECK(delays_ms(rules, 5) == Delays{100, 300, 300, 300, 300});
  rules.delays_then = DelaysThen::kRepeat;
  CHECK(delays_ms(rules, 5) == Delays{100, 300, 100, 300, 100});
  rules.delays_then = DelaysThen::kGrow;
  CHECK(delays_ms(rules, 5) == Delays{100, 300, 600, 1200, 2400});
  rules.delays_factor = 1.5;
  CHECK(delays_ms(rules, 4) == Delays{100, 300, 450, 675});
  rules.delays_cap = ms(200);  // of those that have grown
  CHECK(delays_ms(rules, 4) == Delays{100, 300, 200, 200});
}

// 100,000 draws of 1 s and up to 0.6 s more: mean 1.3 s, standard deviation of the mean 0.00055 s;
// five of them are exceeded with probability 6 x 10^-7. The largest is beyond 1.599 s with
// probability 1 - 0.998^100000, the smallest likewise.
TEST_CASE("jitter of constant width is uniform") {
  BackoffRules rules = growing(Growth::kLinear);
  rules.base = ms(1000);
  rules.jitter = Jitter::kPlusWidth;
  rules.jitter_width = ms(600);
  double sum = 0, least = 9, most = 0;
  constexpr int kDraws = 100'000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    Draws draws(RandomKey(3, 0), {i, 1, 0, Purpose::kBackoff});
    const double s = backoff_delay(rules, kTransient, {.attempts = 1}, draws).in_seconds();
    sum += s;
    least = std::min(least, s);
    most = std::max(most, s);
  }
  CHECK(std::abs(sum / kDraws - 1.3) < 0.00275);
  CHECK((least >= 1 && least < 1.001));
  CHECK((most <= 1.6 && most > 1.599));
}

}  // namespace retrysim::backoff_laws
