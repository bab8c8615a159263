// Health checks of instances behind a balancer: what they see, and when an instance is out of
// rotation.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <vector>

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// Two instances, instance 1 of which has a fault from 10 s to 50 s. Checks of it are at 0.5, 1.5
/// ... s; two failures in a row take it out, three passes bring it back.
Scenario two_instances() {
  Scenario s = test::small_world();
  ServiceSpec& service = s.services[0];
  service.instances.count = 2;
  service.service_time = Distribution::constant(ms(10));
  service.instances.health_check = {
      .interval = ms(1000), .timeout = ms(200), .unhealthy_threshold = 2, .healthy_threshold = 3};
  s.clients[0].retry.max_attempts = 1;
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.aligned = true;
  s.clients[0].arrivals.rate = 10;
  FaultSpec f;
  f.name = "f";
  f.instance = 1;
  f.start = Time::zero() + ms(10'000);
  f.duration = ms(40'000);
  s.faults = {f};
  return s;
}

double out_s(const RunResult& r, std::size_t instance) {
  return r.services[0].instances[instance].out_ns * 1e-9;
}

TEST_CASE("Checks take a sick instance out after some failures and bring it back after some passes",
          "[health]") {
  Scenario s = two_instances();
  SECTION("connections are refused at once") {
    s.faults[0].unreachable = true;
    const RunResult r = simulate(s, 0);
    // Checks fail at 10.5 and 11.5 s, and pass from 50.5 s on: the third at 52.51 s.
    CHECK(out_s(r, 0) == Approx(52.51 - 11.5));
    CHECK(out_s(r, 1) == 0);
    // Every other request from 10 s to 11.5 s.
    CHECK(count(r.clients[0], AttemptResult::kError) == 8);
  }
  SECTION("no answer costs the timeout of the check") {
    s.faults[0].black_hole = true;
    test::set_timeout(s.clients[0], ms(5000));
    CHECK(out_s(simulate(s, 0), 0) == Approx(52.51 - 11.7));
  }
  SECTION("errors") {
    s.faults[0].errors = {{{500, "InternalError"}, 1.0}};
    CHECK(out_s(simulate(s, 0), 0) == Approx(52.51 - 11.5));
  }
  SECTION("slower than the timeout") {
    s.faults[0].speed = 0.04;  // 250 ms
    CHECK(out_s(simulate(s, 0), 0) == Approx(52.51 - 11.7));
    s.faults[0].speed = 0.06;  // 167 ms: sick, but nobody notices
    CHECK(out_s(simulate(s, 0), 0) == 0);
    s.faults[0].speed = 0.05;  // an answer at the very instant is in time
    CHECK(out_s(simulate(s, 0), 0) == 0);
  }
  SECTION("no server works") {
    s.faults[0].capacity = 0;
    CHECK(out_s(simulate(s, 0), 0) == Approx(52.51 - 11.7));
  }
  SECTION("the time of the network counts") {
    s.network.latency = Distribution::constant(ms(60));
    s.faults[0].latency = ms(40);  // 210 ms in all
    CHECK(out_s(simulate(s, 0), 0) == Approx(52.63 - 11.7));
  }
  SECTION("a restart is over before a check could see it") {
    s.faults[0].cold_restart = true;
    CHECK(out_s(simulate(s, 0), 0) == 0);
  }
}

TEST_CASE("Checks that fail now and then take an instance out only by failures in a row",
          "[health]") {
  Scenario s = two_instances();
  s.duration = Duration::seconds(40'000);
  s.interval = Duration::seconds(1000);
  s.clients[0].arrivals.rate = 0.01;
  s.faults[0].start = Time::zero();
  s.faults[0].duration = s.duration;
  s.faults[0].errors = {{{500, "InternalError"}, 0.5}};
  // States by failures, or passes, in a row: two failures take 6 checks on average, three passes
  // 14, with variances of 22 and 142: the share of the time out is 14/20. Over 2,000 cycles six
  // standard deviations are 0.033. Chance of a false alarm with another seed: below 1e-8.
  CHECK(out_s(simulate(s, 0), 0) / 40'000 == Approx(0.7).margin(0.033));
}

TEST_CASE("Overload alone takes no instance out", "[health]") {
  Scenario s = two_instances();
  s.faults.clear();
  s.clients[0].arrivals.rate = 300;  // two servers do 200
  s.duration = Duration::seconds(20);
  const RunResult r = simulate(s, 0);
  CHECK(r.services[0].instances[0].queue_max > 100);
  CHECK(out_s(r, 0) + out_s(r, 1) == 0);
}

TEST_CASE("If all instances are sick, attempts go to all of them", "[health]") {
  Scenario s = two_instances();
  s.faults[0].instance = FaultSpec::kAllInstances;
  s.faults[0].errors = {{{500, "InternalError"}, 1.0}};
  const RunResult r = simulate(s, 0);
  // The second instance is checked at 1, 2, ... s, at 10 s after the fault has begun.
  CHECK(out_s(r, 0) == Approx(52.51 - 11.5));
  CHECK(out_s(r, 1) == Approx(52.01 - 11));
  CHECK(count(r.clients[0], AttemptResult::kError) == 400);
  const auto& instances = r.services[0].instances;
  CHECK(instances[0].attempts + instances[1].attempts == 1000);
  // Only the second one from 52.01 to 52.51 s, only the first one from 11 to 11.5 s.
  CHECK(instances[0].attempts == 500);
}

TEST_CASE("An instance that is out keeps what it has", "[health]") {
  Scenario s = two_instances();
  s.services[0].service_time = Distribution::constant(ms(150));
  s.faults[0].speed = 0.5;  // 300 ms a check: too slow
  const RunResult r = simulate(s, 0);
  CHECK(out_s(r, 0) > 0);
  CHECK(count(r.clients[0], Outcome::kSuccess) == 1000);
}

}  // namespace
}  // namespace retrysim
