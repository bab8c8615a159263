// Laws by their quantiles, against Boost's quantile functions.
//
// SPDX-License-Identifier: MIT
#include "kernel/quantiles.hpp"

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/weibull.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace retrysim::kernel {
namespace {

using Catch::Matchers::WithinRel;
using Kind = Distribution::Kind;

/// The quantile of a law by the parameters that its sampler draws with.
double quantile_of(const Distribution& law, double share) {
  const Distribution::Parameters p = law.parameters();
  switch (law.kind()) {
    case Kind::kLognormal:
      return p.a * std::exp(p.b * boost::math::quantile(boost::math::normal(), share));
    case Kind::kWeibull:
      return boost::math::quantile(boost::math::weibull(1 / p.b, p.a), share);
    case Kind::kGamma:
      return boost::math::quantile(boost::math::gamma_distribution<>(p.b, p.a), share);
    case Kind::kPareto:
      return p.a * std::pow(1 - share, -p.b);
    case Kind::kUniform:
      return p.a + share * p.b;
    case Kind::kNormal:
      return boost::math::quantile(boost::math::normal(p.a, p.b), share);
    case Kind::kExponential:
      return -p.a * std::log1p(-share);
    default:
      FAIL("no such law here");
      return 0;
  }
}

std::vector<Quantile> quantiles_of(const Distribution& law, std::vector<double> shares) {
  std::vector<Quantile> all;
  for (const double share : shares) all.push_back({share, quantile_of(law, share)});
  return all;
}

TEST_CASE("the normal quantile is that of Boost") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1), exponent(-300, -1);
  for (int i = 0; i < 10'000; ++i) {
    const double share = i % 2 == 0 ? uniform(random) : std::pow(10, exponent(random));
    CHECK_THAT(
        normal_quantile(share),
        WithinRel(boost::math::quantile(boost::math::normal(), share), 1e-13) ||
            Catch::Matchers::WithinAbs(boost::math::quantile(boost::math::normal(), share), 1e-15));
  }
}

TEST_CASE("the gamma quantile is that of Boost") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 500; ++i) {
    const double shape =
        kMinFittedShape * std::pow(kMaxFittedShape / kMinFittedShape, uniform(random));
    const double share = std::clamp(uniform(random), 0.01, 0.9999);
    CAPTURE(shape, share);
    CHECK_THAT(
        gamma_quantile(shape, share),
        WithinRel(boost::math::quantile(boost::math::gamma_distribution<>(shape), share), 1e-9));
  }
}

/// A random law whose quantiles can be given.
Distribution random_law(Kind kind, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const double mean = std::pow(10, -4 + 6 * uniform(random)), u = uniform(random);
  switch (kind) {
    case Kind::kLognormal:
      return Distribution::lognormal(mean, 0.05 + 5 * u);
    case Kind::kWeibull:
      return Distribution::weibull(mean, 0.3 + 5 * u);
    case Kind::kGamma:
      return Distribution::gamma(mean, 0.1 * std::pow(1000, u));
    case Kind::kPareto:
      return Distribution::pareto(mean, 1.1 + 10 * u);
    case Kind::kUniform:
      return Distribution::uniform(mean * u, mean * (1 + u));
    case Kind::kNormal:
      return Distribution::normal(mean, mean / (4.5 + 10 * u));
    default:
      return Distribution::exponential(mean);
  }
}

constexpr Kind kKinds[] = {Kind::kLognormal, Kind::kWeibull, Kind::kGamma,      Kind::kPareto,
                           Kind::kUniform,   Kind::kNormal,  Kind::kExponential};

TEST_CASE("two quantiles of a law lead back to it") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 210; ++i) {
    const Kind kind = kKinds[i % 7];
    const Distribution law = random_law(kind, random);
    const auto given =
        quantiles_of(law, i % 2 == 0 ? std::vector{0.5, 0.99} : std::vector{0.25, 0.999});
    CAPTURE(i, static_cast<int>(kind), law.mean_seconds());
    const QuantileLaw found = law_of_quantiles(kind, given);
    CHECK(found.law.kind() == kind);
    CHECK(found.off < 1e-6);
    CHECK_THAT(found.law.mean_seconds(), WithinRel(law.mean_seconds(), 1e-6));
    for (const Quantile& q : given) {
      CHECK_THAT(quantile_of(found.law, q.share), WithinRel(q.value_s, 1e-6));
    }
  }
}

