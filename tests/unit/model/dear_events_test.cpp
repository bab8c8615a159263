// Limits hold where single events are dear. What is counted is work, so the speed of the machine
// does not matter.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdint>
#include <string>

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

TEST_CASE("A run of plain requests ends soon after it is asked to", "[limits]") {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.clients[0].count = 100'000;
  CHECK(answers_after_stop(s) <= 8192);
}

}  // namespace
}  // namespace retrysim
