// Circuit breakers that refuse calls, in whole runs: laws, who shares one, and what comes of each
// order of retry, breaker, bulkhead and timeout (the table in sim/retry/README.md).
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "small_world.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

using namespace retrysim;
using namespace retrysim::test;

namespace {

BreakerRules after_one_failure(Duration open) {
  BreakerRules b = find_breaker_preset("custom")->rules;
  b.failure_share = 0;
  b.consecutive = 1;
  b.open = open;
  return b;
}

/// A service that answers after `time`, and fails attempts by chance; 10 requests/s, at even times.
Scenario behind_breaker(double error_rate, const BreakerRules& breaker, Duration time = {}) {
  Scenario s = small_world();
  ServiceSpec& service = s.services[0];
  service.servers = ServiceSpec::kUnlimited;
  service.service_time = Distribution::constant(time);
  if (error_rate > 0) service.errors = {{{503, ""}, error_rate}};
  ClientSpec& client = s.clients[0];
  client.arrivals.process = ArrivalProcess::kConstant;
  client.arrivals.rate = 10;
  client.retry.max_attempts = 1;
  client.breaker = breaker;
  return s;
}

FaultSpec down(std::int64_t from_s, std::int64_t for_s) {
  FaultSpec fault;
  fault.name = "down";
  fault.start = Time::zero() + Duration::seconds(from_s);
  fault.duration = Duration::seconds(for_s);
  fault.errors = {{{503, ""}, 1}};
  return fault;
}

ClientResult first_client(const Scenario& s) { return simulate(s, 0).clients[0]; }

}  // namespace

