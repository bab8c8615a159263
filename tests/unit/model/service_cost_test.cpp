// What slows a service down besides its work: concurrency, saying no, and its own time limit.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

TEST_CASE("Each attempt already in service makes a service longer by a fraction of its own") {
  Scenario s = test::small_world();
  s.services[0].slowdown.per_attempt = 0.5;
  s.services[0].servers = 3;
  s.clients[0].count = 4;
  // 100, 150 and 200 ms; the fourth begins at 100 beside two others: 200 ms.
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].latency_m.sum_ns == (100 + 150 + 200 + 300) * 1'000'000);
  CHECK(r.ended == Time::zero() + ms(300));
}

TEST_CASE("Turning away costs a server time, before any attempt that waits to be served") {
  Scenario s = test::small_world();
  s.services[0].rejection.cost = ms(30);
  s.services[0].queue.capacity = 1;
  s.clients[0].count = 3;
  s.clients[0].retry.max_attempts = 1;
  SECTION("a full queue") {
    // 0-100 the first, 100-130 the third is turned away, 130-230 the second.
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].rejected == 1);
    CHECK(r.clients[0].latency_m.sum_ns == (100 + 130 + 230) * 1'000'000);
    CHECK(r.services[0].window.busy_ns == 230e6);
    CHECK(r.clients[0].executed == 2);
    CHECK(r.services[0].window.completions == 2);
    CHECK(r.clients[0].queueing_time_m.sum_ns == 130 * 1'000'000);
  }
  SECTION("the throttle, with a server free") {
    s.services[0].servers = 3;
    s.services[0].throttle = {1, 1, ThrottleScope::kService, Duration::zero()};
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], AttemptResult::kThrottled) == 2);
    CHECK(r.clients[0].latency_m.sum_ns == (100 + 30 + 30) * 1'000'000);
  }
  SECTION("a drop is no answer and costs nothing") {
    s.services[0].rejection.overflow = Overflow::kDrop;
    test::set_timeout(s.clients[0], ms(500));
    CHECK(simulate(s, 0).services[0].window.busy_ns == 200e6);
  }
  SECTION("shared servers are shared with it") {
    s.services[0].queue.discipline = Discipline::kProcessorSharing;
    // The first attempt and two rejections: those are done at 90 ms, it at 160 ms.
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].latency_m.sum_ns == (160 + 90 + 90) * 1'000'000);
  }
  SECTION("a client that gives up meanwhile: the work is in vain, or left out") {
    test::set_timeout(s.clients[0], ms(110));
    s.services[0].queue.capacity = 0;
    s.clients[0].count = 2;
    // 100-130; the client of the second gives up at 110.
    CHECK(simulate(s, 0).services[0].wasted_after_give_up_ns == 20e6);
    CHECK(simulate(s, 0).services[0].wasted_full_ns == 0);
    s.services[0].abandoned = Abandoned::kAbort;
    CHECK(simulate(s, 0).ended == Time::zero() + ms(110));
    test::set_timeout(s.clients[0], ms(50));
    s.services[0].abandoned = Abandoned::kRemove;
    CHECK(simulate(s, 0).ended == Time::zero() + ms(100));
    s.services[0].abandoned = Abandoned::kDropAtDequeue;
    CHECK(simulate(s, 0).clients[0].dropped == 1);
  }
}

TEST_CASE("Rejections that cost enough bring a service down: the fluid limit") {
  // Twice the capacity, one attempt a request, w = 0.2: a share p is turned away, and serving 1 - p
  // and refusing p takes all the time: 2 ((1 - p) + 0.2 p) = 1, so p = 0.625.
  Scenario s = test::small_world();
  s.services[0].service_time = Distribution::constant(ms(10));
  s.services[0].rejection.cost = ms(2);
  s.services[0].queue.capacity = 10;
  s.duration = Duration::seconds(1000);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 200;
  s.clients[0].retry.max_attempts = 1;
  const ClientResult c = simulate(s, 0).clients[0];
  // 2e5 arrivals; a share of successes with a standard deviation below 0.001: false alarm < 1e-8.
  CHECK(static_cast<double>(c.rejected) / static_cast<double>(c.attempts) ==
        Approx(0.625).margin(0.006));
}

TEST_CASE("The service's own timeout ends queueing and service with 504") {
  Scenario s = test::small_world();
  s.services[0].timeout = ms(150);
  s.clients[0].count = 3;
  s.clients[0].retry.max_attempts = 1;
  SECTION("one is served, one is interrupted, one leaves the queue") {
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], Outcome::kSuccess) == 1);
    CHECK(count(r.clients[0], AttemptResult::kError) == 2);
    CHECK(r.clients[0].latency_m.sum_ns == (100 + 150 + 150) * 1'000'000);
    CHECK(r.ended == Time::zero() + ms(150));
    CHECK(test::total(r.services[0]).errors == 2);
    CHECK(r.services[0].window.busy_ns == 150e6);
  }
  SECTION("a completion at the same instant comes first") {
    s.services[0].timeout = ms(200);
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(count(c, Outcome::kSuccess) == 2);
    CHECK(count(c, AttemptResult::kError) == 1);
  }
  SECTION("504 is transient: it is retried") {
    s.clients[0].retry.max_attempts = 2;
    CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 2);
  }
  SECTION("a server that is freed takes the next attempt") {
    s.clients[0].arrivals.process = ArrivalProcess::kTrace;
    s.clients[0].arrivals.rows = {Time::zero(), Time::zero() + ms(20)};
    s.services[0].timeout = ms(80);
    s.services[0].service_time = Distribution::constant(ms(90));
    // 0-80 interrupted, 80-100 interrupted.
    CHECK(simulate(s, 0).ended == Time::zero() + ms(100));
  }
  SECTION("a client that has given up gets no answer") {
    test::set_timeout(s.clients[0], ms(120));
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], AttemptResult::kTimeout) == 2);
    CHECK(r.clients[0].dropped == 2);
    CHECK(r.services[0].wasted_after_give_up_ns == 30e6);
  }
  SECTION("shared servers: an interrupted attempt leaves its share to the others") {
    s.services[0].queue.discipline = Discipline::kProcessorSharing;
    s.clients[0].count = 2;
    s.clients[0].arrivals.process = ArrivalProcess::kTrace;
    s.clients[0].arrivals.rows = {Time::zero(), Time::zero() + ms(60)};
    s.services[0].timeout = ms(120);
    // 60 ms alone and 30 together until 120 have served the first 90: it is interrupted. The other
    // has had 30 ms, has the server to itself until 180, and is interrupted with 90 ms too.
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], AttemptResult::kError) == 2);
    CHECK(r.ended == Time::zero() + ms(180));
  }
}

}  // namespace
}  // namespace retrysim
