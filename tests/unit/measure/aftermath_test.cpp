// The verdict on a run that does not recover, and what its twin adds, on bins filled in by hand:
// 100 requests/s for 1000 s in bins of 1 s, an outage from 300 s to 320 s.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/recovery.hpp"

#include <catch2/catch.hpp>

#include <optional>

#include "unit/measure/count_bins.hpp"

using namespace retrysim;
using stats::Aftermath;
using stats::StormVerdict;

namespace {

struct Runs {
  Scenario scenario;
  RunResult run, twin;

  Runs() {
    scenario.duration = Duration::seconds(1000);
    scenario.services.resize(1);
    scenario.services[0].service_time = Distribution::constant(Duration::milliseconds(7));
    scenario.clients.resize(1);
    scenario.faults.resize(1);
    scenario.faults[0].start = at(300);
    scenario.faults[0].duration = Duration::seconds(20);
    for (RunResult* r : {&run, &twin}) {
      r->window_end = at(1000);
      r->interval = Duration::seconds(1);
      r->all_bins.resize(1000);
      r->services.resize(1);
      r->services[0].nominal_servers = 1;
      r->clients.resize(1);
      r->clients[0].bins.resize(1000);
      for (std::size_t i = 0; i < 1000; ++i) {
        r->clients[0].bins[i].flow.requests = 100;
        set(*r, i, i + 1, 100);
      }
    }
    set(run, 300, 1000, 10);
    set(twin, 300, 340, 10);
  }

  static Time at(std::int64_t s) { return Time::zero() + Duration::seconds(s); }

  static void set(RunResult& r, std::size_t from, std::size_t to, std::uint64_t successes) {
    for (std::size_t i = from; i < to; ++i) {
      ClientFlow& flow = r.all_bins[i].flow;
      flow.requests = 100;
      flow.successes = successes;
      flow.failures = flow.timeouts = 100 - successes;
    }
  }

  Aftermath aftermath() const { return *stats::final_aftermath(scenario, with_counts(run)); }
  std::optional<double> twin_recovery() const {
    return stats::twin_recovery(scenario, with_counts(twin), aftermath());
  }
  StormVerdict verdict() const {
    const Aftermath a = aftermath();
    return stats::with_twin(a.verdict(), a, twin_recovery());
  }
};

}  // namespace

TEST_CASE_METHOD(Runs, "a run whose twin recovers is metastable") {
  CHECK(aftermath().verdict() == StormVerdict::kSustained);
  CHECK(aftermath().offered_work == Approx(0.7));
  CHECK(aftermath().patience_s == 200);  // 10 times the outage
  CHECK(twin_recovery() == 20.0);
  CHECK(verdict() == StormVerdict::kMetastable);
}

TEST_CASE_METHOD(Runs, "disturbances that overlap or touch are one, of which the last end counts") {
  scenario.faults.resize(2);
  const auto second = [&](std::int64_t start, std::int64_t end) {
    scenario.faults[1].start = at(start);
    scenario.faults[1].duration = Duration::seconds(end - start);
    const stats::Trigger trigger = aftermath().trigger;
    return std::pair{trigger.start, trigger.end};
  };
  CHECK(second(310, 330) == std::pair{at(300), at(330)});
  CHECK(second(320, 330) == std::pair{at(300), at(330)});
  CHECK(second(321, 330) == std::pair{at(321), at(330)});
  CHECK(second(305, 310) == std::pair{at(300), at(320)});
  CHECK(second(280, 300) == std::pair{at(280), at(320)});
  CHECK(second(280, 299) == std::pair{at(300), at(320)});
}

TEST_CASE_METHOD(Runs, "a run whose twin does not recover in time is just sustained") {
  set(twin, 300, 525, 10);  // back after 205 s
  CHECK(verdict() == StormVerdict::kSustained);
  set(twin, 300, 1000, 10);
  CHECK(verdict() == StormVerdict::kSustained);
}

TEST_CASE_METHOD(Runs, "above capacity it is not for the retries") {
  scenario.services[0].service_time = Distribution::constant(Duration::milliseconds(11));
  CHECK(aftermath().offered_work == Approx(1.1));
  CHECK(verdict() == StormVerdict::kSustained);
}

TEST_CASE_METHOD(Runs, "the work of operations counts") {
  scenario.clients[0].operations = {{"read", 3, 1}, {"write", 1, 5}};
  CHECK(aftermath().offered_work == Approx(0.7 * 2));
}

TEST_CASE_METHOD(Runs, "a service behind another is offered its requests, not their retries") {
  scenario.services.resize(2);
  scenario.services[1].service_time = Distribution::constant(Duration::milliseconds(9));
  scenario.clients.resize(2);
  scenario.clients[1].arrivals.process = ArrivalProcess::kCalls;
  scenario.calls.push_back({.caller = 0, .client = 1});
  scenario.clients[1].service = 1;
  for (RunResult* r : {&run, &twin}) {
    r->services.resize(2);
    r->services[0].nominal_servers = 2;  // each is kept for 7 ms and the call of 9 ms
    r->services[1].nominal_servers = 1;
    r->clients.push_back(r->clients[0]);
    for (ClientBin& bin : r->clients[1].bins) bin.flow.requests = 300;  // three attempts each
  }
  CHECK(aftermath().offered_work == Approx(0.9));
  CHECK(verdict() == StormVerdict::kMetastable);
}

