// Paired differences: known examples, limits, and how often the intervals hold.
//
// SPDX-License-Identifier: MIT
#include "estimate/paired.hpp"

#include <retrysim/random.hpp>

#include <boost/math/distributions/normal.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace retrysim;
using namespace retrysim::stats;

namespace {

Series series(const std::vector<double>& values) { return {values.begin(), values.end()}; }

PairedDifference difference(const Series& variant, const Series& baseline,
                            PairedTest test = PairedTest::kStudent) {
  return paired_differences(std::vector<Series>{variant}, baseline, test).front();
}

// Cushny and Peebles' hours of extra sleep with two drugs, the example of Student's paper of 1908;
// R gives t.test(sleep2, sleep1, paired = TRUE): t = 4.0621, p = 0.002833, 0.7001142 to 2.4598858.
const Series kDrug1 = series({0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0});
const Series kDrug2 = series({1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4});

/// Standard normal numbers, a stream for each repetition.
class Normals {
 public:
  explicit Normals(std::uint32_t repetition)
      : draws_(RandomKey(4711, repetition), {0, 0, 0, Purpose::kServiceTime}) {}
  double next() { return boost::math::quantile(boost::math::normal(), draws_.uniform()); }

 private:
  Draws draws_;
};

}  // namespace

TEST_CASE("Student's sleep data") {
  const PairedDifference d = difference(kDrug2, kDrug1);
  CHECK(d.pairs == 10);
  CHECK(d.mean == Approx(2.33));
  CHECK(d.baseline_mean == Approx(0.75));
  CHECK(d.difference == Approx(1.58));
  CHECK(d.interval->low == Approx(0.7001142).epsilon(1e-7));
  CHECK(d.interval->high == Approx(2.4598858).epsilon(1e-7));
  CHECK(*d.p_value == Approx(0.00283289).epsilon(1e-5));
  CHECK(d.p_holm == d.p_value);
  CHECK(d.significant);
  CHECK(*d.correlation == Approx(0.7951702).epsilon(1e-6));
  // Variances 4.009000 and 3.200556, of the difference 1.512889.
  CHECK(*d.variance_reduction == Approx(7.209556 / 1.512889).epsilon(1e-6));
  CHECK(*d.relative == Approx(1.58 / 0.75));
  CHECK_FALSE(d.relative_interval.has_value());  // the baseline is not told apart from zero
}

TEST_CASE("a series against itself differs by nothing") {
  const PairedDifference d = difference(kDrug1, kDrug1);
  CHECK(d.identical);
  CHECK(d.difference == 0);
  CHECK(d.interval->low == 0);
  CHECK(d.interval->high == 0);
  CHECK(d.p_value == 1.0);
  CHECK_FALSE(d.significant);
  CHECK(d.correlation == 1.0);
  CHECK_FALSE(d.variance_reduction.has_value());
  CHECK(d.relative == 0.0);
}

TEST_CASE("a difference that is the same in every pair is certain") {
  const PairedDifference d = difference(series({3, 4, 5}), series({1, 2, 3}));
  CHECK(d.interval->low == 2);
  CHECK(d.interval->high == 2);
  CHECK(d.p_value == 0.0);
  CHECK(d.significant);
  CHECK(d.correlation == 1.0);
}

TEST_CASE("replications that lack a value on one side make no pair, and are counted") {
  const Series a = {1.0, 2.0, std::nullopt, 4.0, std::nullopt, 3.0};
  const Series b = {std::nullopt, 1.0, 3.0, 2.0, std::nullopt};
  const PairedDifference d = difference(a, b);
  CHECK(d.pairs == 2);
  CHECK(d.only_variant == 2);
  CHECK(d.only_baseline == 1);
  CHECK(d.mean == 3);
  CHECK(d.baseline_mean == 1.5);

  const PairedDifference none = difference({std::nullopt, 1.0}, {1.0});
  CHECK(none.pairs == 0);
  CHECK_FALSE(none.interval.has_value());
  CHECK_FALSE(none.p_value.has_value());
  CHECK_FALSE(none.significant);
}

TEST_CASE("one pair has a difference but no interval") {
  const PairedDifference d = difference({3.0}, {2.0});
  CHECK(d.difference == 1);
  CHECK(d.relative == 0.5);
  CHECK_FALSE(d.interval.has_value());
  CHECK_FALSE(d.p_holm.has_value());
}

