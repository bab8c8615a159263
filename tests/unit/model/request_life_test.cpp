// The steps of a request's life, one rule a test, on worlds small enough to follow by hand.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

TEST_CASE("The parts of a latency add up: network both ways, queue, service") {
  Scenario s = test::small_world();
  s.network.latency = Distribution::constant(ms(10));
  s.clients[0].count = 2;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.latency_m.sum_ns == (120 + 220) * 1'000'000);
  CHECK(c.service_latency_m.sum_ns == (100 + 200) * 1'000'000);
  CHECK(c.queueing_time_m.sum_ns == 100 * 1'000'000);
  CHECK(c.waited == 1);
  CHECK(c.admitted == 2);
}

TEST_CASE("A full queue rejects at once, and the client tries again after its backoff") {
  Scenario s = test::small_world();
  s.services[0].queue.capacity = 0;
  s.clients[0].count = 2;
  s.clients[0].retry.backoff.base = ms(30);
  const ClientResult c = simulate(s, 0).clients[0];
  // The second client is rejected at 0 and at 30 ms, waits 60 ms more, and is rejected at 90 ms.
  CHECK(count(c, Outcome::kSuccess) == 1);
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == 1);
  CHECK(c.rejected == 3);
  CHECK(c.attempts == 4);
  CHECK(c.backoff_total_ns == 90 * 1'000'000);
  CHECK(c.latency_m.sum_ns == (100 + 90) * 1'000'000);
}

TEST_CASE("What a full queue answers decides how the client takes it") {
  Scenario s = test::small_world();
  s.services[0].queue.capacity = 0;
  s.clients[0].count = 2;
  test::set_timeout(s.clients[0], ms(500));
  SECTION("throttled counts as throttling, not as rejected") {
    s.services[0].rejection.overflow = Overflow::kThrottled;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.rejected == 0);
    CHECK(count(c, AttemptResult::kThrottled) > 0);
  }
  SECTION("invalid is not retried") {
    s.services[0].rejection.overflow = Overflow::kInvalid;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(count(c, Outcome::kNotRetryable) == 1);
    CHECK(c.attempts == 2);
  }
  SECTION("drop leaves the client to its timeout") {
    s.services[0].rejection.overflow = Overflow::kDrop;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.dropped == 1);
    CHECK(c.rejected == 0);
    CHECK(count(c, AttemptResult::kTimeout) == 1);
    CHECK(count(c, Outcome::kSuccess) == 2);
  }
}

TEST_CASE("A deadline ends the request wherever it is") {
  Scenario s = test::small_world();
  s.clients[0].timeouts.deadline = ms(250);
  SECTION("under way: the attempt is abandoned") {
    s.services[0].service_time = Distribution::constant(ms(300));
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], Outcome::kDeadlineExceeded) == 1);
    CHECK(count(r.clients[0], AttemptResult::kAbandoned) == 1);
    CHECK(r.clients[0].latency_m.sum_ns == 250 * 1'000'000);
    CHECK(r.services[0].wasted_after_give_up_ns == 50e6);
  }
  SECTION("a backoff that would end past it is not waited for") {
    s.services[0].errors = {{{500, "InternalError"}, 1.0}};
    s.clients[0].retry.backoff.base = ms(200);
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(count(c, Outcome::kDeadlineExceeded) == 1);
    CHECK(c.attempts == 2);  // at 0 and 200 ms; the next would be at 600 ms
    CHECK(c.latency_m.sum_ns == 200 * 1'000'000);
  }
}

TEST_CASE("The throttle is a bucket that starts full and refills continuously") {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].throttle = {10, 3, ThrottleScope::kService, Duration::zero()};
  s.clients[0].retry.max_attempts = 1;
  SECTION("a burst") {
    s.clients[0].count = 5;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(count(c, AttemptResult::kThrottled) == 2);
  }
  SECTION("exactly its rate, for ever") {
    s.clients[0].arrivals.process = ArrivalProcess::kConstant;
    s.clients[0].arrivals.rate = 10;
    s.services[0].throttle.burst = 1;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.requests == 1000);
    CHECK(count(c, AttemptResult::kThrottled) == 0);
  }
  SECTION("one bucket for each client") {
    s.services[0].throttle.scope = ThrottleScope::kClient;
    s.clients[0].count = 5;
    CHECK(count(simulate(s, 0).clients[0], AttemptResult::kThrottled) == 0);
  }
  SECTION("it may suggest when to come back") {
    s.clients[0].count = 4;
    s.services[0].throttle.retry_after = ms(700);
    s.clients[0].retry.max_attempts = 2;
    s.clients[0].retry.retry_after = RetryAfter::kMinimum;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.backoff_total_ns == 700 * 1'000'000);
    CHECK(count(c, Outcome::kSuccess) == 4);
  }
}