TEST_CASE_METHOD(Runs, "the twin is compared with what single attempts achieved") {
  // Before the outage a fifth of the attempts fails, and retries make nearly all requests succeed.
  for (RunResult* r : {&run, &twin}) {
    for (std::size_t i = 0; i < 300; ++i) r->all_bins[i].flow.errors = 25;
  }
  set(twin, 340, 1000, 78);  // of 100 requests: 0.95 * 100 would never be met, 0.95 * 80 is
  CHECK(verdict() == StormVerdict::kMetastable);
  set(twin, 340, 1000, 72);
  CHECK(verdict() == StormVerdict::kSustained);
}

TEST_CASE_METHOD(Runs, "a run that recovers in time has nothing to ask a twin") {
  set(run, 360, 1000, 100);
  CHECK(verdict() == StormVerdict::kTransient);
  set(run, 360, 525, 10);  // back after 205 s, but late
  CHECK(verdict() == StormVerdict::kMetastable);
}

TEST_CASE_METHOD(Runs, "a retry quota that has not run dry yet is waited for") {
  // 90 of 100 requests a second fail after two retries, each of which costs 10 tokens.
  RetryRules& retry = scenario.clients[0].retry;
  retry.max_attempts = 3;
  retry.quota.enabled = true;
  retry.quota.cost = 5;
  retry.quota.timeout_cost = 10;
  const auto patience_with = [&](int clients, int capacity) {
    scenario.clients[0].count = static_cast<std::uint32_t>(clients);
    retry.quota.capacity = capacity;
    RunResult counted = with_counts(run);
    for (RequestCounts& c : counted.clients[0].counts) c.failed_attempts = 3 * c.failures;
    return stats::final_aftermath(scenario, counted)->patience_s;
  };
  // 1,800 tokens/s: 680 s after the outage 1,224,000 are gone, the rest lasts as long as it does.
  CHECK(patience_with(2'000, 1'000) == Approx(680 + 2 * (2'000'000 - 1'224'000) / 1'800.0));
  CHECK(patience_with(4'000, 1'000) == Approx(680 + 2 * (4'000'000 - 1'224'000) / 1'800.0));
  CHECK(patience_with(10'000, 1'000) == 200);  // lasts for more than ten times the patience
  retry.quota.refill_rate = 1;                 // of each client: more than what is taken
  CHECK(patience_with(2'000, 1'000) == 200);
  retry.quota.refill_rate = 0;
  // Dry all along: a tenth of the retries is refused from the end of the outage on.
  const auto deny_from = [&](std::size_t first, std::uint64_t denied) {
    for (std::size_t i = 0; i < 1000; ++i) {
      ClientFlow& flow = run.clients[0].bins[i].flow;
      flow.retries = 180;
      flow.quota_denied = i < first ? 0 : denied;
    }
  };
  deny_from(320, 20);
  CHECK(patience_with(2'000, 700) == 200);
  // Dry later: the patience begins with the end of the first second of it.
  deny_from(700, 20);
  CHECK(patience_with(2'000, 700) == 700 + 1 - 320 + 200);
  deny_from(998, 20);
  CHECK(patience_with(2'000, 700) == 998 + 1 - 320 + 200);
  deny_from(700, 19);  // not a tenth
  CHECK(patience_with(2'000, 610) > 680);
  scenario.clients[0].retry.quota.enabled = false;
  CHECK(patience_with(2'000, 1'000) == 200);
}

TEST_CASE_METHOD(Runs, "a run that ends too soon is censored") {
  run.window_end = at(515);
  CHECK(aftermath().verdict() == StormVerdict::kCensored);
  run.window_end = at(525);
  CHECK(aftermath().verdict() == StormVerdict::kSustained);
}

TEST_CASE_METHOD(Runs, "without a disturbance there is no time after it") {
  scenario.faults.clear();
  CHECK(!stats::final_aftermath(scenario, with_counts(run)));
}

TEST_CASE_METHOD(Runs, "disturbances that overlap count as one") {
  scenario.faults.resize(2);
  scenario.faults[1].start = at(310);
  scenario.faults[1].duration = Duration::seconds(30);
  CHECK(aftermath().trigger.start == at(300));
  CHECK(aftermath().trigger.end == at(340));
  CHECK(aftermath().patience_s == 400);
}

TEST_CASE_METHOD(Runs, "the next disturbance ends the time after one") {
  // From 600 s on a surge to three times the load: 0.7 of the capacity becomes 2.1.
  for (std::size_t i = 600; i < 1000; ++i) run.all_bins[i].flow.requests = 300;
  run.services[0].queued.resize(1000);
  run.services[0].queued[320] = 300;
  const RunResult counted = with_counts(run);
  const stats::Trigger outage{at(300), at(320)};
  const Aftermath before = stats::aftermath_of(scenario, counted, outage, at(600));
  CHECK(before.offered_work == Approx(0.7));
  CHECK(before.predicted_drain_s == Approx(300 * 0.007 / (1 - 0.7)));
  const Aftermath over_both = stats::aftermath_of(scenario, counted, outage, at(1000));
  CHECK(over_both.offered_work == Approx((280 * 0.7 + 400 * 2.1) / 680));
  CHECK(over_both.predicted_drain_s == 0);  // it would not drain
}