TEST_CASE("a series of one pair has no share of the family's error") {
  const Series one = {1.0};
  const PairedDifference alone = difference(kDrug2, kDrug1);
  const auto family =
      paired_differences(std::vector<Series>{one, kDrug2}, kDrug1, PairedTest::kStudent);
  CHECK_FALSE(family[0].interval.has_value());
  CHECK(family[1].interval->low == alone.interval->low);
  CHECK(family[1].interval->high == alone.interval->high);
  CHECK(family[1].p_holm == alone.p_value);
  // Two of two pairs have.
  const auto two =
      paired_differences(std::vector<Series>{{1.0, 2.0}, kDrug2}, kDrug1, PairedTest::kStudent);
  CHECK(two[1].interval->low < alone.interval->low);
}

TEST_CASE("a family may have an error probability of its own") {
  const auto with = [](double error) {
    return paired_differences(std::span(&kDrug2, 1), kDrug1, PairedTest::kStudent, error).front();
  };
  const PairedDifference usual = with(kFamilyError);
  CHECK(usual.interval->low == difference(kDrug2, kDrug1).interval->low);
  CHECK(usual.significant);  // p = 0.0028
  CHECK(with(0.01).interval->low < usual.interval->low);
  CHECK(with(0.01).p_holm == usual.p_holm);
  CHECK(with(0.01).significant);
  CHECK_FALSE(with(0.001).significant);
  CHECK(with(0.001).interval->low < 0);
}

TEST_CASE("sides that go against each other have a negative correlation and cost replications") {
  const PairedDifference d = difference(series({1, 2, 3, 4}), series({4, 3, 2, 1.5}));
  CHECK(*d.correlation < -0.9);
  CHECK(*d.variance_reduction < 1);
}

TEST_CASE("Holm's step-down against a worked example") {
  // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") gives 0.03 0.06 0.06 0.02.
  const auto adjusted = holm(std::vector<std::optional<double>>{0.01, 0.04, 0.03, 0.005});
  CHECK(*adjusted[0] == Approx(0.03));
  CHECK(*adjusted[1] == Approx(0.06));
  CHECK(*adjusted[2] == Approx(0.06));
  CHECK(*adjusted[3] == Approx(0.02));

  const auto with_gap = holm(std::vector<std::optional<double>>{0.6, std::nullopt, 0.02});
  CHECK(*with_gap[0] == Approx(0.6));
  CHECK_FALSE(with_gap[1].has_value());
  CHECK(*with_gap[2] == Approx(0.04));
  CHECK(holm(std::vector<std::optional<double>>{0.9, 0.8})[0] == 1.0);
  CHECK(holm({}).empty());
}

TEST_CASE("McNemar's exact test is the binomial test of the pairs that disagree") {
  CHECK(mcnemar_p_value(10, 2) == Approx(2 * (1 + 12 + 66) / 4096.0).epsilon(1e-5));
  CHECK(mcnemar_p_value(2, 10) == mcnemar_p_value(10, 2));
  CHECK(mcnemar_p_value(0, 6) == Approx(2 / 64.0).epsilon(1e-5));
  CHECK(mcnemar_p_value(5, 5) == 1);
  CHECK(mcnemar_p_value(0, 0) == 1);
  CHECK(mcnemar_p_value(1, 0) == 1);
}

TEST_CASE("Tango's interval of a published example") {
  // Airway hyper-responsiveness before and after a transplantation of stem cells, 21 children:
  // 1 only before, 7 only after. Fagerland, Lydersen and Laake 2014 give -0.517 to -0.026.
  const Interval airways = tango_interval(1, 7, 21, 0.05);
  CHECK(airways.low == Approx(-0.517).margin(5e-4));
  CHECK(airways.high == Approx(-0.026).margin(5e-4));
  const Interval swapped = tango_interval(7, 1, 21, 0.05);
  CHECK(swapped.low == -airways.high);
  CHECK(swapped.high == -airways.low);
}

