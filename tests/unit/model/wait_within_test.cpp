// How many attempts wait no longer than a service says. Against Erlang's formula: see
// discipline_theory_test.cpp.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::ms;

/// Five requests at once for one server: they wait 0, 100, 200, 300 and 400 ms.
Scenario line_of_five() {
  Scenario s = test::small_world();
  s.clients[0].count = 5;
  s.clients[0].retry.max_attempts = 1;
  s.services[0].wait_within = ms(200);
  return s;
}

double metric_of(std::string_view name, const Scenario& s) {
  return test::metric(name, s, simulate(s, 0));
}

TEST_CASE("The share that waits at most so long includes the limit") {
  Scenario s = line_of_five();
  CHECK(metric_of("wait_within_share", s) == 3.0 / 5);
  CHECK(metric_of("service_level", s) == 3.0 / 5);
  s.services[0].wait_within = Duration::nanoseconds(199'999'999);
  CHECK(metric_of("wait_within_share", s) == 2.0 / 5);
  s.services[0].wait_within = Duration::zero();
  CHECK(metric_of("wait_within_share", s) == 1.0 / 5);
}

TEST_CASE("Who is turned away or leaves counts against the service level only") {
  Scenario s = line_of_five();
  SECTION("a full queue") { s.services[0].queue.capacity = 3; }
  SECTION("a client that gives up") {
    s.services[0].abandoned = Abandoned::kRemove;
    test::set_timeout(s.clients[0], ms(350));
  }
  CHECK(metric_of("wait_within_share", s) == 3.0 / 4);
  CHECK(metric_of("service_level", s) == 3.0 / 5);
}

TEST_CASE("Nobody waits where the processor is shared") {
  Scenario s = line_of_five();
  s.services[0].queue.discipline = Discipline::kProcessorSharing;
  s.services[0].wait_within = Duration::zero();
  CHECK(metric_of("wait_within_share", s) == 1);
  CHECK(metric_of("service_level", s) == 1);
}

TEST_CASE("Only services that have such a limit count") {
  Scenario s = line_of_five();
  ServiceSpec other = s.services[0];
  other.name = "other";
  other.wait_within = Duration::max();
  s.services.push_back(other);
  ClientSpec client = s.clients[0];
  client.name = "batch";
  client.service = 1;
  s.clients.push_back(client);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].waits == WaitCounts{5, 5, 3});
  CHECK(r.clients[1].waits == WaitCounts{});
  CHECK(test::metric("service_level", s, r) == 3.0 / 5);
  CHECK_FALSE(metric_value(*find_metric("service_level"), s, r, 1));
}

}  // namespace
}  // namespace retrysim
