// Levels over time against hand calculation, in worlds where a step that nobody watches would leave
// the recorder behind. (That a difference ends the run is what tests/mutants shows.)
//
// SPDX-License-Identifier: MIT
#include "small_world.hpp"

#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

using namespace retrysim;
using test::ms;

namespace {

/// A request a second for ten seconds, from 0 s on, with a quota of five tokens.
Scenario one_a_second() {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(10);
  ClientSpec& c = s.clients[0];
  c.arrivals.process = ArrivalProcess::kConstant;
  c.arrivals.rate = 1;
  c.arrivals.aligned = true;
  QuotaRules& q = c.retry.quota;
  q.enabled = true;
  q.capacity = 5;
  q.initial = 0;
  q.cost = 1;
  q.refund = Refund::kNone;
  return s;
}

}  // namespace

TEST_CASE("A quota that each request credits when it starts is averaged with those credits") {
  Scenario s = one_a_second();
  s.clients[0].retry.quota.credit = 1;
  s.clients[0].retry.quota.credit_on = CreditOn::kStart;
  // 1, 2, 3 and 4 tokens in the first four seconds, then 5 for six.
  CHECK(simulate(s, 0).clients[0].quota_mean == Approx((1 + 2 + 3 + 4 + 6 * 5) / 10.0));
  s.clients[0].retry.quota.credit = 0.5;
  // A token every other second: 0, 1, 1, 2, 2, 3, 3, 4, 4, 5.
  CHECK(simulate(s, 0).clients[0].quota_mean == Approx(25 / 10.0));
}

TEST_CASE("A quota of the largest capacity passes the checks at the end of the run") {
  Scenario s = one_a_second();
  s.duration = Duration::milliseconds(50'369);
  s.clients[0].count = 7;
  QuotaRules& q = s.clients[0].retry.quota;
  q.capacity = q.initial = 1'000'000'000;
  CHECK(simulate(s, 0).clients[0].quota_mean == Approx(1e9));
}

TEST_CASE("Shares of the capacity stay below 1 where a profile adds servers") {
  Scenario s = one_a_second();
  s.services[0].servers = 10;
  s.services[0].service_time = Distribution::constant(ms(100));
  s.services[0].profile = CapacityProfile{{Time::zero()}, {3}};
  s.clients[0].arrivals.rate = 400;
  s.clients[0].timeouts.has_attempt = true;
  s.clients[0].timeouts.attempt = Distribution::constant(Duration::seconds(1));
  s.clients[0].retry.mode = RetryMode::kNone;
  const RunResult r = simulate(s, 0);
  const auto value = [&](std::string_view metric) {
    return *metric_value(*find_metric(metric), s, r, std::nullopt);
  };
  CHECK(value("utilization") > 0.95);
  CHECK(value("utilization") <= 1);
  CHECK(value("wasted_share") <= value("utilization"));
  CHECK(value("wasted_after_give_up_share") <= value("utilization"));
}

TEST_CASE("Work that began before the window is not more than was done in it") {
  Scenario s = one_a_second();
  s.warmup = Duration::milliseconds(9'900);
  s.services[0].servers = 100;
  s.services[0].service_time = Distribution::constant(Duration::milliseconds(4'950));
  s.clients[0].timeouts.has_attempt = true;
  s.clients[0].timeouts.attempt = Distribution::constant(ms(10));
  const RunResult r = simulate(s, 0);
  CHECK(r.services[0].wasted_full_ns <= r.services[0].window.busy_ns);
}

TEST_CASE("A quota whose credits at the start are spent on retries is never below zero") {
  Scenario s = one_a_second();
  s.clients[0].retry.quota.credit = 1;
  s.clients[0].retry.quota.credit_on = CreditOn::kStart;
  s.clients[0].retry.backoff.base = Duration::zero();
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.network.latency = Distribution::constant(ms(50));
  // The token of each request pays for its retry 100 ms later, which is its last.
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.attempts == 20);
  CHECK(c.quota_mean == Approx(0.1));
}

TEST_CASE("A quota that starts with more than it can hold is full") {
  Scenario s = one_a_second();
  s.clients[0].retry.quota.initial = 500;
  CHECK(simulate(s, 0).clients[0].quota_mean == 5);
}

TEST_CASE("What ends in the drain is told apart from what ends within the duration") {
  // Ten requests at once, 100 ms each: those ending at 0.1 and 0.2 s are within 0.25 s; after the
  // warm-up none is submitted.
  Scenario s = test::small_world();
  s.clients[0].count = 10;
  s.duration = ms(250);
  const RunResult run = simulate(s, 0);
  CHECK(run.clients[0].ended_within == 2);
  CHECK(test::metric("success_rate", s, run) == 1);
  CHECK(test::metric("success_rate_within_duration", s, run) == Approx(0.2));
  CHECK(test::metric("finished_in_drain", s, run) == 8);
  CHECK(test::metric("finished_in_drain_share", s, run) == Approx(0.8));
  s.drain_limit = ms(300);  // the end at 0.5 s is seen, that at 0.6 s is not
  const RunResult cut = simulate(s, 0);
  CHECK(test::metric("success_rate", s, cut) == Approx(0.5));
  CHECK(test::metric("success_rate_within_duration", s, cut) == Approx(0.2));
  CHECK(test::metric("finished_in_drain", s, cut) == 3);
  s.drain = false;
  const RunResult none = simulate(s, 0);
  CHECK(test::metric("success_rate", s, none) == Approx(0.2));
  CHECK(test::metric("finished_in_drain", s, none) == 0);
}

TEST_CASE("The servers of a service that nobody calls are those of its profile from the start on") {
  Scenario s = one_a_second();
  s.services.push_back(s.services[0]);
  s.services[1].name = "idle";
  s.services[1].servers = 4;
  s.services[1].profile = CapacityProfile{{Time::zero()}, {0.75}};
  CHECK(simulate(s, 0).services[1].window.servers_ns == Approx(3 * 10e9));
  s.services[1].profile = CapacityProfile{{Time::zero()}, {0}};
  CHECK(simulate(s, 0).services[1].window.servers_ns == 0);
}