TEST_CASE("Tango's interval ends where the score test begins to reject") {
  // The maximum of the likelihood given the difference is searched here, not solved for.
  const auto score = [](double up, double down, double n, double difference) {
    const auto log_likelihood = [&](double q) {
      const auto term = [](double count, double p) {
        return count == 0 ? 0 : count * std::log(std::max(p, 1e-300));
      };
      return term(up, q + difference) + term(down, q) + term(n - up - down, 1 - 2 * q - difference);
    };
    double low = std::max(0.0, -difference);
    double high = (1 - difference) / 2;
    for (int i = 0; i < 200; ++i) {
      const double left = low + (high - low) / 3, right = high - (high - low) / 3;
      if (log_likelihood(left) < log_likelihood(right)) {
        low = left;
      } else {
        high = right;
      }
    }
    const double variance = (low + high) + difference - difference * difference;
    return (up - down - n * difference) / std::sqrt(n * variance);
  };
  for (const double error : {0.05, 0.01, 0.0025}) {
    const double z = boost::math::quantile(boost::math::normal(), 1 - error / 2);
    for (const std::size_t n : {1u, 5u, 20u, 200u}) {
      for (std::size_t up = 0; up <= n; up += std::max<std::size_t>(n / 5, 1)) {
        for (std::size_t down = 0; up + down <= n; down += std::max<std::size_t>(n / 4, 1)) {
          CAPTURE(error, n, up, down);
          const Interval i = tango_interval(up, down, n, error);
          const auto rise = static_cast<double>(up), fall = static_cast<double>(down);
          const auto pairs = static_cast<double>(n);
          CHECK(i.low >= -1);
          CHECK(i.high <= 1);
          if (i.low > -1) CHECK(score(rise, fall, pairs, i.low) == Approx(z).epsilon(1e-4));
          if (i.high < 1) CHECK(score(rise, fall, pairs, i.high) == Approx(-z).epsilon(1e-4));
          CHECK((i.low > -1 || down == n || up == 0));
        }
      }
    }
  }
}

TEST_CASE("Tango's interval has a width where no pairs disagree and where all do") {
  const double z2 = 1.959963984540054 * 1.959963984540054;
  const Interval agree = tango_interval(0, 0, 10, 0.05);  // z^2 / (n + z^2), as Wilson's
  CHECK(agree.high == Approx(z2 / (10 + z2)).epsilon(1e-9));
  CHECK(agree.low == -agree.high);
  const Interval all = tango_interval(10, 0, 10, 0.05);  // (n - z^2) / (n + z^2)
  CHECK(all.low == Approx((10 - z2) / (10 + z2)).epsilon(1e-9));
  CHECK(all.high == 1);
  const Interval one = tango_interval(1, 0, 1, 0.05);
  CHECK(one.low == Approx((1 - z2) / (1 + z2)).epsilon(1e-9));
  CHECK(one.high == 1);
  // All that disagree go one way: the estimate is not an end.
  const Interval some = tango_interval(6, 0, 20, 0.05);
  CHECK(some.low > 0);
  CHECK(some.high > 0.3);
}

// The probability of each table is known, so the coverage is summed and not sampled: no chance is
// left, and no false alarm. Published studies of the interval (Tango 1998; Newcombe 1998) find the
// mean near the nominal value and dips of a few percent, as Wilson's interval has them.
TEST_CASE("Tango's interval covers the difference as often as it says") {
  const auto coverage = [](std::size_t n, double p_up, double p_down, double error) {
    const auto log_power = [](std::size_t count, double p) {
      return count == 0 ? 0 : static_cast<double>(count) * std::log(p);
    };
    double sum = 0;
    for (std::size_t up = 0; up <= n; ++up) {
      for (std::size_t down = 0; up + down <= n; ++down) {
        const std::size_t rest = n - up - down;
        const Interval i = tango_interval(up, down, n, error);
        if (p_up - p_down < i.low - 1e-9 || p_up - p_down > i.high + 1e-9) continue;
        const auto log_factorial = [](std::size_t k) {
          return std::lgamma(static_cast<double>(k) + 1);
        };
        sum += std::exp(log_factorial(n) - log_factorial(up) - log_factorial(down) -
                        log_factorial(rest) + log_power(up, p_up) + log_power(down, p_down) +
                        log_power(rest, 1 - p_up - p_down));
      }
    }
    return sum;
  };
  for (const double error : {0.05, 0.05 / 3, 0.05 / 20}) {
    for (const std::size_t n : {5u, 10u, 20u, 40u}) {
      double total = 0;
      int points = 0;
      for (const double up : {0.02, 0.1, 0.3, 0.45, 0.7}) {
        for (const double down : {0.02, 0.05, 0.1, 0.25}) {
          CAPTURE(error, n, up, down);
          const double share = coverage(n, up, down, error);
          CHECK(share > 1 - 2.5 * error);
          total += share;
          ++points;
        }
      }
      CHECK(total / points > 1 - 1.15 * error);
      CHECK((total / points < 1 - 0.1 * error));
    }
  }
  CHECK(coverage(40, 0.1, 0.25, 0.05) < 0.97);  // and is not just wide
}