TEST_CASE("Lost messages end in a timeout, a lost answer has cost its work") {
  Scenario s = test::small_world();
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], ms(500));
  SECTION("request") {
    s.network.request_loss = 1;
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].arrivals == 0);
    CHECK(r.clients[0].lost == 1);
    CHECK(count(r.clients[0], AttemptResult::kTimeout) == 1);
  }
  SECTION("response") {
    s.network.response_loss = 1;
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].executed == 1);
    CHECK(r.clients[0].late == 0);
    CHECK(count(r.clients[0], AttemptResult::kTimeout) == 1);
    CHECK(r.services[0].wasted_full_ns == 1e8);
  }
}

TEST_CASE("Abandoned work is served, dropped at its turn, removed, or aborted") {
  // Two clients, one server: the second attempt waits 100 ms, its client gives up after 50 ms; the
  // first is in service when its client gives up too.
  Scenario s = test::small_world();
  s.clients[0].count = 2;
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], ms(50));
  auto run = [&](Abandoned policy) {
    s.services[0].abandoned = policy;
    return simulate(s, 0);
  };
  CHECK(run(Abandoned::kServe).ended == Time::zero() + ms(200));
  CHECK(run(Abandoned::kServe).clients[0].late == 2);
  CHECK(run(Abandoned::kDropAtDequeue).ended == Time::zero() + ms(100));
  CHECK(run(Abandoned::kDropAtDequeue).clients[0].dropped == 1);
  CHECK(run(Abandoned::kRemove).clients[0].late == 1);
  const RunResult aborted = run(Abandoned::kAbort);
  CHECK(aborted.ended == Time::zero() + ms(50));
  CHECK(aborted.clients[0].executed == 0);
  CHECK(aborted.clients[0].dropped == 2);
}

TEST_CASE("Closed-loop clients think, ask and wait: the throughput law holds exactly") {
  Scenario s = test::small_world();
  ClientSpec& c = s.clients[0];
  c.count = 3;
  c.arrivals.process = ArrivalProcess::kClosed;
  c.arrivals.think_time = Distribution::constant(ms(400));
  s.services[0].servers = 3;
  // A cycle is 400 ms thinking and 100 ms service: each client submits at 0.4, 0.9, ... 99.9 s.
  CHECK(simulate(s, 0).clients[0].requests == 3 * 200);
  c.arrivals.concurrency = 2;
  s.services[0].servers = 6;
  CHECK(simulate(s, 0).clients[0].requests == 6 * 200);
}

TEST_CASE("The requests that a closed-loop client has at a time think apart from each other") {
  Scenario s = test::small_world();
  s.services[0].service_time = Distribution::constant(Duration::nanoseconds(1));
  ClientSpec& c = s.clients[0];
  c.count = 1000;
  c.arrivals.process = ArrivalProcess::kClosed;
  c.arrivals.concurrency = 2;
  c.arrivals.think_time = Distribution::exponential(50);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].requests > 3500);
  // None meets another at the only server: of 4,000 requests in 100 s two come within the same
  // nanosecond once in 6,000 seeds.
  CHECK(r.services[0].window.queue_max == 0);
}

TEST_CASE("A closed loop submits nothing at the moment at which submissions end") {
  Scenario s = test::small_world();
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.think_time = Distribution::constant(ms(900));
  // One second each, at 0.9, 1.9, ..., 99.9 s; each takes 0.1 s. So that there is something to wait
  // for at the end, another client asks at 99.85 s.
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "other";
  s.clients[1].arrivals = {};
  s.clients[1].arrivals.process = ArrivalProcess::kTrace;
  s.clients[1].arrivals.rows = {Time::zero() + ms(99'850)};
  const auto last_end = [&](std::int64_t duration_ms) {
    s.duration = ms(duration_ms);
    return simulate(s, 0).last_request_end;
  };
  CHECK(last_end(100'000) == Time::zero() + ms(100'000));
  CHECK(last_end(99'900) == Time::zero() + ms(99'950));
  CHECK(last_end(99'901) == Time::zero() + ms(100'000));
}

TEST_CASE("The retry quota belongs to the client, or to its group") {
  Scenario s = test::small_world();
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].count = 2;
  QuotaRules& q = s.clients[0].retry.quota;
  q.enabled = true;
  q.capacity = q.initial = 5;
  q.cost = 5;
  const ClientResult own = simulate(s, 0).clients[0];
  CHECK(own.attempts == 4);
  CHECK(count(own, Outcome::kQuotaExceeded) == 2);
  q.scope = RetryScope::kGroup;
  const ClientResult shared = simulate(s, 0).clients[0];
  CHECK(shared.attempts == 3);
  CHECK(shared.quota_mean == 0);
}

TEST_CASE("Adaptive clients wait for send tokens in order, or fail fast") {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(ms(1));
  s.services[0].throttle = {1e-6, 1, ThrottleScope::kService, Duration::zero()};
  ClientSpec& c = s.clients[0];
  c.arrivals.process = ArrivalProcess::kConstant;
  c.arrivals.rate = 4;
  c.arrivals.aligned = true;
  c.retry.max_attempts = 1;
  c.retry.rate_limit.enabled = true;
  s.duration = Duration::seconds(4);
  SECTION("block") {
    // The second request (0.25 s) is throttled: from then on 0.5 tokens/s, of which the bucket,
    // empty at 0.25 s, has one at 2.25 s, 4.25 s, ... Requests 3 to 16 wait in line.
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].requests == 16);
    CHECK(r.clients[0].bins[2].flow.attempts == 1);
    CHECK(r.clients[0].bins[3].flow.attempts == 0);
    CHECK(r.clients[0].bins[4].flow.attempts == 1);
    CHECK(r.clients[0].send_wait_ns > 0);
    CHECK(count(r.clients[0], Outcome::kUnfinished) == 0);
  }
  SECTION("fail") {
    c.retry.rate_limit.on_empty = OnEmpty::kFail;
    const ClientResult result = simulate(s, 0).clients[0];
    CHECK(count(result, Outcome::kNoSendToken) == 13);
    CHECK(result.attempts == 3);  // at 0, 0.25 and 2.25 s
  }
  SECTION("a deadline ends the wait") {
    c.timeouts.deadline = ms(100);
    const ClientResult result = simulate(s, 0).clients[0];
    CHECK(count(result, Outcome::kDeadlineExceeded) == 13);
    CHECK(result.attempts == 3);
  }
}

