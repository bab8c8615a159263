// Student intervals, rows of the summary, verdicts on expectations.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

#include "unit/estimate/counted_runs.hpp"
#include "unit/measure/count_bins.hpp"

#include <array>
#include <limits>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

using namespace retrysim;

namespace {

Scenario two_groups() { return test::scenario_of_groups({"web", "batch"}); }

/// A replication in which each group submits `requests` and has `successes`.
RunResult replication(std::uint64_t requests, std::uint64_t successes) {
  RunResult run = test::counted_run(2, requests, successes);
  run.services[0].nominal_servers = 1;
  return run;
}

Expectation expect(const std::string& metric, std::optional<double> at_most,
                   std::optional<double> at_least, const std::string& client = "all") {
  return {"name", metric, client, at_most, at_least};
}

}  // namespace

TEST_CASE("Student's t has the values of the printed tables") {
  // Two-sided 95 %, three decimals, as in any textbook.
  CHECK(student_t_95(1) == Approx(12.706).margin(0.0005));
  CHECK(student_t_95(4) == Approx(2.776).margin(0.0005));
  CHECK(student_t_95(19) == Approx(2.093).margin(0.0005));
  CHECK(student_t_95(120) == Approx(1.980).margin(0.0005));
  CHECK(student_t_95(4) == Approx(2.776).margin(0.0005));  // asked for again
  // From the table's end on, too: for n degrees 1.959964 + 2.37 / n.
  for (const std::size_t n : {1022u, 1023u, 1024u, 1025u, 100'000u}) {
    CHECK(student_t_95(n) == Approx(1.959964 + 2.3723 / static_cast<double>(n)).margin(5e-6));
    CHECK(student_t_95(n) == student_t_95(n));
  }
}

TEST_CASE("equal numbers are their own mean, without spread") {
  // Ten times 0.8 adds up to a little less than 8.
  const std::vector<double> values(10, 0.8);
  const auto e = estimate(values);
  REQUIRE(e);
  CHECK(e->mean == 0.8);
  CHECK(e->stddev == 0.0);
  CHECK(e->ci_low == 0.8);
  CHECK(e->ci_high == 0.8);
}

TEST_CASE("mean, spread and interval of five numbers") {
  const std::array<double, 5> values = {2, 4, 4, 5, 10};
  const auto e = estimate(values);
  REQUIRE(e);
  // Mean 5; squared deviations 9 + 1 + 1 + 0 + 25 = 36; variance 36 / 4 = 9.
  CHECK(e->count == 5);
  CHECK(e->mean == 5);
  CHECK(e->stddev == 3.0);
  CHECK(e->min == 2);
  CHECK(e->max == 10);
  // 2.7764451052 * 3 / sqrt(5) = 3.7249920
  CHECK(*e->half_width() == Approx(3.7249920).epsilon(1e-7));
  CHECK(*e->ci_low == Approx(5 - 3.7249920).epsilon(1e-7));
  CHECK(*e->ci_high == Approx(5 + 3.7249920).epsilon(1e-7));
}

TEST_CASE("a large offset does not spoil the spread") {
  const std::array<double, 3> values = {1e9 + 1, 1e9 + 2, 1e9 + 3};
  CHECK(estimate(values)->stddev == 1.0);
}

TEST_CASE("one replication has no interval, none has no estimate") {
  const std::array<double, 1> one = {7};
  const auto e = estimate(one);
  REQUIRE(e);
  CHECK(e->mean == 7);
  CHECK(!e->stddev);
  CHECK(!e->ci_low);
  CHECK(!e->ci_high);
  CHECK(!e->half_width());
  CHECK(!estimate({}));
}

TEST_CASE("rows come by client, then metric, without metrics that do not exist") {
  const Scenario s = two_groups();
  const std::vector<RunResult> runs = {replication(10, 5), replication(10, 9)};
  const MetricValues values(s, runs);
  CHECK(values.clients() == 3);
  const auto rows = summarize(s, values);
  REQUIRE(!rows.empty());
  CHECK(rows.front().client == "web");
  CHECK(rows.front().metric->name == "requests");
  CHECK(rows.back().client == "all");
  CHECK(find_row(rows, "all", "latency_mean") == nullptr);
  CHECK(find_row(rows, "web", "utilization") == nullptr);
  CHECK(find_row(rows, "all", "utilization") != nullptr);
  const SummaryRow* rate = find_row(rows, "batch", "success_rate");
  REQUIRE(rate != nullptr);
  CHECK(rate->estimate.mean == 0.7);
  CHECK(rate->estimate.count == 2);
  CHECK(find_row(rows, "all", "requests")->estimate.mean == 20);
}

TEST_CASE("a metric that only some replications have says how many") {
  const Scenario s = two_groups();
  const std::vector<RunResult> runs = {replication(10, 5), replication(0, 0), replication(10, 9)};
  const auto rows = summarize(s, MetricValues(s, runs));
  CHECK(find_row(rows, "web", "success_rate")->estimate.count == 2);
  CHECK(find_row(rows, "web", "requests")->estimate.count == 3);
}

TEST_CASE("an expectation is judged by the whole interval") {
  Scenario s = two_groups();
  const std::vector<RunResult> runs = {replication(10, 8), replication(10, 9), replication(10, 10)};
  const auto rows = summarize(s, MetricValues(s, runs));
  const Estimate rate = find_row(rows, "web", "success_rate")->estimate;
  // Mean 0.9, sd 0.1, half-width 4.3027 * 0.1 / sqrt(3) = 0.2484: from 0.6516 to 1, where the
  // metric ends.
  REQUIRE(rate.mean == Approx(0.9));
  REQUIRE(*rate.ci_high == 1);
  const auto result = [&](std::optional<double> at_most, std::optional<double> at_least) {
    s.expectations = {expect("success_rate", at_most, at_least, "web")};
    return judge_expectations(s, rows, runs.size()).at(0);
  };
  const auto verdict = [&](std::optional<double> at_most, std::optional<double> at_least) {
    return result(at_most, at_least).verdict;
  };
  CHECK(verdict({}, 0.65) == ExpectationVerdict::kHolds);
  CHECK(verdict({}, *rate.ci_low) == ExpectationVerdict::kHolds);
  CHECK(verdict({}, 0.66) == ExpectationVerdict::kUncertain);
  CHECK(verdict({}, 0.95) == ExpectationVerdict::kUncertain);  // although the mean is 0.9
  CHECK(verdict({}, 1) == ExpectationVerdict::kUncertain);     // the interval has the bound in it
  CHECK(verdict({}, 1.01) == ExpectationVerdict::kFails);
  CHECK(verdict(1.15, {}) == ExpectationVerdict::kHolds);
  CHECK(verdict(1, {}) == ExpectationVerdict::kHolds);
  CHECK(verdict(0.99, {}) == ExpectationVerdict::kUncertain);
  CHECK(verdict(*rate.ci_low, {}) == ExpectationVerdict::kUncertain);
  CHECK(verdict(0.65, {}) == ExpectationVerdict::kFails);
  // Of two bounds the worse one counts.
  CHECK(verdict(1.15, 0.65) == ExpectationVerdict::kHolds);
  CHECK(verdict(1.15, 0.66) == ExpectationVerdict::kUncertain);
  CHECK(verdict(0.99, 0.65) == ExpectationVerdict::kUncertain);
  CHECK(verdict(0.99, 0.66) == ExpectationVerdict::kUncertain);
  CHECK(verdict(0.65, 0.5) == ExpectationVerdict::kFails);
  CHECK(verdict(1.2, 1.1) == ExpectationVerdict::kFails);

  CHECK(result({}, 0.65).reason == "lower end 0.651586 >= 0.65");
  CHECK(result({}, 0.66).reason == "0.66 lies in the interval from 0.651586 to 1");
  CHECK(result({}, 1.01).reason == "upper end 1 >= 1.01");
  CHECK(result(1, {}).reason == "upper end 1 <= 1");
  CHECK(result(0.65, 0.5).reason == "lower end 0.651586 <= 0.65, lower end 0.651586 >= 0.5");
}

TEST_CASE("with one replication the value itself is judged, and nothing is uncertain") {
  Scenario s = two_groups();
  s.expectations = {expect("success_rate", 0.8, {}), expect("success_rate", 0.79, {}),
                    expect("success_rate", 0.8, 0.8)};
  const std::vector<RunResult> runs = {replication(10, 8)};
  const auto rows = summarize(s, MetricValues(s, runs));
  const auto results = judge_expectations(s, rows, 1);
  CHECK(results.at(0).holds());
  CHECK(results.at(1).fails());
  CHECK(results.at(1).reason == "0.8 <= 0.79");
  CHECK(results.at(2).holds());
}

TEST_CASE("replications without spread judge as their value does") {
  Scenario s = two_groups();
  s.expectations = {expect("success_rate", {}, 0.8), expect("success_rate", {}, 0.81)};
  const std::vector<RunResult> runs(3, replication(10, 8));
  const auto results = judge_expectations(s, summarize(s, MetricValues(s, runs)), 3);
  CHECK(results.at(0).holds());
  CHECK(results.at(1).fails());
}

TEST_CASE("a true expectation fails, and a false one holds, in 2.5 % of all experiments") {
  // 4000 experiments of five replications with 1000 requests each, which succeed with probability
  // 0.8. With the bound at 0.8 itself, at_least fails if the interval lies below it, and holds if
  // it lies above it: 2.5 % each, so 100 of 4000 with a standard deviation of 9.9. With another
  // seed one of the two counts lies outside [55, 150] once in about 440,000 times (the binomial
  // tails of a count are 2.6e-7 and 8.8e-7).
  constexpr int kExperiments = 4000, kReplications = 5;
  Scenario s = two_groups();
  s.expectations = {expect("success_rate", {}, 0.8, "web")};
  std::mt19937_64 draws(29);
  int failed = 0, held = 0;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<RunResult> runs;
    for (int r = 0; r < kReplications; ++r) {
      std::uint64_t successes = 0;
      // One request in five fails: draws below a fifth of the range.
      for (int n = 0; n < 1000; ++n) successes += draws() >= std::mt19937_64::max() / 5;
      runs.push_back(replication(1000, successes));
    }
    const auto results = judge_expectations(s, summarize(s, MetricValues(s, runs)), kReplications);
    failed += results.at(0).fails();
    held += results.at(0).holds();
  }
  CHECK(failed >= 55);
  CHECK(failed <= 150);
  CHECK(held >= 55);
  CHECK(held <= 150);
}

