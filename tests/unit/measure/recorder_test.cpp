// The recorder over very long times: what it keeps up to date must not depend on being looked at
// every few seconds.
//
// SPDX-License-Identifier: MIT
#include "measure/recorder.hpp"

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
  for (int i = 0; i < kRequests; ++i) recorder.backoff_begins(0, at(kYear));
  recorder.advance(at(3 * kYear));
  for (int i = 0; i < kRequests; ++i) {
    recorder.backoff_ends({.number = 2, .since = at(kYear), .now = at(3 * kYear)});
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
  recorder.service_levels({.busy = 1, .in_system = 4, .queued = 3, .working = 1, .now = at(0)});
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
    for (int i = 0; i < 3; ++i) recorder.submitted(0);
    recorder.service_levels({.busy = 1, .in_system = 3, .queued = 2, .working = 1, .now = at(1)});
    recorder.advance(at(3));
    recorder.attempt_ended(
        {.in_cohort = true, .result = AttemptResult::kError, .sent = at(1), .now = at(3)});
    recorder.ended({.in_cohort = true,
                    .outcome = Outcome::kSuccess,
                    .attempts = 1,
                    .submitted = at(1),
                    .now = at(3)});
    recorder.ended({.in_cohort = true,
                    .outcome = Outcome::kNotRetryable,
                    .attempts = 1,
                    .submitted = at(1),
                    .now = at(3)});
    recorder.advance(at(12));  // in the drain: it counts where the request began
    recorder.ended({.in_cohort = true,
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
