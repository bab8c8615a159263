// Detection of retry storms on bins filled in by hand: 100 requests/s for 1000 s in bins of 1 s.
// Without timeout and backoff the rolling window has its least length, 10 bins.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/storms.hpp"

#include <catch2/catch.hpp>

#include "unit/measure/count_bins.hpp"

using namespace retrysim;
using stats::Storm;
using stats::StormVerdict;

namespace {

struct StormRun {
  Scenario scenario;
  RunResult run;

  StormRun() {
    scenario.duration = Duration::seconds(1000);
    scenario.services.resize(1);
    scenario.clients.resize(1);
    scenario.faults.resize(1);
    scenario.faults[0].start = at(300);
    scenario.faults[0].duration = Duration::seconds(20);
    run.window_end = at(1000);
    run.interval = Duration::seconds(1);
    run.all_bins.resize(1000);
    for (ClientBin& bin : run.all_bins) {
      bin.flow.requests = 100;
      bin.flow.arrivals = 100;
      bin.flow.successes = 100;
    }
    run.services.resize(1);
    run.services[0].nominal_servers = 1;
  }

  static Time at(std::int64_t s) { return Time::zero() + Duration::seconds(s); }

  void storm(std::size_t from, std::size_t to, std::uint64_t arrivals, std::uint64_t successes) {
    for (std::size_t i = from; i < to; ++i) {
      run.all_bins[i].flow.arrivals = arrivals;
      run.all_bins[i].flow.successes = successes;
      run.all_bins[i].flow.failures = 100 - successes;
    }
  }
  std::vector<Storm> storms() const { return stats::detect_storms(scenario, with_counts(run)); }
  stats::Fate fate() const { return stats::fate_of(scenario, with_counts(run)); }
  void queue_at_end_of_trigger(std::uint32_t waiting) {
    run.services[0].queued.resize(1000);
    run.services[0].queued[320] = waiting;
  }
};

}  // namespace

TEST_CASE_METHOD(StormRun, "calm has no storm") { CHECK(storms().empty()); }

TEST_CASE_METHOD(StormRun, "onset, end, peaks and extra attempts of one storm") {
  storm(300, 340, 300, 50);
  const auto found = storms();
  REQUIRE(found.size() == 1);
  const Storm& s = found[0];
  // Trailing mean over 10 s: k bins of the storm give A = 1 + 0.2 k. The onset is at A >= 1.25,
  // so at k = 2, which bin 301 is the first to have.
  CHECK(s.onset_s == 301);
  // It ends at A < 1.125: at k = 0, from bin 349 on (340 + 9).
  CHECK(s.end_s == 349.0);
  CHECK(s.peak_attempt_rate == 300);
  CHECK(s.peak_amplification == 3);
  // 40 bins * 200 extra, of which the first bin's share in the windows before the onset (k = 1 at
  // bin 300: 20) lies outside.
  CHECK(s.extra_attempts == Approx(8000 - 20));
  CHECK(s.trigger_end_s == 320.0);
  CHECK(s.recovery_s == 20.0);
  CHECK(s.verdict == StormVerdict::kTransient);
}

TEST_CASE_METHOD(StormRun, "duration, load ratio, drain and recovery ratio of a storm") {
  storm(300, 340, 300, 50);
  scenario.services[0].service_time = Distribution::constant(Duration::milliseconds(9));
  run.clients.resize(1);
  queue_at_end_of_trigger(200);
  const Storm s = storms().at(0);
  CHECK(s.duration_s() == 48.0);    // 301 to 349
  CHECK(s.peak_load_ratio == 3.0);  // 300/s over a whole window, against 100/s
  CHECK(s.aftermath.offered_work == Approx(0.9));
  CHECK(*s.predicted_drain_s() == Approx(18));  // 200 * 9 ms / (1 - 0.9)
  CHECK(*s.recovery_ratio() == Approx(20.0 / 18));
  queue_at_end_of_trigger(0);
  CHECK(*storms().at(0).recovery_ratio() == Approx(2));  // the window of 10 s is longer
}

