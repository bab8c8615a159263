// Requests with side effects that are tried again: how often they take effect, with and without a
// service that remembers their tokens.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/mutating_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// One request with side effects. Its client gives up after 50 ms; a server takes `service`.
Scenario impatient_world(Duration service) {
  return test::mutating_world(service, ms(50), ms(100));
}

// Attempts are sent at 0, 150 and 300 ms.
TEST_CASE("What a client gives up and tries again takes effect again") {
  const RunResult r = simulate(impatient_world(ms(60)), 0);
  const ClientResult& c = r.clients[0];
  CHECK(c.mutating == 1);
  CHECK(c.effects == 3);
  CHECK(c.duplicated == 1);
  CHECK(c.ambiguous == 1);
  CHECK(c.replays == 0);
}

TEST_CASE("A remembered token replays the effect, at a cost of its own") {
  Scenario s = impatient_world(ms(60));
  s.services[0].idempotency.window = Duration::seconds(10);
  SECTION("with the answer that was missed") {
    s.services[0].idempotency.replay_cost = ms(5);
    const RunResult r = simulate(s, 0);
    const ClientResult& c = r.clients[0];
    CHECK(c.executed == 1);
    CHECK(c.effects == 1);
    CHECK(c.replays == 1);
    CHECK(c.ambiguous == 0);
    CHECK(count(c, Outcome::kSuccess) == 1);
    CHECK(c.latency_m.sum_ns == 155'000'000);
    CHECK(r.services[0].window.busy_ns == 65e6);
  }
  SECTION("with an error, which ends the request: it failed, but took effect") {
    s.services[0].idempotency.replay = IdempotentReplay::kAlreadyExists;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(count(c, Outcome::kNotRetryable) == 1);
    CHECK(c.effects == 1);
    CHECK(c.ambiguous == 1);
  }
  SECTION("or not at all") {
    s.services[0].idempotency.replay = IdempotentReplay::kNone;
    CHECK(simulate(s, 0).clients[0].effects == 3);
  }
  SECTION("but only of a request that carries one") {
    s.clients[0].side_effects.idempotency_token = false;
    CHECK(simulate(s, 0).clients[0].effects == 3);
  }
  SECTION("and reads need none") {
    s.clients[0].side_effects.mutating = 0;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.executed == 3);
    CHECK(c.mutating == 0);
    CHECK(c.effects == 0);
  }
}

TEST_CASE("A token is remembered from the effect on, and expires") {
  Scenario s = impatient_world(ms(60));
  // The effect is there at 60 ms, the second attempt comes at 150 ms.
  s.services[0].idempotency.window = ms(90);
  ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.replays == 0);
  CHECK(c.effects == 3);
  CHECK(c.expired_replays == 2);
  s.services[0].idempotency.window = ms(91);
  c = simulate(s, 0).clients[0];
  CHECK(c.replays == 1);
  CHECK(c.expired_replays == 0);
}

TEST_CASE("An attempt while another one with its token is in service") {
  Scenario s = impatient_world(ms(200));
  s.services[0].idempotency.window = Duration::seconds(10);
  SECTION("is answered with an error that is tried again") {
    // In service from 0 to 200 ms; attempts at 150 and, after the throttling error, 250 ms.
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(count(c, AttemptResult::kThrottled) == 1);
    CHECK(c.executed == 1);
    CHECK(c.replays == 1);
    CHECK(c.latency_m.sum_ns == 250'000'000);
  }
  SECTION("or is executed too") {
    s.services[0].idempotency.in_progress = InProgress::kExecute;
    // The second one until 350 ms; the third comes at 300 ms and finds the effect of the first.
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.effects == 2);
    CHECK(c.duplicated == 1);
    CHECK(c.replays == 1);
  }
}

TEST_CASE("What comes to nothing leaves no session") {
  Scenario s = impatient_world(ms(60));
  s.services[0].idempotency.window = Duration::seconds(10);
  SECTION("an execution that is given up") {
    s.services[0].abandoned = Abandoned::kAbort;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.effects == 0);
    CHECK(c.ambiguous == 0);
    CHECK(count(c, AttemptResult::kTimeout) == 3);
  }
  SECTION("one that fails") {
    s.services[0].model = ServiceModelKind::kIndependent;
    s.services[0].errors = {{{500, "InternalError"}, 1.0}};
    s.services[0].service_time = Distribution::constant(ms(10));
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.executed == 3);
    CHECK(c.effects == 0);
    CHECK(c.replays == 0);
  }
}

TEST_CASE("An attempt that gets lost between its two calls leaves no session") {
  Scenario s = impatient_world(ms(10));
  s.services[0].model = ServiceModelKind::kOcc;
  s.services[0].idempotency.window = Duration::seconds(10);
  s.network.latency = Distribution::constant(ms(10));
  // The read is answered at 30 ms, the write is lost; the next attempt is sent at 170 ms.
  FaultSpec fault;
  fault.start = Time::zero() + ms(25);
  fault.duration = ms(10);
  fault.request_loss = 1;
  s.faults.push_back(fault);
  test::set_timeout(s.clients[0], ms(70));
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, AttemptResult::kTimeout) == 1);
  CHECK(count(c, AttemptResult::kThrottled) == 0);
  CHECK(c.attempts == 2);
  CHECK(c.effects == 1);
}

TEST_CASE("A token of another request is refused") {
  Scenario s = test::small_world();
  s.services[0].service_time = Distribution::constant(ms(1));
  s.services[0].idempotency.window = Duration::seconds(1000);
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.think_time = Distribution::constant(ms(9));
  s.clients[0].side_effects.mutating = 1;
  s.clients[0].side_effects.token_reuse = 1;
  s.duration = Duration::seconds(1);
  const ClientResult c = simulate(s, 0).clients[0];
  REQUIRE(c.requests > 50);
  CHECK(c.effects == 1);  // the first request's
  CHECK(c.mismatches == c.requests - 1);
  CHECK(count(c, Outcome::kNotRetryable) == c.requests - 1);
  CHECK(c.ambiguous == 0);
}

// Whatever gets lost or late: a service that never forgets does nothing twice, and what was not
// executed, replayed or refused did not arrive.
TEST_CASE("With tokens no request takes effect twice") {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(200);
  s.network.request_loss = 0.1;
  s.network.response_loss = 0.2;
  s.services[0].servers = 4;
  s.services[0].service_time = Distribution::exponential(0.03);
  s.services[0].idempotency.window = Duration::seconds(100'000);
  s.clients[0].count = 50;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 2;
  s.clients[0].side_effects.mutating = 0.5;
  s.clients[0].retry.backoff.base = ms(20);
  test::set_timeout(s.clients[0], ms(60));
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.mutating > 9'000);  // half of 20 000; 14 standard deviations
  CHECK(c.mutating < 11'000);
  CHECK(c.replays > 1'000);
  CHECK(c.ambiguous > 100);
  CHECK(c.duplicated == 0);
  CHECK(c.effects <= c.mutating);
}

}  // namespace
}  // namespace retrysim
