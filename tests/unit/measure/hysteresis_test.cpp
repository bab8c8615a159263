// Loops of goodput over load on bins filled in by hand.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/recovery.hpp"

#include <catch2/catch.hpp>

#include "unit/measure/count_bins.hpp"

using namespace retrysim;
using stats::measure_ramp;

namespace {

/// Loads 10, 20, 30, 40 and back, 10 s each, in bins of 1 s. The system tips half-way through the
/// step at 30 on the way up, and is well again from the step at 20 on the way down.
struct Ramp {
  Scenario scenario;
  LoadRamp ramp{{10, 20, 30, 40}, Duration::seconds(10)};
  RunResult run;

  Ramp() {
    scenario.services.resize(1);
    scenario.services[0].service_time = Distribution::constant(Duration::milliseconds(20));
    scenario.clients.resize(1);
    run.interval = Duration::seconds(1);
    run.window_end = Time::zero() + ramp.duration();
    run.all_bins.resize(70);
    run.clients.resize(1);
    run.services.resize(1);
    run.services[0].nominal_servers = 1;
    for (std::size_t i = 0; i < 70; ++i) {
      const auto load = static_cast<std::uint64_t>(ramp.load(i / 10));
      ClientFlow& flow = run.all_bins[i].flow;
      flow.requests = load;
      flow.arrivals = 3 * load;
      flow.successes = i >= 25 && i < 50 ? 0 : load;
    }
    run.clients[0].bins = run.all_bins;
  }
};

}  // namespace

TEST_CASE("a ramp has its highest load once") {
  const LoadRamp ramp{{1, 2, 4}, Duration::seconds(3)};
  CHECK(ramp.steps() == 5);
  CHECK(ramp.duration() == Duration::seconds(15));
  const double expected[] = {1, 2, 4, 2, 1};
  for (std::size_t i = 0; i < 5; ++i) CHECK(ramp.load(i) == expected[i]);
  CHECK(ramp.rising(2));
  CHECK(!ramp.rising(3));
}

TEST_CASE_METHOD(Ramp, "tipping and recovery of a loop") {
  const RampRun r = measure_ramp(scenario, ramp, with_counts(run));
  REQUIRE(r.steps.size() == 7);
  CHECK(r.steps[2].offered_load == 30);
  CHECK(r.steps[2].goodput == 0);  // only the second half of a step counts
  CHECK(r.steps[2].attempt_rate == 90);
  CHECK(r.steps[2].offered_work == Approx(0.6));
  CHECK(r.steps[4].down);
  CHECK(!r.steps[5].down);
  CHECK(r.tip_load == 30.0);
  CHECK(*r.tip_work == Approx(0.6));
  CHECK(r.recover_load == 20.0);
  CHECK(*r.recover_work == Approx(0.4));
  // Up: 10 * (15 + 10 + 0) = 250. Down: 10 * (15 + 10 + 0): the same goodput at the same loads.
  CHECK(r.loop_area == 0);
}

TEST_CASE_METHOD(Ramp, "the loop is what goodput on the way down is short of") {
  for (std::size_t i = 20; i < 40; ++i) run.all_bins[i].flow.successes = i < 30 ? 30 : 0;
  for (std::size_t i = 50; i < 60; ++i) run.all_bins[i].flow.successes = 0;  // at 20
  const RampRun r = measure_ramp(scenario, ramp, with_counts(run));
  CHECK(r.tip_load == 40.0);
  CHECK(r.recover_load == 10.0);
  // Up: 10 * (15 + 25 + 15) = 550. Down: 10 * (5 + 0 + 0) = 50.
  CHECK(r.loop_area == Approx(500));
  CHECK(r.loop_share == Approx(500.0 / 550));
}

TEST_CASE_METHOD(Ramp, "a bin in which the second half of a step begins is not in it") {
  // Steps of 7 s: the second half of the first one is that from 3.5 s on, so bins 4 to 6. Steps of
  // 7.5 s: from 3.75 to 7.5 s, so bins 4 to 6; of the second from 11.25 to 15 s, bins 12 to 14.
  const std::int64_t dwell_ms = GENERATE(7000, 7500);
  ramp.dwell = Duration::milliseconds(dwell_ms);
  run.window_end = Time::zero() + ramp.duration();
  run.all_bins.resize(53);
  for (std::int64_t i = 0; i < 53; ++i) {
    const std::int64_t step = i * 1000 / dwell_ms, start = i * 1000 - step * dwell_ms;
    const bool inside = 2 * start >= dwell_ms && start + 1000 <= dwell_ms && step < 7;
    ClientFlow& flow = run.all_bins[static_cast<std::size_t>(i)].flow;
    flow.requests = flow.arrivals = flow.successes =
        inside ? static_cast<std::uint64_t>(ramp.load(static_cast<std::size_t>(step))) : 1000;
  }
  run.clients[0].bins = run.all_bins;
  const RampRun r = measure_ramp(scenario, ramp, with_counts(run));
  for (std::size_t step = 0; step < 7; ++step) {
    CHECK(r.steps[step].offered_load == ramp.load(step));
    CHECK(r.steps[step].goodput == ramp.load(step));
    CHECK(r.steps[step].attempt_rate == ramp.load(step));
    CHECK(r.steps[step].offered_work == Approx(0.02 * ramp.load(step)));
  }
}

TEST_CASE_METHOD(Ramp, "what does not tip has nothing to recover from") {
  for (ClientBin& bin : run.all_bins) bin.flow.successes = bin.flow.requests;
  const RampRun r = measure_ramp(scenario, ramp, with_counts(run));
  CHECK(!r.tip_load);
  CHECK(!r.recover_load);
  CHECK(r.loop_area == 0);
}

TEST_CASE_METHOD(Ramp, "what is down at the end has not recovered") {
  for (std::size_t i = 25; i < 70; ++i) run.all_bins[i].flow.successes = 0;
  const RampRun r = measure_ramp(scenario, ramp, with_counts(run));
  CHECK(r.tip_load == 30.0);
  CHECK(!r.recover_load);
}

TEST_CASE_METHOD(Ramp, "the bar is the success rate of the first step") {
  // Half of all requests fail even at the lowest load: that is not down.
  for (ClientBin& bin : run.all_bins) bin.flow.successes = bin.flow.requests / 2;
  CHECK(!measure_ramp(scenario, ramp, with_counts(run)).tip_load);
}

TEST_CASE_METHOD(Ramp, "a closed loop beside the load that is stuck is missed") {
  // All of the load succeeds; a loop of 50 requests a second waits from 25 s to 50 s.
  scenario.clients.resize(2);
  scenario.clients[1].arrivals.process = ArrivalProcess::kClosed;
  run.clients.resize(2);
  run.clients[1].bins.resize(70);
  for (std::size_t i = 0; i < 70; ++i) {
    const std::uint64_t loop = i >= 25 && i < 50 ? 0 : 50;
    run.clients[1].bins[i].flow.requests = run.clients[1].bins[i].flow.successes = loop;
    ClientFlow& all = run.all_bins[i].flow;
    all.requests = all.successes = static_cast<std::uint64_t>(ramp.load(i / 10)) + loop;
  }
  CHECK(measure_ramp(scenario, ramp, with_counts(run)).tip_load == 30.0);
  scenario.clients[1].arrivals.process = ArrivalProcess::kPoisson;
  CHECK(!measure_ramp(scenario, ramp, with_counts(run)).tip_load);
}
