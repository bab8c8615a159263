// Autoscaling: the rule look by look, and a service that grows out of an overload.
//
// SPDX-License-Identifier: MIT
#include "model/service/instance.hpp"

#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

Time at(std::int64_t s) { return Time::zero() + Duration::seconds(s); }

/// Looks every 10 s, a new server works 15 s later, 30 s between changes.
AutoscalingSpec rule() {
  AutoscalingSpec spec;
  spec.target = 0.5;
  spec.interval = Duration::seconds(10);
  spec.delay = Duration::seconds(15);
  spec.cooldown = Duration::seconds(30);
  spec.max = 20;
  return spec;
}

/// Goes on until `until` with so many servers busy after each step.
void go(model::Autoscaler& scaler, std::int64_t busy, Time until) {
  for (Time now = scaler.next(); now <= until; now = scaler.next()) {
    scaler.observe(busy, scaler.servers(), now);
    scaler.step(now);
    scaler.observe(busy, scaler.servers(), now);
  }
}

TEST_CASE("The number of servers becomes what brings the utilization to the target") {
  const AutoscalingSpec spec = rule();
  model::Autoscaler scaler(spec, 4);
  scaler.observe(4, 4, Time::zero());
  CHECK(scaler.next() == at(10));
  SECTION("twice as many, after the delay") {
    go(scaler, 4, at(24));
    CHECK(scaler.servers() == 4);
    CHECK(scaler.next() == at(25));
    go(scaler, 4, at(25));
    CHECK(scaler.servers() == 8);
  }
  SECTION("busy for a part of the interval: the mean counts") {
    scaler.observe(1, 4, at(5));  // (4 x 5 + 1 x 5) / 40 = 0.625: 4 x 0.625 / 0.5 = 5
    scaler.observe(1, 4, at(10));
    scaler.step(at(10));
    go(scaler, 3, at(25));
    CHECK(scaler.servers() == 5);
  }
}

TEST_CASE("Small deviations are left alone, and superfluous servers go at once") {
  const AutoscalingSpec spec = rule();
  model::Autoscaler scaler(spec, 10);
  SECTION("within a tenth of the target") {
    scaler.observe(5, 10, Time::zero());
    go(scaler, 5, at(100));
    CHECK(scaler.servers() == 10);
  }
  SECTION("of exactly the tolerance") {
    AutoscalingSpec wide = spec;
    wide.tolerance = 0.25;
    model::Autoscaler tolerant(wide, 8);
    tolerant.observe(5, 8, Time::zero());  // 5/8 is 1.25 times the target
    go(tolerant, 5, at(100));
    CHECK(tolerant.servers() == 8);
  }
  SECTION("not by a server that only rounding asks for") {
    AutoscalingSpec thirds = spec;
    thirds.target = 0.3;  // 11 x 9/11 / 0.3 is a little more than 30 in floating point
    thirds.max = 100;
    model::Autoscaler exact(thirds, 11);
    exact.observe(9, 11, Time::zero());
    go(exact, 9, at(25));
    CHECK(exact.servers() == 30);
  }
  SECTION("fewer, but not below the minimum") {
    scaler.observe(2, 10, Time::zero());
    go(scaler, 2, at(10));
    CHECK(scaler.servers() == 4);
    go(scaler, 0, at(39));
    CHECK(scaler.servers() == 4);  // cooling down
    go(scaler, 0, at(40));
    CHECK(scaler.servers() == 1);
  }
  SECTION("more, but not above the maximum") {
    AutoscalingSpec tight = spec;
    tight.max = 12;
    model::Autoscaler bounded(tight, 10);
    bounded.observe(10, 10, Time::zero());
    go(bounded, 10, at(100));
    CHECK(bounded.servers() == 12);
  }
}