TEST_CASE("a metric that is absent, even in one replication, fails") {
  Scenario s = two_groups();
  s.expectations = {expect("recovery_s", 30, {}), expect("success_rate", {}, 0)};
  const std::vector<RunResult> runs = {replication(10, 8), replication(0, 0)};
  const auto results = judge_expectations(s, summarize(s, MetricValues(s, runs)), 2);
  CHECK(results.at(0).fails());
  CHECK(!results.at(0).estimate);
  CHECK(results.at(0).reason ==
        "recovery_s does not exist in this run: the scenario has no fault or surge to recover "
        "from");
  CHECK(results.at(1).fails());
  CHECK(results.at(1).reason == "success_rate is absent in 1 of 2 replications");
}

TEST_CASE("an expectation on what does not exist says why") {
  Scenario s = two_groups();
  s.duration = Duration::seconds(10);
  s.faults.resize(1);
  s.faults[0].duration = Duration::seconds(5);
  s.expectations = {expect("recovery_s", 30, {}), expect("utilization", 1, {}, "batch"),
                    expect("completion_time_s", 1, {}, "web"), expect("quota_mean", 1, {}, "web")};
  const std::vector<RunResult> runs = {replication(10, 0)};
  const auto results = judge_expectations(s, summarize(s, MetricValues(s, runs)), 1);
  CHECK(results.at(0).reason ==
        "recovery_s does not exist in this run: no replication recovered within the run");
  CHECK(results.at(1).reason ==
        "utilization does not exist in this run: other client groups call the same service; "
        "client \"all\" has it");
  CHECK(results.at(2).reason ==
        "completion_time_s does not exist in this run: it exists for client \"all\" only");
  CHECK(results.at(3).reason == "quota_mean does not exist in this run");
  s.expectations = {expect("success_rate", {}, 1, "web"), expect("success_rate", {}, 1)};
  const std::vector<RunResult> silent = {replication(0, 0), replication(0, 0)};
  const auto of_silent = judge_expectations(s, summarize(s, MetricValues(s, silent)), 2);
  CHECK(of_silent.at(0).reason == "success_rate does not exist in this run: web sent no request");
  CHECK(of_silent.at(1).reason ==
        "success_rate does not exist in this run: no client group sent a request");
}