TEST_CASE_METHOD(StormRun, "a goodput that returns after more than the patience was sustained") {
  storm(300, 530, 300, 50);  // back at 530: 210 s after the trigger; patience is 200 s
  CHECK(storms().at(0).recovery_s == 210.0);
  CHECK(storms().at(0).verdict == StormVerdict::kSustained);
  storm(510, 530, 100, 100);
  CHECK(storms().at(0).recovery_s == 190.0);
  CHECK(storms().at(0).verdict == StormVerdict::kTransient);
}

TEST_CASE_METHOD(StormRun, "a goodput that has just returned when the run ends leaves it open") {
  storm(300, 980, 300, 50);
  CHECK(storms().at(0).verdict == StormVerdict::kSustained);  // too late whether it holds or not
  run.window_end = at(540);
  storm(515, 540, 100, 100);  // since 195 s after the trigger, but for 25 s of 30 s only
  CHECK(!storms().at(0).recovery_s);
  CHECK(storms().at(0).verdict == StormVerdict::kCensored);
}

TEST_CASE_METHOD(StormRun, "more requests with one attempt each are no storm") {
  for (std::size_t i = 300; i < 340; ++i) {
    run.all_bins[i].flow.requests = 400;
    run.all_bins[i].flow.arrivals = 400;
  }
  CHECK(storms().empty());
}

TEST_CASE_METHOD(StormRun, "retries long after the last request have nothing to be compared with") {
  scenario.faults.clear();
  for (ClientBin& bin : run.all_bins) bin.flow = ClientFlow();
  run.all_bins[0].flow.requests = 1000;  // a herd, then nothing but its retries
  run.all_bins[0].flow.arrivals = 1000;
  storm(1, 40, 100, 0);
  CHECK(storms().empty());
}

TEST_CASE_METHOD(StormRun, "three bins in a row make an onset") {
  // One bin of 100 + x extra gives A = 1 + x / 1000 for 10 bins; 240 is below the margin.
  storm(400, 401, 340, 100);
  CHECK(storms().empty());
  storm(400, 401, 350, 100);
  CHECK(storms().size() == 1);
  // Two bins above the bar are not enough: the second spike makes A high for bins 409 and 410,
  // which both have the first spike at their far end.
  storm(400, 401, 230, 100);
  storm(408, 409, 230, 100);
  CHECK(storms().empty());
  storm(408, 409, 100, 100);
  storm(407, 408, 230, 100);
  CHECK(storms().size() == 1);
}

TEST_CASE_METHOD(StormRun, "the margin grows with the spread before the trigger") {
  // Blocks of 10 bins with A = 1, 1.1, 1.2, ...: the trailing mean wanders from 1 to 1.4.
  for (std::size_t i = 0; i < 300; ++i) {
    run.all_bins[i].flow.arrivals = 100 + 40 * ((i / 10) % 2);
  }
  storm(300, 340, 165, 90);  // A = 1.65 is less than 5 MAD above the median: 1.2 + 5 * 0.1
  CHECK(storms().empty());
  storm(300, 340, 175, 90);
  CHECK(storms().size() == 1);
}

TEST_CASE_METHOD(StormRun,
                 "a trigger as soon as a window is full is compared with what was before") {
  // 30 % more attempts than requests are normal here, and are no storm after the trigger either.
  for (ClientBin& bin : run.all_bins) bin.flow.arrivals = 130;
  for (const int start : {8, 9, 10}) {
    CAPTURE(start);
    scenario.faults[0].start = at(start);
    CHECK(storms().empty());
  }
}

TEST_CASE_METHOD(StormRun, "goodput that never returns is sustained once there was time enough") {
  storm(300, 1000, 300, 20);
  auto found = storms();
  REQUIRE(found.size() == 1);
  CHECK(!found[0].end_s);
  CHECK(!found[0].recovery_s);
  // Patience: 10 * 20 s; 680 s are left after the trigger.
  CHECK(found[0].verdict == StormVerdict::kSustained);
  // A trigger of 80 s asks for 800 s of patience; 620 s are left.
  scenario.faults[0].duration = Duration::seconds(80);
  CHECK(storms().at(0).verdict == StormVerdict::kCensored);
}

