// Attempts that wait at their server for another one with the same idempotency token, and tokens
// that are not stored at once.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/mutating_world.hpp"

#include <cmath>
#include <stdexcept>

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// One request with side effects; its client gives an attempt up after 100 ms and sends the next
/// one 10 ms later: at 0, 110 and 220 ms. Who finds the token in use waits.
Scenario waiting_world(Duration service) {
  Scenario s = test::mutating_world(service, ms(100), ms(10));
  s.services[0].idempotency.window = Duration::seconds(1000);
  s.services[0].idempotency.in_progress = InProgress::kWait;
  return s;
}

/// The same with a second attempt `delay` after the first, while that is still under way.
Scenario duplicating_world(Duration service, Duration delay) {
  Scenario s = waiting_world(service);
  s.clients[0].timeouts.has_attempt = false;
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.hedging = {true, delay};
  return s;
}

TEST_CASE("A duplicate waits for the first attempt and gets its answer") {
  Scenario s = waiting_world(ms(180));
  SECTION("at once") {
    const RunResult r = simulate(s, 0);
    const ClientResult& c = r.clients[0];
    CHECK(c.executed == 1);
    CHECK(c.effects == 1);
    CHECK(c.token_waits == 1);
    CHECK(c.replays == 1);
    CHECK(count(c, Outcome::kSuccess) == 1);
    CHECK(count(c, AttemptResult::kThrottled) == 0);
    CHECK(c.latency_m.sum_ns == 180'000'000);
    CHECK(r.services[0].window.busy_ns == 180e6 + 70e6);  // the second server is kept from 110 ms
  }
  SECTION("at the cost of a replay") {
    s.services[0].idempotency.replay_cost = ms(5);
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.latency_m.sum_ns == 185'000'000);
  }
  SECTION("or an error that says so") {
    s.services[0].idempotency.replay = IdempotentReplay::kAlreadyExists;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(count(c, Outcome::kNotRetryable) == 1);
    CHECK(c.ambiguous == 1);
  }
}

TEST_CASE("If the first attempt fails, the first of those that wait is executed") {
  // The first one fails at 150 ms; the second goes on until 300 ms, though its client has given up;
  // the third waits for it from 220 ms on.
  Scenario s = waiting_world(ms(150));
  s.services[0].model = ServiceModelKind::kIndependent;
  FaultSpec fault;
  fault.duration = ms(200);
  fault.errors = {{{500, "InternalError"}, 1.0}};
  s.faults.push_back(fault);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.executed == 2);
  CHECK(c.effects == 1);
  CHECK(c.token_waits == 2);
  CHECK(c.replays == 1);
  CHECK(c.latency_m.sum_ns == 300'000'000);
}

TEST_CASE("A duplicate that waits leaves with its client, or at the service's own timeout") {
  SECTION("with its client") {
    Scenario s = duplicating_world(ms(100), ms(20));
    s.services[0].servers = 2;
    s.services[0].abandoned = Abandoned::kAbort;
    const RunResult r = simulate(s, 0);
    const ClientResult& c = r.clients[0];
    CHECK(c.token_waits == 1);
    CHECK(c.executed == 1);
    CHECK(c.replays == 0);
    CHECK(c.dropped == 1);
    CHECK(c.latency_m.sum_ns == 100'000'000);
    CHECK(r.services[0].window.busy_ns == 100e6 + 80e6);
  }
  SECTION("without a client it waits to the end") {
    Scenario s = duplicating_world(ms(100), ms(20));
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.token_waits == 1);
    CHECK(c.replays == 1);
  }
  SECTION("at the service's timeout, which frees the token as well") {
    // 70 ms each: the first until 70 ms, the second from then until 90 ms.
    Scenario s = duplicating_world(ms(100), ms(20));
    s.services[0].timeout = ms(70);
    const RunResult r = simulate(s, 0);
    const ClientResult& c = r.clients[0];
    CHECK(c.token_waits == 1);
    CHECK(c.executed == 0);
    CHECK(c.latency_m.sum_ns == 90'000'000);
    CHECK(r.services[0].window.busy_ns == 70e6 + 70e6);
  }
}

