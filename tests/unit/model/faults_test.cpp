// Fault windows: what each kind does, how overlapping ones combine, and that work in progress goes
// on as the rules say.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

FaultSpec fault(std::int64_t start_ms, std::int64_t duration_ms) {
  FaultSpec f;
  f.name = "f";
  f.start = Time::zero() + ms(start_ms);
  f.duration = ms(duration_ms);
  return f;
}

TEST_CASE("Capacity: services in progress finish, then the server stops, queued work stays") {
  Scenario s = test::small_world();
  s.services[0].servers = 2;
  s.clients[0].count = 4;  // two in service until 100 ms, two queued
  FaultSpec f = fault(50, 1000);
  f.capacity = 0.5;
  s.faults = {f};
  // One server from 50 ms on: the queued ones run 100-200 and 200-300 ms.
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(300));
  s.faults[0].capacity = 0;
  // No server until 1050 ms, then two.
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(1150));
  CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 4);
}

TEST_CASE("A share of the servers is rounded to whole ones, halves upwards") {
  Scenario s = test::small_world();
  s.services[0].servers = 3;
  s.clients[0].count = 6;
  FaultSpec f = fault(50, 1000);
  f.capacity = 0.5;
  s.faults = {f};
  // Two servers from 50 ms on: of the three that wait, two until 200 ms and one until 300 ms.
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(300));
  s.faults[0].capacity = 0.49;  // one: until 400 ms
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(400));
  // Two windows of a half each leave 0.75 of a server.
  s.faults[0].capacity = 0.5;
  s.faults.push_back(s.faults[0]);
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(400));
}

TEST_CASE(
    "Speed rescales the remaining work, also when windows overlap or the server stands still") {
  Scenario s = test::small_world();
  FaultSpec slow = fault(20, 40);
  slow.speed = 0.5;
  s.faults = {slow};
  // 20 ms done by 20 ms; 40 ms at half speed do 20; the last 60 ms at full speed.
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(120));
  FaultSpec slower = fault(30, 20);
  slower.speed = 0.5;
  s.faults.push_back(slower);
  // 20 + 10*0.5 + 20*0.25 + 10*0.5 = 35 ms done by 60 ms.
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(125));
  s.faults[1].speed = 0;
  // 20 + 5 + 0 + 5 = 30 ms done by 60 ms.
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(130));
}

TEST_CASE("Latency is added each way while the window lasts") {
  Scenario s = test::small_world();
  s.network.latency = Distribution::constant(ms(1));
  FaultSpec f = fault(0, 50);
  f.latency = ms(9);
  s.faults = {f};
  // 10 ms there; back after the window: 1 ms.
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 111 * 1'000'000);
  // A window that outlasts the answer, or ends when that is under way: 10 ms there and back.
  for (const std::int64_t window : {1000, 111}) {
    s.faults[0].duration = ms(window);
    CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 120 * 1'000'000);
  }
  // Messages sent later may overtake: client 2 asks at 60 ms and arrives at 61 ms, client 1, sent
  // within a window that ends at 55 ms, arrives at 104 ms.
  s.faults[0] = fault(0, 55);
  s.faults[0].latency = ms(103);
  s.clients[0].arrivals.process = ArrivalProcess::kTrace;
  s.clients[0].arrivals.rows = {Time::zero(), Time::zero() + ms(60)};
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.latency_m.sum_ns == (102 + 262) * 1'000'000);
}

TEST_CASE("Unreachable: refused after one round trip, and retried as a connection error") {
  Scenario s = test::small_world();
  s.network.latency = Distribution::constant(ms(10));
  FaultSpec f = fault(0, 25);
  f.unreachable = true;
  s.faults = {f};
  const RunResult r = simulate(s, 0);
  // Attempts at 0 and 20 ms are refused; the third, at 40 ms, is served.
  CHECK(r.clients[0].attempts == 3);
  CHECK(r.clients[0].arrivals == 1);
  CHECK(count(r.clients[0], AttemptResult::kError) == 2);
  CHECK(r.clients[0].latency_m.sum_ns == 160 * 1'000'000);
}

TEST_CASE("Error probabilities of overlapping sources combine as independent", "[repetitive]") {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].errors = {{{500, "InternalError"}, 0.3}, {{400, "ThrottlingException"}, 0.2}};
  FaultSpec f = fault(0, 100'000);
  f.errors = {{{503, "ServiceUnavailable"}, 0.5}};
  s.faults = {f};
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 10'000;
  s.clients[0].retry.max_attempts = 1;
  const ClientResult c = simulate(s, 0).clients[0];
  const auto n = static_cast<double>(c.attempts);
  // A share 0.5 * 0.5 escapes both; 0.2 are throttled. n is about 10^6: six standard deviations are
  // 0.0026; chance of a false alarm below 1e-8.
  CHECK(static_cast<double>(count(c, AttemptResult::kSuccess)) / n == Approx(0.25).margin(0.0026));
  CHECK(static_cast<double>(count(c, AttemptResult::kThrottled)) / n == Approx(0.2).margin(0.0026));
}