TEST_CASE_METHOD(StormRun, "a backlog that takes long to drain by itself asks for patience") {
  storm(300, 1000, 300, 20);
  scenario.services[0].service_time = Distribution::constant(Duration::milliseconds(9));
  run.clients.resize(1);
  // Load 0.9; 500 waiting drain in 500 * 9 ms / (1 - 0.9) = 45 s: patience 450 s of the 680 s.
  queue_at_end_of_trigger(500);
  CHECK(storms().at(0).verdict == StormVerdict::kSustained);
  queue_at_end_of_trigger(1000);  // 90 s: patience 900 s
  CHECK(storms().at(0).verdict == StormVerdict::kCensored);
}

TEST_CASE_METHOD(StormRun,
                 "offered work and drain of a storm end where the next disturbance starts") {
  scenario.faults.resize(2);
  scenario.faults[1].start = at(600);
  scenario.faults[1].duration = Duration::seconds(100);
  storm(300, 340, 300, 50);
  scenario.services[0].service_time = Distribution::constant(Duration::milliseconds(7));
  run.clients.resize(1);
  for (std::size_t i = 600; i < 1000; ++i) run.all_bins[i].flow.requests = 300;
  queue_at_end_of_trigger(300);
  const auto found = storms();
  REQUIRE(found.size() == 1);
  CHECK(found[0].aftermath.offered_work == Approx(0.7));
  CHECK(*found[0].predicted_drain_s() == Approx(300 * 0.007 / (1 - 0.7)));
}

TEST_CASE_METHOD(StormRun, "a fault during a storm is part of its trigger") {
  scenario.faults.resize(2);
  scenario.faults[1].start = at(330);
  scenario.faults[1].duration = Duration::seconds(10);
  storm(300, 530, 300, 50);
  // Together they last from 300 to 340 s: patience is 400 s, not 100 s. Back 190 s after.
  CHECK(storms().at(0).trigger_end_s == 340.0);
  CHECK(storms().at(0).recovery_s == 190.0);
  CHECK(storms().at(0).aftermath.patience_s == 400);
  CHECK(storms().at(0).verdict == StormVerdict::kTransient);
  // The shorter one inside the longer one does not end it.
  scenario.faults[1].start = at(305);
  CHECK(storms().at(0).trigger_end_s == 320.0);
  CHECK(storms().at(0).aftermath.patience_s == 200);
}

TEST_CASE_METHOD(StormRun, "a fault before the storm is part of the trigger if they touch") {
  scenario.faults.resize(2);
  scenario.faults[1].start = at(250);
  scenario.faults[1].duration = Duration::seconds(50);
  storm(300, 530, 300, 50);
  CHECK(storms().at(0).aftermath.patience_s == 700);  // from 250 to 320 s
  CHECK(storms().at(0).verdict == StormVerdict::kTransient);
  scenario.faults[1].duration = Duration::seconds(49);  // over a second before the other begins
  CHECK(storms().at(0).aftermath.patience_s == 200);
  CHECK(storms().at(0).verdict == StormVerdict::kSustained);
}

TEST_CASE_METHOD(StormRun, "a storm of its own has no trigger") {
  scenario.faults.clear();
  storm(500, 540, 300, 50);
  auto found = storms();
  REQUIRE(found.size() == 1);
  CHECK(!found[0].trigger_end_s);
  CHECK(!found[0].recovery_s);
  CHECK(found[0].verdict == StormVerdict::kTransient);  // it ended
  storm(500, 1000, 300, 50);
  CHECK(storms().at(0).verdict == StormVerdict::kSustained);  // 500 s, patience 20 s
}

TEST_CASE_METHOD(StormRun, "a storm long after the system was well again is not the trigger's") {
  storm(600, 1000, 300, 50);
  const auto found = storms();
  REQUIRE(found.size() == 1);
  CHECK(!found[0].trigger_end_s);
  CHECK(found[0].verdict == StormVerdict::kSustained);
}

TEST_CASE_METHOD(StormRun, "a loop that is stuck at the end is down, with a fault or without") {
  scenario.clients[0].arrivals.process = ArrivalProcess::kClosed;
  CHECK(fate().verdict == StormVerdict::kTransient);
  for (std::size_t i = 600; i < 1000; ++i) run.all_bins[i].flow = {};
  CHECK(fate().verdict == StormVerdict::kSustained);  // so that tip finds that it tips
  scenario.faults.clear();
  CHECK(fate().verdict == StormVerdict::kSustained);
  scenario.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  CHECK(fate().verdict == StormVerdict::kTransient);  // nobody asks for anything
}

