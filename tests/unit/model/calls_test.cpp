// Services that call other services: when, how often, who waits, and what a failure does.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>

#include "unit/model/callees.hpp"

namespace retrysim {
namespace {

using test::add_callee;
using test::count;
using test::ms;

void let_fail(ServiceSpec& service) { service.errors = {{{500, "InternalError"}, 1.0}}; }

std::int64_t latency_ns(const RunResult& r, std::size_t group) {
  return static_cast<std::int64_t>(r.clients[group].latency_m.sum_ns);
}

TEST_CASE("Calls come after the service time, one by one or together, and the server is held") {
  Scenario s = test::small_world();
  add_callee(s, 0, "db", ms(50));
  add_callee(s, 0, "cache", ms(30));
  s.clients[0].count = 2;
  SECTION("one by one") {
    const RunResult r = simulate(s, 0);
    CHECK(latency_ns(r, 0) == (180 + 360) * 1'000'000);
    CHECK(r.services[0].window.busy_ns == 360e6);
    CHECK(r.clients[1].requests == 2);
    CHECK(r.clients[2].requests == 2);
    CHECK(latency_ns(r, 1) == 100 * 1'000'000);
    CHECK(latency_ns(r, 2) == 60 * 1'000'000);
    CHECK(count(r.clients[0], Outcome::kSuccess) == 2);
  }
  SECTION("together") {
    s.services[0].parallel_calls = true;
    CHECK(latency_ns(simulate(s, 0), 0) == (150 + 300) * 1'000'000);
  }
  SECTION("over a network") {
    s.network.latency = Distribution::constant(ms(1));
    CHECK(latency_ns(simulate(s, 0), 0) == (186 + 370) * 1'000'000);
  }
  SECTION("where servers are shared, nothing is taken from the others meanwhile") {
    // Own work of both until 200 ms, then 80 ms of calls side by side.
    s.services[0].queue.discipline = Discipline::kProcessorSharing;
    const RunResult r = simulate(s, 0);
    CHECK(latency_ns(r, 0) == (280 + 280) * 1'000'000);
    CHECK(r.services[0].window.busy_ns == 200e6);
    CHECK(r.services[0].window.in_system_ns == 560e6);
  }
}

TEST_CASE("Retries at each layer multiply") {
  struct Case {
    std::uint32_t n, depth;
    std::uint64_t bottom;
  };
  const Case c = GENERATE(Case{4, 3, 64}, Case{3, 5, 243});
  Scenario s = test::small_world();
  for (std::uint32_t i = 1; i < c.depth; ++i) {
    add_callee(s, i - 1, "tier" + std::to_string(i), ms(1));
  }
  let_fail(s.services.back());
  for (ClientSpec& client : s.clients) client.retry.max_attempts = c.n;
  const RunResult r = simulate(s, 0);
  CHECK(r.clients.back().attempts == c.bottom);
  CHECK(r.services.back().window.arrivals == c.bottom);
  CHECK(r.clients[0].attempts == c.n);
  CHECK(count(r.clients[0], Outcome::kMaxAttemptsExceeded) == 1);
}

TEST_CASE("A failed call ends the attempt with an error, and later calls are not made") {
  Scenario s = test::small_world();
  s.clients[0].retry.max_attempts = 2;
  add_callee(s, 0, "db", ms(50)).retry.max_attempts = 2;
  add_callee(s, 0, "cache", ms(30));
  let_fail(s.services[1]);
  SECTION("one by one") {
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[1].requests == 2);
    CHECK(r.clients[1].attempts == 4);
    CHECK(r.clients[2].requests == 0);
    CHECK(count(r.clients[0], AttemptResult::kError) == 2);
    CHECK(r.clients[0].executed == 2);
  }
  SECTION("together, all are waited for") {
    s.services[0].parallel_calls = true;
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[2].requests == 2);
    CHECK(latency_ns(r, 0) == 260 * 1'000'000);
    CHECK(count(r.clients[0], AttemptResult::kError) == 2);
  }
  SECTION("and an attempt that fails by itself makes no calls") {
    s.services[0].model = ServiceModelKind::kIndependent;
    s.services[0].servers = ServiceSpec::kUnlimited;
    let_fail(s.services[0]);
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[1].requests == 0);
    CHECK(count(r.clients[0], AttemptResult::kError) == 2);
  }
}

TEST_CASE("An attempt given up while its server waits for others") {
  Scenario s = test::small_world();
  add_callee(s, 0, "db", ms(400));
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], ms(150));
  SECTION("holds it to the end") {
    const RunResult r = simulate(s, 0);
    CHECK(r.services[0].window.busy_ns == 500e6);
    CHECK(r.services[0].wasted_after_give_up_ns == 350e6);
    CHECK(r.services[0].wasted_full_ns == 500e6);
    CHECK(r.clients[0].late == 1);
    CHECK(count(r.clients[1], Outcome::kSuccess) == 1);
  }
  SECTION("lets it go, but not the calls under way") {
    s.services[0].abandoned = Abandoned::kAbort;
    const RunResult r = simulate(s, 0);
    CHECK(r.services[0].window.busy_ns == 150e6);
    CHECK(r.clients[0].dropped == 1);
    CHECK(count(r.clients[1], Outcome::kSuccess) == 1);
    CHECK(r.services[1].window.busy_ns == 400e6);
  }
  SECTION("goes by the service's own time limit") {
    s.services[0].timeout = ms(120);
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], AttemptResult::kError) == 1);
    CHECK(latency_ns(r, 0) == 120 * 1'000'000);
    CHECK(r.services[0].window.busy_ns == 120e6);
  }
  SECTION("is lost in a cold restart") {
    FaultSpec fault;
    fault.start = Time::zero() + ms(130);
    fault.duration = ms(1);
    fault.cold_restart = true;
    s.faults.push_back(fault);
    const RunResult r = simulate(s, 0);
    CHECK(latency_ns(r, 0) == 130 * 1'000'000);
    CHECK(r.services[0].window.busy_ns == 130e6);
    CHECK(count(r.clients[1], Outcome::kSuccess) == 1);
  }
}

