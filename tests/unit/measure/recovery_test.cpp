// Recovery time on bins filled in by hand.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/recovery.hpp"

#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

#include "unit/measure/count_bins.hpp"

using namespace retrysim;

namespace {

/// 200 s in bins of 1 s, 100 requests/s, a fault from 50 s to 60 s; everything succeeds.
struct Run {
  Scenario scenario;
  RunResult run;

  Run() {
    scenario.duration = Duration::seconds(200);
    scenario.recovery.share = 0.95;
    scenario.recovery.hold = Duration::seconds(30);
    scenario.recovery.window = Duration::seconds(1);
    scenario.clients.resize(1);
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
  std::optional<stats::Recovery> found() const {
    return stats::final_recovery(scenario, with_counts(run), std::nullopt);
  }
  std::optional<double> recovery() const {
    const auto recovery = found();
    return recovery ? recovery->seconds : std::nullopt;
  }
  stats::Before before(std::int64_t s) const {
    const RunResult counted = with_counts(run);
    return stats::before(scenario, counted, {.counts = counted.clients[0].counts, .loops = {}},
                         at(s));
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
    return metric_value(*find_metric("recovered"), scenario, with_counts(run), std::nullopt);
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
  set(70, 200, 70);
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "what chance explains is no relapse, even below the bar") {
  // One in five failed before: 74 of 100 in every second could be chance for 30 s (a rise of 0.4 a
  // second), 70 could not (4.4 a second).
  set(0, 50, 80);
  set(50, 60, 0);
  set(60, 200, 74);
  CHECK(recovery() == 0.0);
  set(60, 200, 70);
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "where half of the requests fail, a large lapse is a relapse all the same") {
  // Of 3,000 requests in the hold chance fails some fifty more than its share in a row: far fewer
  // than the 90 that three seconds with 20 of 100 lack.
  set(0, 200, 50);
  set(50, 60, 0);
  CHECK(recovery() == 0.0);
  set(70, 71, 30);  // twenty
  CHECK(recovery() == 0.0);
  set(70, 73, 20);
  CHECK(recovery() == 13.0);
}

TEST_CASE_METHOD(Run, "half of the requests do not fail because a queue is full now and then") {
  // At a load of 0.8 it turns away one in 500, some nine together. Of 40 requests half of which
  // failed before, 19 of 20 are no chance.
  scenario.services.resize(1);
  scenario.services[0].servers = 1;
  scenario.services[0].service_time = Distribution::exponential(0.008);
  scenario.services[0].queue.capacity = 20;
  scenario.clients[0].arrivals.rate = 100;
  scenario.clients[0].count = 1;
  scenario.recovery.hold = Duration::seconds(1);
  set(0, 50, 50);
  set(50, 60, 0);
  set(60, 61, 5);
  run.window_end = at(61);
  REQUIRE(found());
  CHECK(found()->not_before_s == 1.0);
}

TEST_CASE_METHOD(Run, "the success rate of the warm-up does not count") {
  run.window_start = at(20);
  set(0, 20, 10);
  CHECK(before(50).success_rate == 1.0);
  CHECK(before(20).success_rate == 1.0);  // nothing known
  set(20, 50, 60);
  CHECK(before(50).success_rate == 0.6);
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

TEST_CASE_METHOD(Run, "a bin that straddles an end of the window is not in it") {
  const auto bins = [&](std::int64_t start_ms, std::int64_t end_ms) {
    run.window_start = Time::zero() + Duration::milliseconds(start_ms);
    run.window_end = Time::zero() + Duration::milliseconds(end_ms);
    const stats::BinRange range = stats::window_bins(run, run.all_bins);
    return std::pair{range.first, range.last};
  };
  CHECK(bins(2500, 9500) == std::pair<std::size_t, std::size_t>{3, 9});
  CHECK(bins(2000, 9000) == std::pair<std::size_t, std::size_t>{2, 9});
  CHECK(bins(2001, 8999) == std::pair<std::size_t, std::size_t>{3, 8});
  CHECK(bins(2500, 2900) == std::pair<std::size_t, std::size_t>{2, 2});  // none
  // A peak in that bin is none of the window.
  run.clients.resize(1);
  run.services.resize(1);
  run.all_bins[2].flow.arrivals = 124;
  run.all_bins[5].flow.arrivals = 17;
  bins(2500, 9500);
  CHECK(metric_value(*find_metric("peak_attempt_rate"), scenario, run, std::nullopt) == 17);
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

TEST_CASE_METHOD(
    Run, "a fault of a service that nobody calls is none of a group, however few there are") {
  scenario.services.resize(2);  // the group calls the first
  FaultSpec elsewhere;
  elsewhere.service = 1;
  elsewhere.start = at(100);
  elsewhere.duration = Duration::seconds(50);
  scenario.faults.push_back(elsewhere);
  CHECK(stats::end_of_disturbances(scenario, 0) == at(60));
  CHECK(stats::end_of_disturbances(scenario, std::nullopt) == at(150));
  scenario.faults[0].service = 1;  // nothing of its own: then all count
  CHECK(stats::end_of_disturbances(scenario, 0) == at(150));
}

TEST_CASE_METHOD(Run, "of triggers inside each other the last end counts, and each request once") {
  scenario.faults.resize(2);
  scenario.faults[1].start = at(52);
  scenario.faults[1].duration = Duration::seconds(3);
  set(52, 70, 0);
  CHECK(recovery() == 10.0);  // 70 - 60
  const auto hit = [&] {
    return stats::disturbed(scenario, with_counts(run), std::nullopt).value();
  };
  CHECK(hit().requests == 1000);
  CHECK(hit().failed == 800);
  scenario.faults[1].duration = Duration::seconds(13);  // from 50 to 60 and from 52 to 65 s
  CHECK(recovery() == 5.0);
  CHECK(hit().requests == 1500);
  CHECK(hit().failed == 1300);
}

TEST_CASE_METHOD(Run, "a trigger after the end of the scenario does not happen") {
  scenario.faults[0].start = at(200);
  CHECK(stats::triggers(scenario).empty());
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "lapses that average out over the window are no relapse") {
  for (std::size_t i = 60; i < 200; i += 5) set(i, i + 1, 85);
  CHECK(!recovery());
  scenario.recovery.window = Duration::seconds(5);  // the mean is 97 %
  CHECK(recovery() == 0.0);
}

TEST_CASE_METHOD(Run, "what happened before the disturbance may happen after it") {
  for (std::size_t i = 0; i < 200; i += 40) set(i, i + 1, 50);  // every 40 s a bad second
  set(50, 60, 0);
  CHECK(recovery() == 0.0);
  set(80, 85, 0);  // but not five of them in a row
  CHECK(recovery() == 25.0);
}

TEST_CASE_METHOD(
    Run, "requests that are late, but succeed, are a recovery, and ever later ones are not") {
  // From 60 s on the answers come a second late: 95 due in the first second, a surplus after it.
  set(50, 61, 0);
  run.all_bins[60].flow.failures = 0;
  CHECK(recovery() == 1.0);
  // 85 of 100 are answered in each second, none fails.
  for (std::size_t i = 60; i < 200; ++i) {
    run.all_bins[i].flow.successes = 85;
    run.all_bins[i].flow.failures = 0;
  }
  CHECK(!recovery());
}

TEST_CASE_METHOD(Run, "few requests take a longer hold") {
  for (ClientBin& bin : run.all_bins) bin.flow.requests = bin.flow.successes = 0;
  for (std::size_t i = 0; i < 200; i += 5) {
    run.all_bins[i].flow.requests = 1;  // one in five seconds: six in the hold could be anything
    run.all_bins[i].flow.successes = 1;
  }
  CHECK(recovery() == 0.0);
  run.window_end = at(100);
  CHECK(!recovery());
  CHECK(found()->not_before_s == 0);
}

TEST_CASE_METHOD(Run, "the requests of the disturbance are told apart") {
  scenario.faults.resize(2);
  scenario.faults[1].start = at(55);  // overlaps the first: its time counts once
  scenario.faults[1].duration = Duration::seconds(15);
  set(50, 70, 30);
  const auto during = stats::disturbed(scenario, with_counts(run), std::nullopt);
  REQUIRE(during);
  CHECK(during->requests == 2000);
  CHECK(during->failed == 1400);
  CHECK(metric_value(*find_metric("disturbed_success_rate"), scenario, with_counts(run),
                     std::nullopt) == 0.3);
  scenario.faults.clear();
  CHECK(!stats::disturbed(scenario, with_counts(run), std::nullopt));
}

TEST_CASE_METHOD(Run, "the trigger may end inside a bin") {
  scenario.faults[0].duration = Duration::milliseconds(9500);  // ends at 59.5 s
  CHECK(recovery() == 0.0);
  set(60, 62, 0);
  CHECK(recovery() == 2.5);  // 62 - 59.5
}

TEST_CASE_METHOD(Run, "a run without recovery says how long it was watched") {
  set(50, 200, 10);
  REQUIRE(found());
  CHECK(!found()->seconds);
  CHECK(found()->not_before_s == 140);  // to the end of the run
  set(180, 200, 100);                   // good again for 20 s of the 30 s that it takes
  CHECK(!found()->seconds);
  CHECK(found()->not_before_s == 120);
}

TEST_CASE_METHOD(Run,
                 "a collapse after the hold is seen to the end of the run, whatever the hold") {
  set(50, 60, 0);
  set(120, 200, 0);  // good for twice the hold
  CHECK(!recovery());
  REQUIRE(found()->relapse);
  CHECK(found()->relapse->back_s == 0);
  CHECK(found()->relapse->at_s == 60);
  CHECK(found()->not_before_s == 140);
  scenario.recovery.hold = Duration::seconds(5);
  CHECK(!recovery());
  set(150, 200, 100);  // it comes back for good
  CHECK(recovery() == 90.0);
  CHECK(found()->relapse->at_s == 60);
  set(120, 150, 100);
  set(120, 128, 0);  // eight seconds of 140 are no collapse
  CHECK(recovery() == 0.0);
  CHECK(!found()->relapse);
}

TEST_CASE_METHOD(Run, "a collapse with which the run ends counts sooner") {
  set(50, 60, 0);
  set(194, 200, 0);
  CHECK(!recovery());
  set(194, 197, 100);  // three seconds could be anything
  CHECK(recovery() == 0.0);
}

TEST_CASE_METHOD(Run, "clients of a closed loop that are stuck ask for nothing, and are missed") {
  scenario.clients[0].arrivals.process = ArrivalProcess::kClosed;
  scenario.services.resize(1);
  run.services.resize(1);
  CHECK(recovery() == 0.0);
  // From 60 s on nobody makes requests: all wait for an answer.
  for (std::size_t i = 60; i < 200; ++i) {
    run.all_bins[i].flow.requests = run.all_bins[i].flow.successes = 0;
  }
  CHECK(!recovery());
  CHECK(metric_value(*find_metric("recovered"), scenario, with_counts(run), std::nullopt) == 0.0);
  // A third of them is.
  for (std::size_t i = 60; i < 200; ++i) {
    run.all_bins[i].flow.requests = run.all_bins[i].flow.successes = 67;
  }
  CHECK(!recovery());
  // All come back after 40 s, and ask faster for a moment.
  for (std::size_t i = 100; i < 200; ++i) {
    run.all_bins[i].flow.requests = run.all_bins[i].flow.successes = i < 105 ? 200 : 100;
  }
  CHECK(recovery() == 40.0);
  // An open group that asks for less is well.
  scenario.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  CHECK(recovery() == 0.0);
}
