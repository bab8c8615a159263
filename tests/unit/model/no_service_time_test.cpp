// A service that takes no time serves whoever comes alone within the same event. A service that
// counts short waits does not, so that both ways can be compared, to the last event.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::ms;

/// A hundred clients, each of whose attempts takes no time at the service.
Scenario hundred_clients() {
  Scenario s = test::small_world();
  s.services[0].service_time = Distribution::constant(Duration::zero());
  s.clients[0].count = 100;
  s.clients[0].retry.max_attempts = 20;
  s.clients[0].retry.backoff.base = s.clients[0].retry.backoff.throttle_base = ms(5);
  s.network.latency = Distribution::normal(0.01, 0.002);
  return s;
}

RunResult by_event(Scenario s) {
  SimulationOptions options;
  options.fingerprint = true;
  return simulate(s, 0, options);
}

void check_both_ways(Scenario s) {
  const RunResult short_way = by_event(s);
  s.services[0].wait_within = Duration::seconds(1);
  RunResult long_way = by_event(s);
  CHECK(short_way.events == long_way.events);
  CHECK(short_way.fingerprint == long_way.fingerprint);
  CHECK(short_way.services == long_way.services);
  CHECK(short_way.all_bins == long_way.all_bins);
  for (ClientResult& client : long_way.clients) client.waits = {};
  CHECK(short_way.clients == long_way.clients);
}

TEST_CASE("No service time: the same events whether or not they are taken one by one") {
  Scenario s = hundred_clients();
  ServiceSpec& service = s.services[0];
  ClientSpec& client = s.clients[0];
  SECTION("one server") {}
  SECTION("any number of servers, conflicting writes") {
    service.servers = ServiceSpec::kUnlimited;
    service.model = ServiceModelKind::kOcc;
  }
  SECTION("everybody at the same instant") { s.network.latency = Distribution::constant(ms(10)); }
  SECTION("everybody at the same instant, conflicting writes") {
    s.network.latency = Distribution::constant(ms(10));
    service.model = ServiceModelKind::kOcc;
  }
  SECTION("no network") { s.network.latency = Distribution(); }
  SECTION("attempts whose clients have given up") {
    test::set_timeout(client, ms(20));
    service.model = ServiceModelKind::kOcc;
  }
  SECTION("messages that get lost") {
    test::set_timeout(client, ms(100));
    s.network.request_loss = s.network.response_loss = 0.1;
  }
  SECTION("a service that stops for a time") {
    FaultSpec fault;
    fault.start = Time::zero() + ms(10);
    fault.duration = ms(30);
    fault.capacity = 0;
    s.faults.push_back(fault);
    test::set_timeout(client, ms(25));
  }
  SECTION("a service that fails") {
    service.model = ServiceModelKind::kIndependent;
    FaultSpec fault;
    fault.duration = ms(50);
    fault.unreachable = true;
    s.faults.push_back(fault);
  }
  check_both_ways(s);
}

}  // namespace
}  // namespace retrysim
