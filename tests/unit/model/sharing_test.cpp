// Retry state that several groups share, or that one client keeps apart; requests to several
// services; bodies that cannot be sent again.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "model/run/request.hpp"
#include "unit/model/small_world.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// Two services, each with a group of clients of its own: "a" fails, "b" works.
Scenario two_services() {
  Scenario s = test::small_world();
  s.services[0].name = "a";
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services.push_back(s.services[0]);
  s.services[1].name = "b";
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  QuotaRules& q = s.clients[0].retry.quota;
  q.enabled = true;
  q.capacity = q.initial = 10;
  q.cost = 5;
  s.clients[0].name = "of-a";
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "of-b";
  s.clients[1].service = 1;
  return s;
}

TEST_CASE("Groups that name the same retryer share one quota, client by client") {
  Scenario s = two_services();
  s.services[1].errors = s.services[0].errors;
  s.clients[1].arrivals.start = Time::zero() + Duration::seconds(10);
  s.clients[0].count = s.clients[1].count = 2;
  // Each client has 10 tokens: two retries. Alone, each group gets them all.
  const RunResult own = simulate(s, 0);
  CHECK(own.clients[0].attempts == 6);
  CHECK(own.clients[1].attempts == 6);
  s.clients[0].retryer = s.clients[1].retryer = "process";
  const RunResult shared = simulate(s, 0);
  CHECK(shared.clients[0].attempts == 6);
  CHECK(shared.clients[1].attempts == 2);
  CHECK(count(shared.clients[1], Outcome::kQuotaExceeded) == 2);
  CHECK(shared.clients[0].quota_mean == Approx(0).margin(1e-9));
  CHECK(shared.clients[1].quota_mean == Approx(0).margin(1e-9));
  SECTION("the third client of the other group has tokens of its own") {
    s.clients[1].count = 3;
    CHECK(simulate(s, 0).clients[1].attempts == 2 + 3);
  }
  SECTION("one for all, if the scope is the group") {
    s.clients[0].retry.quota.scope = s.clients[1].retry.quota.scope = RetryScope::kGroup;
    const RunResult one = simulate(s, 0);
    CHECK(one.clients[0].attempts + one.clients[1].attempts == 4 + 2);
  }
  SECTION("only with the same rules") {
    s.clients[1].retry.quota.cost = 4;
    CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
    s.clients[1].retryer = "another";
    CHECK(simulate(s, 0).clients[1].attempts == 6);
  }
}

/// One client that is throttled at 0.25 s, and one that asks for another service after that.
Scenario limited_client() {
  Scenario s = two_services();
  s.services[0].errors = {};
  s.services[0].service_time = s.services[1].service_time = Distribution::constant(ms(1));
  s.services[0].throttle = {1e-6, 1, ThrottleScope::kService, Duration::zero()};
  for (ClientSpec& c : s.clients) {
    c.arrivals.process = ArrivalProcess::kTrace;
    c.retry.max_attempts = 1;
    c.retry.quota = {};
    c.retry.rate_limit.enabled = true;
  }
  s.clients[0].arrivals.rows = {Time::zero(), Time::zero() + ms(250)};
  s.clients[1].arrivals.rows = {Time::zero() + ms(300)};
  return s;
}

double waited_s(const ClientResult& c) { return static_cast<double>(c.send_wait_ns) * 1e-9; }

TEST_CASE("A shared limiter makes calls to a healthy service wait") {
  Scenario s = limited_client();
  CHECK(waited_s(simulate(s, 0).clients[1]) == 0);
  s.clients[0].retryer = s.clients[1].retryer = "process";
  // Half a token a second from the first answer on, at 1 ms: there is one at 2.001 s.
  CHECK(waited_s(simulate(s, 0).clients[1]) == Approx(1.701).margin(1e-6));
  SECTION("unless it is kept for each service") {
    for (ClientSpec& c : s.clients) c.retry.rate_limit.scope = RetryScope::kService;
    CHECK(waited_s(simulate(s, 0).clients[1]) == 0);
  }
  SECTION("of a whole group") {
    for (ClientSpec& c : s.clients) {
      c.retryer = "";
      c.retry.rate_limit.scope = RetryScope::kGroup;
      c.count = 50;
    }
    s.clients[0].arrivals.rows.push_back(Time::zero() + ms(300));
    const RunResult r = simulate(s, 0);
    CHECK(waited_s(r.clients[0]) == Approx(1.701).margin(1e-6));  // whichever client it is
    CHECK(waited_s(r.clients[1]) == 0);
  }
}

TEST_CASE("A limiter for each key lets the others go") {
  Scenario s = limited_client();
  s.services[0].throttle = {1e-6, 1, ThrottleScope::kKey, Duration::zero()};
  s.clients[1].arrivals = s.clients[0].arrivals = {};
  s.clients.pop_back();
  ClientSpec& c = s.clients[0];
  c.arrivals.process = ArrivalProcess::kConstant;
  c.arrivals.rate = 10;
  c.keys = {.count = 1000, .popularity = Popularity::kHot, .hot_share = 0.5};
  const auto waiting = [&] { return simulate(s, 0).clients[0].send_wait_ns; };
  s.duration = Duration::seconds(5);
  c.timeouts.deadline = Duration::seconds(5);
  const ClientResult one = simulate(s, 0).clients[0];
  c.retry.rate_limit.scope = RetryScope::kKey;
  const ClientResult apart = simulate(s, 0).clients[0];
  // About 25 requests for the other keys, few of which meet one that was asked for before.
  CHECK(count(one, Outcome::kSuccess) < 10);
  CHECK(count(apart, Outcome::kSuccess) > 15);
  CHECK(waiting() > 0);
}

