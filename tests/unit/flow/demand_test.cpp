// What scenarios ask of their services, worked out by hand.
//
// SPDX-License-Identifier: MIT
#include "flow/demand.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "flow/attempt.hpp"
#include "flow/calls.hpp"
#include "flow/rates.hpp"
#include "scenario_of.hpp"

namespace retrysim::flow {
namespace {

Scenario scenario_of(const std::string& text) {
  return test::scenario_of("name = \"flow\"\nduration = 100\n" + text);
}

/// Clients of 100 requests a second.
std::string client(const std::string& keys) {
  return "[client.web]\ncount = 10\nattempt_timeout = 1\n"
         "arrivals = { process = \"poisson\", total_rate = 100 }\n" +
         keys;
}
const std::string kThree = "retry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n";
const std::string kNone = "retry = { mode = \"none\" }\n";

TEST_CASE("The longest pause of delays that grow without a cap is that before the 10th attempt") {
  const auto hold = [](const std::string& more) {
    return default_hold(scenario_of(
        "[service.api]\nservers = 5\nservice_time = \"20ms\"\n" +
        client("retry = { mode = \"custom\", max_retries = \"unlimited\", delays = [\"1s\"], " +
               more + " }\n")));
  };
  CHECK(hold("delays_then = \"grow\"") == Duration::seconds(257));  // 2^8 s and a timeout of 1 s
  CHECK(hold("delays_then = \"grow\", delays_factor = 4") == Duration::seconds(301));
  CHECK(hold("delays_then = \"grow\", delays_cap = \"40s\"") == Duration::seconds(41));
  CHECK(hold("delays_then = \"repeat\"") == Duration::seconds(30));
}

TEST_CASE("Demand: random errors take no server, their retries do") {
  const Scenario s = scenario_of(
      "[service.api]\nservers = 5\nservice_time = \"20ms\"\n"
      "errors = { 500 = 0.2 }\n" +
      client(kThree));
  const Demand first = demand_of(s, Attempts::kFirst);
  CHECK(first.services[0].attempts == Approx(100));
  CHECK(first.services[0].served == Approx(80));
  CHECK(first.services[0].load() == Approx(80 * 0.02 / 5));
  const Demand needed = demand_of(s, Attempts::kNeeded);
  CHECK(needed.groups[0].attempts == Approx(1.24));
  CHECK(needed.groups[0].success == Approx(1 - 0.008));
  CHECK(needed.services[0].load() == Approx(80 * 1.24 * 0.02 / 5));
  const Demand most = demand_of(s, Attempts::kMost);
  CHECK(most.services[0].load() == Approx(240 * 0.02 / 5));
  CHECK(seconds_at(s, s.clients[0], 0) == Approx(0.016));
  CHECK(answerable_rate(s, 0, 5) == Approx(5 / 0.016));
}

TEST_CASE("Demand: errors of model independent come after the service") {
  const Scenario s = scenario_of(
      "[service.api]\nmodel = \"independent\"\n"
      "service_time = \"20ms\"\nerrors = { 500 = 0.2 }\n" +
      client(kNone));
  CHECK(demand_of(s, Attempts::kFirst).services[0].work == Approx(2));
}

TEST_CASE("Demand: errors that are not retried bring no attempts, and a quota bounds them") {
  const std::string service = "[service.api]\nservers = 5\nservice_time = \"20ms\"\n";
  const Scenario fatal = scenario_of(service + "errors = { 400 = 0.2 }\n" + client(kThree));
  CHECK(demand_of(fatal, Attempts::kNeeded).groups[0].attempts == Approx(1));
  const Scenario quota = scenario_of(
      service + "errors = { 500 = 0.5 }\n" +
      client("retry = { mode = \"custom\", max_attempts = 3, delays = [0], quota = { capacity = "
             "500, cost = 5, credit = 1, refund = \"none\" } }\n"));
  // Half of the requests earn a token, five of which pay for a retry.
  CHECK(demand_of(quota, Attempts::kNeeded).groups[0].attempts == Approx(1.1));
}

TEST_CASE("Demand: work goes through calls, whose retries multiply") {
  const Scenario s = scenario_of(
      "[service.a]\nservers = 60\nservice_time = \"5ms\"\nerrors = { 503 = 0.1 }\n"
      "[service.a.calls.b]\nattempt_timeout = 1\n" +
      kThree + "[service.b]\nservers = 10\nservice_time = \"30ms\"\nerrors = { 503 = 0.5 }\n" +
      client("calls = \"a\"\n" + kThree));
  const auto at = [&](Attempts attempts, std::size_t service) {
    return demand_of(s, attempts).services[service];
  };
  CHECK(at(Attempts::kFirst, 0).served == Approx(90));
  CHECK(at(Attempts::kFirst, 1).attempts == Approx(90));
  CHECK(at(Attempts::kFirst, 1).work == Approx(90 * 0.5 * 0.03));
  // The call takes half of 30 ms on average.
  CHECK(at(Attempts::kFirst, 0).held_time == Approx(0.02));
  CHECK(at(Attempts::kFirst, 0).work == Approx(90 * 0.02));
  // A call fails in an eighth of the cases, so an attempt at a in 0.1 + 0.9 / 8.
  const double failure = 0.1 + 0.9 / 8, attempts = 1 + failure + failure * failure;
  CHECK(at(Attempts::kNeeded, 0).attempts == Approx(100 * attempts));
  CHECK(at(Attempts::kNeeded, 1).attempts == Approx(90 * attempts * 1.75));
  CHECK(at(Attempts::kMost, 1).attempts == Approx(90 * 9));
}

TEST_CASE(
    "Demand: who calls one service after the other waits for the second if the first succeeds") {
  // Half of the first calls fail at once, the others take 10 ms.
  const Scenario s = scenario_of(
      "[service.api]\nservers = 9\nservice_time = \"1ms\"\n"
      "[service.api.calls.a]\n" +
      kNone + "[service.api.calls.b]\n" + kNone +
      "[service.a]\nservers = 9\nservice_time = \"10ms\"\nerrors = { 500 = 0.5 }\n"
      "[service.b]\nservers = 9\nservice_time = \"20ms\"\n" +
      client("calls = \"api\"\n" + kNone));
  CHECK(demand_of(s, Attempts::kNeeded).services[0].calls_time == Approx(0.005 + 0.5 * 0.020));
}

TEST_CASE("Demand: an overloaded service calls no more than it serves") {
  const Scenario s = scenario_of(
      "[service.a]\nservers = 1\nservice_time = \"20ms\"\n"
      "[service.a.calls.b]\nattempt_timeout = 1\n" +
      kNone + "[service.b]\nservers = 10\nservice_time = \"5ms\"\n" +
      client("calls = \"a\"\n" + kNone));
  CHECK(demand_of(s, Attempts::kFirst).services[0].load() == Approx(2.5));
  CHECK(demand_of(s, Attempts::kFirst).services[1].attempts == Approx(1 / 0.025));
}

TEST_CASE("Demand: throttles, operations, profiles, surges, polling and closed loops") {
  const std::string service = "[service.api]\nservers = 5\nservice_time = \"20ms\"\n";
  const Scenario throttle = scenario_of(service + "throttle = { rate = 40 }\n" + client(kThree));
  CHECK(demand_of(throttle, Attempts::kMost).services[0].work == Approx(0.8));
  CHECK(granted_rate(throttle, 0) == 40);
  const Scenario operations = scenario_of(service + client(kNone) +
                                          "[client.web.operation.get]\nshare = 3\n"
                                          "[client.web.operation.put]\nshare = 1\nwork = 5\n");
  CHECK(demand_of(operations, Attempts::kFirst).services[0].own_time == Approx(0.04));
  CHECK(demand_of(operations, Attempts::kFirst).services[0].work == Approx(4));
  Scenario surge = scenario_of(service + client(kNone) +
                               "[client.web.surge.sale]\nstart = 10\nduration = 20\nfactor = 3\n");
  CHECK(mean_request_rate(surge, surge.clients[0]) == Approx(100));
  CHECK(mean_request_rate(surge, surge.clients[0], true) == Approx(140));
  ArrivalSpec& a = surge.clients[0].arrivals;
  a.profile = RateProfile{{Time(), Time() + Duration::seconds(20)}, {0, 2}, true};
  // 0 to 2 in 20 s, the second half of it and ten seconds more in the surge.
  CHECK(mean_request_rate(surge, surge.clients[0]) == Approx(20 + 160));
  CHECK(mean_request_rate(surge, surge.clients[0], true) == Approx(180 + 2 * (15 + 20)));
  // The profile rises from 1 to 2 in the second half of its 20 s.
  surge.warmup = Duration::seconds(10);
  surge.duration = Duration::seconds(20);
  CHECK(due_in_window(surge, surge.clients[0]) == Approx(100 * 10 * 1.5 * 3));
  const Scenario loop = scenario_of(service + "[client.web]\ncount = 50\n" + kNone +
                                    "arrivals = { process = \"closed\", think_time = \"80ms\" }\n");
  CHECK(demand_of(loop, Attempts::kFirst).groups[0].requests == Approx(500));
  CHECK(demand_of(loop, Attempts::kFirst, {.loops_wait = true}).groups[0].requests == Approx(250));
}

}  // namespace
}  // namespace retrysim::flow
