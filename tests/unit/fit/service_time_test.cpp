// Which law durations follow: the one that they were drawn from, with its parameters.
//
// SPDX-License-Identifier: MIT
#include "fit/service_time.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

std::vector<double> drawn(const Distribution& law, std::size_t count = 10'000) {
  Draws draws(RandomKey(1, 0), {1, 0, 0, Purpose::kServiceTime});
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(law.sample(draws).in_seconds());
  return values;
}

FittedServiceTime fit_to(const Distribution& law) { return fit_service_time(drawn(law), 1e-9); }

}  // namespace

// The bounds are four standard errors and more of the estimates: with another seed each fails in
// one of ten thousand logs.
TEST_CASE("the law of durations is found with its parameters") {
  const FittedServiceTime e = fit_to(Distribution::exponential(0.04));
  REQUIRE(e.chosen.kind == LawKind::kExponential);
  CHECK(e.chosen.parameters[0] == Approx(0.04).epsilon(0.04));
  CHECK(e.chosen.quantile(0.99) == Approx(4.605170 * e.chosen.parameters[0]));

  const FittedServiceTime g = fit_to(Distribution::gamma(0.04, 3));
  REQUIRE(g.chosen.kind == LawKind::kGamma);
  CHECK(g.chosen.parameters[0] == Approx(3).epsilon(0.06));
  CHECK(g.chosen.mean() == Approx(0.04).epsilon(0.025));
  CHECK(g.chosen.quantile(0.99) == Approx(8.405947 * 0.04 / 3).epsilon(0.03));

  const FittedServiceTime l = fit_to(Distribution::lognormal(0.04, 1));
  REQUIRE(l.chosen.kind == LawKind::kLognormal);
  CHECK(l.chosen.parameters[1] == Approx(0.832555).epsilon(0.03));
  CHECK(l.chosen.mean() == Approx(0.04).epsilon(0.04));
  CHECK(l.chosen.quantile(0.5) == Approx(0.04 / 1.414214).epsilon(0.035));

  const FittedServiceTime w = fit_to(Distribution::weibull(0.04, 0.6));
  REQUIRE(w.chosen.kind == LawKind::kWeibull);
  CHECK(w.chosen.parameters[0] == Approx(0.6).epsilon(0.035));
  CHECK(w.chosen.mean() == Approx(0.04).epsilon(0.08));

  const FittedServiceTime p = fit_to(Distribution::pareto(0.04, 3));
  REQUIRE(p.chosen.kind == LawKind::kPareto);
  CHECK(p.chosen.parameters[1] == Approx(3).epsilon(0.04));
  CHECK(p.chosen.parameters[0] == Approx(0.04 * 2 / 3).epsilon(0.001));

  const FittedServiceTime h = fit_to(Distribution::hyperexponential(0.9, 0.01, 0.2));
  REQUIRE(h.chosen.kind == LawKind::kHyperexponential);
  const bool first_is_short = h.chosen.parameters[1] < h.chosen.parameters[2];
  const double share = h.chosen.parameters[0];
  CHECK((first_is_short ? share : 1 - share) == Approx(0.9).epsilon(0.03));
  CHECK(h.chosen.mean() == Approx(0.9 * 0.01 + 0.1 * 0.2).epsilon(0.1));

  const FittedServiceTime c = fit_to(Distribution::constant(Duration::milliseconds(40)));
  CHECK(c.chosen.kind == LawKind::kConstant);
  CHECK(c.mean.value == Approx(0.04));
}

