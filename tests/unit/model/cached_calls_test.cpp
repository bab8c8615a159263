// Calls that a cache saves: by chance, or by answers that an instance of the caller keeps.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

#include "flow/demand.hpp"
#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// Clients of "api", which answers at once after a call of "db", which takes so long.
Scenario with_db(Duration time = Duration::zero()) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = {};
  s.clients[0].retry.max_attempts = 1;
  ServiceSpec db;
  db.name = "db";
  db.servers = ServiceSpec::kUnlimited;
  db.service_time = Distribution::constant(time);
  s.services.push_back(db);
  ClientSpec call;
  call.name = "api.db";
  call.service = 1;
  call.retry.max_attempts = 1;
  test::add_call(s, 0, call);
  return s;
}

void let_come(Scenario& s, double rate, std::uint32_t keys) {
  ClientSpec& web = s.clients[0];
  web.arrivals.process = ArrivalProcess::kPoisson;
  web.arrivals.rate = rate;
  web.keys.count = keys;
}

/// Requests at these times, in seconds.
void let_come_at(Scenario& s, std::initializer_list<int> times) {
  s.clients[0].arrivals.process = ArrivalProcess::kTrace;
  for (const int t : times)
    s.clients[0].arrivals.rows.push_back(Time::zero() + Duration::seconds(t));
}

double hits(const Scenario& s, const RunResult& r) {
  return metric_value(*find_metric("cache_hit_share"), s, r, 1).value();
}

FaultSpec fault_at(Duration start) {
  FaultSpec f;
  f.start = Time::zero() + start;
  f.duration = ms(1);
  return f;
}

// Binomial with 10^5 trials. Margin: five standard deviations, exceeded by chance once in a
// million.
TEST_CASE("By chance, a share of the attempts needs no call") {
  Scenario s = with_db(ms(3));
  let_come(s, 1000, 1);
  s.calls[0].cache.hit = 0.3;
  const RunResult r = simulate(s, 0);
  const CacheCounts& cache = r.clients[1].cache;
  CHECK(cache.lookups == r.clients[0].requests);
  CHECK(r.clients[1].requests == cache.lookups - cache.hits);
  CHECK(hits(s, r) == Approx(0.3).margin(5 * std::sqrt(0.21 / 1e5)));
  CHECK(count(r.clients[0], Outcome::kSuccess) == r.clients[0].requests);
  CHECK_FALSE(metric_value(*find_metric("cache_hit_share"), s, r, 0));
  const flow::Demand d = flow::demand_of(s, flow::Attempts::kNeeded);
  CHECK(d.groups[1].requests == Approx(700));
  CHECK(d.services[0].calls_time == Approx(0.7 * 0.003));
}

// Once the cache is full, hits are independent (see "cache_test.cpp"): 90,000 with probability 0.4.
// Margin: five standard deviations.
TEST_CASE("A service with a cache of c of N equally likely keys makes 1 - c/N of its calls") {
  Scenario s = with_db();
  s.warmup = Duration::seconds(10);
  let_come(s, 1000, 50);
  s.calls[0].cache.capacity = 20;
  const RunResult r = simulate(s, 0);
  CHECK(hits(s, r) == Approx(0.4).margin(5 * std::sqrt(0.24 / 9e4)));
  CHECK(flow::demand_of(s, flow::Attempts::kFirst).groups[1].requests == Approx(600));
  CHECK(flow::demand_of(s, flow::Attempts::kMost).groups[1].requests == Approx(1000));
}

// One request in 0.1 s for each key: an entry has a Poisson number of hits with mean 1 in its ttl,
// and so half of the look-ups hit. Of 10^5 the share has a deviation of 0.0011; margin: five.
TEST_CASE("With a ttl, a key asked for at rate l makes a call every ttl + 1/l") {
  Scenario s = with_db();
  s.duration = Duration::seconds(500);
  s.warmup = Duration::seconds(1);
  let_come(s, 200, 20);
  s.calls[0].cache.capacity = CacheSpec::kUnlimited;
  s.calls[0].cache.ttl = ms(100);
  CHECK(hits(s, simulate(s, 0)) == Approx(0.5).margin(0.0056));
  CHECK(flow::demand_of(s, flow::Attempts::kFirst).groups[1].requests == Approx(100));
}