TEST_CASE("A quota may be kept for each service, operation or key") {
  Scenario s = two_services();
  s.services[1].errors = s.services[0].errors;
  s.clients.pop_back();
  ClientSpec& c = s.clients[0];
  c.count = 1;
  c.arrivals.process = ArrivalProcess::kConstant;
  c.arrivals.rate = 1;
  c.more_services = {1};
  c.operations = {{"read", 1}, {"write", 1}, {"scan", 1}};
  c.keys = {.count = 5};
  const auto attempts_beyond_first = [&](RetryScope scope) {
    c.retry.quota.scope = scope;
    const ClientResult r = simulate(s, 0).clients[0];
    REQUIRE(r.requests == 100);
    return r.attempts - r.requests;
  };
  // Two retries of each bucket.
  CHECK(attempts_beyond_first(RetryScope::kClient) == 2);
  CHECK(attempts_beyond_first(RetryScope::kGroup) == 2);
  CHECK(attempts_beyond_first(RetryScope::kService) == 4);
  CHECK(attempts_beyond_first(RetryScope::kOperation) == 6);
  CHECK(attempts_beyond_first(RetryScope::kKey) == 10);
}

TEST_CASE("A group calls several services, a request the same one in every attempt") {
  Scenario s = two_services();
  s.clients.pop_back();
  ClientSpec& c = s.clients[0];
  c.count = 1;
  c.retry.quota = {};
  c.arrivals.process = ArrivalProcess::kConstant;
  c.arrivals.rate = 10;
  c.more_services = {1, 1};
  const auto arrivals = [&](std::size_t service) {
    return test::total(simulate(s, 0).services[service]).arrivals;
  };
  const ClientResult r = simulate(s, 0).clients[0];
  REQUIRE(r.requests == 1000);
  const std::uint64_t failed = count(r, Outcome::kMaxAttemptsExceeded);
  // A third of them go to the one that fails; six standard deviations of 14.9.
  CHECK(static_cast<double>(failed) == Approx(333.3).margin(90));
  CHECK(arrivals(0) == 3 * failed);
  CHECK(arrivals(1) == 1000 - failed);
  CHECK(share_of_calls(c, 1) == Approx(2.0 / 3));
  CHECK_FALSE(calls_one_service(c));
  SECTION("or an operation says which") {
    c.more_services = {};
    c.operations = {{"read", 3, 1, 1}, {"write", 1, 1, {}}};
    const ClientResult o = simulate(s, 0).clients[0];
    const std::uint64_t writes = count(o, Outcome::kMaxAttemptsExceeded);
    CHECK(static_cast<double>(writes) == Approx(250).margin(6 * 13.7));
    CHECK(arrivals(1) == 1000 - writes);
    CHECK(share_of_calls(c, 0) == 0.25);
    CHECK(mean_work(c, 1) == 0.75);
  }
  SECTION("or names one twice") {
    c.service = 1;
    c.more_services = {1};
    c.max_connections = 1;
    CHECK(calls_one_service(c));
    CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 1000);
  }
  SECTION("with connections to each") {
    // Without services in common the pools would have one connection each, too.
    c.max_connections = 1;
    s.services[0].service_time = Distribution::constant(Duration::seconds(1000));
    s.services[0].errors = {};
    c.timeouts.deadline = Duration::seconds(500);
    CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == arrivals(1));
    CHECK(arrivals(1) > 500);
  }
}

TEST_CASE("A body that cannot be sent again is sent once") {
  Scenario s = two_services();
  s.clients[0].retry.quota = {};
  s.clients[0].unrepeatable = 1;
  s.clients[0].count = 10;
  const ClientResult never = simulate(s, 0).clients[0];
  CHECK(never.attempts == 10);
  CHECK(count(never, Outcome::kNotRetryable) == 10);
  s.clients[0].unrepeatable = 0.5;
  s.clients[0].count = 1000;
  const ClientResult some = simulate(s, 0).clients[0];
  const std::uint64_t once = count(some, Outcome::kNotRetryable);
  CHECK(static_cast<double>(once) == Approx(500).margin(6 * 15.8));  // six standard deviations
  CHECK(some.attempts == once + 3 * (1000 - once));
  SECTION("also where hedges would be sent") {
    s.services[0].errors = {};
    s.clients[0].retry.hedging = {true, ms(10)};
    s.clients[0].unrepeatable = 1;
    CHECK(simulate(s, 0).clients[0].attempts == 1000);
    s.clients[0].unrepeatable = 0;
    CHECK(simulate(s, 0).clients[0].attempts == 3000);
  }
}

TEST_CASE("What a service's model says about an error decides whether it is retried") {
  Scenario s = two_services();
  s.clients[0].retry.quota = {};
  const auto attempts = [&](int status, ErrorTraits traits) {
    s.services[0].errors = {{{status, "Busy", traits}, 1.0}};
    return simulate(s, 0).clients[0].attempts;
  };
  CHECK(attempts(400, {}) == 1);
  CHECK(attempts(400, {.retry_safety = RetrySafety::kYes}) == 3);
  CHECK(attempts(400, {.throttling = true}) == 3);
  CHECK(attempts(500, {.retry_safety = RetrySafety::kNo}) == 1);
  CHECK(attempts(400, {.retry_safety = RetrySafety::kMaybe}) == 1);
  CHECK(attempts(400, {.retry_safety = RetrySafety::kMaybe, .fault = Fault::kServer}) == 3);
  CHECK(attempts(503, {.retry_safety = RetrySafety::kMaybe, .fault = Fault::kClient}) == 1);
}

}  // namespace
}  // namespace retrysim