TEST_CASE("Losses of overlapping sources combine as independent, and end with their windows",
          "[repetitive]") {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(ms(1));
  s.network.request_loss = 0.2;
  FaultSpec f = fault(0, 50'000);
  f.request_loss = 0.5;
  f.response_loss = 0.25;
  s.faults = {f, f};
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 10'000;
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], ms(10));
  const ClientResult c = simulate(s, 0).clients[0];
  const auto n = static_cast<double>(c.attempts);
  // Reach the service: 0.8 x 0.25 in the first half, 0.8 in the second. Get their answer: of those
  // 0.75^2 and all. n is about 10^6: six standard deviations are below 0.003, chance of a false
  // alarm below 1e-8.
  CHECK(static_cast<double>(c.arrivals) / n == Approx(0.5).margin(0.003));
  CHECK(static_cast<double>(count(c, AttemptResult::kSuccess)) / n ==
        Approx(0.1 * 0.5625 + 0.4).margin(0.003));
}

TEST_CASE("A cold restart loses the queue and the work in progress, and connections break") {
  Scenario s = test::small_world();
  s.network.latency = Distribution::constant(ms(5));
  s.services[0].servers = 2;
  s.clients[0].count = 5;
  s.clients[0].retry.backoff.base = ms(1000);
  s.clients[0].retry.max_attempts = 2;
  FaultSpec f = fault(50, 20);
  f.cold_restart = true;
  s.faults = {f};
  s.services[0].queue.discipline =
      GENERATE(Discipline::kFifo, Discipline::kLifo, Discipline::kAdaptiveLifo, Discipline::kRandom,
               Discipline::kPriority, Discipline::kCodel, Discipline::kProcessorSharing);
  const RunResult r = simulate(s, 0);
  // All know at 55 ms, and try again at 1055 ms: 1060, and 300 ms of work for two servers.
  CHECK(count(r.clients[0], AttemptResult::kError) == 5);
  CHECK(count(r.clients[0], Outcome::kSuccess) == 5);
  CHECK(r.clients[0].executed == 5);
  const bool shared = s.services[0].queue.discipline == Discipline::kProcessorSharing;
  CHECK(r.last_request_end == Time::zero() + ms(1060 + (shared ? 250 : 300) + 5));
  CHECK(r.services[0].window.busy_ns == Approx(2 * 45e6 + 500e6));
}

TEST_CASE("A cold restart forgets who has given up, limits and throttles") {
  Scenario s = test::small_world();
  s.clients[0].count = 3;
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], ms(20));
  FaultSpec f = fault(50, 100);
  f.cold_restart = true;
  f.capacity = 0;
  s.faults = {f};
  SECTION("abandoned work is lost without an answer") {
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].dropped == 3);
    CHECK(r.clients[0].executed == 0);
    CHECK(r.services[0].wasted_after_give_up_ns == 30e6);
  }
  SECTION("a place under the concurrency limit, time limits and tokens are there again") {
    s.clients[0].timeouts.has_attempt = false;
    s.services[0].concurrency.limit = 3;
    s.services[0].timeout = Duration::seconds(2);
    s.services[0].throttle = {0.001, 3, ThrottleScope::kService, Duration::zero()};
    s.clients[0].retry.max_attempts = 2;
    s.clients[0].retry.backoff.base = ms(1000);
    CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 3);
    s.services[0].throttle.scope = ThrottleScope::kClient;
    s.services[0].throttle.burst = 1;
    CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 3);
  }
}

TEST_CASE("A capacity profile changes the number of servers, and faults multiply with it") {
  Scenario s = test::small_world();
  s.services[0].servers = 4;
  s.clients[0].count = 8;
  s.services[0].profile = CapacityProfile{
      {Time::zero(), Time::zero() + ms(50), Time::zero() + ms(250)}, {0.5, 0.25, 1}};
  // Two servers until 50 ms, one until 250, then four: ends at 100, 100, 200, 300, then four more
  // that begin at 250, 250, 250 and 300.
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns ==
        (100 + 100 + 200 + 300 + 3 * 350 + 400) * 1'000'000LL);
  FaultSpec f = fault(0, 1000);
  f.capacity = 0.5;
  s.faults = {f};
  // One until 50 ms; half a server is rounded to one; two from 250 on.
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns ==
        (100 + 200 + 300 + 350 + 400 + 450 + 500 + 550) * 1'000'000LL);
}

TEST_CASE("A window is over at its end: an arrival at that instant is not affected") {
  Scenario s = test::small_world();
  FaultSpec f = fault(50, 50);
  f.errors = {{{400, "ValidationException"}, 1.0}};
  s.faults = {f};
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.clients[0].arrivals.process = ArrivalProcess::kTrace;
  for (const int t : {49, 50, 99, 100}) {
    s.clients[0].arrivals.rows.push_back(Time::zero() + ms(t));
  }
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kSuccess) == 2);
  CHECK(count(c, Outcome::kNotRetryable) == 2);
}

}  // namespace
}  // namespace retrysim