namespace {

/// Ten replications of 200 s with an outage from 10 s to 20 s; number r recovers after 10 r
/// seconds, the last `never` not at all.
std::vector<RunResult> recoveries(Scenario& scenario, std::size_t never) {
  scenario.duration = Duration::seconds(200);
  scenario.faults.resize(1);
  scenario.faults[0].start = Time::zero() + Duration::seconds(10);
  scenario.faults[0].duration = Duration::seconds(10);
  std::vector<RunResult> runs;
  for (std::size_t r = 0; r < 10; ++r) {
    RunResult run = replication(100, 100);
    run.window_end = Time::zero() + scenario.duration;
    run.all_bins.resize(200);
    for (std::size_t i = 0; i < 200; ++i) {
      run.all_bins[i].flow.requests = 10;
      const bool down = i >= 10 && (r + never >= 10 || i < 20 + 10 * r);
      run.all_bins[i].flow.successes = down ? 0 : 10;
      run.all_bins[i].flow.failures = down ? 10 : 0;
    }
    runs.push_back(with_counts(run));
  }
  return runs;
}

std::optional<Estimate> row_of(const Scenario& s, const std::vector<RunResult>& runs,
                               std::string_view metric) {
  const auto rows = summarize(s, MetricValues(s, runs));
  const SummaryRow* row = find_row(rows, "all", metric);
  return row == nullptr ? std::nullopt : std::optional(row->estimate);
}

}  // namespace