TEST_CASE("three quantiles lead to the law that they are of") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 60; ++i) {
    const Kind kind = kKinds[i % 4];
    const Distribution law = random_law(kind, random);
    const auto given = quantiles_of(law, {0.5, 0.9, 0.99});
    CAPTURE(i, static_cast<int>(kind), law.mean_seconds());
    const QuantileLaw found = nearest_law(given);
    CHECK(found.off < 1e-3);
    for (const Quantile& q : given) {
      CHECK_THAT(quantile_of(found.law, q.share), WithinRel(q.value_s, 2e-3));
    }
    CHECK(found.law.kind() == kind);
  }
}

TEST_CASE("of quantiles that no law has the largest error is the least possible") {
  const std::vector<Quantile> given{{0.5, 0.030}, {0.95, 0.200}, {0.99, 0.210}};
  for (const Kind kind : {Kind::kLognormal, Kind::kWeibull, Kind::kGamma}) {
    CAPTURE(static_cast<int>(kind));
    const QuantileLaw found = law_of_quantiles(kind, given);
    REQUIRE(found.off > 0.05);
    // At the best law of a family with two parameters the error is as large at all three, and the
    // signs alternate (Chebyshev).
    std::vector<double> errors;
    for (std::size_t i = 0; i < given.size(); ++i) {
      CHECK_THAT(quantile_of(found.law, given[i].share), WithinRel(found.values_s[i], 1e-9));
      errors.push_back(std::log(found.values_s[i] / given[i].value_s));
    }
    CHECK_THAT(errors[1], WithinRel(-errors[0], 1e-6));
    CHECK_THAT(errors[2], WithinRel(errors[0], 1e-6));
    CHECK_THAT(std::expm1(std::abs(errors[0])), WithinRel(found.off, 1e-6));
  }
}

TEST_CASE("one quantile is enough beside cv or mean") {
  for (const double cv : {0.2, 1.0, 4.0}) {
    const Distribution law = Distribution::lognormal(0.05, cv);
    const Quantile p99{0.99, quantile_of(law, 0.99)}, p50{0.5, quantile_of(law, 0.5)};
    CHECK_THAT(lognormal_of_cv(p99, cv).law.mean_seconds(), WithinRel(0.05, 1e-12));
    CHECK_THAT(lognormal_of_mean(p50, 0.05).law.parameters().b,
               WithinRel(law.parameters().b, 1e-9));
    if (law.parameters().b < 2.3263) {  // beyond, a less variable law has the same p99
      CHECK_THAT(lognormal_of_mean(p99, 0.05).law.parameters().b,
                 WithinRel(law.parameters().b, 1e-6));
    }
  }
  // exp(2.3263^2 / 2) = 14.97 times the mean is the most.
  CHECK_NOTHROW(lognormal_of_mean({0.99, 14.9}, 1));
  CHECK_THROWS_AS(lognormal_of_mean({0.99, 15.0}, 1), std::invalid_argument);
  CHECK_THROWS_AS(lognormal_of_mean({0.5, 1.1}, 1), std::invalid_argument);
}

TEST_CASE("quantiles that a law cannot have are refused") {
  const std::vector<Quantile> falling{{0.5, 2}, {0.9, 1}}, one{{0.5, 1}};
  for (const Kind kind : kKinds) {
    CHECK_THROWS_AS(law_of_quantiles(kind, falling), std::invalid_argument);
    if (kind != Kind::kExponential) {
      CHECK_THROWS_AS(law_of_quantiles(kind, one), std::invalid_argument);
    }
  }
  const std::vector<Quantile> far{{0.5, 1}, {0.99, 100}};
  CHECK_THROWS_WITH(law_of_quantiles(Kind::kPareto, far), Catch::Contains("no mean"));
  CHECK_THROWS_WITH(law_of_quantiles(Kind::kUniform, far), Catch::Contains("below 0"));
  CHECK_THROWS_WITH(law_of_quantiles(Kind::kNormal, far), Catch::Contains("below 0"));
  CHECK_THROWS_AS(law_of_quantiles(Kind::kConstant, far), std::invalid_argument);
}

}  // namespace
}  // namespace retrysim::kernel
