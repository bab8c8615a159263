// Formulas against values known from theory, and the law of every jitter against the draws of the
// client's own rule.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>
#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>

#include "prediction/facts/delay_law.hpp"

namespace retrysim {
namespace {

TEST_CASE("Critical failure shares of a retry quota") {
  CHECK(quota_critical_share(3, 5) == Approx(0.320724347323).epsilon(1e-9));
  CHECK(quota_critical_share(3, 10) == Approx(0.2459962).epsilon(1e-7));
  CHECK(quota_critical_share(3, 14) == Approx(0.2148563).epsilon(1e-7));
  CHECK(quota_critical_share(4, 14) == Approx(0.21169095).epsilon(1e-7));
  CHECK(quota_critical_share(1, 5) == 1);
}

TEST_CASE("What a retry quota leaves of the retries") {
  const QuotaBalance dry = quota_balance(0.33, 3, 5, 500);
  CHECK(dry.retries_per_request == Approx(0.40605769).epsilon(1e-7));
  CHECK(dry.success_share == Approx(0.94205865).epsilon(1e-7));
  CHECK(dry.denials_per_request == Approx(0.026964708).epsilon(1e-7));
  CHECK(dry.mean_level == Approx(55.196616).epsilon(1e-7));
  const QuotaBalance full = quota_balance(0.1, 3, 5, 500);
  CHECK(full.retries_per_request == Approx(0.11).epsilon(1e-9));
  CHECK(full.mean_level == Approx(499.77515).epsilon(1e-7));
  CHECK(full.denials_per_request >= 0);
  CHECK(quota_balance(0.5, 4, 14, 500).retries_per_request == Approx(0.071428571).epsilon(1e-7));
  CHECK(quota_balance(0, 3, 5, 500).success_share == 1);
  CHECK(quota_balance(1, 3, 5, 500).retries_per_request == 0);
}

TEST_CASE("Equilibria of overload with costly failures") {
  const OverloadEquilibria a = equilibria({0.8, 3, 0.5});
  REQUIRE(a.saturated.size() == 1);
  CHECK(a.saturated[0].failure == Approx(0.403031716763).epsilon(1e-9));
  CHECK_FALSE(a.saturated[0].stable);
  CHECK(a.collapse);
  CHECK(a.vulnerable_load == Approx(2.0 / 3).epsilon(1e-9));
  CHECK(a.collapse_load == Approx(2.0 / 3).epsilon(1e-9));
  CHECK(a.peak == Approx(1.5).epsilon(1e-9));
  CHECK(a.failure_at_peak == 1);
  const OverloadEquilibria b = equilibria({0.6, 3, 0.5});
  CHECK(b.saturated.empty());
  CHECK_FALSE(b.collapse);
  const OverloadEquilibria c = equilibria({0.7, 5, 0.3});
  REQUIRE(c.saturated.size() == 1);
  CHECK(c.saturated[0].failure == Approx(0.71985792).epsilon(1e-7));
  CHECK(c.vulnerable_load == Approx(0.65909401).epsilon(1e-7));
  CHECK(c.peak == Approx(1.5172342).epsilon(1e-7));
  CHECK(c.failure_at_peak == Approx(0.927165).epsilon(1e-6));
  const OverloadEquilibria d = equilibria({0.9, 3, 0.2});
  CHECK(d.saturated.empty());
  CHECK(d.vulnerable_load == Approx(0.94251351).epsilon(1e-7));
  CHECK(d.collapse_load == Approx(1 / 0.6).epsilon(1e-9));
  CHECK(d.peak == Approx(1.0609927).epsilon(1e-7));
  CHECK(d.failure_at_peak == Approx(0.383795).epsilon(1e-5));
}

TEST_CASE("Where rejections cost nothing there is one equilibrium, and it is stable") {
  for (const auto& [load, attempts] : {std::pair{1.2, 3.0}, {2.0, 3.0}, {1.5, 5.0}}) {
    const OverloadEquilibria e = equilibria({load, attempts, 0});
    REQUIRE(e.saturated.size() == 1);
    CHECK(e.saturated[0].stable);
    CHECK(e.saturated[0].failure == Approx(std::pow(1 - 1 / load, 1 / attempts)).epsilon(1e-9));
    CHECK_FALSE(e.healthy);
    CHECK_FALSE(e.collapse);
  }
}

TEST_CASE("Late retries of a loss system") {
  CHECK(late_retry_failure(8, 8, 3) == Approx(0.481334605008).epsilon(1e-9));
  CHECK(late_retry_failure(12, 8, 3) == Approx(0.714420727559).epsilon(1e-9));
  CHECK(late_retry_failure(2, 2, 5) == Approx(0.702658121082).epsilon(1e-9));
}

TEST_CASE("The curve of adaptive mode") {
  CHECK(cubic_window(100) == Approx(4.21716332651).epsilon(1e-9));
  CHECK(cubic_rate(100, 0) == Approx(70));
  CHECK(cubic_rate(100, 1) == Approx(86.680764).epsilon(1e-7));
  CHECK(cubic_rate(10, 3) == Approx(10.453285).epsilon(1e-7));
}

TEST_CASE("Means and spreads of single backoffs are those of theory") {
  const auto rules = [](double base_s, double cap_s, Jitter jitter, int first_exponent) {
    BackoffRules r;
    r.base = r.throttle_base = Duration::from_seconds(base_s);
    r.cap = Duration::from_seconds(cap_s);
    r.jitter = r.throttle_jitter = jitter;
    r.first_exponent = first_exponent;
    return r;
  };
  struct Case {
    double base, cap;
    int retry, first_exponent;
    double exact, full, sd_full, equal, sd_equal, inner, sd_inner;
  };
  for (const Case& c :
       {Case{1, 20, 6, 0, 20, 10, 5.7735027, 15, 2.8867513, 13.75, 6.6536331},
        Case{5, 2000, 3, 1, 40, 20, 11.547005, 30, 5.7735027, 20, 11.547005},
        Case{.05, 20, 10, 0, 20, 10, 5.7735027, 15, 2.8867513, 12.1875, 6.5674584}}) {
    INFO(c.base << " " << c.retry);
    const auto moments = [&](Jitter jitter, bool before_cap = false) {
      BackoffRules r = rules(c.base, c.cap, jitter, c.first_exponent);
      r.jitter_before_cap = before_cap;
      return backoff_moments(r, false, c.retry);
    };
    CHECK(moments(Jitter::kNone).mean == Approx(c.exact).epsilon(1e-9));
    CHECK(moments(Jitter::kNone).sd == Approx(0).margin(1e-12));
    CHECK(moments(Jitter::kFull).mean == Approx(c.full).epsilon(1e-9));
    CHECK(moments(Jitter::kFull).sd == Approx(c.sd_full).epsilon(1e-7));
    CHECK(moments(Jitter::kEqual).mean == Approx(c.equal).epsilon(1e-9));
    CHECK(moments(Jitter::kEqual).sd == Approx(c.sd_equal).epsilon(1e-7));
    // A factor from 0.8 to 1.2, after the cap.
    CHECK(moments(Jitter::kProportional).mean == Approx(c.exact).epsilon(1e-9));
    CHECK(moments(Jitter::kProportional).sd ==
          Approx(0.2 * c.exact / std::sqrt(3.0)).epsilon(1e-7));
    CHECK(moments(Jitter::kProportional).most == Approx(1.2 * c.exact).epsilon(1e-9));
    CHECK(moments(Jitter::kProportional, true).most <= c.cap * (1 + 1e-9));
    CHECK(moments(Jitter::kFull, true).mean == Approx(c.inner).epsilon(1e-9));
    CHECK(moments(Jitter::kFull, true).sd == Approx(c.sd_inner).epsilon(1e-7));
  }
}

TEST_CASE("Decorrelated jitter grows as theory says") {
  BackoffRules r;
  r.base = Duration::seconds(1);
  r.cap = Duration::seconds(20);
  r.jitter = Jitter::kDecorrelated;
  const double means[] = {2, 3.5, 5.7393096, 8.2031306, 10.006933, 11.181976};
  for (int i = 1; i <= 6; ++i) {
    CHECK(backoff_moments(r, false, i).mean == Approx(means[i - 1]).epsilon(1e-5));
  }
  CHECK(backoff_moments(r, false, 6).sd == Approx(7.0551751).epsilon(1e-4));
  r.cap = Duration::seconds(5);
  CHECK(backoff_moments(r, false, 4).mean == Approx(4.0176024).epsilon(1e-5));
  CHECK(backoff_moments(r, false, 4).sd == Approx(1.3038762).epsilon(1e-4));
  // A cap below three times the base. The first delay is the cap with probability 1/2, and then the
  // second has mean 1.9; otherwise it is uniform, and the second is below the cap with probability
  // log(5/2) / 3.
  r.cap = Duration::seconds(2);
  const double below = std::log(2.5) / 3;
  CHECK(backoff_moments(r, false, 2).mean == Approx((1.9 + 2 - below / 2) / 2).epsilon(1e-6));
  r.cap = Duration::max();  // mean_j = (base + 3 mean_(j-1)) / 2
  double mean = 1;
  for (int i = 1; i <= 8; ++i) {
    mean = (1 + 3 * mean) / 2;
    CHECK(backoff_moments(r, false, i).mean == Approx(mean).epsilon(1e-4));
  }
}

TEST_CASE("What is above the cap is drawn anew, and only that") {
  // From 40 to 80 ms, of which a quarter is below the cap of 50; the rest falls between 25 and 50.
  BackoffRules rules;
  rules.base = rules.throttle_base = Duration::milliseconds(40);
  rules.jitter = rules.throttle_jitter = Jitter::kAdditive;
  rules.cap = Duration::milliseconds(50);
  rules.over_cap = OverCap::kRedraw;
  const BackoffMoments law = backoff_moments(rules, false, 1);
  CHECK(law.mean == Approx(0.25 * 0.045 + 0.75 * 0.0375));
  CHECK(law.least == Approx(0.025));
  CHECK(law.most == Approx(0.05));
}

TEST_CASE("The chance of a longer time is that of the draws, for every formula") {
  // 20,000 draws, 5 standard errors: by chance one check of 2 million would fail; there are 24.
  constexpr std::uint64_t kDraws = 20'000;
  const Distribution times[] = {
      Distribution::constant(Duration::milliseconds(700)),
      Distribution::exponential(1),
      Distribution::uniform(0.5, 1.5),
      Distribution::erlang(1, 3),
      Distribution::hyperexponential(0.3, 0.2, 2),
      Distribution::lognormal(1, 0),
      Distribution::lognormal(1, 1.5),
      Distribution::normal(1, 0),
      Distribution::normal(0.5, 1),
      Distribution::pareto(1, 2.5),
      Distribution::weibull(1, 0.7),
      Distribution::gamma(1, 0.5),
  };
  for (const Distribution& time : times) {
    for (const double x : {0.6, 1.2}) {
      CAPTURE(static_cast<int>(time.kind()), x);
      std::uint64_t longer = 0;
      for (std::uint64_t i = 0; i < kDraws; ++i) {
        Draws draws(RandomKey(11, 0), {.entity = i});
        longer += time.sample(draws).in_seconds() > x;
      }
      const double chance = prediction::survival(time, x);
      const double error = std::sqrt(chance * (1 - chance) / kDraws);
      CHECK(static_cast<double>(longer) / kDraws == Approx(chance).margin(5 * error + 1e-12));
    }
    CHECK(prediction::survival(time, -1) == 1);
    CHECK(prediction::survival(time, 1e6) < 1e-9);
  }
  // Values from a file count as their mean here.
  const Distribution values = Distribution::empirical({0.5, 1.5}, {1, 3});
  CHECK(prediction::survival(values, 1.2) == 1);
  CHECK(prediction::survival(values, 1.3) == 0);
}

/// A law against 4000 draws of the client's own rule, 7 standard errors: by chance one check of
/// 10^11 would fail.
void check_law(const BackoffRules& rules, bool throttling, int retry) {
  constexpr std::uint32_t kDraws = 4000;
  const RandomKey key(7, 0);
  const BackoffMoments law = backoff_moments(rules, throttling, retry);
  double sum = 0, most = 0, least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    RetryProgress progress;
    Duration delay;
    // Decorrelated jitter needs the delays before.
    const bool chained =
        rules.jitter == Jitter::kDecorrelated || rules.jitter == Jitter::kDecorrelatedV2;
    for (int j = chained ? 1 : retry; j <= retry; ++j) {
      progress.attempts = static_cast<std::uint32_t>(j);
      Draws draws(
          key,
          {.entity = i, .attempt = static_cast<std::uint32_t>(j), .purpose = Purpose::kBackoff});
      delay =
          backoff_delay(rules, throttling ? ResponseClass::kThrottling : ResponseClass::kTransient,
                        progress, draws, std::nullopt, &progress.jitter_level);
      progress.previous_delay = delay;
    }
    sum += delay.in_seconds();
    least = std::min(least, delay.in_seconds());
    most = std::max(most, delay.in_seconds());
  }
  CHECK(most <= law.most * (1 + 1e-9));
  CHECK(least >= law.least * (1 - 1e-9) - 1e-9);
  CHECK(sum / kDraws ==
        Approx(law.mean).margin(7 * law.sd / std::sqrt(kDraws) + 1e-4 * law.mean + 1e-9));
}

TEST_CASE("The backoff law of every preset is that of its draws") {  // about 600 laws
  for (const Preset& preset : presets()) {
    const int retries = std::min<int>(5, static_cast<int>(preset.rules.max_attempts) - 1);
    for (const bool throttling : {false, true}) {
      for (int retry = 1; retry <= retries; ++retry) {
        INFO(preset.mode << " " << preset.revision << " " << preset.sdk << " retry " << retry);
        check_law(preset.rules.backoff, throttling, retry);
      }
    }
  }
}

TEST_CASE("The mean delays of decorrelated-v2 are the integrals of its formula") {
  // M(n) = integral of 2^t tanh(2 sqrt(t)) from n to n + 1; the mean before retry n + 1 is
  // (M(n) - M(n - 1)) / 1.4, by numerical integration.
  BackoffRules r;
  r.base = Duration::seconds(2);
  r.jitter = Jitter::kDecorrelatedV2;
  const double means[] = {0.871116, 1.158146, 2.077915, 4.127598, 8.246449};
  for (int i = 1; i <= 5; ++i) {
    CHECK(backoff_moments(r, false, i).mean == Approx(2 * means[i - 1]).epsilon(1e-3));
  }
  for (int i = 1; i <= 5; ++i) check_law(r, false, i);
  r.cap = Duration::seconds(5);
  for (int i = 1; i <= 5; ++i) check_law(r, false, i);
  r.quantum = Duration::milliseconds(100);
  for (int i = 1; i <= 5; ++i) check_law(r, false, i);
}

TEST_CASE("The law of every jitter in whole quanta, below and above a cap, is that of its draws") {
  // 480 laws.
  for (const Jitter jitter :
       {Jitter::kNone, Jitter::kFull, Jitter::kEqual, Jitter::kAdditive, Jitter::kProportional}) {
    for (const Rounding rounding : {Rounding::kDown, Rounding::kIntegers,
                                    Rounding::kIntegersInclusive, Rounding::kMantissa}) {
      for (const OverCap over_cap : {OverCap::kLimit, OverCap::kFlat, OverCap::kRedraw}) {
        for (const bool before_cap : {false, true}) {
          BackoffRules rules;
          rules.base = rules.throttle_base = Duration::milliseconds(130);
          rules.jitter = rules.throttle_jitter = jitter;
          rules.cap = Duration::milliseconds(700);
          rules.quantum = Duration::milliseconds(50);
          rules.rounding = rounding;
          rules.over_cap = over_cap;
          rules.jitter_before_cap = before_cap;
          for (int retry = 1; retry <= 4; ++retry) {
            INFO(name(jitter) << ", " << name(rounding) << ", " << name(over_cap)
                              << (before_cap ? ", jitter first" : "") << ", retry " << retry);
            check_law(rules, false, retry);
          }
        }
      }
    }
  }
}

TEST_CASE("The spread of every law is that of its formula") {
  using prediction::squared_variation;
  CHECK(squared_variation(Distribution::constant(Duration::milliseconds(700))) == 0);
  CHECK(squared_variation(Distribution::constant(Duration::zero())) == 0);
  CHECK(squared_variation(Distribution::exponential(2)) == Approx(1));
  CHECK(squared_variation(Distribution::uniform(0.5, 1.5)) == Approx(1.0 / 12));
  CHECK(squared_variation(Distribution::erlang(2, 3)) == Approx(1.0 / 3));
  // Mean 1.46, mean of the square 2 (0.3 0.2^2 + 0.7 2^2) = 5.624.
  CHECK(squared_variation(Distribution::hyperexponential(0.3, 0.2, 2)) ==
        Approx(5.624 / (1.46 * 1.46) - 1));
  CHECK(squared_variation(Distribution::lognormal(2, 1.5)) == Approx(2.25));
  // A normal one that is folded at zero: mean of |X| with mean 0.5 and spread 1.
  const double folded =
      std::sqrt(2 / std::numbers::pi) * std::exp(-0.125) + 0.5 * std::erf(0.5 / std::sqrt(2.0));
  CHECK(squared_variation(Distribution::normal(0.5, 1)) == Approx(1.25 / (folded * folded) - 1));
  CHECK(squared_variation(Distribution::pareto(1, 2.5)) == Approx(1 / (2.5 * 0.5)));
  CHECK(squared_variation(Distribution::pareto(1, 1.9)) == std::numeric_limits<double>::infinity());
  CHECK(squared_variation(Distribution::weibull(1, 0.5)) == Approx(5));  // 24 / 2^2 - 1
  CHECK(squared_variation(Distribution::gamma(1, 0.5)) == Approx(2));
  // 0.5 with weight 1 and 1.5 with weight 3: mean 1.25, variance 0.1875. 16,384 draws stand for it.
  CHECK(squared_variation(Distribution::empirical({0.5, 1.5}, {1, 3})) ==
        Approx(0.1875 / 1.5625).epsilon(0.05));
}

TEST_CASE("Laws in pieces keep the mean: exactly, or of values from a file nearly") {
  for (const Distribution& time :
       {Distribution::constant(Duration::milliseconds(700)), Distribution::exponential(1),
        Distribution::uniform(0.5, 1.5), Distribution::erlang(1, 3),
        Distribution::hyperexponential(0.3, 0.2, 2), Distribution::lognormal(1, 1.5),
        Distribution::normal(0.5, 1), Distribution::pareto(1, 2.5), Distribution::weibull(1, 0.7),
        Distribution::gamma(1, 0.5), Distribution::empirical({0.5, 1.5}, {1, 3})}) {
    CAPTURE(static_cast<int>(time.kind()));
    const double mean = time.mean_seconds();
    const bool empirical = time.kind() == Distribution::Kind::kEmpirical;
    for (const int pieces : {3, 40}) {
      if (empirical && pieces == 3) continue;  // a border of its two values lies within a third
      const prediction::DelayLaw law = prediction::law_of(time, pieces);
      CHECK(prediction::mean_of(law) == Approx(mean).epsilon(empirical ? 0.05 : 1e-6));
      const prediction::DelayLaw coarse = prediction::coarsened(law, 5);
      CHECK(coarse.size() <= 6);
      CHECK(prediction::mean_of(coarse) == Approx(prediction::mean_of(law)).epsilon(1e-9));
      double probability = 0;
      for (const prediction::DelayPiece& p : coarse) probability += p.probability;
      CHECK(probability == Approx(1));
    }
  }
}

}  // namespace
}  // namespace retrysim
