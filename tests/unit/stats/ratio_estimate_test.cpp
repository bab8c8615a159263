// Ratios of small counts: the jackknife by hand, where it is used, and that it covers.
//
// SPDX-License-Identifier: MIT
#include "stats/ratio_estimate.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

using namespace retrysim;
using stats::jackknife_ratio;

namespace {

Scenario one_group() {
  Scenario s;
  s.services.resize(1);
  s.clients.resize(1);
  s.clients[0].name = "web";
  return s;
}

RunResult replication(std::uint64_t requests, std::uint64_t successes) {
  RunResult run;
  run.window_end = Time::zero() + Duration::seconds(10);
  run.interval = Duration::seconds(1);
  run.clients.resize(1);
  run.services.resize(1);
  run.clients[0].requests = requests;
  run.clients[0].outcomes[static_cast<std::size_t>(Outcome::kSuccess)] = successes;
  return run;
}

Estimate success_rate(const std::vector<RunResult>& runs) {
  const Scenario s = one_group();
  const auto rows = summarize(s, MetricValues(s, runs));
  return find_row(rows, "web", "success_rate")->estimate;
}

}  // namespace

TEST_CASE("the jackknife of three replications by hand") {
  // r = 6 / 12; without the first 5 / 10, the second 4 / 8, the third 3 / 6: all 0.5.
  const auto even = jackknife_ratio(std::vector<double>{1, 2, 3}, std::vector<double>{2, 4, 6});
  REQUIRE(even);
  CHECK(even->mean == Approx(0.5));
  CHECK(*even->half_width() == Approx(0).margin(1e-12));
  // r = 5 / 10; without: 4 / 8, 3 / 8, 3 / 4. Pseudo-values 1.5 - 2 r_i: 0.5, 0.75, 0.
  const auto e = jackknife_ratio(std::vector<double>{1, 2, 2}, std::vector<double>{2, 2, 6});
  REQUIRE(e);
  CHECK(e->mean == Approx(1.25 / 3));
  CHECK(*e->stddev == Approx(0.3818813));
  CHECK(*e->half_width() == Approx(4.3026527 * 0.3818813 / 1.7320508));
  CHECK(e->min == Approx(1.0 / 3));
  CHECK(e->max == Approx(1));
  CHECK(e->count == 3);
  CHECK(!jackknife_ratio(std::vector<double>{1}, std::vector<double>{2}));
}

TEST_CASE(
    "few requests that differ in number are summed, but many, or equally many, are averaged") {
  // Nine times 1 of 2, and 30 of 40: the mean of the ratios would be 0.525.
  std::vector<RunResult> runs(9, replication(2, 1));
  runs.push_back(replication(40, 30));
  const Estimate few = success_rate(runs);
  // r = 39 / 58; without one of the nine 38 / 56, without the tenth 0.5.
  CHECK(few.mean == Approx(10 * 39.0 / 58 - 9 * (9 * 38.0 / 56 + 0.5) / 10));
  CHECK(few.min == 0.5);
  CHECK(few.max == 0.75);
  CHECK(few.count == 10);
  runs.pop_back();
  CHECK(success_rate(runs).mean == 0.5);  // nine replications
  // A replication without requests has no ratio.
  runs.push_back(replication(0, 0));
  runs.push_back(replication(40, 30));
  CHECK(success_rate(runs).mean == Approx(few.mean));
  CHECK(success_rate(runs).count == 10);

  runs.assign(9, replication(40, 10));
  runs.push_back(replication(40, 30));
  CHECK(success_rate(runs).mean == Approx(0.3));
  runs.assign(9, replication(100, 50));
  runs.push_back(replication(400, 300));
  CHECK(success_rate(runs).mean == Approx(0.525));
}

TEST_CASE("the interval of a biased ratio covers where that of the averaged ratios does not") {
  // Requests are 1 to 8, equally likely; with n of them each succeeds with probability (n - 1) / 8,
  // so that the ratio of the sums tends to 21 / 36 = 0.583 while the mean of the ratios tends to
  // 0.4375. Of 1000 intervals over 50 replications at 95 % fewer than 920 or more than 975 would
  // cover with probability 2e-4; those of the averaged ratios cover a fifth of the times.
  int covered = 0, plain_covered = 0;
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    Draws draws(RandomKey(5, trial), {0, 0, 0, Purpose::kServiceTime});
    std::vector<double> y, x, ratios;
    for (int r = 0; r < 50; ++r) {
      const double n = 1 + draws.below(8);
      double successes = 0;
      for (int k = 0; k < static_cast<int>(n); ++k) successes += draws.uniform() < (n - 1) / 8;
      y.push_back(successes);
      x.push_back(n);
      ratios.push_back(successes / n);
    }
    const auto e = jackknife_ratio(y, x);
    const auto plain = estimate(ratios);
    covered += *e->ci_low <= 21.0 / 36 && 21.0 / 36 <= *e->ci_high;
    plain_covered += *plain->ci_low <= 21.0 / 36 && 21.0 / 36 <= *plain->ci_high;
  }
  CAPTURE(covered, plain_covered);
  CHECK((covered >= 920 && covered <= 975));
  CHECK(plain_covered < 300);
}