// Failures by chance p, a breaker that opens at the first one for T and lets one probe pass. From
// closed to closed again: 1/p calls until a failure; then, 1/(1-p) times on average, T in which
// calls are refused, and a probe. At l calls per second the share of refused ones is
// l T / (l T + (1-p)/p + 1). The number of refusals in a cycle is geometric and Poisson, so that
// the share over 1,000 cycles and more is off by 4 % with probability 10^-4 at most.
TEST_CASE("the share of refused calls is that of a renewal process", "[breaker]") {
  for (const double p : {0.1, 0.5, 0.9}) {
    for (const std::int64_t open_ms : {100, 1'000}) {
      Scenario s = behind_breaker(p, after_one_failure(ms(open_ms)));
      s.duration = Duration::seconds(10'000);
      s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
      const ClientResult c = first_client(s);
      const double refused_in_time = 10 * 0.001 * static_cast<double>(open_ms);
      const double expected = refused_in_time / (refused_in_time + (1 - p) / p + 1);
      const double share =
          static_cast<double>(c.breaker_refusals) / static_cast<double>(c.requests);
      INFO("p = " << p << ", open for " << open_ms << " ms");
      CHECK(share == Approx(expected).epsilon(0.04));
      CHECK(count(c, Outcome::kBreakerOpen) == c.breaker_refusals);
      CHECK(c.attempts + c.breaker_refusals == c.requests);
      // Open: T, and the wait for the next call.
      const double open_share = metric("breaker_open_share", s, simulate(s, 0));
      const double cycle = (0.001 * static_cast<double>(open_ms) + 0.1) / (1 - p) + 0.1 / p - 0.1;
      CHECK(open_share ==
            Approx((0.001 * static_cast<double>(open_ms) + 0.1) / (1 - p) / (cycle + 0.1))
                .epsilon(0.1));
    }
  }
}

// Up, down from 20 s to 50 s, up: the first failure and a probe each 5.1 s, the first call after
// each 5 s, as far as they fall into the 30 s; all other calls of that time are refused, and those
// until the probe after it.
TEST_CASE("a service that is down for a while gets probes only", "[breaker]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(5)));
  s.faults = {down(20, 30)};
  const ClientResult c = first_client(s);
  const auto failed = static_cast<double>(count(c, AttemptResult::kError));
  CHECK(failed == Approx(30 / 5.0).margin(1));
  CHECK(static_cast<double>(c.breaker_refusals) == Approx(failed * 49.5).margin(failed));
  CHECK(c.breaker_openings == static_cast<std::uint64_t>(failed));
  CHECK(c.breaker_first_refusals == c.breaker_refusals);
}

// The thread's case: a dependency that always fails, 10 requests/s for 300 s, three attempts,
// opened by half of at least five calls, open for 50 s, three probes: five attempts and then three
// in each of the 50 s that begin before the end.
TEST_CASE("a dependency that always fails gets 20 attempts in 300 s", "[breaker]") {
  BreakerRules b = find_breaker_preset("resilience4j")->rules;
  b.min_calls = 5;
  b.open = Duration::seconds(50);
  b.probes = 3;
  Scenario s = behind_breaker(1, b, ms(20));
  s.duration = Duration::seconds(300);
  s.clients[0].retry.max_attempts = 3;
  s.clients[0].retry.backoff.base = ms(100);
  const ClientResult c = first_client(s);
  CHECK(c.attempts >= 20);
  CHECK(c.attempts <= 22);  // those under way when it opened
  CHECK(c.requests == 3000);
  CHECK(count(c, Outcome::kSuccess) == 0);
  CHECK(count(c, Outcome::kBreakerOpen) > 2980);
  // Without it: three attempts for each.
  s.clients[0].breaker = {};
  CHECK(first_client(s).attempts == 9000);
}

TEST_CASE("what retry lists make final is a failure to the breaker all the same", "[breaker]") {
  // An answer, and an attempt that the client's own limit stops.
  for (const bool answered : {true, false}) {
    INFO(answered);
    Scenario s =
        behind_breaker(answered ? 1 : 0, after_one_failure(Duration::seconds(1000)), ms(500));
    if (!answered) s.clients[0].bulkhead.max_concurrent = 1;
    s.clients[0].retry.max_attempts = 3;
    for (const BreakerOrder order : {BreakerOrder::kRetryOutside, BreakerOrder::kBreakerOutside}) {
      s.clients[0].breaker.order = order;
      s.clients[0].retry.errors.not_on = {ErrorPattern{ErrorPattern::Of::kAny}};
      const ClientResult c = first_client(s);
      CHECK(c.breaker_openings == 1);
      s.clients[0].retry.errors.not_on = {};
      s.clients[0].retry.errors.on = {ErrorPattern{ErrorPattern::Of::kStatus, 404}};
      CHECK(first_client(s).breaker_openings == 1);
    }
  }
}

TEST_CASE("each virtual client has a breaker of its own, or all share one", "[breaker]") {
  BreakerRules b = after_one_failure(Duration::seconds(1000));
  Scenario s = behind_breaker(1, b);
  s.clients[0].count = 7;
  s.clients[0].arrivals.rate = 1;
  CHECK(first_client(s).attempts == 7);
  CHECK(first_client(s).breakers == 7);
  s.clients[0].breaker.scope = BreakerScope::kGroup;
  CHECK(first_client(s).attempts == 1);
  CHECK(first_client(s).breakers == 1);
  // One for each service that a client calls.
  s.services.push_back(s.services[0]);
  s.services[1].name = "db";
  s.clients[0].more_services = {1};
  s.clients[0].breaker.scope = BreakerScope::kService;
  CHECK(first_client(s).attempts == 14);
  s.clients[0].breaker.scope = BreakerScope::kClient;
  CHECK(first_client(s).attempts == 7);
}

TEST_CASE("a breaker of each service is one for each service that is called", "[breaker]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1)));
  for (const char* name : {"db", "cache"}) {
    s.services.push_back(s.services[0]);
    s.services.back().name = name;
  }
  s.services[2].instances.count = 5;
  s.clients[0].count = 7;
  s.clients[0].service = 1;
  s.clients[0].breaker.scope = BreakerScope::kService;
  CHECK(first_client(s).breakers == 7);
  s.clients[0].more_services = {2};
  CHECK(first_client(s).breakers == 14);
  s.clients[0].breaker.scope = BreakerScope::kHost;
  CHECK(first_client(s).breakers == 42);
}

// --- A breaker of each host

namespace {

/// One of `hosts` instances fails each attempt.
Scenario one_sick_host(std::uint32_t hosts, Balancing balancing) {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1000)));
  s.services[0].instances.count = hosts;
  s.services[0].instances.balancing = balancing;
  s.faults = {down(0, 1000)};
  s.faults[0].instance = 2;
  s.faults[0].instances = 1;
  s.clients[0].breaker.scope = BreakerScope::kHost;
  return s;
}

}  // namespace

