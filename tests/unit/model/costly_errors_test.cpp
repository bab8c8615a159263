// Failures that have cost work: errors after a share of the service time, and crashes.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <cmath>

namespace retrysim {
namespace {

using test::count;
using test::ms;

const ErrorAnswer kInternal{500, "InternalError"};

/// Every attempt of a single request fails.
Scenario failing_world(double at) {
  Scenario s = test::small_world();
  s.services[0].errors = {{kInternal, 1}};
  s.services[0].errors_at.share = at;
  s.clients[0].retry.max_attempts = 1;
  return s;
}

FaultSpec fault_at(std::int64_t start_ms) {
  FaultSpec f;
  f.name = "f";
  f.start = Time::zero() + ms(start_ms);
  f.duration = ms(1000);
  return f;
}

TEST_CASE("An error takes the share of the service time after which it comes") {
  const double share = GENERATE(ErrorPoint::kOnArrival, 0.0, 0.3, 1.0);
  CAPTURE(share);
  const RunResult r = simulate(failing_world(share), 0);
  CHECK(count(r.clients[0], AttemptResult::kError) == 1);
  CHECK(r.services[0].window.busy_ns == Approx(std::max(0.0, share) * 100e6).margin(1e-3));
  CHECK(r.clients[0].latency_m.sum_ns == std::llround(std::max(0.0, share) * 100e6));
  // A server has worked on it, unless it was answered at the door.
  CHECK(r.clients[0].executed == (share < 0 ? 0 : 1));
  CHECK(r.services[0].window.errors == 1);
}

TEST_CASE("An attempt that is to fail waits for its server like any other") {
  Scenario s = failing_world(1);
  s.clients[0].count = 3;
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(300));
  s.services[0].errors_at.share = 0;
  s.services[0].queue.capacity = 0;
  // Nobody waits for a server that is free at once.
  CHECK(count(simulate(s, 0).clients[0], AttemptResult::kError) == 3);
  s.services[0].service_time = Distribution::constant(Duration::zero());
  s.network.latency = Distribution::constant(ms(1));
  CHECK(count(simulate(s, 0).clients[0], AttemptResult::kError) == 3);
}

// Errors with probability p after a share x leave 1 - p (1 - x) of the work; on arrival 1 - p. With
// 50,000 exponential times the relative error of the busy time is 0.9 % at most, so five standard
// deviations are a margin of 4.5 %: one run in a million and a half would fail by chance.
TEST_CASE("The utilization follows from when errors come", "[repetitive]") {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(1000);
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::exponential(0.1);
  s.services[0].errors = {{kInternal, 0.6}};
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 50;
  s.clients[0].retry.max_attempts = 1;
  const double share = GENERATE(ErrorPoint::kOnArrival, 0.0, 0.5, 1.0);
  s.services[0].errors_at.share = share;
  const double left = 1 - 0.6 * (1 - std::max(0.0, share));
  CHECK(simulate(s, 0).services[0].window.busy_ns * 1e-9 ==
        Approx(left * 50 * 0.1 * 1000).epsilon(0.045));
}

TEST_CASE("Of several errors that an attempt would meet the earliest counts") {
  Scenario s = failing_world(0.8);
  FaultSpec f = fault_at(0);
  f.errors = {{{503, "ServiceUnavailable"}, 1}};
  f.errors_at.share = 0.2;
  s.faults = {f};
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 20'000'000);
  s.faults[0].errors_at.share = 0.9;
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 80'000'000);
  s.faults[0].errors_at = {};  // at the door, before all
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 0);
  // What began before the fault does not meet it.
  s.services[0].errors.clear();
  s.faults[0] = fault_at(50);
  s.faults[0].errors = f.errors;
  s.faults[0].errors_at.share = 1;
  CHECK(count(simulate(s, 0).clients[0], AttemptResult::kSuccess) == 1);
}