TEST_CASE("A restart ends the work, and those that wait elsewhere take its place") {
  Scenario s = waiting_world(ms(150));
  FaultSpec restart;
  restart.start = Time::zero() + ms(130);
  restart.duration = ms(1);
  restart.cold_restart = true;
  SECTION("of one instance") {
    s.services[0].servers = 5;
    s.services[0].instances.count = 2;
    restart.instance = 1;
    s.faults.push_back(restart);
    // The second attempt, on the second instance, is executed from 130 to 280 ms.
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.executed == 1);
    CHECK(c.effects == 1);
    CHECK(c.token_waits == 2);
    CHECK(c.replays == 1);
    CHECK(c.latency_m.sum_ns == 280'000'000);
  }
  SECTION("of everything: the one that waits is lost as well") {
    s.faults.push_back(restart);
    // The second attempt is refused at 130 ms, the third executed from 140 ms on, too long.
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.token_waits == 1);
    CHECK(count(c, AttemptResult::kError) == 1);
    CHECK(c.replays == 0);
    CHECK(c.executed == 1);
    CHECK(c.ambiguous == 1);
  }
}

TEST_CASE("Only an attempt that has a server waits for another one") {
  Scenario s = waiting_world(ms(180));
  s.services[0].servers = 1;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.token_waits == 0);  // it queues
  CHECK(c.replays == 1);
  CHECK(c.latency_m.sum_ns == 180'000'000);
}

TEST_CASE("Where servers are shared, who waits takes nothing from the others") {
  Scenario s = duplicating_world(ms(100), ms(20));
  s.services[0].servers = 1;
  s.services[0].queue.discipline = Discipline::kProcessorSharing;
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 100'000'000);
  s.services[0].idempotency.in_progress = InProgress::kExecute;
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 180'000'000);
}

TEST_CASE("An attempt waits while the first one calls another service") {
  Scenario s = waiting_world(ms(20));
  ServiceSpec database = s.services[0];
  database.name = "db";
  database.service_time = Distribution::constant(ms(160));
  database.idempotency = {};
  s.services.push_back(database);
  ClientSpec caller;
  caller.name = "api.db";
  caller.service = 1;
  caller.retry.mode = RetryMode::kCustom;
  caller.retry.max_attempts = 1;
  test::add_call(s, 0, caller);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].token_waits == 1);
  CHECK(r.clients[0].latency_m.sum_ns == 180'000'000);
  CHECK(r.clients[1].requests == 1);
}

TEST_CASE("At a row under optimistic concurrency control nobody waits for a token") {
  Scenario s = waiting_world(ms(10));
  s.services[0].model = ServiceModelKind::kOcc;
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

TEST_CASE("A token is found from the moment that it is stored") {
  auto effects = [](Duration second_attempt, Duration write_delay) {
    Scenario s = duplicating_world(ms(100), second_attempt);
    s.services[0].idempotency.write_delay = Distribution::constant(write_delay);
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.token_races == c.effects - 1);
    CHECK(c.duplicated == c.effects - 1);
    CHECK(c.token_waits == 2 - c.effects);
    return c.effects;
  };
  CHECK(effects(ms(5), Duration::zero()) == 1);
  CHECK(effects(ms(5), ms(10)) == 2);
  CHECK(effects(ms(10), ms(10)) == 1);
  CHECK(effects(ms(15), ms(10)) == 1);
}

TEST_CASE("A token that is stored after its effect does not prevent another one") {
  // The first attempt has its effect at 3 ms, and its answer gets lost; the second one comes at
  // 5 ms, before the token is stored, the third, whose token is there, at 20 ms.
  Scenario s = waiting_world(ms(3));
  s.services[0].idempotency.write_delay = Distribution::constant(ms(10));
  test::set_timeout(s.clients[0], ms(4));
  FaultSpec loss;
  loss.duration = ms(9);
  loss.response_loss = 1;
  s.faults.push_back(loss);
  s.clients[0].retry.backoff.delays = {Distribution::constant(ms(1)),
                                       Distribution::constant(ms(11))};
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 3);
  CHECK(c.effects == 2);
  CHECK(c.token_races == 1);
  CHECK(c.replays == 1);
}