TEST_CASE("Without draining, the run stops at its duration and says what is unfinished") {
  Scenario s = test::small_world();
  s.duration = ms(150);
  s.clients[0].count = 3;
  s.drain = false;
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], Outcome::kSuccess) == 1);
  CHECK(count(r.clients[0], Outcome::kUnfinished) == 2);
  s.drain = true;
  CHECK(count(simulate(s, 0).clients[0], Outcome::kUnfinished) == 0);
  s.drain_limit = ms(50);
  CHECK(count(simulate(s, 0).clients[0], Outcome::kUnfinished) == 1);
}

TEST_CASE("Warm-up is left out of cohort and window, but not of the time series") {
  Scenario s = test::small_world();
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 1;
  s.clients[0].arrivals.aligned = true;
  s.warmup = Duration::seconds(10);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].requests == 90);
  CHECK(r.clients[0].window.requests == 90);
  CHECK(test::total(r.clients[0]).requests == 100);
  CHECK(r.services[0].window.busy_ns == 90 * 1e8);
}

TEST_CASE("Attempts beyond the last number that is kept are counted with it") {
  Scenario s = test::small_world();
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].retry.max_attempts = kMaxAttemptNumber + 20;
  s.clients[0].retry.backoff.base = ms(1);
  s.clients[0].retry.backoff.factor = 1;
  const ClientResult c = simulate(s, 0).clients[0];
  REQUIRE(c.by_attempt.size() == kMaxAttemptNumber);
  CHECK(c.by_attempt.front().sent == 1);
  CHECK(c.by_attempt.back().sent == 21);
}

TEST_CASE("Work whose client gave up on the way is discarded on arrival, unless it is served") {
  Scenario s = test::small_world();
  s.network.latency = Distribution::constant(ms(1000));
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], ms(500));
  CHECK(simulate(s, 0).clients[0].late == 1);
  for (const Abandoned policy :
       {Abandoned::kDropAtDequeue, Abandoned::kRemove, Abandoned::kAbort}) {
    s.services[0].abandoned = policy;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.executed == 0);
    CHECK(c.dropped == 1);
  }
}

TEST_CASE("A backoff that outlasts the run counts to the end of the window") {
  Scenario s = test::small_world();
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].arrivals.start = Time::zero() + ms(1000);
  s.clients[0].retry.backoff.base = Duration::seconds(5000);
  s.drain = GENERATE(false, true);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.window.in_backoff_ns == 99e9);
  CHECK(c.by_attempt.at(1).in_backoff_ns == 99e9);
}

TEST_CASE("Very long service times and sums do not overflow") {
  Scenario s = test::small_world();
  s.duration = s.interval = kLongestDuration;
  s.clients[0].count = 20;
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(Duration::seconds(900'000'000));
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns / 1'000'000'000 == 18'000'000'000);
  s.services[0].service_time = Distribution::constant(Duration::max());
  CHECK(count(simulate(s, 0).clients[0], Outcome::kUnfinished) == 20);
  s.duration += Duration::nanoseconds(1);
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

TEST_CASE("Limits and interruption end a run") {
  Scenario s = test::small_world();
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 1e5;
  s.services[0].servers = ServiceSpec::kUnlimited;
  SimulationOptions options;
  options.max_events = 1000;
  REQUIRE_THROWS_AS(simulate(s, 0, options), LimitExceeded);
  const std::atomic<bool> stop{true};
  SimulationOptions interrupted;
  interrupted.stop = &stop;
  REQUIRE_THROWS_AS(simulate(s, 0, interrupted), Interrupted);
}

}  // namespace
}  // namespace retrysim
