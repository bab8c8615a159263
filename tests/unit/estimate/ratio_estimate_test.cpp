// Ratios of small counts: the jackknife by hand, where it is used, and that it covers.
//
// SPDX-License-Identifier: MIT
#include "estimate/intervals.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/random.hpp>

#include "measure/record/totals.hpp"

#include <catch2/catch.hpp>

#include "unit/estimate/counted_runs.hpp"

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

using namespace retrysim;
using stats::jackknife_ratio;

namespace {

Scenario web_clients() { return test::scenario_of_groups({"web"}); }
Scenario web_and_batch_clients() { return test::scenario_of_groups({"web", "batch"}); }

RunResult run_of_one_group(std::uint64_t requests, std::uint64_t successes) {
  return test::counted_run(1, requests, successes);
}

/// The numbers of a result, down to the last struct and array; not those of its vectors.
template <typename T>
void collect(const T& field, std::vector<double>& numbers) {
  if constexpr (stats::HasFields<T>) {
    fields([&](const auto&... inner) { (collect(inner, numbers), ...); }, field);
  } else if constexpr (!std::same_as<T, bool> && requires { static_cast<double>(field); }) {
    numbers.push_back(static_cast<double>(field));
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    for (const auto& element : field) collect(element, numbers);
  }
}

/// What a ratio of sums may be divided by: every number of a client group.
std::vector<double> numbers_of(const ClientResult& group) {
  std::vector<double> numbers;
  collect(group, numbers);
  return numbers;
}

/// Makes every number of a result another one.
template <typename T>
void fill(T& field, Draws& draws) {
  const auto some = [&] { return 1 + draws.below(1'000'000); };
  if constexpr (std::same_as<T, DurationMoments>) {
    for (std::uint64_t i = 1 + draws.below(50); i > 0; --i) {
      field.add(Duration::nanoseconds(static_cast<std::int64_t>(some())));
    }
  } else if constexpr (stats::HasFields<T>) {
    fields([&](auto&... inner) { (fill(inner, draws), ...); }, field);
  } else if constexpr (std::same_as<T, bool>) {
    field = true;
  } else if constexpr (requires { static_cast<double>(field); }) {  // no vector, of a size
    field = static_cast<T>(some());
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    for (auto& element : field) fill(element, draws);
  }
}

/// A group in which every count is another number.
ClientResult every_count(Draws& draws) {
  ClientResult c;
  fill(c, draws);
  c.requests += 20'000'000;  // more than ended
  c.attempts += 20'000'000;
  c.by_attempt.resize(1);
  c.by_attempt[0].sent = 1 + draws.below(1'000'000);
  return c;
}

Estimate success_rate(const std::vector<RunResult>& runs) {
  const Scenario s = web_clients();
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
  // Eight times 1 of 2, 2 of 2, and 30 of 40: the mean of the ratios would be 0.575.
  std::vector<RunResult> runs(8, run_of_one_group(2, 1));
  runs.push_back(run_of_one_group(2, 2));
  runs.push_back(run_of_one_group(40, 30));
  const Estimate few = success_rate(runs);
  // r = 40 / 58; without one of the eight 39 / 56, the ninth 38 / 56, the tenth 10 / 18.
  CHECK(few.mean == Approx(10 * 40.0 / 58 - 9 * (8 * 39.0 / 56 + 38.0 / 56 + 10.0 / 18) / 10));
  CHECK(few.min == 0.5);
  CHECK(few.max == 1);
  CHECK(few.count == 10);
  runs.pop_back();
  CHECK(success_rate(runs).mean == Approx(5.0 / 9));  // nine replications
  // A replication without requests has no ratio.
  runs.push_back(run_of_one_group(0, 0));
  runs.push_back(run_of_one_group(40, 30));
  CHECK(success_rate(runs).mean == Approx(few.mean));
  CHECK(success_rate(runs).count == 10);

  runs.assign(9, run_of_one_group(40, 10));
  runs.push_back(run_of_one_group(40, 30));
  CHECK(success_rate(runs).mean == Approx(0.3));
  runs.assign(9, run_of_one_group(100, 50));
  runs.push_back(run_of_one_group(400, 300));
  CHECK(success_rate(runs).mean == Approx(0.525));
}

TEST_CASE("a jackknifed ratio lies among those of the replications, within its interval") {
  // Nine times 1 of 2, and 30 of 40: the mean of the pseudo-values is 0.7777.
  std::vector<RunResult> runs(9, run_of_one_group(2, 1));
  runs.push_back(run_of_one_group(40, 30));
  const Estimate above = success_rate(runs);
  CHECK(above.mean == 0.75);
  CHECK(above.max == 0.75);
  CHECK(*above.ci_low < 0.75);
  CHECK(*above.ci_high > 0.75);
  // Nothing of 40 and all of 2 in nine others: -0.083, were it not cut off.
  runs.assign(9, run_of_one_group(2, 2));
  runs.push_back(run_of_one_group(40, 1));
  const Estimate below = success_rate(runs);
  CHECK(below.mean == below.min);
  CHECK(below.mean == 1.0 / 40);
  CHECK(*below.ci_low <= below.mean);
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

// The ratio of two sums over both groups together is the mean of the groups' ratios, weighted by
// what they are divided by; that is how one gives itself away, whatever its formula looks like.
TEST_CASE("every metric that is a ratio of two sums is declared as one", "[repetitive]") {
  Scenario s = web_and_batch_clients();
  s.services[0].price = 3;
  s.services[0].rejection.price = 2;
  constexpr int kTrials = 3;
  std::vector<RunResult> runs;
  for (int t = 0; t < kTrials; ++t) {
    Draws draws(RandomKey(1, static_cast<std::uint64_t>(t)), {0, 0, 0, Purpose::kServiceTime});
    RunResult run = run_of_one_group(1, 1);
    run.clients = {every_count(draws), every_count(draws)};
    run.last_request_end = run.window_end;
    runs.push_back(run);
  }
  const MetricValues values(s, runs);
  std::vector<std::vector<double>> web, batch;  // by trial
  for (const RunResult& run : runs) {
    web.push_back(numbers_of(run.clients[0]));
    batch.push_back(numbers_of(run.clients[1]));
  }
  int found = 0;
  for (std::size_t m = 0; m < metric_table().size(); ++m) {
    const MetricInfo& metric = metric_table()[m];
    CAPTURE(std::string(metric.name));
    std::vector<std::array<std::optional<double>, 3>> of;  // by trial: web, batch, all
    std::vector<std::array<double, 2>> per;
    for (std::size_t t = 0; t < kTrials; ++t) {
      of.push_back({values.at(t, 0, m), values.at(t, 1, m), values.at(t, 2, m)});
      if (metric.per != nullptr) per.push_back({values.per(t, 0, m), values.per(t, 1, m)});
    }
    for (std::size_t k = 0; k < web[0].size(); ++k) {
      bool is_weighted_mean = true, is_declared = metric.per != nullptr;
      for (std::size_t t = 0; t < kTrials && is_weighted_mean; ++t) {
        const auto& [a, b, all] = of[t];
        is_weighted_mean = a && b && all && *a != *b;
        if (!is_weighted_mean) break;
        const double x = web[t][k];
        const double y = batch[t][k];
        const double mean = (x * *a + y * *b) / (x + y);
        is_weighted_mean = std::fabs(*all - mean) <= 1e-12 * std::fabs(mean);
        // Or a multiple of it, such as a time of each.
        is_declared = is_declared &&
                      std::fabs(per[t][0] * y - per[t][1] * x) <= 1e-12 * std::fabs(per[t][0] * y);
      }
      if (!is_weighted_mean) continue;
      CAPTURE(k);
      CHECK(is_declared);
      ++found;
    }
    // What is declared must have been found: it is divided by a number of the result.
    CHECK((found > 0) == (metric.per != nullptr));
    found = 0;
  }
}

TEST_CASE("executions per request, and means of few durations, are jackknifed") {
  std::vector<RunResult> runs;
  for (int r = 0; r < 10; ++r) {
    RunResult run = run_of_one_group(r < 9 ? 2 : 40, 1);
    run.clients[0].executed = r == 0 ? 2 : r < 9 ? 1 : 30;
    const auto queueing = Duration::milliseconds(r == 0 ? 1000 : r < 9 ? 500 : 750);
    for (int i = 0; i < (r < 9 ? 2 : 40); ++i) run.clients[0].queueing_time_m.add(queueing);
    runs.push_back(run);
  }
  const Scenario s = web_clients();
  const auto rows = summarize(s, MetricValues(s, runs));
  // As above: r = 40 / 58.
  const double expected = 10 * 40.0 / 58 - 9 * (8 * 39.0 / 56 + 38.0 / 56 + 10.0 / 18) / 10;
  CHECK(find_row(rows, "web", "executions_per_request")->estimate.mean == Approx(expected));
  CHECK(find_row(rows, "web", "queueing_time_mean")->estimate.mean == Approx(expected));
}