TEST_CASE("a share rises and falls by no more than its baseline leaves") {
  // Three replications of 0.97, 0.99 and 1 have an own interval from 0.95 to 1.02; the variant of
  // which two in three succeed leaves the difference open to more than that on both sides.
  const std::vector<Series> lost = {{1.0, 0.98, 0.02}};
  const Series kept = {1.0, 0.97, 0.99};
  const Estimate own = *estimate(std::vector<double>{1.0, 0.97, 0.99});
  const auto of = [&](const char* metric) {
    return metric_differences(*find_metric(metric), lost, kept).front();
  };
  CHECK(paired_differences(lost, kept).front().interval->high > 1);
  CHECK(of("success_rate").interval->high == Approx(1 - *own.ci_low).epsilon(1e-9));
  CHECK(of("success_rate").relative_interval->high == Approx(1 / *own.ci_low - 1).epsilon(1e-9));
  CHECK(of("success_rate").interval->low == -1);
  CHECK(of("goodput").interval->high > 1);
  // Near 0: what is 0.01 in the baseline falls by no more than that and its own interval.
  const std::vector<Series> few = {{0.9, 0.02, 0.0}};
  const Series fewer = {0.0, 0.03, 0.01};
  const Estimate base = *estimate(std::vector<double>{0.0, 0.03, 0.01});
  const PairedDifference d = metric_differences(*find_metric("wasted_share"), few, fewer).front();
  CHECK(d.interval->low == Approx(-*base.ci_high).epsilon(1e-9));
  // A variant that always succeeds loses nothing of its interval.
  const std::vector<Series> all = {{1.0, 1.0, 1.0}};
  const PairedDifference best = metric_differences(*find_metric("success_rate"), all, kept).front();
  CHECK(best.interval->high ==
        Approx(paired_differences(all, kept).front().interval->high).epsilon(1e-9));
}

TEST_CASE("intervals of a metric end where the metric ends") {
  // Two successes in a hundred at most, against nearly all: three replications leave much open.
  const std::vector<Series> lost = {{0.0, 0.02, 0.4}};
  const Series kept = {1.0, 0.97, 0.99};
  const auto of = [&](const char* metric) {
    return metric_differences(*find_metric(metric), lost, kept).front();
  };
  CHECK(paired_differences(lost, kept).front().interval->low < -1);
  CHECK(of("success_rate").interval->low == -1);
  CHECK(of("success_rate").interval->high > -1);
  CHECK(of("success_rate").relative_interval->low == -1);
  CHECK(of("goodput").interval->low < -1);  // a rate may fall by more than 1
  CHECK(of("goodput").relative_interval->low == -1);
  CHECK(of("autocorrelation").interval->low < -1);
  CHECK(of("autocorrelation").interval->low >= -2);
}

TEST_CASE("values 0 and 1 are judged by McNemar's test and Tango's interval") {
  // 20 pairs: 6 go up, none goes down, 14 agree.
  Series a(20, 1.0);
  Series b(20, 1.0);
  for (std::size_t i = 0; i < 6; ++i) b[i] = 0.0;
  const PairedDifference d = difference(a, b, PairedTest::kMcNemar);
  CHECK(d.difference == Approx(0.3));
  CHECK(*d.p_value == Approx(2 / 64.0).epsilon(1e-5));
  CHECK(d.significant);
  CHECK(d.interval->low == tango_interval(6, 0, 20, 0.05).low);
  CHECK(d.interval->high == tango_interval(6, 0, 20, 0.05).high);
  CHECK_FALSE(d.relative_interval.has_value());

  // 5 of 5: p = 2 / 32. The score test alone would leave zero out.
  b[0] = 1.0;
  const PairedDifference five = difference(a, b, PairedTest::kMcNemar);
  CHECK_FALSE(five.significant);
  CHECK(tango_interval(5, 0, 20, 0.05).low > 0);
  CHECK(five.interval->low == 0);

  const PairedDifference same = difference(a, a, PairedTest::kMcNemar);
  CHECK(same.p_value == 1.0);
  CHECK(same.interval->low < 0);  // that none of 20 pairs disagrees does not prove that none ever
  CHECK(same.interval->high > 0);

  // With three variants the intervals hold together: each for a third of the error.
  const auto family = paired_differences(std::vector<Series>{a, a, b}, b, PairedTest::kMcNemar);
  CHECK(family[0].interval->high == tango_interval(5, 0, 20, 0.05 / 3).high);
}