TEST_CASE("the median recovery counts the runs that did not recover") {
  Scenario s = two_groups();
  const auto all = row_of(s, recoveries(s, 0), "recovery_median_s");
  REQUIRE(all);
  CHECK(all->mean == 45);  // of 0, 10, ... 90
  CHECK(all->count == 10);
  // Survival 0.8, 0.7 at 10 and 20 s: 0.7 - 1.96 * 0.145 is the first below one half; at 70 s 0.2
  // + 1.96 * 0.126 is.
  CHECK(all->ci_low == 20.0);
  CHECK(all->ci_high == 70.0);
  const auto most = row_of(s, recoveries(s, 4), "recovery_median_s");
  REQUIRE(most);
  CHECK(most->mean == 45);  // 40 would be the mean of those that did recover, and less
  CHECK(*most->ci_high == std::numeric_limits<double>::infinity());
  CHECK(most->max == 50);
  CHECK(!row_of(s, recoveries(s, 6), "recovery_median_s"));
  // An interval without an upper end keeps no upper bound, but does not exclude it either.
  s.expectations = {expect("recovery_median_s", 1000, std::nullopt)};
  const auto rows = summarize(s, MetricValues(s, recoveries(s, 4)));
  CHECK(judge_expectations(s, rows, 10).at(0).verdict == ExpectationVerdict::kUncertain);
}

TEST_CASE("a probability has Wilson's interval") {
  Scenario s = two_groups();
  std::vector<RunResult> runs(20, replication(100, 100));
  CHECK(!row_of(s, runs, "metastable_probability"));
  for (RunResult& run : runs) run.metastable = false;
  CHECK(row_of(s, runs, "metastable_probability")->ci_high == Approx(0.1611).margin(5e-5));
  for (std::size_t r = 0; r < 5; ++r) runs[r].metastable = true;
  runs[19].metastable.reset();
  const auto e = row_of(s, runs, "metastable_probability");
  CHECK(e->mean == Approx(5.0 / 19));
  CHECK(e->count == 19);
  CHECK(*e->ci_low > 0.1);
}

TEST_CASE("no interval leaves the range of its metric") {
  const Scenario s = two_groups();
  // Success rates of 0.9 and 1, and of 0 and 0.1: Student's half-width is 12.706 * 0.05.
  const auto rate = [&](std::uint64_t first, std::uint64_t second) {
    const std::vector<RunResult> runs = {replication(1000, first), replication(1000, second)};
    const auto rows = summarize(s, MetricValues(s, runs));
    return find_row(rows, "web", "success_rate")->estimate;
  };
  const Estimate high = rate(900, 1000);
  CHECK(high.mean == Approx(0.95));
  CHECK(*high.ci_low == Approx(0.95 - 0.6353102));
  CHECK(*high.ci_high == 1);
  CHECK(*high.half_width() == Approx(0.6353102));  // as wide as it was for "mean +- half"
  const Estimate low = rate(0, 100);
  CHECK(*low.ci_low == 0);
  CHECK(*low.ci_high == Approx(0.05 + 0.6353102));
  CHECK(*low.half_width() == Approx(0.6353102));

  std::vector<RunResult> runs = {replication(1000, 1000), replication(1000, 1000)};
  for (int i = 0; i < 100; ++i) runs[0].clients[0].latency.add(1'000'000);
  for (int i = 0; i < 100; ++i) runs[1].clients[0].latency.add(3'000'000);
  const auto rows = summarize(s, MetricValues(s, runs));
  const Estimate median = find_row(rows, "web", "latency_p50")->estimate;
  CHECK(median.mean == Approx(2e-3).epsilon(0.01));
  CHECK(*median.ci_low == 0);
  CHECK(*median.ci_high == Approx(2e-3 + 12.7062047e-3).epsilon(0.01));
}

TEST_CASE("a correlation may be negative, but not below -1") {
  Estimate e;
  e.ci_low = -1.5;
  e.ci_high = 0.5;
  respect_range(e, MetricRange::kCorrelation);
  CHECK(e.ci_low == -1.0);
  CHECK(e.ci_high == 0.5);
}
