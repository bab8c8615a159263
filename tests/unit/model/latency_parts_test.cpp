// The mean latency of a request and its parts, and the ways in which a request ends without an
// answer, as metrics.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::metric;
using test::ms;

/// A service at twice its capacity that throttles adaptive clients with few connections.
Scenario waiting_everywhere() {
  Scenario s = test::small_world();
  s.services[0].servers = 4;
  s.services[0].service_time = Distribution::exponential(0.02);
  s.services[0].queue.capacity = 20;
  s.services[0].throttle = {150, 10, ThrottleScope::kService, Duration::zero()};
  s.network.latency = Distribution::exponential(0.002);
  ClientSpec& c = s.clients[0];
  c.count = 8;
  c.arrivals.process = ArrivalProcess::kPoisson;
  c.arrivals.rate = 50;
  c.max_connections = 2;
  c.retry = find_preset("adaptive", "", "", "")->rules;
  test::set_timeout(c, ms(150));
  return s;
}

TEST_CASE("The parts of the mean latency add up to it") {
  Scenario s = waiting_everywhere();
  SECTION("requests that all run to their end") {}
  SECTION("deadlines end some of them, wherever they are") {
    s.clients[0].timeouts.deadline = Duration::seconds(2);
  }
  const RunResult r = simulate(s, 0);
  REQUIRE(metric("unfinished", s, r) == 0);
  double sum = 0;
  for (const char* part :
       {"send_wait_mean", "connection_wait_mean", "backoff_wait_mean", "answer_wait_mean"}) {
    CAPTURE(part);
    CHECK(metric(part, s, r) > 0);
    sum += metric(part, s, r);
  }
  CHECK(sum == Approx(metric("latency_mean", s, r)).epsilon(1e-12));
}

TEST_CASE("The shares of outcomes add up to one") {
  Scenario s = waiting_everywhere();
  s.clients[0].timeouts.deadline = Duration::seconds(1);
  s.clients[0].retry.throttle = find_preset("custom", "", "sre", "")->rules.throttle;
  const RunResult r = simulate(s, 0);
  const ClientResult& c = r.clients[0];
  const auto requests = static_cast<double>(c.requests);
  CHECK(metric("no_send_token_share", s, r) > 0.001);
  CHECK(metric("deadline_exceeded_share", s, r) > 0.001);
  const auto ended_otherwise =
      static_cast<double>(count(c, Outcome::kSuccess) + count(c, Outcome::kMaxAttemptsExceeded) +
                          count(c, Outcome::kNotRetryable));
  CHECK(metric("no_send_token_share", s, r) + metric("deadline_exceeded_share", s, r) +
            metric("quota_denied_share", s, r) + ended_otherwise / requests ==
        Approx(1).epsilon(1e-12));
}

}  // namespace
}  // namespace retrysim