// A call that outlives its attempt must not be taken for one of the next attempt in the same slot.
TEST_CASE("Late ends of calls concern nobody any more") {
  Scenario s = test::small_world();
  s.services[0].abandoned = Abandoned::kAbort;
  s.services[0].service_time = Distribution::constant(ms(10));
  add_callee(s, 0, "db", ms(100));
  test::set_timeout(s.clients[0], ms(60));
  s.clients[0].retry.max_attempts = 4;  // at 0, 60, 120 and 180 ms; calls end at 110, 170 ...
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], AttemptResult::kTimeout) == 4);
  CHECK(count(r.clients[1], Outcome::kSuccess) == 4);
}

TEST_CASE(
    "Of those that wait for calls, a restart breaks the connection of the longest waiting first") {
  // The third request takes the place in memory of the first, which is over at 101 ms. At 120 ms
  // the other two wait, and there is quota for one retry: of the second one, from 130 ms on.
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(ms(1));
  add_callee(s, 0, "db", ms(100));
  ClientSpec& web = s.clients[0];
  web.arrivals.process = ArrivalProcess::kTrace;
  for (const int t : {0, 50, 110}) web.arrivals.rows.push_back(Time::zero() + ms(t));
  web.retry.backoff.base = ms(10);
  web.retry.quota.enabled = true;
  web.retry.quota.capacity = web.retry.quota.initial = web.retry.quota.cost = 5;
  web.retry.quota.credit = 0;
  FaultSpec restart;
  restart.start = Time::zero() + ms(120);
  restart.duration = ms(1);
  restart.cold_restart = true;
  s.faults.push_back(restart);
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], Outcome::kSuccess) == 2);
  CHECK(count(r.clients[0], Outcome::kQuotaExceeded) == 1);
  CHECK(r.clients[0].latency_ok_m.sum_ns == (101 + 181) * 1'000'000);
}

TEST_CASE("Calls belong to the cohort of the attempt they are made for") {
  Scenario s = test::small_world();
  s.warmup = ms(50);
  add_callee(s, 0, "db", ms(50));
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].requests == 0);
  CHECK(r.clients[1].requests == 0);
  CHECK(r.clients[1].window.requests == 1);
}

TEST_CASE("All client groups together are those outside") {
  Scenario s = test::small_world();
  s.clients[0].count = 3;
  add_callee(s, 0, "db", ms(1));
  const RunResult r = simulate(s, 0);
  std::uint64_t requests = 0;
  for (const ClientBin& bin : r.all_bins) requests += bin.flow.requests;
  CHECK(requests == 3);
}

TEST_CASE("What has no effect at the bottom has none above") {
  Scenario s = test::small_world();
  s.clients[0].side_effects.mutating = 1;
  add_callee(s, 0, "db", ms(1));
  CHECK(simulate(s, 0).clients[0].effects == 1);
  let_fail(s.services[1]);
  const ClientResult c = simulate(s, 0).clients[0];
  CHECK(c.executed == 3);
  CHECK(c.effects == 0);
}

TEST_CASE("A queue behind a queue: the busy server above is as slow as what it waits for") {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(5050);
  s.warmup = Duration::seconds(50);
  s.services[0].servers = 20;
  s.services[0].service_time = Distribution::exponential(0.01);
  add_callee(s, 0, "db", ms(1));
  s.services[1].servers = 1;
  s.services[1].service_time = Distribution::exponential(0.01);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 50;
  const RunResult r = simulate(s, 0);
  const auto mean = [&](std::size_t i) {
    const DurationMoments& m = r.clients[i].latency_m;
    return static_cast<double>(m.sum_ns) / static_cast<double>(m.count) / 1e9;
  };
  // Nobody waits for the twenty servers, and what leaves M/M/20 is Poisson: below is M/M/1 at a
  // load of one half. Margin: six standard errors; the seed is fixed.
  CHECK(mean(1) == Approx(0.02).margin(0.001));
  CHECK(mean(0) == Approx(0.03).margin(0.001));
  CHECK(r.services[0].window.busy_ns / 5000e9 == Approx(50 * mean(0)).epsilon(0.01));
}

TEST_CASE("Calls in a circle are refused") {
  Scenario s = test::small_world();
  add_callee(s, 0, "db", ms(1));
  ClientSpec back = s.clients[1];
  back.service = 0;
  test::add_call(s, 1, back);
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

TEST_CASE("Groups of calls and calls belong together") {
  Scenario s = test::small_world();
  add_callee(s, 0, "db", ms(1));
  add_callee(s, 1, "disk", ms(1));
  SECTION("a group without calls") { s.calls.pop_back(); }
  SECTION("a call by a group of clients outside") { s.calls[0].client = 0; }
  SECTION("a group that makes the calls of two services") { s.calls.push_back({0, 2}); }
  SECTION("no such service") { s.calls[1].caller = 3; }
  SECTION("no such group") { s.calls[1].client = 3; }
  SECTION("by a service that compares versions") { s.services[0].model = ServiceModelKind::kOcc; }
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

TEST_CASE("One SDK client may make several calls") {
  Scenario s = test::small_world();
  s.clients[0].count = 2;
  add_callee(s, 0, "db", ms(50));
  s.calls.push_back(s.calls[0]);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[1].requests == 4);
  CHECK(latency_ns(r, 0) == (200 + 400) * 1'000'000);
}

}  // namespace
}  // namespace retrysim
