// Calls between services whose deadline is what remains of their caller's.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>

#include "unit/model/callees.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// A further service, called by `caller` without retries, with what remains of its deadline.
ClientSpec& add_tier(Scenario& s, std::size_t caller, const std::string& name, Duration time) {
  ClientSpec& call = test::add_callee(s, caller, name, time);
  s.services.back().abandoned = Abandoned::kAbort;
  call.retry.mode = RetryMode::kCustom;
  call.timeouts.deadline_of_caller = true;
  return call;
}

TEST_CASE("A call ends when the client of its attempt stops waiting") {
  Scenario s = test::small_world();
  add_tier(s, 0, "db", ms(400));
  s.clients[0].retry.max_attempts = 1;
  SECTION("at the attempt timeout") { test::set_timeout(s.clients[0], ms(150)); }
  SECTION("at one that varies") {
    s.clients[0].timeouts.has_attempt = true;
    s.clients[0].timeouts.attempt = Distribution::empirical({0.15, 0.15}, {1, 1});
  }
  SECTION("at the deadline") { s.clients[0].timeouts.deadline = ms(150); }
  SECTION("at the earlier of both") {
    test::set_timeout(s.clients[0], ms(200));
    s.clients[0].timeouts.deadline = ms(150);
  }
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[1], Outcome::kDeadlineExceeded) == 1);
  CHECK(count(r.clients[1], AttemptResult::kAbandoned) == 1);
  CHECK(r.clients[1].latency_m.sum_ns == 50'000'000);
  CHECK(r.services[1].window.busy_ns == 50e6);
  // The attempt is served on to the end of its calls, which comes at the same instant.
  CHECK(r.services[0].window.busy_ns == 150e6);
}

TEST_CASE("What remains of a deadline travels down a chain of calls") {
  Scenario s = test::small_world();
  s.clients[0].timeouts.deadline = ms(300);
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(add_tier(s, 0, "mid", ms(50)), Duration::seconds(5));
  add_tier(s, 1, "db", ms(1000));
  const RunResult r = simulate(s, 0);
  for (const ClientResult& c : r.clients) CHECK(count(c, Outcome::kDeadlineExceeded) == 1);
  CHECK(r.clients[1].latency_m.sum_ns == 200'000'000);
  CHECK(r.clients[2].latency_m.sum_ns == 150'000'000);
  CHECK(r.services[1].window.busy_ns == 200e6);
  CHECK(r.services[2].window.busy_ns == 150e6);
}

TEST_CASE("Where the client above waits for ever, a call has no deadline") {
  Scenario s = test::small_world();
  add_tier(s, 0, "db", ms(400));
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[1], Outcome::kSuccess) == 1);
  CHECK(r.clients[0].latency_m.sum_ns == 500'000'000);
}

TEST_CASE("Each retry of the caller gives its calls the time that it has itself") {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  add_tier(s, 0, "db", ms(400));
  test::set_timeout(s.clients[0], ms(150));
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].attempts == 3);
  CHECK(count(r.clients[1], Outcome::kDeadlineExceeded) == 3);
  CHECK(r.services[1].window.busy_ns == 150e6);
}

TEST_CASE("A backoff that would end past the caller's deadline is not waited for") {
  Scenario s = test::small_world();
  ClientSpec& call = add_tier(s, 0, "db", ms(10));
  call.retry.max_attempts = 5;
  call.retry.backoff.base = call.retry.backoff.throttle_base = ms(30);
  call.retry.backoff.factor = 1;
  call.retry.backoff.jitter = Jitter::kNone;
  s.services[1].errors = {{{500, "InternalError"}, 1.0}};
  s.services[1].errors_at.share = 1;
  test::set_timeout(s.clients[0], ms(190));
  s.clients[0].retry.max_attempts = 1;
  // Attempts from 100, 140 and 180 ms; that of 180 has until 190, and no backoff is left then.
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[1].attempts == 3);
  CHECK(count(r.clients[1], Outcome::kDeadlineExceeded) == 1);
  CHECK(r.clients[1].latency_m.sum_ns == 90'000'000);
}

TEST_CASE("A call that begins after the client has given up ends at once and is not sent") {
  Scenario s = test::small_world();
  add_tier(s, 0, "first", ms(100)).timeouts.deadline_of_caller = false;
  add_tier(s, 0, "second", ms(100));
  add_tier(s, 0, "third", ms(100));
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], ms(150));
  std::uint64_t third = 0;
  SECTION("one by one: the third is not made after that") {}
  SECTION("together: all were in time") {
    s.services[0].parallel_calls = true;
    third = 1;
  }
  const RunResult r = simulate(s, 0);
  CHECK(count(r.clients[1], Outcome::kSuccess) == 1);
  CHECK(count(r.clients[2], Outcome::kDeadlineExceeded) == 1);
  CHECK(r.clients[2].attempts == third);
  CHECK(r.clients[3].requests == third);
  CHECK(r.services[0].window.busy_ns == 200e6);
  CHECK(count(r.clients[0], AttemptResult::kTimeout) == 1);
}

TEST_CASE("Nothing is served for calls whose time is over") {
  // Everybody is impatient, and the service at the bottom is overloaded.
  Scenario s = test::small_world();
  s.duration = Duration::seconds(200);
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::exponential(0.01);
  add_tier(s, 0, "db", ms(1));
  s.services[1].servers = 1;
  s.services[1].service_time = Distribution::exponential(0.02);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 60;
  test::set_timeout(s.clients[0], ms(100));
  const RunResult with = simulate(s, 0);
  CHECK(with.clients[1].late == 0);
  CHECK(count(with.clients[1], Outcome::kDeadlineExceeded) > 1000);
  s.clients[1].timeouts.deadline_of_caller = false;
  const RunResult without = simulate(s, 0);
  CHECK(count(without.clients[1], Outcome::kDeadlineExceeded) == 0);
  CHECK(test::count(with.clients[0], Outcome::kSuccess) >
        10 * test::count(without.clients[0], Outcome::kSuccess));
}

TEST_CASE("Only calls have the deadline of a caller") {
  Scenario s = test::small_world();
  SECTION("not a group outside") { s.clients[0].timeouts.deadline_of_caller = true; }
  SECTION("nor besides one of their own") {
    add_tier(s, 0, "db", ms(1)).timeouts.deadline = ms(100);
  }
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

}  // namespace
}  // namespace retrysim