TEST_CASE("a breaker of each host refuses the calls that would go to a sick one",
          "[breaker][hosts]") {
  Scenario s = one_sick_host(4, Balancing::kRoundRobin);
  const ClientResult c = first_client(s);
  CHECK(count(c, AttemptResult::kError) == 1);
  CHECK(c.breaker_openings == 1);
  CHECK(static_cast<double>(c.breaker_refusals) ==
        Approx(static_cast<double>(c.requests) / 4 - 1).margin(1));
  CHECK(count(c, Outcome::kSuccess) == c.attempts - 1);
  // One breaker for all of them refuses what the others would answer.
  s.clients[0].breaker.scope = BreakerScope::kClient;
  const ClientResult together = first_client(s);
  CHECK(together.breaker_refusals > c.requests - 5);
  // Each client finds out for itself.
  s.clients[0].breaker.scope = BreakerScope::kHost;
  s.clients[0].count = 3;
  CHECK(count(first_client(s), AttemptResult::kError) == 3);
}

TEST_CASE("the retry of a refused call asks the balancer anew", "[breaker][hosts]") {
  for (const Balancing balancing :
       {Balancing::kRoundRobin, Balancing::kRandom, Balancing::kTwoChoices}) {
    Scenario s = one_sick_host(2, balancing);
    s.duration = Duration::seconds(100);
    s.clients[0].retry.max_attempts = 30;  // 2^-29 of being named the sick one each time
    s.clients[0].retry.backoff.base = ms(1);
    s.clients[0].retry.backoff.factor = 1;
    const ClientResult c = first_client(s);
    INFO(name(balancing));
    CHECK(c.breaker_refusals > 0);
    CHECK(count(c, AttemptResult::kError) == 1);
    CHECK(count(c, Outcome::kSuccess) == c.requests);
  }
}

TEST_CASE("an attempt goes to the host that was named, however long it waits", "[breaker][hosts]") {
  // Both want the first host; the one that waits for the connection in between is sent to the
  // second, which round-robin named for it.
  Scenario s = one_sick_host(2, Balancing::kRoundRobin);
  s.faults.clear();
  s.services[0].service_time = Distribution::constant(ms(150));
  s.clients[0].max_connections = 1;
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].connection_wait_ns > 0);
  REQUIRE(r.services[0].instances.size() == 2);
  const auto first = r.services[0].instances[0].attempts,
             second = r.services[0].instances[1].attempts;
  CHECK(first + second > 600);  // those after the window wait still
  CHECK(std::max(first, second) - std::min(first, second) <= 1);
}

TEST_CASE("a host alone is what its service is", "[breaker][hosts]") {
  Scenario s = behind_breaker(0.3, after_one_failure(Duration::seconds(1)));
  s.clients[0].retry.max_attempts = 3;
  const auto outcomes = [&](BreakerScope scope) {
    s.clients[0].breaker.scope = scope;
    const ClientResult c = first_client(s);
    return std::tuple(c.attempts, c.breaker_refusals, c.breaker_openings,
                      count(c, Outcome::kSuccess));
  };
  CHECK(outcomes(BreakerScope::kHost) == outcomes(BreakerScope::kService));
}

TEST_CASE("clients that share a retryer do not share the breaker", "[breaker]") {
  Scenario s = behind_breaker(1, after_one_failure(Duration::seconds(1000)));
  s.clients[0].retryer = "one";
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "other";
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].attempts == 1);
  CHECK(r.clients[1].attempts == 1);
}

TEST_CASE("a call that the breaker refuses is retried after a backoff, or ends its request",
          "[breaker]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1)));
  s.faults = {down(20, 1)};
  s.clients[0].retry.max_attempts = 10;
  s.clients[0].retry.backoff.base = ms(500);
  s.clients[0].retry.backoff.factor = 1;
  const ClientResult retried = first_client(s);
  CHECK(count(retried, Outcome::kSuccess) == retried.requests);
  CHECK(retried.breaker_refusals > retried.breaker_first_refusals);
  CHECK(retried.breaker_first_refusals > 5);
  // A refused try is a try: three of them are all that three attempts allow.
  s.clients[0].retry.max_attempts = 2;
  const ClientResult twice = first_client(s);
  CHECK(count(twice, Outcome::kBreakerOpen) > 0);
  s.clients[0].breaker.retry_refused = false;
  const ClientResult ended = first_client(s);
  CHECK(count(ended, Outcome::kBreakerOpen) == ended.breaker_refusals);
}

TEST_CASE("a refused call is no attempt, and the first one that is sent is the first",
          "[breaker]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1)));
  s.faults = {down(20, 1)};
  s.clients[0].retry.max_attempts = 10;
  s.clients[0].retry.backoff.base = ms(500);
  const ClientResult c = first_client(s);
  REQUIRE_FALSE(c.by_attempt.empty());
  CHECK(c.by_attempt[0].sent == c.requests);
  CHECK(total(c).refused == c.breaker_refusals);
}

