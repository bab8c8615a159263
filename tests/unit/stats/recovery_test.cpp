// Recovery time on bins filled in by hand.
//
// SPDX-License-Identifier: MIT
#include "stats/recovery.hpp"

#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

using namespace retrysim;

namespace {

/// 200 s in bins of 1 s, 100 requests/s, a fault from 50 s to 60 s; everything succeeds.
struct Run {
  Scenario scenario;
  RunResult run;

  Run() {
    scenario.duration = Duration::seconds(200);
    scenario.recovery_share = 0.95;
    scenario.recovery_hold = Duration::seconds(30);
    scenario.recovery_window = Duration::seconds(1);
    scenario.faults.resize(1);
    scenario.faults[0].start = at(50);
    scenario.faults[0].duration = Duration::seconds(10);
    run.window_end = at(200);
    run.interval = Duration::seconds(1);
    run.all_bins.resize(210);
    for (std::size_t i = 0; i < 200; ++i) {
      run.all_bins[i].flow.requests = 100;
      run.all_bins[i].flow.successes = 100;
    }
  }

  static Time at(std::int64_t s) { return Time::zero() + Duration::seconds(s); }

  void set(std::size_t from, std::size_t to, std::uint64_t successes) {
    for (std::size_t i = from; i < to; ++i) {
      run.all_bins[i].flow.successes = successes;
      run.all_bins[i].flow.failures = 100 - successes;
    }
  }
  std::optional<double> recovery() const {
    const auto found = stats::final_recovery(scenario, run, run.all_bins);
    return found ? found->seconds : std::nullopt;
  }
};

}  // namespace

TEST_CASE_METHOD(Run, "never disturbed recovers in no time") { CHECK(recovery() == 0.0); }

TEST_CASE_METHOD(Run, "without a trigger there is no recovery time") {
  scenario.faults.clear();
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "whether a run recovered is 1 or 0 and makes sense after a trigger only") {
  const auto recovered = [&] {
    run.clients.resize(scenario.clients.size());
    return metric_value(*find_metric("recovered"), scenario, run, std::nullopt);
  };
  CHECK(recovered() == 1.0);
  set(50, 200, 10);
  CHECK(recovered() == 0.0);
  scenario.faults.clear();
  CHECK(!recovered());
}

TEST_CASE_METHOD(Run, "recovery counts from the end of the trigger") {
  set(50, 73, 10);
  CHECK(recovery() == 13.0);
}

TEST_CASE_METHOD(Run, "goodput must reach the share of what it was before") {
  set(0, 50, 80);  // 80 % succeeded before: the bar is 0.95 * 0.8 * 100 = 76
  set(50, 70, 0);
  set(70, 200, 76);
  CHECK(recovery() == 10.0);
  set(70, 200, 75);
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "the success rate of the warm-up does not count") {
  run.window_start = at(20);
  set(0, 20, 10);
  CHECK(stats::success_rate_before(run, run.all_bins, at(50)) == 1.0);
  CHECK(stats::success_rate_before(run, run.all_bins, at(20)) == 1.0);  // nothing known
  set(20, 50, 60);
  CHECK(stats::success_rate_before(run, run.all_bins, at(50)) == 0.6);
}

TEST_CASE_METHOD(Run, "a relapse within the hold time starts the count again") {
  set(60, 65, 0);
  set(94, 95, 0);  // good from 65 to 94: only 29 s
  CHECK(recovery() == 35.0);
  set(94, 95, 100);
  set(95, 96, 0);  // good from 65 to 95: 30 s are enough
  CHECK(recovery() == 5.0);
}

TEST_CASE_METHOD(Run, "what cannot be confirmed before the end is censored") {
  set(60, 170, 0);  // good from 170 to 200: just 30 s
  CHECK(recovery() == 110.0);
  set(60, 171, 0);
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "bins of the drain do not count") {
  for (std::size_t i = 200; i < 210; ++i) run.all_bins[i].flow.successes = 100;
  set(60, 175, 0);
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "a trigger that outlives the run leaves nothing to recover from") {
  scenario.faults[0].duration = Duration::seconds(1000);
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "the last of several triggers counts, surges included") {
  scenario.clients.resize(1);
  SurgeSpec surge;
  surge.start = at(80);
  surge.duration = Duration::seconds(20);
  scenario.clients[0].arrivals.surges.push_back(surge);
  set(100, 104, 0);
  const auto all = stats::triggers(scenario);
  REQUIRE(all.size() == 2);
  CHECK(all[0].start == at(50));
  CHECK(all[1].end == at(100));
  CHECK(recovery() == 4.0);
}

TEST_CASE_METHOD(Run, "a trigger after the end of the scenario does not happen") {
  scenario.faults[0].start = at(200);
  CHECK(stats::triggers(scenario).empty());
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "the rolling window bridges noise") {
  for (std::size_t i = 60; i < 200; i += 5) set(i, i + 1, 90);  // one bin in five is at 90 %
  CHECK(!recovery());
  scenario.recovery_window = Duration::seconds(5);  // the mean is 98 %
  CHECK(recovery() == 0.0);
}

TEST_CASE_METHOD(Run, "the trigger may end inside a bin") {
  scenario.faults[0].duration = Duration::milliseconds(9500);  // ends at 59.5 s
  CHECK(recovery() == 0.0);
  set(60, 62, 0);
  CHECK(recovery() == 2.5);  // 62 - 59.5
}

TEST_CASE_METHOD(Run, "a run without recovery says how long it was watched") {
  set(50, 200, 10);
  auto found = stats::final_recovery(scenario, run, run.all_bins);
  REQUIRE(found);
  CHECK(!found->seconds);
  CHECK(found->not_before_s == 140);  // to the end of the run
  set(180, 200, 100);                 // good again for 20 s of the 30 s that it takes
  found = stats::final_recovery(scenario, run, run.all_bins);
  CHECK(!found->seconds);
  CHECK(found->not_before_s == 120);
  scenario.recovery_window = Duration::seconds(5);
  // The first window of 5 s with a mean of 95 begins at 180, or before with 2 bad seconds: none.
  CHECK(stats::final_recovery(scenario, run, run.all_bins)->not_before_s == 120);
}
