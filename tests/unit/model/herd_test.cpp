// A herd of clients on one instant against constant service times: everything is known exactly, tie
// by tie (a completion precedes a timeout at the same instant). The figures were derived
// independently of this program by following the rules by hand and with a separate script.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

struct Herd {
  std::uint32_t clients;
  std::int64_t service_ms, timeout_ms;
  std::uint32_t max_attempts;
  std::int64_t servers;
  Abandoned abandoned;
  std::uint64_t attempts, successes, executed, dropped, timeouts;
  double wasted_s;
};

TEST_CASE("A herd with immediate retries ends exactly as worked out") {
  const Herd h =
      GENERATE(Herd{100, 100, 2060, 3, 1, Abandoned::kServe, 260, 20, 260, 0, 240, 24.0},
               Herd{100, 100, 2060, 3, 1, Abandoned::kDropAtDequeue, 240, 59, 62, 178, 181, 0.3},
               Herd{100, 100, 2060, 3, 1, Abandoned::kRemove, 240, 59, 62, 178, 181, 0.3},
               Herd{64, 50, 520, 4, 2, Abandoned::kServe, 196, 20, 196, 0, 176, 8.8},
               Herd{64, 50, 520, 4, 2, Abandoned::kDropAtDequeue, 140, 64, 70, 70, 76, 0.3},
               Herd{64, 50, 520, 4, 2, Abandoned::kRemove, 140, 64, 70, 70, 76, 0.3});
  Scenario s = test::small_world();
  s.services[0].servers = h.servers;
  s.services[0].service_time = Distribution::constant(ms(h.service_ms));
  s.services[0].abandoned = h.abandoned;
  s.clients[0].count = h.clients;
  s.clients[0].retry.max_attempts = h.max_attempts;
  test::set_timeout(s.clients[0], ms(h.timeout_ms));
  const RunResult r = simulate(s, 0);
  const ClientResult& c = r.clients[0];
  CHECK(c.requests == h.clients);
  CHECK(c.attempts == h.attempts);
  CHECK(count(c, Outcome::kSuccess) == h.successes);
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == h.clients - h.successes);
  CHECK(c.executed == h.executed);
  CHECK(c.dropped == h.dropped);
  CHECK(count(c, AttemptResult::kTimeout) == h.timeouts);
  CHECK(r.services[0].wasted_full_ns * 1e-9 == Approx(h.wasted_s).epsilon(1e-12));
}

TEST_CASE("An answer at the very instant of the timeout is in time") {
  Scenario s = test::small_world();
  test::set_timeout(s.clients[0], ms(100));
  SECTION("when the service completes then") {}
  SECTION("when the response arrives then, after a network delay") {
    s.network.latency = Distribution::constant(ms(20));
    s.services[0].service_time = Distribution::constant(ms(60));
  }
  SECTION("when the timeout comes from a distribution") {
    s.clients[0].timeouts.attempt = Distribution::empirical({0.1}, {1});
  }
  CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 1);
}

TEST_CASE("One nanosecond earlier the timeout wins, and the work is wasted") {
  Scenario s = test::small_world();
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], Duration::nanoseconds(99'999'999));
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[0], AttemptResult::kTimeout) == 1);
  CHECK(r.clients[0].late == 1);
  CHECK(r.services[0].wasted_after_give_up_ns == 1);
  CHECK(r.services[0].wasted_full_ns == 1e8);
}

TEST_CASE("A large herd on one instant takes no more events than its requests need") {
  Scenario s = test::small_world();
  s.clients[0].count = 100'000;
  s.services[0].servers = ServiceSpec::kUnlimited;
  const RunResult r = simulate(s, 0);
  CHECK(r.events == 200'000);  // an arrival and a completion each
  CHECK(r.clients[0].by_attempt[0].peak_sends_100ms == 100'000);
}

TEST_CASE("Think time counts from the end of the request before, or from its start") {
  // Requests take 100 ms. Counted are those that begin within the first second.
  const auto requests = [](int think_ms, bool from_start) {
    Scenario s = test::small_world();
    s.duration = Duration::seconds(1);
    s.clients[0].arrivals.process = ArrivalProcess::kClosed;
    s.clients[0].arrivals.think_time = Distribution::constant(Duration::milliseconds(think_ms));
    s.clients[0].arrivals.think_from_start = from_start;
    return simulate(s, 0).clients[0].requests;
  };
  CHECK(requests(240, false) == 3);  // at 240, 580, 920 ms
  CHECK(requests(240, true) == 4);   // at 240, 480, 720, 960 ms
  CHECK(requests(60, true) == 10);   // at 60, 160, ... 960 ms: the request is what takes longer
}

TEST_CASE("What a slow answer delays counts from when it was due") {
  // Starts at 60, 160, 260 ... ms; each but the first was due 60 ms after the start of the one
  // before, and so 40 ms earlier than it was sent.
  Scenario s = test::small_world();
  s.clients[0].count = 1;
  s.duration = Duration::seconds(1);
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.think_time = Distribution::constant(Duration::milliseconds(60));
  s.clients[0].arrivals.think_from_start = true;
  const ClientResult loop = simulate(s, 0).clients[0];
  REQUIRE(loop.latency_intended_m.count == 10);
  CHECK(static_cast<std::int64_t>(loop.latency_m.sum_ns) == 10 * 100'000'000);
  CHECK(static_cast<std::int64_t>(loop.latency_intended_m.sum_ns) ==
        10 * 100'000'000 + 9 * 40'000'000);
  // With several requests at a time nobody knows which one was due when.
  s.clients[0].arrivals.concurrency = 2;
  CHECK(simulate(s, 0).clients[0].latency_intended_m.count == 0);
}

TEST_CASE("A closed loop without think time that is always refused ends the run too",
          "[repetitive]") {
  Scenario s = test::small_world();
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].retry.max_attempts = 1;
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  REQUIRE_THROWS_WITH(simulate(s, 0), Catch::Contains("ten million events at 0 s"));
}

TEST_CASE("A loop that takes no time ends the run with its name", "[repetitive]") {
  Scenario s = test::small_world();
  s.services[0].queue.capacity = 0;
  s.services[0].servers = 0 + 1;
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].retry.max_attempts = RetryRules::kUnlimited;
  REQUIRE_THROWS_WITH(simulate(s, 0), Catch::Contains("ten million events at 0 s"));
}

}  // namespace
}  // namespace retrysim