TEST_CASE("a fallback answers for a call that the breaker refuses: degraded", "[breaker]") {
  Scenario s = behind_breaker(0, {});
  s.services[0].errors.clear();
  ServiceSpec below = s.services[0];
  below.name = "below";
  below.errors = {{{503, ""}, 1}};
  ServiceSpec other = s.services[0];
  other.name = "other";
  s.services.push_back(below);
  s.services.push_back(other);
  ClientSpec call;
  call.name = "api.below";
  call.service = 1;
  call.retry.mode = RetryMode::kCustom;
  call.breaker = after_one_failure(Duration::seconds(1000));
  ClientSpec fallback = call;
  fallback.name = "api.other";
  fallback.service = 2;
  fallback.breaker = {};
  add_call(s, 0, call);
  s.calls.back().on_failure = CallFailure::kFallback;
  s.calls.back().fallback = "api.other";
  add_call(s, 0, fallback);
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], Outcome::kSuccess) == r.clients[0].requests);
  CHECK(r.clients[0].degraded == r.clients[0].requests);
  CHECK(r.clients[1].attempts == 1);
  CHECK(r.clients[1].breaker_refusals == r.clients[1].requests - 1);
}

// --- The orders of retry, breaker, bulkhead and timeout, the outermost first

TEST_CASE("retry, breaker: each attempt asks and is recorded", "[breaker][orders]") {
  BreakerRules b = after_one_failure(Duration::seconds(1000));
  b.consecutive = 3;
  Scenario s = behind_breaker(1, b);
  s.clients[0].retry.max_attempts = 3;
  const ClientResult c = first_client(s);
  CHECK(c.attempts == 3);  // those of the first request
}

TEST_CASE("breaker, retry: a request asks once and is recorded once", "[breaker][orders]") {
  BreakerRules b = after_one_failure(Duration::seconds(1000));
  b.consecutive = 3;
  b.order = BreakerOrder::kBreakerOutside;
  Scenario s = behind_breaker(1, b);
  s.clients[0].retry.max_attempts = 3;
  const ClientResult c = first_client(s);
  CHECK(c.attempts == 9);  // three requests with three each
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == 3);
  CHECK(count(c, Outcome::kBreakerOpen) == c.requests - 3);
  // A success after retries is a success.
  Scenario flaky = behind_breaker(0.5, b);
  flaky.clients[0].breaker.consecutive = 1;
  flaky.clients[0].retry.max_attempts = 50;
  CHECK(first_client(flaky).breaker_refusals == 0);
}

TEST_CASE("breaker, bulkhead: a refused call does not wait for a connection", "[breaker][orders]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1000)), ms(500));
  s.clients[0].max_connections = 1;
  s.faults = {down(20, 1)};
  const ClientResult c = first_client(s);
  CHECK(c.breaker_refusals > 0);
  Scenario without = s;
  without.clients[0].breaker = {};
  CHECK(c.connection_wait_ns < first_client(without).connection_wait_ns);
  // And one that waits holds its permit: the probe is the only call.
  s.clients[0].breaker.open = ms(100);
  s.faults = {down(20, 10)};
  const ClientResult probed = first_client(s);
  CHECK(probed.breaker_openings > 1);
}

TEST_CASE("breaker, bulkhead: a full bulkhead is a failure to the breaker", "[breaker][orders]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1000)), ms(500));
  s.clients[0].bulkhead.max_concurrent = 1;
  const ClientResult c = first_client(s);
  CHECK(c.attempts == 1);  // holds the place
  CHECK(c.unconnected == 1);
  CHECK(c.breaker_refusals == c.requests - 2);
}

TEST_CASE("retry, bulkhead: each attempt takes a place, and a backoff holds none",
          "[breaker][orders]") {
  Scenario s = behind_breaker(1, {});
  s.clients[0].bulkhead.max_concurrent = 1;
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.backoff.base = Duration::seconds(10);
  s.clients[0].retry.backoff.jitter = Jitter::kNone;
  const ClientResult c = first_client(s);
  CHECK(c.unconnected == 0);
  CHECK(c.attempts == 2 * c.requests);
  // Who finds it full tries again.
  s = behind_breaker(0, {}, ms(500));
  s.clients[0].bulkhead.max_concurrent = 1;
  s.clients[0].retry.max_attempts = 3;
  s.clients[0].retry.backoff.base = ms(100);
  const ClientResult busy = first_client(s);
  CHECK(busy.unconnected > busy.requests);
  CHECK(count(busy, Outcome::kSuccess) == busy.attempts);
}

