// Chains of steps that take no time: however long, they need no stack, are counted, and never find
// another step half done.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// More steps than a stack of 8 MiB has room for calls.
constexpr std::uint32_t kLong = 200'000;

/// Every attempt is refused at once, and its failure lets the next one go at once.
Scenario refusing_world(std::uint32_t attempts) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].errors = {{{503, "ServiceUnavailable"}, 1.0}};
  s.clients[0].retry.max_attempts = attempts;
  s.clients[0].retry.hedging.enabled = true;
  s.clients[0].retry.hedging.delay = Duration::seconds(2000);
  return s;
}

TEST_CASE("Immediate retries need no stack, however many there are") {
  Scenario s = refusing_world(kLong);
  SECTION("of a service that answers with an error") {}
  SECTION("of a full queue") {
    s.services[0].errors.clear();
    s.services[0].servers = 1;
    s.services[0].queue.capacity = 0;
    s.services[0].service_time = Distribution::constant(Duration::seconds(500));
    s.clients[0].count = 2;  // the first holds the server
  }
  SECTION("of a throttle") {
    s.services[0].errors.clear();
    s.services[0].throttle = {1e-9, 1, ThrottleScope::kService, Duration::zero()};
    s.clients[0].count = 2;
  }
  SECTION("on a single connection, with others waiting for it") {
    s.clients[0].count = 1;
    s.clients[0].max_connections = 1;
  }
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == 1);
  CHECK(c.attempts == kLong + s.clients[0].count - 1);
}

TEST_CASE("The limits on events see immediate retries without end") {
  SimulationOptions options;
  options.max_events = 100'000;
  Scenario s = refusing_world(RetryRules::kUnlimited);
  CHECK_THROWS_AS(simulate(s, 0, options), LimitExceeded);
  s.clients[0].max_connections = 1;  // handed over from each attempt to the next
  CHECK_THROWS_AS(simulate(s, 0, options), LimitExceeded);
}

TEST_CASE("A request that is given up leaves the queue with all its attempts") {
  // The first attempt is in service, the hedge waits behind it. When the request times out, the
  // server that becomes free must not look at the hedge: its timer does not run any more.
  Scenario s = test::small_world();
  s.services[0].queue.drop_expired = true;
  s.services[0].abandoned = Abandoned::kAbort;
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.hedging.enabled = true;
  s.clients[0].retry.hedging.delay = Duration::zero();
  const bool constant = GENERATE(true, false);
  s.clients[0].timeouts.has_attempt = true;
  s.clients[0].timeouts.attempt =
      constant ? Distribution::constant(ms(60)) : Distribution::uniform(0.050, 0.060);
  s.clients[0].timeouts.deadline = Duration::seconds(1);
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], Outcome::kMaxAttemptsExceeded) == 1);
  CHECK(r.clients[0].attempts == 2);
  CHECK(r.clients[0].gave_up == 2);
  CHECK(r.clients[0].dropped == 2);
  CHECK(r.clients[0].executed == 0);
  CHECK(r.services[0].window.busy_ns <= 60e6);  // the hedge was never served
}

TEST_CASE("Retries at the instant of a cold restart meet a service that has forgotten everything") {
  // Ten requests with two attempts each lose them all; each third attempt goes at once, and finds
  // the limit on attempts at the service as it was at the start.
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(Duration::seconds(10));
  s.services[0].concurrency.limit = 20;
  s.services[0].abandoned = GENERATE(Abandoned::kServe, Abandoned::kRemove, Abandoned::kAbort);
  s.clients[0].count = 10;
  s.clients[0].retry.max_attempts = 3;
  s.clients[0].retry.hedging.enabled = true;
  s.clients[0].retry.hedging.delay = ms(600);
  FaultSpec fault;
  fault.start = Time::zero() + Duration::seconds(1);
  fault.duration = Duration::seconds(1);
  fault.cold_restart = true;
  s.faults.push_back(fault);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].attempts == 30);
  CHECK(r.clients[0].rejected == 0);
  CHECK(count(r.clients[0], Outcome::kSuccess) == 10);
  CHECK(r.clients[0].latency_m.sum_ns == 10 * Duration::seconds(11).count());
}

}  // namespace
}  // namespace retrysim
