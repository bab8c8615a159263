// The recorder over very long times, where what it keeps up to date must not depend on being looked
// at every few seconds; and what it works out from other counts.
//
// SPDX-License-Identifier: MIT
#include "measure/record/recorder.hpp"

#include <catch2/catch.hpp>

using namespace retrysim;
using stats::Recorder;

namespace {

constexpr std::int64_t kYear = 31'536'000;

Scenario of_bins(std::int64_t bins, std::int64_t interval_s) {
  Scenario s;
  s.duration = Duration::seconds(bins * interval_s);
  s.interval = Duration::seconds(interval_s);
  s.services.resize(1);
  s.clients.resize(1);
  return s;
}

Time at(std::int64_t s) { return Time::zero() + Duration::seconds(s); }

}  // namespace

TEST_CASE("levels of many requests over years are exact") {
  // Half a million requests begin to wait after a year and end after three, in bins of two years:
  // 5e5 * 6.3e16 ns is far beyond 64 bits.
  const Scenario s = of_bins(2, 2 * kYear);
  Recorder recorder(s, 0);
  constexpr int kRequests = 500'000;
  recorder.advance(at(kYear));
  for (int i = 0; i < kRequests; ++i) recorder.client(0).backoff_begins(at(kYear));
  recorder.advance(at(3 * kYear));
  for (int i = 0; i < kRequests; ++i) {
    recorder.client(0).backoff_ends({.number = 2, .since = at(kYear), .now = at(3 * kYear)});
  }
  const RunResult run = recorder.finish(at(3 * kYear));
  REQUIRE(run.clients[0].bins.size() == 2);
  constexpr double kArea = 1e9 * kYear * kRequests;
  CHECK(run.clients[0].bins[0].flow.in_backoff_ns == kArea);
  CHECK(run.clients[0].bins[1].flow.in_backoff_ns == kArea);
  CHECK(run.clients[0].window.in_backoff_ns == 2 * kArea);
}

TEST_CASE("a run of thirty years costs its bins and events") {
  // Segments of ten seconds would be 10^8 of them, some seconds of work.
  const Scenario s = of_bins(1000, 1'000'000);
  Recorder recorder(s, 0);
  recorder.service(0).levels({.busy = 1, .in_system = 4, .queued = 3, .working = 1, .now = at(0)});
  const RunResult run = recorder.finish(at(0));
  REQUIRE(run.services[0].bins.size() == 1000);
  CHECK(run.services[0].bins[999].queue_ns == 3e15);
  CHECK(run.services[0].bins[999].queue_max == 3);
}

