// Services that leave retries to others: to the clients outside, or to calls that are not made for
// a retry.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "flow/demand.hpp"
#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// So many client groups, one calling the service above the next, with so many attempts each; all
/// at the bottom fails.
Scenario tower(std::uint32_t layers, std::uint32_t attempts, RetryOnlyAt where) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.clients[0].retry.max_attempts = attempts;
  for (std::uint32_t i = 1; i < layers; ++i) {
    ServiceSpec service;
    service.name = "tier" + std::to_string(i);
    service.servers = ServiceSpec::kUnlimited;
    service.service_time = Distribution::constant(ms(1));
    s.services.push_back(service);
    ClientSpec call;
    call.name = s.services[i - 1].name + "." + service.name;
    call.service = i;
    call.retry = s.clients[0].retry;
    call.retry_only_at = where;
    test::add_call(s, i - 1, call);
  }
  s.services.back().errors = {{{500, "InternalError"}, 1.0}};
  return s;
}

std::uint64_t at_the_bottom(const Scenario& s) {
  return simulate(s, 0).services.back().window.arrivals;
}

// Of k layers with r attempts each, f(k) at the bottom. One layer makes r. Of those of a layer
// above, the first attempt makes f(k-1), and each of r-1 retries makes one, as no layer below
// retries for it: f(k) = f(k-1) + r-1 = 1 + k (r-1).
TEST_CASE("How retries of several layers multiply depends on where they are made") {
  const std::uint32_t k = GENERATE(1u, 2u, 3u, 4u), r = GENERATE(1u, 2u, 3u, 5u);
  INFO(k << " layers of " << r << " attempts");
  const auto all = static_cast<std::uint64_t>(std::llround(std::pow(r, k)));
  CHECK(at_the_bottom(tower(k, r, RetryOnlyAt::kAnywhere)) == all);
  CHECK(at_the_bottom(tower(k, r, RetryOnlyAt::kEdge)) == r);
  CHECK(at_the_bottom(tower(k, r, RetryOnlyAt::kFirstAttempt)) == 1 + k * (r - 1));
}

TEST_CASE("The demand that follows from a scenario knows the same laws") {
  using flow::Attempts;
  const std::uint32_t k = GENERATE(1u, 2u, 3u, 4u), r = GENERATE(1u, 2u, 3u);
  INFO(k << " layers of " << r << " attempts");
  const auto at_bottom = [&](RetryOnlyAt where, Attempts attempts) {
    const Scenario s = tower(k, r, where);
    return flow::demand_of(s, attempts).services.back().attempts * s.duration.in_seconds();
  };
  for (const Attempts attempts : {Attempts::kMost, Attempts::kNeeded}) {
    CHECK(at_bottom(RetryOnlyAt::kAnywhere, attempts) == Approx(std::pow(r, k)));
    CHECK(at_bottom(RetryOnlyAt::kEdge, attempts) == Approx(r));
    CHECK(at_bottom(RetryOnlyAt::kFirstAttempt, attempts) == Approx(1 + k * (r - 1.0)));
  }
  CHECK(at_bottom(RetryOnlyAt::kFirstAttempt, Attempts::kFirst) == Approx(1));
}

// Half of the attempts at the bottom fail. A request outside makes a first attempt, whose call may
// be retried once: fails with 1/4; after that a second one, whose call is not: fails with 1/2. So
// 1 + 1/2 + 1/4 attempts at the bottom, and 7/8 of the requests succeed.
TEST_CASE("The demand of calls that mind for which attempt they are made") {
  Scenario s = tower(2, 2, RetryOnlyAt::kFirstAttempt);
  s.services.back().errors[0].probability = 0.5;
  const flow::Demand d = flow::demand_of(s, flow::Attempts::kNeeded);
  CHECK(d.services.back().attempts * s.duration.in_seconds() == Approx(1.75));
  CHECK(d.groups[0].success == Approx(0.875));
  CHECK(d.groups[0].attempts == Approx(1.25));
  CHECK(d.groups[1].attempts == Approx(1.4));
}

TEST_CASE("A layer that minds nothing passes the mark on") {
  Scenario s = tower(3, 2, RetryOnlyAt::kFirstAttempt);
  s.clients[1].retry_only_at = RetryOnlyAt::kAnywhere;
  // Outside two, in the middle two for each; at the bottom two for the first of the first only.
  CHECK(at_the_bottom(s) == 2 + 1 + 1 + 1);
}

TEST_CASE("A hedge is an attempt after the first, and what it calls is not retried") {
  Scenario s = tower(2, 2, RetryOnlyAt::kFirstAttempt);
  s.services[0].service_time = Distribution::constant(ms(1));
  s.services[1].service_time = Distribution::constant(ms(50));
  s.services[1].errors_at.share = 1;
  s.clients[0].retry.hedging = {true, ms(10)};
  s.clients[1].retry.backoff.base = ms(1);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].attempts == 2);
  CHECK(r.clients[1].requests == 2);
  CHECK(r.clients[1].attempts == 3);
}

TEST_CASE("What is not to be retried is not hedged") {
  Scenario s = tower(2, 3, RetryOnlyAt::kEdge);
  s.services[1].errors.clear();
  s.services[1].service_time = Distribution::constant(ms(50));
  s.clients[1].retry.hedging = {true, ms(10)};
  CHECK(at_the_bottom(s) == 1);
  s.clients[1].retry_only_at = RetryOnlyAt::kFirstAttempt;
  CHECK(at_the_bottom(s) == 3);
}

TEST_CASE("A retry that is left to others costs no quota") {
  Scenario s = tower(2, 1, RetryOnlyAt::kEdge);
  QuotaRules& quota = s.clients[1].retry.quota;
  quota.enabled = true;
  quota.capacity = quota.initial = 10;
  quota.cost = quota.throttle_cost = quota.timeout_cost = 20;
  quota.order = GENERATE(QuotaOrder::kAfterAttempts, QuotaOrder::kBeforeAttempts,
                         QuotaOrder::kBeforeClassification);
  s.clients[1].retry.max_attempts = 3;
  CHECK(count(simulate(s, 0).clients[1], Outcome::kMaxAttemptsExceeded) == 1);
  s.clients[1].retry_only_at = RetryOnlyAt::kAnywhere;
  CHECK(count(simulate(s, 0).clients[1], Outcome::kQuotaExceeded) == 1);
}

TEST_CASE("Only calls may leave retries to others") {
  Scenario s = test::small_world();
  s.clients[0].retry_only_at = RetryOnlyAt::kEdge;
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

}  // namespace
}  // namespace retrysim
