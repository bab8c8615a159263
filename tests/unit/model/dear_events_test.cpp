// Limits hold where single events are dear. What is counted is work, so the speed of the machine
// does not matter.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdint>
#include <string>

#include "model/run/world.hpp"
#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::ms;

/// Requests come to a service without a limit, which calls another one.
Scenario caller(Duration callee_time, std::uint32_t requests) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(ms(1));
  s.services[0].parallel_calls = true;
  ServiceSpec callee = s.services[0];
  callee.name = "callee";
  callee.service_time = Distribution::constant(callee_time);
  callee.parallel_calls = false;
  s.services.push_back(callee);
  s.clients[0].count = requests;
  return s;
}

void add_call(Scenario& s, const std::string& name) {
  ClientSpec call;
  call.name = name;
  call.service = 1;
  call.retry.max_attempts = 1;
  test::add_call(s, 0, call);
}

/// Answers that are given after a run is asked to stop, at its first answer.
std::uint64_t answers_after_stop(const Scenario& s) {
  std::atomic<bool> stop{false};
  std::uint64_t answers = 0;
  SimulationOptions options;
  options.stop = &stop;
  options.access_log = [&](const AccessLogEntry&) {
    answers += stop ? 1 : 0;
    stop = true;
  };
  CHECK_THROWS_AS(simulate(s, 0, options), Interrupted);
  return answers;
}

TEST_CASE("An event that makes very many calls stays within the memory", "[limits]") {
  Scenario s = caller(Duration::seconds(1), 1);
  s.duration = Duration::seconds(1);
  s.drain = false;
  for (int i = 0; i < 100; ++i) add_call(s, "k" + std::to_string(i));
  for (CallSpec& call : s.calls) call.count = 1000;
  SimulationOptions options;
  options.max_memory = std::uint64_t{8} << 20;
  try {
    simulate(s, 0, options);
    FAIL("no limit was hit");
  } catch (const LimitExceeded& e) {
    CHECK(e.kind() == LimitKind::kMemory);
    const std::string what = e.what();
    const std::size_t at = what.find(" attempts in progress take ");
    REQUIRE(at != std::string::npos);
    CHECK(std::stoi(what.substr(at + 27)) <= 8 + 8);
  }
}

TEST_CASE("A run with very many alternatives ends soon after it is asked to", "[limits]") {
  Scenario s = caller(ms(1), 1);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 100;
  for (int i = 0; i < 4000; ++i) add_call(s, "k" + std::to_string(i));
  for (CallSpec& call : s.calls) {
    call.one_of = "x";
    call.stage = 1;
  }
  // A choice is 500 units of work, of which 8,192 pass between two looks: 17 requests, each of
  // which is answered twice.
  CHECK(answers_after_stop(s) <= 40);
}

/// Requests that are all there at once, at a service that takes a second for each.
Scenario dear_crowd(std::uint32_t requests) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(Duration::seconds(1));
  s.clients[0].count = requests;
  return s;
}

FaultSpec dear_fault(Duration start) {
  FaultSpec f;
  f.name = "f";
  f.service = 0;
  f.start = Time::zero() + start;
  f.duration = ms(100);
  return f;
}

TEST_CASE("A run in which very many attempts crash together ends soon after it is asked to",
          "[limits]") {
  Scenario s = dear_crowd(100'000);
  s.faults.push_back(dear_fault(ms(500)));
  s.faults[0].crash = true;
  // The clients hear of it in one event.
  CHECK(answers_after_stop(s) <= 8192);
}

TEST_CASE("A run with very many instances to choose among ends soon after it is asked to",
          "[limits]") {
  Scenario s = dear_crowd(1);
  s.services[0].service_time = Distribution::constant(ms(1));
  s.services[0].instances.count = 1000;
  s.services[0].instances.balancing = Balancing::kLeastConnections;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 1000;
  s.duration = Duration::seconds(10);
  // A choice is 15 units of work, of which 8,192 pass between two looks, and the rest of a request
  // is two or three.
  CHECK(answers_after_stop(s) <= 8192 / 15);
}

/// Work of a whole run beyond its events, and the most between two looks.
struct WorkOfRun {
  std::uint64_t beyond_events = 0, most_between_looks = 0;
};
WorkOfRun work_of(const Scenario& s) {
  model::World world(s, 0, {});
  const RunResult result = world.run();
  return {world.limits().work() - result.events, world.limits().most_between_looks()};
}

TEST_CASE("Limits are looked at while requests that have not ended are counted", "[limits]") {
  Scenario s = dear_crowd(100'000);
  s.duration = ms(500);
  s.drain = false;
  // A unit for eight requests, and one for eight attempts in service.
  const WorkOfRun work = work_of(s);
  CHECK(work.beyond_events >= 12'500);
  CHECK(work.most_between_looks <= 8192);
}

TEST_CASE("Limits are looked at while closed loops begin", "[limits]") {
  Scenario s = dear_crowd(100'000);
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.think_time = Distribution::constant(Duration::seconds(1000));
  s.duration = Duration::seconds(1);
  const WorkOfRun work = work_of(s);
  CHECK(work.beyond_events >= 100'000);
  CHECK(work.most_between_looks <= 8192);
}

TEST_CASE("Limits are looked at while a queue is gone through whose attempts have expired",
          "[limits]") {
  Scenario s = dear_crowd(50'000);
  s.services[0].servers = 1;
  s.services[0].service_time = Distribution::constant(Duration::seconds(10));
  s.services[0].abandoned = Abandoned::kDropAtDequeue;
  s.clients[0].timeouts.has_attempt = true;
  s.clients[0].timeouts.attempt = Distribution::constant(Duration::seconds(1));
  const WorkOfRun work = work_of(s);
  CHECK(work.beyond_events >= 49'000);
  CHECK(work.most_between_looks <= 8192);
}

TEST_CASE("A limit is looked at at least once in 8,192 units of work, unless they come at once",
          "[limits]") {
  Scenario s = dear_crowd(1000);
  s.services[0].instances.count = 1000;
  s.services[0].instances.health_check.interval = ms(100);
  s.faults.push_back(dear_fault(ms(150)));
  s.faults[0].unreachable = true;
  const WorkOfRun work = work_of(s);
  CHECK(work.beyond_events >= 1000 * 15);  // each instance that leaves the rotation makes a new one
  CHECK(work.most_between_looks <= 8192 + 16);
}

TEST_CASE("What services keep of attempts does not grow with the number of their instances",
          "[limits]") {
  // An attempt is at one of them.
  Scenario s = dear_crowd(200'000);
  s.services[0].instances.count = 500;
  SimulationOptions options;
  options.max_memory = std::uint64_t{100} << 20;
  CHECK_NOTHROW(simulate(s, 0, options));
}

TEST_CASE("What calls take over is kept once, however many groups do", "[limits]") {
  Scenario s = caller(Duration::seconds(1), 1);
  s.duration = Duration::seconds(1);
  for (int i = 0; i < 100; ++i) add_call(s, "k" + std::to_string(i));
  for (CallSpec& call : s.calls) {
    call.count = 1000;
    call.callers_key = true;
  }
  SimulationOptions options;
  options.max_memory = std::uint64_t{64} << 20;
  CHECK_NOTHROW(simulate(s, 0, options));
}

}  // namespace
}  // namespace retrysim
