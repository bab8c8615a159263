// Pooled quantiles: by hand, and how often their intervals cover the true value.
//
// SPDX-License-Identifier: MIT
#include "estimate/intervals.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

using namespace retrysim;
using stats::pooled_quantile;
using stats::PooledQuantile;

namespace {

std::optional<PooledQuantile> quantile_of(const std::vector<Histogram>& replications, double p) {
  std::vector<const Histogram*> pointers;
  Histogram pooled;
  for (const Histogram& h : replications) {
    pointers.push_back(&h);
    pooled.merge(h);
  }
  return pooled_quantile(pointers, pooled, p);
}

Histogram repeated(std::initializer_list<std::uint64_t> values, int times) {
  Histogram h;
  for (int i = 0; i < times; ++i) {
    for (const std::uint64_t v : values) h.add(v);
  }
  return h;
}

}  // namespace

TEST_CASE("the interval lies around the pooled quantile, however far its replications lie apart") {
  // Nine replications of 100 ns and one of 500 ns, which holds most of the values: the mean of the
  // replications' medians is 140 ns, the median of all values 500 ns.
  std::vector<Histogram> replications(9, repeated({100}, 1000));
  replications.push_back(repeated({500}, 20'000));
  const auto q = quantile_of(replications, 0.5);
  REQUIRE(q);
  CHECK(q->value_s == 500e-9);
  REQUIRE(q->ci_low_s);
  // Nine distances of 400 ns: S^2 = 9 * 400^2 / 9, so S / sqrt(10) = 126.5; t with 9 is 2.262.
  CHECK(*q->ci_low_s == Approx(500e-9 - 2.262157 * 400e-9 / std::sqrt(10)));
  CHECK(*q->ci_high_s == Approx(500e-9 + 2.262157 * 400e-9 / std::sqrt(10)));
}

TEST_CASE("equal replications have an interval as wide as the histogram is unsure") {
  auto q = quantile_of(std::vector<Histogram>(5, repeated({100}, 1000)), 0.5);
  REQUIRE(q);
  CHECK(q->ci_low_s == 100e-9);
  CHECK(q->ci_high_s == 100e-9);
  // 1025 and 1026 share the bucket 1024 ... 1027, whose outer values do not occur.
  q = quantile_of(std::vector<Histogram>(5, repeated({1025, 1026}, 1000)), 0.5);
  REQUIRE(q);
  CHECK(*q->ci_low_s == Approx(1025e-9));
  CHECK(*q->ci_high_s == Approx(1026e-9));
}

TEST_CASE("there is no interval of one replication, nor where a replication has too few values") {
  CHECK(!quantile_of({repeated({100}, 1000)}, 0.5)->ci_low_s);
  CHECK(quantile_of({repeated({100}, 1000), repeated({100}, 1000)}, 0.9)->ci_low_s);
  const auto thin = quantile_of({repeated({100}, 1000), repeated({100}, 999)}, 0.9);
  REQUIRE(thin);
  CHECK(thin->value_s == 100e-9);
  CHECK(!thin->ci_low_s);
  CHECK(!thin->ci_high_s);
  CHECK(!quantile_of({Histogram(), Histogram()}, 0.5));
}

TEST_CASE("intervals cover the true quantile about as often as they say", "[repetitive]") {
  // 20 replications of 400 uniform values on [0, 1 s): the intervals are about 7 % of the value
  // wide, to which the histogram adds 0.2 % to 0.4 %. Nominal coverage is 95 %: of 400 intervals
  // fewer than 8 or more than 34 miss with probability 0.003 (binomial).
  int missed_median = 0, missed_p30 = 0;
  for (std::uint64_t trial = 0; trial < 400; ++trial) {
    std::vector<Histogram> replications(20);
    for (std::uint64_t r = 0; r < replications.size(); ++r) {
      Draws draws(RandomKey(31, static_cast<std::uint32_t>(trial)),
                  {r, 0, 0, Purpose::kServiceTime});
      for (int i = 0; i < 400; ++i) replications[r].add(draws.below(1'000'000'000));
    }
    const auto misses = [&](double p) {
      const auto q = quantile_of(replications, p);
      return p < *q->ci_low_s || p > *q->ci_high_s;
    };
    missed_median += misses(0.5);
    missed_p30 += misses(0.3);
  }
  CAPTURE(missed_median, missed_p30);
  CHECK((missed_median >= 8 && missed_median <= 34));
  CHECK((missed_p30 >= 8 && missed_p30 <= 34));
}

TEST_CASE("intervals as narrow as the histogram's buckets cover no more often than they say",
          "[repetitive]") {
  // 20 replications of 20,000 uniform values: an interval at 0.6 s is 1.6 ms to either side, and
  // the bucket 2.1 ms wide. With all of the bucket added two of 200 intervals would miss. At 95 %
  // fewer than 3 or more than 19 miss with probability 0.006 (binomial).
  int missed = 0;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    std::vector<Histogram> replications(20);
    for (std::uint64_t r = 0; r < replications.size(); ++r) {
      Draws draws(RandomKey(37, static_cast<std::uint32_t>(trial)),
                  {r, 0, 0, Purpose::kServiceTime});
      for (int i = 0; i < 20'000; ++i) replications[r].add(draws.below(1'000'000'000));
    }
    const auto q = quantile_of(replications, 0.6);
    missed += 0.6 < *q->ci_low_s || 0.6 > *q->ci_high_s;
  }
  CAPTURE(missed);
  CHECK((missed >= 3 && missed <= 19));
}

TEST_CASE("an interval holds a number that many values are equal to") {
  // A third of the values is the same number, at either edge of its bucket or inside of it.
  for (const std::uint64_t heap : {599'785'472U, 600'834'048U, 601'882'623U}) {
    std::vector<Histogram> replications(10);
    for (std::uint64_t r = 0; r < replications.size(); ++r) {
      Draws draws(RandomKey(41, 0), {r, 0, 0, Purpose::kServiceTime});
      for (int i = 0; i < 6000; ++i) {
        replications[r].add(i % 3 == 0 ? heap : draws.below(1'000'000'000));
      }
    }
    const auto q = quantile_of(replications, 0.55);
    const double value_s = static_cast<double>(heap) / 1e9;
    CHECK((*q->ci_low_s <= value_s && value_s <= *q->ci_high_s));
  }
}