TEST_CASE("the interval of mean and quantiles covers them whatever the law is") {
  // At 99 % more than 2 of 20 logs miss one of them in 0.1 % of all cases each.
  const Distribution law = Distribution::lognormal(0.04, 2);
  const double p99 = 0.04 / std::sqrt(5.0) * std::exp(2.326348 * std::sqrt(std::log(5.0)));
  int mean_missed = 0, p99_missed = 0;
  Draws draws(RandomKey(5, 0), {1, 0, 0, Purpose::kServiceTime});
  for (int i = 0; i < 20; ++i) {
    std::vector<double> values;
    for (int j = 0; j < 5'000; ++j) values.push_back(law.sample(draws).in_seconds());
    const FittedServiceTime fit = fit_service_time(std::move(values), 1e-9);
    mean_missed += fit.mean.low > 0.04 || fit.mean.high < 0.04;
    p99_missed += fit.p99.low > p99 || fit.p99.high < p99;
    CHECK(fit.p99.high < 2 * p99);
  }
  CHECK(mean_missed <= 2);
  CHECK(p99_missed <= 2);
}

TEST_CASE("two kinds of requests are told in words, and drawn from the log") {
  std::vector<double> values = drawn(Distribution::lognormal(0.01, 0.3), 9'000);
  for (const double x : drawn(Distribution::lognormal(0.2, 0.3), 3'000)) values.push_back(x);
  const FittedServiceTime fit = fit_service_time(values, 1e-9);
  CHECK(fit.chosen.kind == LawKind::kEmpirical);
  CHECK_THAT(fit.two_kinds, Catch::StartsWith("There are two kinds of requests: 75 % of them take "
                                              "about 9."));
  REQUIRE(fit.quantiles_s.size() == 1'000);
  double mean = 0;
  for (const double q : fit.quantiles_s) mean += q / 1'000;
  CHECK(mean == Approx(fit.mean.value));
  CHECK(fit_to(Distribution::lognormal(0.04, 1)).two_kinds.empty());
}

TEST_CASE("a law that is far off is not used, and few durations have none") {
  const FittedServiceTime u = fit_to(Distribution::uniform(0.01, 0.02));
  CHECK(u.chosen.kind == LawKind::kEmpirical);
  CHECK_THAT(u.why, Catch::Contains("from the durations of the log."));
  const FittedServiceTime few = fit_service_time({0.01, 0.02, 0.03}, 1e-9);
  CHECK(few.chosen.kind == LawKind::kEmpirical);
  CHECK(few.quantiles_s == std::vector<double>{0.01, 0.02, 0.03});
  CHECK(few.why == "3 durations are too few to tell a law from.");
  CHECK(fit_service_time({0.01}, 1e-9).chosen.kind == LawKind::kConstant);
  CHECK(fit_service_time({0, 0, 0}, 1e-9).mean.value == 0);
}

TEST_CASE("the interval knows what rounding makes of durations that are alike") {
  const auto rounded = [](std::vector<double> values) {
    for (double& x : values) x = std::round(x * 1e3) / 1e3;
    return fit_service_time(std::move(values), 1e-3, HowRounded::kEven).mean;
  };
  // Nine of ten are written as 2 ms, one as 3: their mean is 2.11 ms, in truth 2.32.
  const Estimate alike = rounded(drawn(Distribution::uniform(0.0021, 0.00254)));
  CHECK(alike.low < 0.00232);
  CHECK(alike.high > 0.00232);
  CHECK(alike.high - alike.low < 1e-3);
  // Those of a law that begins at 5.49 ms are shorter than what they are written as.
  const Estimate edge = rounded(drawn(Distribution::pareto(0.00693, 4.82)));
  CHECK(edge.low < 0.00693);
  CHECK(edge.high > 0.00693);
  // Where they are many steps wide, it adds next to nothing.
  const std::vector<double> wide = drawn(Distribution::exponential(0.02));
  const Estimate exact = fit_service_time(wide, 1e-9).mean, coarse = rounded(wide);
  CHECK(coarse.high - coarse.low < 1.02 * (exact.high - exact.low));
}

TEST_CASE("times below the resolution of the log are no kind of their own") {
  // One in twenty takes less than a millisecond, and is written as 0.
  std::vector<double> values = drawn(Distribution::exponential(0.02));
  for (double& x : values) x = std::floor(x * 1e3) / 1e3;
  const FittedServiceTime fit = fit_service_time(values, 1e-3);
  CHECK(fit.two_kinds.empty());
  REQUIRE(fit.chosen.kind == LawKind::kExponential);
  CHECK(fit.chosen.parameters[0] == Approx(0.02).epsilon(0.04));
  std::vector<double> rounded = drawn(Distribution::exponential(0.02));
  for (double& x : rounded) x = std::round(x * 1e3) / 1e3;
  const FittedServiceTime of_rounded = fit_service_time(rounded, 1e-3);
  CHECK(of_rounded.two_kinds.empty());
  REQUIRE(of_rounded.chosen.kind == LawKind::kExponential);
  CHECK(of_rounded.chosen.parameters[0] == Approx(0.02).epsilon(0.04));
  // What takes 4 to 6 ms is not always the same, however coarse its times are.
  std::vector<double> narrow = drawn(Distribution::uniform(0.004, 0.006));
  for (double& x : narrow) x = std::round(x * 1e3) / 1e3;
  CHECK(fit_service_time(narrow, 1e-3).chosen.kind != LawKind::kConstant);
  // Two kinds that are two stay so.
  std::vector<double> both = drawn(Distribution::constant(Duration::milliseconds(2)), 3000);
  for (const double x : drawn(Distribution::lognormal(0.1, 0.3), 7000)) {
    both.push_back(std::round(x * 1e3) / 1e3);
  }
  const std::string two = fit_service_time(both, 1e-3).two_kinds;
  CHECK_THAT(two, Catch::Contains("30 % of them take about 1.98 ms"));
}

TEST_CASE("half a step is added to what was cut off, and doubted where that is not known") {
  // Hardly any takes less than two steps, so the shortest times tell nothing.
  constexpr double kMean = 0.006;
  std::vector<double> cut = drawn(Distribution::gamma(kMean, 8)), rounded = cut;
  for (double& x : cut) x = std::floor(x * 1e3) / 1e3;
  for (double& x : rounded) x = std::round(x * 1e3) / 1e3;
  const auto holds = [](const Estimate& e, double value) {
    return e.low < value && value < e.high;
  };
  const FittedServiceTime told = fit_service_time(cut, 1e-3, HowRounded::kCut);
  CHECK(holds(told.mean, kMean));
  CHECK(told.mean.high - told.mean.low < 0.2e-3);
  const FittedServiceTime even = fit_service_time(rounded, 1e-3, HowRounded::kEven);
  CHECK(holds(even.mean, kMean));
  CHECK(even.mean.high - even.mean.low < 0.2e-3);
  for (const auto* values : {&cut, &rounded}) {
    const FittedServiceTime unknown = fit_service_time(*values, 1e-3);
    CHECK(unknown.rounding == HowRounded::kUnknown);
    CHECK(holds(unknown.mean, kMean));
  }
  // As many below one step as just above it tell that times were cut off; fewer may be rare.
  const auto rounding_of = [](const Distribution& law, double (*round)(double)) {
    std::vector<double> values = drawn(law);
    for (double& x : values) x = round(x * 1e3) / 1e3;
    return fit_service_time(values, 1e-3).rounding;
  };
  const auto down = [](double x) { return std::floor(x); };
  const auto next = [](double x) { return std::round(x); };
  CHECK(rounding_of(Distribution::exponential(0.005), down) == HowRounded::kCut);
  CHECK(rounding_of(Distribution::exponential(0.005), next) == HowRounded::kUnknown);
  CHECK(rounding_of(Distribution::gamma(0.005, 2), down) == HowRounded::kUnknown);
}
