// Limits and interruptions reach work that makes no events, and points of an experiment.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/run.hpp>
#include <retrysim/simulation.hpp>

#include "execution/executor.hpp"
#include "execution/run_bytes.hpp"
#include "execution/units.hpp"
#include "kernel/stop.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace retrysim {
namespace {

Scenario on_off(Duration period) {
  Scenario s;
  s.name = "limits";
  s.duration = Duration::seconds(1'000'000);
  s.interval = Duration::seconds(1000);
  s.replications = 1;
  ServiceSpec service;
  service.name = "api";
  service.service_time = Distribution::constant(Duration::milliseconds(1));
  s.services.push_back(service);
  ClientSpec client;
  client.name = "web";
  client.arrivals.process = ArrivalProcess::kOnOff;
  client.arrivals.rate = 1;
  client.arrivals.on = Distribution::constant(period);
  client.arrivals.off = Distribution::constant(period);
  s.clients.push_back(client);
  return s;
}

LimitKind limit_of(const Scenario& scenario, const SimulationOptions& options) {
  try {
    simulate(scenario, 0, options);
  } catch (const LimitExceeded& e) {
    return e.kind();
  }
  FAIL("no limit was hit");
  return LimitKind::kTime;
}

TEST_CASE("bursts without requests count towards the limit on events", "[limits]") {
  SimulationOptions options;
  options.max_events = 1000;
  CHECK(limit_of(on_off(Duration::nanoseconds(1)), options) == LimitKind::kEvents);
}

TEST_CASE("requests that a varying rate leaves out count towards the limit on events", "[limits]") {
  Scenario s = on_off(Duration::seconds(1'000'000));
  s.clients[0].arrivals.aligned = true;
  // One nanosecond at a rate that makes all later requests, but the last few, rejected draws.
  s.clients[0].arrivals.surges.push_back({"spike", Time::zero(), Duration::nanoseconds(1), 1e9});
  SimulationOptions options;
  options.max_events = 1000;
  CHECK(limit_of(s, options) == LimitKind::kEvents);
}

TEST_CASE("bursts without requests end when they are asked to stop", "[limits]") {
  std::atomic<bool> stop{true};
  SimulationOptions options;
  options.stop = &stop;
  CHECK_THROWS_AS(simulate(on_off(Duration::nanoseconds(1)), 0, options), Interrupted);
}

TEST_CASE("bins without events end when they are asked to stop", "[limits]") {
  Scenario s = on_off(Duration::seconds(100));
  s.interval = Duration::seconds(10);  // 100,000 bins
  s.clients[0].arrivals.rate = 0;
  std::atomic<bool> stop{true};
  SimulationOptions options;
  options.stop = &stop;
  CHECK_THROWS_AS(simulate(s, 0, options), Interrupted);
}

TEST_CASE("statistics end when they are asked to stop", "[limits]") {
  Scenario s = on_off(Duration::seconds(1));
  s.duration = Duration::seconds(10);
  s.interval = Duration::seconds(1);
  const std::vector<RunResult> runs = run_replications(s);
  const std::atomic<bool> stop{true};
  const StopScope scope(&stop);
  CHECK_THROWS_AS(MetricValues(s, runs), Interrupted);
}

TEST_CASE("scopes of stop flags nest and end", "[limits]") {
  std::atomic<bool> outer{false}, inner{true};
  CHECK_NOTHROW(stop_point());
  const StopScope scope(&outer);
  CHECK_NOTHROW(stop_point());
  {
    const StopScope within(&inner);
    CHECK_THROWS_AS(stop_point(), Interrupted);
    inner = false;
    CHECK_NOTHROW(stop_point());
    outer = true;
    CHECK_THROWS_AS(stop_point(), Interrupted);
  }
  // Another thread has scopes of its own.
  bool thrown = false;
  std::thread([&] {
    try {
      stop_point();
    } catch (const Interrupted&) {
      thrown = true;
    }
  }).join();
  CHECK(!thrown);
  CHECK_THROWS_AS(stop_point(), Interrupted);
}

TEST_CASE("requests under way may not outgrow the memory", "[limits]") {
  Scenario s = on_off(Duration::seconds(1));
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 100'000;  // of which a thousand are served
  SimulationOptions options;
  options.max_memory = std::uint64_t{64} << 20;
  CHECK(limit_of(s, options) == LimitKind::kMemory);
}

TEST_CASE("a replication over its limit is a result and the others go on", "[limits]") {
  auto large = std::make_shared<Scenario>(on_off(Duration::seconds(1)));
  large->duration = Duration::seconds(10);
  large->interval = Duration::seconds(1);
  auto small = std::make_shared<Scenario>(*large);
  large->clients[0].count = 1'000'000'000;
  large->clients[0].arrivals.rate = 1e-9;
  execution::Units units;
  units.count = 3;
  units.unit = [](std::size_t i) {
    return execution::Unit{i / 2, static_cast<std::uint32_t>(i % 2)};
  };
  units.scenario = [&](std::size_t point) { return point == 0 ? large : small; };
  units.name = [](std::size_t point) { return "point " + std::to_string(point); };
  units.limits_are_results = true;
  ReplicationOptions options;
  options.max_memory = std::uint64_t{64} << 20;
  const std::vector<execution::UnitResult> results = execution::get_rows(units, options);
  for (const std::size_t unit : {0u, 1u}) {
    CHECK(results[unit].limit == LimitKind::kMemory);
    CHECK(results[unit].message.find("point 0: ") == 0);
    CHECK(results[unit].message.find("client.web.count") != std::string::npos);
  }
  CHECK(!results[2].limit);
  CHECK(results[2].clients == 2);
}

TEST_CASE("what may be said of a limit survives its journey", "[limits]") {
  const LimitExceeded error("too much: \"ä\"\n  more", LimitKind::kInstant);
  std::string bytes = execution::encode(execution::over_limit(error));
  const auto result = execution::decode(bytes);
  REQUIRE(result);
  CHECK(result->limit == LimitKind::kInstant);
  CHECK(result->message == error.what());
  CHECK(execution::is_over_limit(bytes));
  bytes.resize(24);
  CHECK(!execution::decode(bytes));
}

TEST_CASE("a turnstile lets through as many as there is room for", "[limits]") {
  execution::Turnstile turnstile(10);
  std::optional<execution::Turnstile::Pass> first(std::in_place, turnstile, 4);
  const execution::Turnstile::Pass second(turnstile, 6);
  std::atomic<bool> in{false};
  std::thread third([&] {
    const execution::Turnstile::Pass pass(turnstile, 3);
    in = true;
  });
  CHECK(!in);
  {
    const std::atomic<bool> now{true};
    const StopScope scope(&now);
    CHECK_THROWS_AS(execution::Turnstile::Pass(turnstile, 5), Interrupted);
  }
  first.reset();
  third.join();
  CHECK(in);
}

}  // namespace
}  // namespace retrysim