TEST_CASE("What has been started is not started twice, and nothing is said of idle looks") {
  AutoscalingSpec spec = rule();
  spec.delay = Duration::seconds(100);
  spec.cooldown = Duration::zero();
  model::Autoscaler scaler(spec, 4);
  scaler.observe(4, 4, Time::zero());
  go(scaler, 4, at(109));
  CHECK(scaler.servers() == 4);
  go(scaler, 4, at(110));
  CHECK(scaler.servers() == 8);
  go(scaler, 4, at(220));  // half of them are busy, as they should be
  CHECK(scaler.servers() == 8);
  // No server works (a fault): no utilization, no change.
  model::Autoscaler dead(spec, 4);
  for (int look = 1; look <= 20; ++look) {
    dead.observe(0, 0, at(10 * look));
    dead.step(at(10 * look));
  }
  CHECK(dead.servers() == 4);
}

TEST_CASE("Nothing is scaled in while servers start, and more are started if that is not enough") {
  AutoscalingSpec spec = rule();
  spec.delay = Duration::seconds(100);
  spec.cooldown = Duration::zero();
  model::Autoscaler scaler(spec, 4);
  scaler.observe(4, 4, Time::zero());
  go(scaler, 4, at(10));
  SECTION("falling load") {
    go(scaler, 1, at(109));
    CHECK(scaler.servers() == 4);  // not 2
    // The four are there at 110 s, where a quarter was busy: 8 x 0.25 / 0.5.
    go(scaler, 1, at(110));
    CHECK(scaler.servers() == 4);
  }
  SECTION("no news") {
    go(scaler, 4, at(500));
    CHECK(scaler.servers() == 8);
  }
}

/// 8 requests a second of 1 s each, all at the target with 16 servers; 4 at the start.
Scenario overloaded() {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(1000);
  s.services[0].servers = 4;
  s.services[0].service_time = Distribution::constant(Duration::seconds(1));
  s.services[0].autoscaling = rule();
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 8;
  return s;
}

TEST_CASE("A service grows out of an overload") {
  Scenario s = overloaded();
  s.services[0].queue.discipline = GENERATE(Discipline::kFifo, Discipline::kProcessorSharing);
  const RunResult r = simulate(s, 0);
  const std::vector<ServiceFlow>& bins = r.services[0].bins;
  CHECK(bins[9].servers_ns == 4e9);
  CHECK(bins[24].servers_ns == 4e9);
  CHECK(bins[25].servers_ns == 8e9);
  CHECK(bins[999].servers_ns >= 12e9);
  CHECK(bins[999].servers_ns <= 20e9);
  CHECK(count(r.clients[0], Outcome::kSuccess) == 8000);
  s.services[0].autoscaling.target = 0;
  CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) < 8000);
}

TEST_CASE("A capacity fault takes its share of the servers that autoscaling has made") {
  Scenario s = overloaded();
  FaultSpec f;
  f.start = at(500);
  f.duration = Duration::seconds(5);
  f.capacity = 0.5;
  s.faults = {f};
  const RunResult r = simulate(s, 0);
  const std::vector<ServiceFlow>& bins = r.services[0].bins;
  CHECK(bins[501].servers_ns == bins[498].servers_ns / 2);
  CHECK(bins[506].servers_ns == bins[498].servers_ns);
}

TEST_CASE("Shares of the capacity count the servers that autoscaling adds") {
  const Scenario s = overloaded();
  const RunResult r = simulate(s, 0);
  const ServiceResult& service = r.services[0];
  CHECK(service.window.busy_ns > 4 * 1000e9);  // more than the nominal servers could
  const double share = *metric_value(*find_metric("utilization"), s, r, std::nullopt);
  CHECK(share <= 1);
  CHECK(share == Approx(service.window.busy_ns / service.capacity_ns(service.window, 1000e9)));
  for (const ServiceFlow& bin : service.bins) CHECK(bin.busy_ns <= service.capacity_ns(bin, 1e9));
}

TEST_CASE("A run with autoscaling ends when its work is done") {
  Scenario s = test::small_world();
  s.services[0].autoscaling = rule();
  s.clients[0].count = 3;
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(300));
  CHECK(simulate(s, 0).ended <= at(100));
}

}  // namespace
}  // namespace retrysim
