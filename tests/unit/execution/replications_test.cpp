// Replications over threads: the same results for any number of them, and failures, limits and
// interruptions that do not depend on which thread met them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>

#include "unit/model/small_world.hpp"

#include <catch2/catch.hpp>

#include <stdexcept>
#include <thread>

namespace retrysim {
namespace {

Scenario busy_world() {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(20);
  s.replications = 7;
  s.services[0].servers = 4;
  s.services[0].service_time = Distribution::exponential(0.02);
  s.services[0].queue.capacity = 50;
  s.clients[0].count = 50;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 5;  // 250/s for a capacity of 200/s
  test::set_timeout(s.clients[0], test::ms(200));
  s.clients[0].retry.backoff.base = test::ms(50);
  s.clients[0].retry.backoff.jitter = Jitter::kFull;
  return s;
}

bool same(const RunResult& a, const RunResult& b) {
  return a.fingerprint == b.fingerprint && a.events == b.events && a.ended == b.ended &&
         a.clients[0].latency == b.clients[0].latency &&
         a.clients[0].latency_m.sum_ns == b.clients[0].latency_m.sum_ns &&
         a.services[0].window.busy_ns == b.services[0].window.busy_ns;
}

TEST_CASE("Any number of threads gives the same results in the same order") {
  const Scenario s = busy_world();
  ReplicationOptions options;
  options.fingerprint = true;
  const std::vector<RunResult> alone = run_replications(s, options);
  REQUIRE(alone.size() == 7);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    REQUIRE(alone[i].replication == i);
    SimulationOptions one;
    one.fingerprint = true;
    REQUIRE(same(alone[i], simulate(s, static_cast<std::uint32_t>(i), one)));
    if (i > 0) REQUIRE(alone[i].fingerprint != alone[0].fingerprint);
  }
  for (const int jobs : {2, 4, 16}) {
    options.jobs = jobs;
    const std::vector<RunResult> together = run_replications(s, options);
    REQUIRE(together.size() == alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) REQUIRE(same(together[i], alone[i]));
  }
}

TEST_CASE("The limit on events counts all replications together") {
  const Scenario s = busy_world();
  std::uint64_t events = 0;
  for (const RunResult& r : run_replications(s)) events += r.events;
  ReplicationOptions options;
  options.max_events = events;
  REQUIRE_NOTHROW(run_replications(s, options));
  options.max_events = events - 1;
  options.jobs = 2;
  REQUIRE_THROWS_AS(run_replications(s, options), LimitExceeded);
}

TEST_CASE("A failure is reported for the first replication that fails, whatever the threads",
          "[repetitive]") {
  Scenario s = busy_world();
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].retry.backoff.base = Duration::zero();
  s.clients[0].retry.max_attempts = RetryRules::kUnlimited;
  ReplicationOptions options;
  options.jobs = 3;
  REQUIRE_THROWS_WITH(run_replications(s, options), Catch::Contains("replication 0"));
}

TEST_CASE("A stop from outside interrupts all replications, progress reaches the end otherwise") {
  const Scenario s = busy_world();
  ReplicationOptions options;
  double last = 0;
  options.progress = [&](double share) { last = share; };
  run_replications(s, options);
  REQUIRE(last == 1);
  const std::atomic<bool> stop{true};
  options.stop_flag = &stop;
  Scenario longer = s;
  longer.duration = Duration::seconds(2000);
  REQUIRE_THROWS_AS(run_replications(longer, options), Interrupted);
}

TEST_CASE("`stop` and `progress` are called by the thread that asks") {
  Scenario s = busy_world();
  s.duration = Duration::seconds(100'000);  // long enough to be asked three times
  ReplicationOptions options;
  options.jobs = 2;
  const std::thread::id here = std::this_thread::get_id();
  int asked = 0;
  bool is_here = true;
  options.progress = [&](double) { is_here = is_here && std::this_thread::get_id() == here; };
  options.stop = [&] {
    is_here = is_here && std::this_thread::get_id() == here;
    return ++asked > 2;
  };
  CHECK_THROWS_AS(run_replications(s, options), Interrupted);
  CHECK(asked == 3);
  CHECK(is_here);
  options.stop = [] { return true; };
  CHECK_THROWS_AS(run_replications(s, options), Interrupted);
  options.stop = []() -> bool { throw std::runtime_error("a signal of Python's"); };
  CHECK_THROWS_WITH(run_replications(s, options), "a signal of Python's");
}

}  // namespace
}  // namespace retrysim