TEST_CASE("retry, timeout: each attempt has its own, and is tried again", "[breaker][orders]") {
  Scenario s = behind_breaker(0, {}, ms(500));
  set_timeout(s.clients[0], ms(200));
  s.clients[0].retry.max_attempts = 3;
  const ClientResult c = first_client(s);
  CHECK(c.attempts == 3 * c.requests);
  CHECK(count(c, AttemptResult::kTimeout) == c.attempts);
}

TEST_CASE("timeout, retry: a deadline ends the request with all its attempts",
          "[breaker][orders]") {
  Scenario s = behind_breaker(1, {});
  s.clients[0].retry.max_attempts = 10;
  s.clients[0].retry.backoff.base = ms(200);
  s.clients[0].retry.backoff.factor = 1;
  s.clients[0].retry.backoff.jitter = Jitter::kNone;
  s.clients[0].timeouts.deadline = ms(500);
  const ClientResult c = first_client(s);
  CHECK(c.attempts == 3 * c.requests);  // after 0, 200 and 400 ms
  CHECK(count(c, Outcome::kDeadlineExceeded) == c.requests);
}

TEST_CASE("bulkhead, timeout: an attempt's timeout runs from its send", "[breaker][orders]") {
  Scenario s = behind_breaker(0, {}, ms(150));
  s.clients[0].bulkhead = {.max_concurrent = 1, .longest_wait = Duration::max()};
  set_timeout(s.clients[0], ms(200));
  const ClientResult c = first_client(s);
  CHECK(count(c, AttemptResult::kTimeout) == 0);
  CHECK(count(c, Outcome::kSuccess) == c.requests);
}

TEST_CASE("timeout, bulkhead: a deadline ends the wait for a place", "[breaker][orders]") {
  Scenario s = behind_breaker(0, {}, ms(150));
  s.clients[0].bulkhead = {.max_concurrent = 1, .longest_wait = Duration::max()};
  s.clients[0].timeouts.deadline = ms(200);
  const ClientResult c = first_client(s);
  CHECK(count(c, Outcome::kDeadlineExceeded) > c.requests / 4);
  CHECK(count(c, Outcome::kDeadlineExceeded) + count(c, Outcome::kSuccess) == c.requests);
}

TEST_CASE("breaker, timeout: a timeout of an attempt is a failure", "[breaker][orders]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1000)), ms(500));
  set_timeout(s.clients[0], ms(200));
  const ClientResult c = first_client(s);
  // All that were sent before the first of them had timed out.
  CHECK(c.attempts == 2);
  CHECK(count(c, AttemptResult::kTimeout) == c.attempts);
}

TEST_CASE("timeout, breaker: ignored timeouts are those of a timeout outside of it",
          "[breaker][orders]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1000)), ms(500));
  set_timeout(s.clients[0], ms(200));
  s.clients[0].breaker.ignored.add(ResponseClass::kTimeout);
  const ClientResult c = first_client(s);
  CHECK(c.breaker_refusals == 0);
  CHECK(count(c, AttemptResult::kTimeout) == c.requests);
}

TEST_CASE("deadline, retry, breaker: what a deadline cuts off is not recorded",
          "[breaker][orders]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1000)), ms(500));
  s.clients[0].timeouts.deadline = ms(200);
  const ClientResult c = first_client(s);
  CHECK(c.breaker_refusals == 0);
  CHECK(count(c, Outcome::kDeadlineExceeded) == c.requests);
}

TEST_CASE("breaker, deadline, retry: a deadline that passes is a timeout", "[breaker][orders]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1000)), ms(500));
  s.clients[0].breaker.order = BreakerOrder::kBreakerOutside;
  s.clients[0].timeouts.deadline = ms(200);
  const ClientResult c = first_client(s);
  CHECK(c.attempts == 2);
  CHECK(count(c, Outcome::kDeadlineExceeded) == 2);
}

TEST_CASE("a probe that is cut off gives its permit back", "[breaker]") {
  Scenario s = behind_breaker(0, after_one_failure(Duration::seconds(1)), ms(500));
  s.faults = {down(20, 1)};
  s.clients[0].timeouts.deadline = ms(10'000);
  CHECK(count(first_client(s), Outcome::kSuccess) > 900);
  // With a deadline that no attempt meets, each probe comes back without a result: the breaker
  // stays half-open, and lets the next one pass.
  s.clients[0].timeouts.deadline = ms(400);
  const ClientResult c = first_client(s);
  CHECK(c.attempts > 100);
}