TEST_CASE("An attempt that fails at its end has no effect, and its token lets the retry through") {
  Scenario s = test::small_world();
  s.services[0].idempotency.window = Duration::seconds(10);
  s.clients[0].side_effects.mutating = 1;
  FaultSpec f = fault_at(0);
  f.duration = ms(90);
  f.errors = {{kInternal, 1}};
  f.errors_at.share = 1;
  s.faults = {f};
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.executed == 2);
  CHECK(c.effects == 1);
  CHECK(c.replays == 0);
  CHECK(count(c, Outcome::kSuccess) == 1);
}

TEST_CASE("An attempt that fails makes no calls, wherever its error comes") {
  Scenario s = failing_world(GENERATE(ErrorPoint::kOnArrival, 0.5, 1.0));
  ServiceSpec db = s.services[0];
  db.name = "db";
  db.errors.clear();
  s.services.push_back(db);
  ClientSpec calls = s.clients[0];
  calls.name = "api.db";
  calls.service = 1;
  test::add_call(s, 0, calls);
  CHECK(simulate(s, 0).clients[1].requests == 0);
}

TEST_CASE("Health checks meet errors that come late") {
  Scenario s = failing_world(0.5);
  s.services[0].errors.clear();
  s.services[0].instances.count = 2;
  s.services[0].instances.health_check = {
      .interval = ms(1000), .timeout = ms(500), .unhealthy_threshold = 1, .healthy_threshold = 1};
  FaultSpec f = fault_at(0);
  f.instance = 1;
  f.duration = ms(10'000);
  f.errors = {{kInternal, 1}};
  f.errors_at.share = 0.5;
  s.faults = {f};
  // Checks of instance 1 begin at 0.5, 1.5 ... s: it is out from 0.55 s to 10.6 s.
  CHECK(simulate(s, 0).services[0].instances[0].out_ns == Approx(10.05e9));
}

TEST_CASE("A crash ends what is in service, and what waits is served") {
  Scenario s = test::small_world();
  s.services[0].servers = 2;
  s.clients[0].count = 5;
  s.clients[0].retry.max_attempts = 1;
  FaultSpec f = fault_at(50);
  f.crash = true;
  s.faults = {f};
  const auto discipline = GENERATE(Discipline::kFifo, Discipline::kLifo, Discipline::kCodel);
  s.services[0].queue.discipline = discipline;
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], AttemptResult::kError) == 2);
  CHECK(count(r.clients[0], AttemptResult::kSuccess) == 3);
  // Two begin at 50 ms, the last one at 150 ms.
  CHECK(r.last_request_end == Time::zero() + ms(250));
  // A cold restart takes those that wait with it.
  s.faults[0].cold_restart = true;
  CHECK(count(simulate(s, 0).clients[0], AttemptResult::kError) == 5);
}

TEST_CASE("The answers of a crash meet the fault's own latency and loss") {
  Scenario s = test::small_world();
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], ms(500));
  FaultSpec f = fault_at(50);
  (GENERATE(true, false) ? f.crash : f.cold_restart) = true;
  s.faults = {f};
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(50));
  s.faults[0].latency = ms(20);
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(70));
  s.faults[0].response_loss = 1;
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].lost == 1);
  CHECK(count(r.clients[0], AttemptResult::kTimeout) == 1);
  // A fault that ends at this instant is over.
  FaultSpec before = fault_at(0);
  before.duration = ms(50);
  before.latency = ms(5);
  f.speed = 0;
  s.faults = {before, f};
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(50));
}

TEST_CASE("A crash of one instance leaves the others and the throttle alone") {
  Scenario s = test::small_world();
  s.services[0].instances.count = 2;
  s.services[0].throttle = {0.001, 4, ThrottleScope::kService, Duration::zero()};
  s.clients[0].count = 4;
  s.clients[0].retry.backoff.base = ms(1000);
  s.clients[0].retry.max_attempts = 2;
  FaultSpec f = fault_at(50);
  f.crash = true;
  f.instance = 1;
  s.faults = {f};
  const ClientResult c = simulate(s, 0).clients[0];
  // One of four is in service there; its retry finds no token.
  CHECK(count(c, AttemptResult::kError) == 1);
  CHECK(count(c, AttemptResult::kThrottled) == 1);
  CHECK(count(c, Outcome::kSuccess) == 3);
}

}  // namespace
}  // namespace retrysim