TEST_CASE("A cache is empty at the start, and after a cold restart of its instance") {
  Scenario s = with_db();
  let_come_at(s, {1, 2, 3, 4, 5, 6, 7, 8});
  s.calls[0].cache.capacity = 1;
  std::uint64_t calls = 1;
  SECTION("nothing happens") {}
  SECTION("a restart") {
    s.faults.push_back(fault_at(ms(4'500)));
    s.faults[0].cold_restart = true;
    calls = 2;
  }
  SECTION("a crash ends work, but not the process") {
    s.faults.push_back(fault_at(ms(4'500)));
    s.faults[0].crash = true;
  }
  SECTION("a restart of the service called") {
    s.faults.push_back(fault_at(ms(4'500)));
    s.faults[0].cold_restart = true;
    s.faults[0].service = 1;
  }
  SECTION("two instances have two caches, of which one restarts") {
    s.services[0].instances.count = s.clients[1].count = 2;
    s.services[0].instances.balancing = Balancing::kRoundRobin;
    s.faults.push_back(fault_at(ms(4'500)));
    s.faults[0].cold_restart = true;
    s.faults[0].instance = 2;
    calls = 3;
  }
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[1].requests == calls);
  CHECK(r.clients[1].cache.hits == 8 - calls);
}

TEST_CASE("Those that miss at the same time all make the call") {
  Scenario s = with_db(ms(1500));
  let_come_at(s, {1, 1, 2, 3});
  s.calls[0].cache.capacity = 1;
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[1].requests == 3);
  CHECK(r.clients[1].cache.hits == 1);
}

TEST_CASE("Only the answer to a success that is waited for is kept") {
  Scenario s = with_db(ms(200));
  let_come_at(s, {1, 2, 3});
  s.calls[0].cache.capacity = 1;
  SECTION("not a failure") { s.services[1].errors = {{{500, "InternalError"}, 1.0}}; }
  SECTION("not if the attempt has been aborted") {
    s.services[0].abandoned = Abandoned::kAbort;
    test::set_timeout(s.clients[0], ms(100));
  }
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[1].requests == 3);
  CHECK(r.clients[1].cache.lookups == 3);
  CHECK(r.clients[1].cache.hits == 0);
}

TEST_CASE("A client that has given up still warms the cache, if it is served on") {
  Scenario s = with_db(ms(200));
  let_come_at(s, {1, 2, 3});
  s.calls[0].cache.capacity = 1;
  test::set_timeout(s.clients[0], ms(100));
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[1].requests == 1);
  CHECK(count(r.clients[0], Outcome::kSuccess) == 2);
}

TEST_CASE("A hit of several calls goes on with the next stage") {
  Scenario s = with_db(ms(10));
  let_come_at(s, {1, 2});
  s.calls[0].cache.capacity = 1;
  ClientSpec other = s.clients[1];
  other.name = "api.other";
  test::add_call(s, 0, other);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[1].requests == 1);
  CHECK(r.clients[2].requests == 2);
  CHECK(r.clients[0].latency_m.sum_ns == 30'000'000);
}

TEST_CASE("A cache may be what a service falls back on") {
  Scenario s = with_db(ms(10));
  let_come_at(s, {1, 2});
  s.services[1].errors = {{{500, "InternalError"}, 1.0}};
  ServiceSpec old = s.services[1];
  old.name = "old";
  s.services.push_back(old);
  ClientSpec other = s.clients[1];
  other.name = "api.old";
  other.service = 2;
  test::add_call(s, 0, other);
  s.calls[0].on_failure = CallFailure::kFallback;
  s.calls[0].fallback = "api.old";
  s.calls[1].cache.hit = 1;
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], Outcome::kSuccess) == 2);
  CHECK(r.clients[0].degraded == 2);
  CHECK(r.clients[2].requests == 0);
  CHECK(r.clients[2].cache.hits == 2);
}

TEST_CASE("A cache hits by chance or by what it keeps") {
  Scenario s = with_db();
  s.calls[0].cache.hit = 0.5;
  s.calls[0].cache.capacity = 10;
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

}  // namespace
}  // namespace retrysim