TEST_CASE("If one of two executions comes to nothing, the token still stands for the other") {
  // The second attempt is executed, too, on an instance that restarts at 50 ms. The third one, sent
  // when that happens, waits for the first.
  Scenario s = duplicating_world(ms(100), ms(30));
  s.services[0].servers = 5;
  s.services[0].instances.count = 2;
  s.clients[0].retry.max_attempts = 3;
  s.services[0].idempotency.write_delay = Distribution::constant(ms(40));
  FaultSpec restart;
  restart.start = Time::zero() + ms(50);
  restart.duration = ms(1);
  restart.cold_restart = true;
  restart.instance = 2;
  s.faults.push_back(restart);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.token_races == 1);
  CHECK(c.token_waits == 1);
  CHECK(c.executed == 1);
  CHECK(c.effects == 1);
}

// Independent requests, one every 10 s, of which each duplicate falls into the window with the
// probability p. The number that do lies within 4.9 standard deviations of n p but for one seed in
// a million.
void check_races(const Scenario& s, double p) {
  const ClientResult c = simulate(s, 0).clients[0];
  const auto n = static_cast<double>(c.requests);
  REQUIRE(n >= 19'999);
  CHECK(std::abs(static_cast<double>(c.token_races) - n * p) < 4.9 * std::sqrt(n * p * (1 - p)));
}

Scenario many_requests(Duration delay) {
  Scenario s = duplicating_world(ms(100), delay);
  s.duration = Duration::seconds(200'000);
  s.interval = Duration::seconds(1000);
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 0.1;
  return s;
}

TEST_CASE("How often a duplicate falls into a window of constant length", "[repetitive]") {
  // The only server takes up the duplicate, sent after 20 ms, when it is done with the first
  // attempt: within the window of 80 ms if that is between 20 and 80 ms.
  Scenario s = many_requests(ms(20));
  s.services[0].servers = 1;
  s.services[0].service_time = Distribution::exponential(0.1);
  s.services[0].idempotency.write_delay = Distribution::constant(ms(80));
  check_races(s, std::exp(-0.2) - std::exp(-0.8));
}

TEST_CASE("How often a duplicate falls into a window of exponential length", "[repetitive]") {
  Scenario s = many_requests(ms(20));
  s.services[0].idempotency.write_delay = Distribution::exponential(0.03);
  check_races(s, std::exp(-20 / 30.0));
}

// Whatever gets lost or late: as long as tokens are stored at once, no request takes effect twice.
TEST_CASE("With waiting duplicates no request takes effect twice") {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(100);
  s.network.request_loss = 0.1;
  s.network.response_loss = 0.2;
  s.services[0].servers = 6;
  s.services[0].timeout = ms(150);
  s.services[0].service_time = Distribution::exponential(0.03);
  s.services[0].idempotency.window = Duration::seconds(100'000);
  s.services[0].idempotency.in_progress = InProgress::kWait;
  s.clients[0].count = 50;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 2;
  s.clients[0].side_effects.mutating = 0.5;
  s.clients[0].retry.backoff.base = ms(20);
  test::set_timeout(s.clients[0], ms(60));
  SECTION("while abandoned work is served") {}
  SECTION("while it is aborted") { s.services[0].abandoned = Abandoned::kAbort; }
  SECTION("on several instances") {
    s.services[0].instances.count = 3;
    s.services[0].servers = 2;
  }
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.mutating > 4'000);
  // Who aborts what its client gives up has no two attempts of a request at once.
  CHECK((c.token_waits > 100) == (s.services[0].abandoned == Abandoned::kServe));
  CHECK(c.duplicated == 0);
  CHECK(c.effects <= c.mutating);
}

}  // namespace
}  // namespace retrysim