TEST_CASE("requests are counted where they begin and where they end, whatever the interval") {
  for (const std::int64_t interval_s : {1, 5}) {
    CAPTURE(interval_s);
    const Scenario s = of_bins(10 / interval_s, interval_s);
    Recorder recorder(s, 0);
    recorder.advance(at(1));
    for (int i = 0; i < 3; ++i) recorder.client(0).submitted();
    recorder.service(0).levels(
        {.busy = 1, .in_system = 3, .queued = 2, .working = 1, .now = at(1)});
    recorder.advance(at(3));
    recorder.client(0).attempt_ended(
        {.in_cohort = true, .result = AttemptResult::kError, .sent = at(1), .now = at(3)});
    recorder.client(0).ended({.in_cohort = true,
                              .outcome = Outcome::kSuccess,
                              .attempts = 1,
                              .submitted = at(1),
                              .now = at(3)});
    recorder.client(0).ended({.in_cohort = true,
                              .outcome = Outcome::kNotRetryable,
                              .attempts = 1,
                              .submitted = at(1),
                              .now = at(3)});
    recorder.advance(at(12));  // in the drain: it counts where the request began
    recorder.client(0).ended({.in_cohort = true,
                              .outcome = Outcome::kNotRetryable,
                              .attempts = 1,
                              .submitted = at(1),
                              .now = at(12)});
    const RunResult run = recorder.finish(at(12));
    CHECK(run.count_width == Duration::milliseconds(1));  // 10,000 of them are 10 s
    const std::vector<RequestCounts>& counts = run.clients[0].counts;
    REQUIRE(counts.size() == 10'000);
    CHECK(counts[1000] == RequestCounts{3, 2, 0, 0, 0});
    CHECK(counts[3000] == RequestCounts{0, 0, 1, 1, 1});
    CHECK(run.services[0].queued[1000] == 0);  // at the start of a bin
    CHECK(run.services[0].queued[1001] == 2);
  }
}

TEST_CASE("the peak of sends in 100 ms leaves out what is sent outside the window") {
  Scenario s = of_bins(4, 1);
  s.warmup = Duration::seconds(1);
  Recorder recorder(s, 0);
  const auto send = [&](std::int64_t ms, int times, std::uint32_t number) {
    const Time now = Time::zero() + Duration::milliseconds(ms);
    recorder.advance(now);
    for (int i = 0; i < times; ++i) recorder.client(0).sent(true, number, now);
  };
  send(950, 100, 1);  // before the window
  send(1050, 3, 1);
  send(1099, 2, 1);
  send(1100, 4, 1);     // the next 100 ms
  send(2500, 2, 3);     // a number that was not there when the window began, nor was 2
  send(4000, 1000, 1);  // the window is over
  send(4050, 1000, 3);
  const RunResult run = recorder.finish(at(5));
  const std::vector<AttemptNumberCounts>& by_attempt = run.clients[0].by_attempt;
  REQUIRE(by_attempt.size() == 3);
  CHECK(by_attempt[0].peak_sends_100ms == 5);
  CHECK(by_attempt[0].sent == 1109);
  CHECK(by_attempt[1].peak_sends_100ms == 0);
  CHECK(by_attempt[2].peak_sends_100ms == 2);
  CHECK(run.clients[0].window.attempts == 11);
  CHECK(run.clients[0].window.retries == 2);
}

TEST_CASE("a group that sends nothing has no rows of attempts") {
  const Scenario s = of_bins(1, 1);
  Recorder recorder(s, 0);
  const RunResult run = recorder.finish(at(1));
  CHECK(run.clients[0].by_attempt.empty());
}

TEST_CASE("a run has count bins to its end, however short it is") {
  CHECK(stats::count_bins(Duration::nanoseconds(1)) == 1);
  for (const Duration run :
       {Duration::nanoseconds(7), Duration::seconds(1), Duration::seconds(77)}) {
    const auto bins = static_cast<std::int64_t>(stats::count_bins(run));
    CHECK(stats::count_width(run) * bins >= run);
    CHECK(stats::count_width(run) * (bins - 1) < run);
  }
}

TEST_CASE("attempts that found a free server waited for no time") {
  const Scenario s = of_bins(1, 1);
  Recorder recorder(s, 0);
  for (const bool in_cohort : {false, true}) {
    for (int i = 0; i < 3; ++i) recorder.client(0).passage.admitted(in_cohort, false);
    for (int i = 0; i < 2; ++i) recorder.client(0).passage.admitted(in_cohort, true);
    recorder.client(0).passage.started(in_cohort, Duration::milliseconds(7));
  }
  const RunResult run = recorder.finish(at(1));
  const ClientResult& client = run.clients[0];
  CHECK(client.admitted == 5);
  CHECK(client.waited == 2);
  CHECK(client.queueing_time.count() == 4);  // one of those that waited still does
  CHECK(client.queueing_time.quantile(0.75) == 0);
  CHECK(client.queueing_time_m.sum_ns == 7'000'000);
}

TEST_CASE("the bins of all groups have the latencies of all their requests") {
  Scenario s = of_bins(2, 1);
  s.clients.resize(2);
  Recorder recorder(s, 0);
  const auto ends = [&](std::size_t group, std::int64_t began_ms, std::int64_t ended_ms) {
    const Time begin = Time::zero() + Duration::milliseconds(began_ms);
    const Time end = Time::zero() + Duration::milliseconds(ended_ms);
    recorder.advance(end);
    recorder.client(group).ended({.in_cohort = true,
                                  .outcome = Outcome::kSuccess,
                                  .attempts = 1,
                                  .submitted = begin,
                                  .now = end});
  };
  for (std::int64_t i = 0; i < 3; ++i) ends(0, 10 * i, 10 * i + 100);
  ends(1, 0, 900);
  ends(1, 1000, 1500);
  const RunResult run = recorder.finish(at(2));
  REQUIRE(run.all_bins.size() >= 2);
  const ClientBin& first = run.all_bins[0];
  CHECK(first.latency_count == 4);
  CHECK(first.latency_sum_ns == 1.2e9);
  CHECK(first.latency_p50_s == Approx(0.1).epsilon(0.02));
  CHECK(first.latency_p99_s == Approx(0.9).epsilon(0.02));
  CHECK(run.all_bins[1].latency_count == 1);
  CHECK(run.all_bins[1].latency_p50_s == Approx(0.5).epsilon(0.02));
  CHECK(run.clients[0].bins[0].latency_p99_s == Approx(0.1).epsilon(0.02));
}

TEST_CASE("servers beyond the nominal ones count while they work, or finish what they have") {
  Scenario s = of_bins(10, 1);
  s.services[0].servers = 2;
  Recorder recorder(s, 0);
  const auto levels = [&](std::int64_t second, std::int64_t busy, std::int64_t working) {
    recorder.advance(at(second));
    recorder.service(0).levels({.busy = busy,
                                .in_system = static_cast<std::uint64_t>(busy),
                                .queued = 0,
                                .working = working,
                                .now = at(second)});
  };
  levels(1, 1, 5);  // three more than the scenario has, busy or not
  levels(4, 4, 2);  // they are told to go, and two of them have work left
  levels(6, 1, 2);
  levels(8, 1, 1);  // fewer than nominal are no negative number
  levels(9, 2, 2);
  const RunResult run = recorder.finish(at(10));
  CHECK(run.services[0].window.extra_servers_ns == (3 * 3 + 2 * 2) * 1e9);
  CHECK(run.services[0].window.servers_ns == (2 + 3 * 5 + 4 * 2 + 1 + 2) * 1e9);
}