TEST_CASE("the interval of values 0 and 1 leaves zero out exactly if the exact test rejects") {
  for (std::size_t up = 0; up <= 12; ++up) {
    for (std::size_t down = 0; up + down <= 12; ++down) {
      Series a(12, 0.0);
      Series b(12, 0.0);
      for (std::size_t i = 0; i < up; ++i) a[i] = 1.0;
      for (std::size_t i = up; i < up + down; ++i) b[i] = 1.0;
      const PairedDifference d = difference(a, b, PairedTest::kMcNemar);
      CAPTURE(up, down);
      CHECK((d.interval->low > 0 || d.interval->high < 0) == d.significant);
    }
  }
}

TEST_CASE("p values of Student's t") {
  CHECK(student_p_value(0, 9) == 1);
  CHECK(student_p_value(-2.262157163, 9) == Approx(0.05).epsilon(1e-6));
  CHECK(student_p_value(1, 1) == Approx(0.5).epsilon(1e-9));
  CHECK(student_p_value(60, 19) > 0);
  CHECK(student_p_value(60, 19) < 1e-20);
  CHECK(student_quantile(9, 0.05) == Approx(2.2621571628).epsilon(1e-10));
  CHECK(student_quantile(19, 0.05 / 3) == Approx(2.6251).epsilon(1e-4));
}

TEST_CASE("Fieller's interval leaves zero out exactly if that of the difference does") {
  for (std::uint32_t repetition = 0; repetition < 500; ++repetition) {
    Normals normals(repetition);
    Series a, b;
    for (int k = 0; k < 10; ++k) {
      const double shared = normals.next();
      b.push_back(8 + shared + normals.next());
      a.push_back(9 + shared + normals.next());
    }
    const PairedDifference d = difference(a, b);
    REQUIRE(d.relative_interval.has_value());
    const bool difference_holds_zero = d.interval->low <= 0 && d.interval->high >= 0;
    const bool ratio_holds_zero = d.relative_interval->low <= 0 && d.relative_interval->high >= 0;
    CHECK(difference_holds_zero == ratio_holds_zero);
    CHECK(d.relative_interval->low < *d.relative);
    CHECK(d.relative_interval->high > *d.relative);
  }
}

// 2000 repetitions: the share of those that cover has a standard deviation of 0.0049 around 0.95.
// The bounds are four of them away; the seed is fixed, another would fail with probability 6e-5
// for each check of two sides.
TEST_CASE("intervals cover the true differences as often as they say") {
  constexpr int kRepetitions = 2000;
  constexpr double kMargin = 0.0195;
  int one = 0;
  int relative = 0;
  int family = 0;
  int false_alarms = 0;
  int excluded_but_not_significant = 0;
  for (std::uint32_t repetition = 0; repetition < kRepetitions; ++repetition) {
    Normals normals(repetition);
    Series b, shifted;
    std::vector<Series> same(3);
    for (int k = 0; k < 10; ++k) {
      const double shared = 2 * normals.next();
      b.push_back(20 + shared + normals.next());
      shifted.push_back(22 + shared + normals.next());
      for (Series& s : same) s.push_back(20 + shared + normals.next());
    }
    const PairedDifference d = difference(shifted, b);
    one += d.interval->low <= 2 && d.interval->high >= 2 ? 1 : 0;
    relative += d.relative_interval->low <= 0.1 && d.relative_interval->high >= 0.1 ? 1 : 0;
    bool all_cover = true;
    bool any_significant = false;
    for (const PairedDifference& s : paired_differences(same, b)) {
      const bool covers = s.interval->low <= 0 && s.interval->high >= 0;
      all_cover = all_cover && covers;
      any_significant = any_significant || s.significant;
      excluded_but_not_significant += !covers && !s.significant ? 1 : 0;
    }
    family += all_cover ? 1 : 0;
    false_alarms += any_significant ? 1 : 0;
  }
  const auto share = [](int n) { return static_cast<double>(n) / kRepetitions; };
  CHECK(std::fabs(share(one) - 0.95) < kMargin);
  CHECK(std::fabs(share(relative) - 0.95) < kMargin);
  CHECK(share(family) > 0.95 - kMargin);  // Bonferroni covers more than it must
  CHECK(share(false_alarms) < 0.05 + kMargin);
  CHECK(excluded_but_not_significant == 0);
}
