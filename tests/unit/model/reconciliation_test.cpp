// Clients that ask whether a request has taken effect before they send it again.
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

/// One request with side effects. Its client gives an attempt up after 50 ms and makes the next one
/// 100 ms later: at 0, 150 and 300 ms. A server takes `service`, or 5 ms for a read.
Scenario asking_world(Duration service) {
  Scenario s = test::mutating_world(service, ms(50), ms(100));
  s.clients[0].side_effects.reconciles = true;
  s.clients[0].side_effects.reconcile_read = Distribution::constant(ms(5));
  return s;
}

TEST_CASE("A client that finds the effect does not send its request again") {
  const RunResult r = simulate(asking_world(ms(60)), 0);
  const ClientResult& c = r.clients[0];
  CHECK(c.attempts == 2);
  CHECK(c.executed == 1);
  CHECK(c.effects == 1);
  CHECK(c.reconciliations == 1);
  CHECK(c.reconciled == 1);
  CHECK(c.ambiguous == 0);
  CHECK(count(c, Outcome::kSuccess) == 1);
  CHECK(c.latency_m.sum_ns == 155'000'000);
  CHECK(r.services[0].window.busy_ns == 65e6);
  CHECK(r.services[0].window.completions == 1);
}

TEST_CASE("A client that asks too early sends its request again") {
  // The first effect comes at 200 ms, after the read of the second attempt, which is sent again and
  // given up; the read of the third finds it at 305 ms.
  const RunResult r = simulate(asking_world(ms(200)), 0);
  const ClientResult& c = r.clients[0];
  CHECK(c.attempts == 3);
  CHECK(c.effects == 2);
  CHECK(c.duplicated == 1);
  CHECK(c.reconciliations == 2);
  CHECK(c.reconciled == 1);
  CHECK(c.latency_m.sum_ns == 305'000'000);
  CHECK(r.services[0].window.busy_ns == 200e6 + 5e6 + 200e6 + 5e6);
}

TEST_CASE("A client that learns that nothing has happened sends its request again") {
  Scenario s = asking_world(ms(20));
  FaultSpec loss;
  loss.duration = ms(10);
  loss.request_loss = 1;
  s.faults.push_back(loss);
  SECTION("in the same attempt") {
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.attempts == 2);
    CHECK(c.arrivals == 1);
    CHECK(c.executed == 1);
    CHECK(c.reconciliations == 1);
    CHECK(c.reconciled == 0);
    CHECK(c.latency_m.sum_ns == 175'000'000);
  }
  SECTION("which takes the network twice") {
    s.network.latency = Distribution::constant(ms(3));
    CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == 175'000'000 + 4 * 3'000'000);
  }
  SECTION("after waiting for a server twice") {
    s.services[0].servers = 1;
    s.services[0].wait_within = ms(1);
    s.clients[0].side_effects.reconcile_read = Distribution::constant(ms(20));
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.waits.arrivals == 2);
    CHECK(c.waits.started == 2);
  }
  SECTION("unless it has none") {
    s.clients[0].side_effects.mutating = 0;
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.reconciliations == 0);
    CHECK(c.latency_m.sum_ns == 170'000'000);
  }
}

TEST_CASE("A read that fails is followed by the next attempt, which asks again") {
  // Like the first attempt, the read at 150 ms is answered with an error, the next one is sent at
  // 250 ms.
  Scenario s = asking_world(ms(20));
  FaultSpec errors;
  errors.duration = ms(200);
  errors.errors = {{{500, "InternalError"}, 1.0}};
  s.faults.push_back(errors);
  test::set_timeout(s.clients[0], ms(150));
  auto check = [&](std::int64_t end_ns) {
    const ClientResult c = simulate(s, 0).clients[0];
    CHECK(c.attempts == 3);
    CHECK(count(c, AttemptResult::kError) == 2);
    CHECK(c.reconciliations == 1);
    CHECK(c.effects == 1);
    CHECK(c.latency_m.sum_ns == end_ns);
  };
  SECTION("at the door of the service") { check(225'000'000); }  // sent at 0, 100 and 200 ms
  SECTION("or at the end of its work") {
    s.services[0].model = ServiceModelKind::kIndependent;
    check(250'000'000);  // sent at 0, 120 and 225 ms
  }
}

// The first attempt and the read and the request of the second fail independently: a share of
// (1 - p) + p (1 - p)^2 succeeds. With 20,000 requests the share lies within 4.9 standard
// deviations but for one seed in a million.
TEST_CASE("A read and the request that follows it have luck of their own", "[repetitive]") {
  Scenario s = asking_world(ms(1));
  const double p = 0.5, success = 1 - p + p * (1 - p) * (1 - p);
  s.services[0].errors = {{{500, "InternalError"}, p}};
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].count = 20'000;
  SECTION("at the door") {}
  SECTION("at the end of their work") { s.services[0].model = ServiceModelKind::kIndependent; }
  const ClientResult c = simulate(s, 0).clients[0];
  const double n = 20'000;
  CHECK(std::abs(static_cast<double>(count(c, Outcome::kSuccess)) - n * success) <
        4.9 * std::sqrt(n * success * (1 - success)));
}

TEST_CASE("With atomic tokens as well, asking too early does no harm") {
  // The request of the second attempt follows its read at 155 ms and waits for the first attempt.
  Scenario s = asking_world(ms(190));
  s.services[0].idempotency.window = Duration::seconds(1000);
  s.services[0].idempotency.in_progress = InProgress::kWait;
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.effects == 1);
  CHECK(c.reconciliations == 1);
  CHECK(c.reconciled == 0);
  CHECK(c.token_waits == 1);
  CHECK(c.latency_m.sum_ns == 190'000'000);
}

TEST_CASE("What expires in the queue is judged by what it asks for") {
  // The only server works on the first attempt until 1 s. The second one is sent at 980 ms and
  // given up 50 ms later: time enough for its read, though not for the request.
  Scenario s = asking_world(ms(1000));
  s.services[0].servers = 1;
  s.services[0].queue.drop_expired = true;
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.backoff.base = ms(930);
  test::set_timeout(s.clients[0], ms(50));
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.reconciled == 1);
  CHECK(c.latency_m.sum_ns == 1'005'000'000);
}

TEST_CASE("Asking before a retry goes neither with hedges nor with rows that are read anyway") {
  Scenario s = asking_world(ms(10));
  SECTION("hedges") { s.clients[0].retry.hedging = {true, ms(10)}; }
  SECTION("rows") { s.services[0].model = ServiceModelKind::kOcc; }
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

}  // namespace
}  // namespace retrysim