TEST_CASE_METHOD(StormRun, "two storms are told apart by 100 calm seconds") {
  scenario.faults.resize(2);
  scenario.faults[1].start = at(600);
  scenario.faults[1].duration = Duration::seconds(10);
  storm(300, 340, 300, 50);
  storm(600, 660, 200, 50);
  const auto found = storms();
  REQUIRE(found.size() == 2);
  CHECK(found[0].recovery_s == 20.0);  // 340 - 320
  CHECK(found[1].trigger_end_s == 610.0);
  CHECK(found[1].recovery_s == 50.0);  // 660 - 610
  storm(340, 600, 100, 100);
  storm(430, 440, 300, 50);  // calm from 349 to 431 only
  CHECK(storms().at(0).end_s == 449.0);
}

TEST_CASE_METHOD(StormRun,
                 "a storm over which the run ends calm has its end where the calm began") {
  // As before the storm ends at bin 349, but the calm of 100 s that confirms it would last until
  // 449. The goodput is back from 340 on and stays for the 30 s that recovery asks for.
  storm(300, 340, 300, 50);
  run.window_end = at(400);
  run.all_bins.resize(400);
  auto found = storms();
  REQUIRE(found.size() == 1);
  CHECK(found[0].end_s == 349.0);
  CHECK(found[0].extra_attempts == Approx(8000 - 20));
  CHECK(found[0].verdict == StormVerdict::kTransient);
  // Three calm bins are enough, two are not.
  run.window_end = at(352);
  CHECK(storms().at(0).end_s == 349.0);
  CHECK(storms().at(0).verdict == StormVerdict::kCensored);  // no 30 s of goodput yet
  run.window_end = at(351);
  CHECK(!storms().at(0).end_s);
}

TEST_CASE_METHOD(StormRun, "a short calm at the end does not make a storm of its own transient") {
  scenario.faults.clear();
  storm(500, 940, 300, 50);  // calm from 949 on: 51 s of the 100 s that an end takes
  auto found = storms();
  REQUIRE(found.size() == 1);
  CHECK(found[0].end_s == 949.0);
  CHECK(found[0].verdict == StormVerdict::kCensored);
  storm(891, 940, 100, 100);  // from 900 on: 100 s
  CHECK(storms().at(0).end_s == 900.0);
  CHECK(storms().at(0).verdict == StormVerdict::kTransient);
}

TEST_CASE_METHOD(StormRun, "the rolling window is timeout plus backoff, within bounds") {
  ClientSpec& c = scenario.clients[0];
  CHECK(stats::amplification_window(scenario, 0) == 10);
  c.timeouts.has_attempt = true;
  c.timeouts.attempt = Distribution::constant(Duration::seconds(5));
  c.retry.mode = RetryMode::kStandard;
  c.retry.max_attempts = 3;
  c.retry.backoff.base = Duration::seconds(10);
  CHECK(stats::amplification_window(scenario, 0) == 25);  // 5 + 20
  scenario.clients.resize(2);
  CHECK(stats::amplification_window(scenario, 1) == 10);
  CHECK(stats::amplification_window(scenario, std::nullopt) == 25);
  scenario.clients[0].retry.backoff.base = Duration::seconds(1000);
  CHECK(stats::amplification_window(scenario, 0) == 100);  // a tenth of 1000 s
}

TEST_CASE_METHOD(StormRun, "without a disturbance the last quarter decides what became of a run") {
  scenario.faults.clear();
  CHECK(fate().verdict == StormVerdict::kTransient);
  storm(0, 1000, 300, 50);  // overloaded from the start: no storm, as nothing was ever different
  CHECK(storms().empty());
  const stats::Fate down = fate();
  CHECK(down.verdict == StormVerdict::kSustained);
  CHECK(down.aftermath->trigger.end == at(500));
  storm(750, 1000, 100, 96);
  CHECK(fate().verdict == StormVerdict::kTransient);
  storm(750, 1000, 100, 94);
  CHECK(fate().verdict == StormVerdict::kSustained);
}
