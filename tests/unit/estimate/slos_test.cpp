// Error budgets against calculations by hand: worlds without chance, in which each request of a
// constant stream can be counted.
//
// SPDX-License-Identifier: MIT
#include "estimate/slos.hpp"

#include <retrysim/run.hpp>
#include <retrysim/simulation.hpp>

#include "scenario_of.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace retrysim {
namespace {

using test::scenario_of;

Approx about(double value) { return Approx(value).epsilon(1e-9); }

// Ten requests a second, one every 100 ms, each served in 20 ms. From 20 s to 30 s all are answered
// with an error: 100 requests. `hold` is short, so that the run may be.
std::string world(const std::string& slo, const std::string& others = "",
                  const std::string& fault = "errors.internal = 1.0",
                  const std::string& client = "{ mode = \"none\" }") {
  return R"(
name = "w"
duration = "120s"
replications = 2
recovery = { hold = "5s" }
[service.api]
servers = 10
service_time = "20ms"
[fault.deploy]
start = "20s"
duration = "10s"
)" + fault +
         R"(
[client.web]
arrivals = { process = "constant", total_rate = 10 }
retry = )" +
         client + "\n" + others + "\n[slo.a]\n" + slo;
}

std::vector<stats::SloSummary> budgets(const Scenario& scenario) {
  return stats::summarize_slos(scenario, run_replications(scenario));
}

// One retry, 100 ms later.
constexpr const char* kTwice =
    R"({ mode = "custom", max_attempts = 2, backoff = { base = "100ms", jitter = "none" } })";

struct Hand {
  std::string what, text;
  double budget, bad, used, outage_s, burn_rate;
  std::size_t row = 0;  // by objective and event
};

TEST_CASE("What uses an error budget agrees with a calculation by hand", "[slo]") {
  // A month of 30 days has 2,592,000 s and at 10/s 25,920,000 requests.
  const std::string two = R"(
[fault.second]
service = "api"
start = "60s"
duration = "4s"
errors.internal = 1.0
)";
  const std::string soon =
      "[fault.second]\nstart = \"33s\"\nduration = \"4s\"\nerrors.internal = 1.0\n";
  const std::string gone =
      "[client.gone]\n"
      "arrivals = { process = \"constant\", total_rate = 4 }\n"
      "retry = { mode = \"none\" }\n";
  const std::vector<Hand> cases = {
      // Budget 0.001 x 25.92 million. 100 bad of 100: burn rate 1 / 0.001.
      {"99.9 %", world("share = 0.999"), 25920, 100, 100.0 / 25920, 10, 1000},
      {"99 %", world("share = 0.99"), 259200, 100, 100.0 / 259200, 10, 100},
      {"99.99 %", world("share = 0.9999"), 2592, 100, 100.0 / 2592, 10, 10000},
      // A day has 864,000 requests; an hour 36,000; a year 315.36 million.
      {"a day", world("share = 0.999\nwindow = \"24h\""), 864, 100, 100.0 / 864, 10, 1000},
      {"an hour", world("share = 0.999\nwindow = \"1h\""), 36, 100, 100.0 / 36, 10, 1000},
      {"a year", world("share = 0.999\nwindow = \"8760h\""), 315360, 100, 100.0 / 315360, 10, 1000},
      // A million requests in 30 days are 0.3858/s: 100 of them are 259.2 s without any.
      {"given requests", world("share = 0.999\nrequests_per_window = 1e6"), 1000, 100, 0.1, 259.2,
       1000},
      {"given requests of a day",
       world("share = 0.999\nwindow = \"24h\"\nrequests_per_window = 86400"), 86.4, 100, 100 / 86.4,
       100, 1000},
      // Nothing goes wrong.
      {"no harm", world("share = 0.999", "", "latency = \"0s\""), 25920, 0, 0, 0, 0},
      // 20 ms + 2 x 200 ms is longer than 100 ms for all that begin in the fault, and not longer
      // than 420 ms.
      {"slow", world("share = 0.999\nlatency = \"100ms\"", "", "latency = \"200ms\""), 25920, 100,
       100.0 / 25920, 10, 1000},
      {"as slow as it may be",
       world("share = 0.999\nlatency = \"420ms\"", "", "latency = \"200ms\""), 25920, 0, 0, 0, 0},
      // Those that are answered after the end of the fault have only one way with latency: the two
      // of the last 220 ms.
      {"a nanosecond too slow",
       world("share = 0.999\nlatency = \"419.999999ms\"", "", "latency = \"200ms\""), 25920, 98,
       98.0 / 25920, 9.8, 980},
      {"slow without a limit", world("share = 0.999", "", "latency = \"200ms\""), 25920, 0, 0, 0,
       0},
      // One retry after 100 ms without jitter: it fails, too, but for the request that begins in
      // the
      // last 100 ms of the fault, which succeeds. It is one of ten a second.
      {"retries save one", world("share = 0.999", "", "errors.internal = 1.0", kTwice), 25920, 99,
       99.0 / 25920, 9.9, 990},
      // That one takes 100 ms and 20 ms or more, so with a limit of 50 ms it is bad again.
      {"retries save one too late",
       world("share = 0.999\nlatency = \"50ms\"", "", "errors.internal = 1.0", kTwice), 25920, 100,
       100.0 / 25920, 10, 1000},
      // Two faults, of 10 s and of 4 s. After the first one all is well again at once.
      {"the first of two", world("share = 0.999", two), 25920, 100, 100.0 / 25920, 10, 1000, 0},
      // The second begins before the hold of 5 s is over: what is between belongs to the first,
      // whose 13 s have 130 requests.
      {"the first of two in a row", world("share = 0.999", soon), 25920, 100, 100.0 / 25920, 10,
       1e5 / 130, 0},
      {"the second of two", world("share = 0.999", two), 25920, 40, 40.0 / 25920, 4, 1000, 1},
      // With four requests a second of another group: budget 0.001 x 14 x 2,592,000 and 140 bad.
      {"two groups", world("share = 0.999", gone), 36288, 140, 140.0 / 36288, 10, 1000},
      {"one of two groups", world("share = 0.999\nclients = \"gone\"", gone), 10368, 40,
       40.0 / 10368, 10, 1000},
      {"both by name", world("share = 0.999\nclients = [\"web\", \"gone\"]", gone), 36288, 140,
       140.0 / 36288, 10, 1000},
      // Each objective has a budget of its own.
      {"two objectives, the first", world("share = 0.999\n[slo.b]\nshare = 0.9"), 25920, 100,
       100.0 / 25920, 10, 1000, 0},
      {"two objectives, the second", world("share = 0.999\n[slo.b]\nshare = 0.9"), 2592000, 100,
       100.0 / 2592000, 10, 10, 1},
  };
  CHECK(cases.size() >= 20);
  for (const Hand& hand : cases) {
    CAPTURE(hand.what);
    const Scenario scenario = scenario_of(hand.text);
    const auto rows = budgets(scenario);
    REQUIRE(rows.size() > hand.row);
    const stats::SloSummary& row = rows[hand.row];
    CHECK(row.mean.budget == about(hand.budget));
    CHECK(row.mean.bad == hand.bad);
    CHECK(row.mean.budget_used == about(hand.used));
    CHECK(row.mean.outage_s == about(hand.outage_s));
    CHECK(row.mean.burn_rate == about(hand.burn_rate));
    CHECK(row.ended == 2);
  }
}

TEST_CASE("A fault elsewhere may outlast the run", "[slo]") {
  // web is back at 30 s; at 50 s a service that it does not use fails until after the end.
  const std::string elsewhere = R"(
[service.other]
servers = 10
service_time = "20ms"
[client.side]
calls = "other"
arrivals = { process = "constant", total_rate = 4 }
retry = { mode = "none" }
[fault.long]
service = "other"
start = "50s"
duration = "100s"
errors.internal = 1.0
)";
  for (const char* duration : {"120s", "149s", "150s"}) {
    CAPTURE(duration);
    std::string text = world("share = 0.999\nclients = [\"web\", \"side\"]", elsewhere);
    text.replace(text.find("[client.web]"), 12, "[client.web]\ncalls = \"api\"");
    text.replace(text.find("[fault.deploy]"), 14, "[fault.deploy]\nservice = \"api\"");
    const auto rows = budgets(scenario_of(text, {std::string("duration=") + duration}));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].mean.bad == 100);
    // Four requests of side a second, from 50 s to the end, and of web none.
    const double left_s = std::stod(duration) - 50;
    CHECK(rows[1].mean.bad == 4 * left_s);
    CHECK(rows[1].mean.requests == 14 * left_s);
    CHECK(rows[1].mean.end_s == std::stod(duration));
  }
}

TEST_CASE("Events of a year use the year's budget", "[slo]") {
  const Scenario scenario = scenario_of(world("share = 0.999\nevents_per_year = { deploy = 73 }"));
  const auto rows = budgets(scenario);
  REQUIRE(rows.size() == 1);
  // 7300 bad of 0.001 x 10 x 31,536,000 s.
  CHECK(rows[0].year_used().value() == about(7300.0 / 315360));
  CHECK(rows[0].event.name == "deploy");
}

TEST_CASE("The retries of an event have the mean price of an attempt", "[slo]") {
  Scenario scenario = scenario_of(world(
      "share = 0.999", "", "errors.internal = 1.0",
      R"({ mode = "custom", max_attempts = 3, backoff = { base = "10ms", jitter = "none" } })"));
  scenario.services[0].price = 0.25;
  const auto rows = budgets(scenario);
  REQUIRE(rows.size() == 1);
  // Two for each of 100 requests, of which the last is made 100 ms before the end or earlier.
  CHECK(rows[0].mean.retries == 200);
  CHECK(rows[0].mean.retries_cost == about(50.0));
}

TEST_CASE("Clients with a failed request are counted", "[slo]") {
  // Ten clients with a request a second each; the fault lasts 0.6 s, and hits the six whose turn is
  // then, wherever in the second that is: six of ten on average, and all in ten seconds.
  const std::string text = world("share = 0.999");
  const auto all = budgets(scenario_of(text, {"client.web.count=10"}));
  REQUIRE(all.size() == 1);
  CHECK(all[0].users == 10);
  CHECK(all[0].mean.users_hurt == 10);
  CHECK(all[0].mean.bad == 100);
  const auto some =
      budgets(scenario_of(text, {"client.web.count=10", "fault.deploy.duration=600ms"}));
  REQUIRE(some.size() == 1);
  // Each has one request in the fault, or none.
  CHECK(some[0].mean.users_hurt == some[0].mean.bad);
  const auto none = budgets(scenario_of(text, {"fault.deploy.errors.internal=0"}));
  REQUIRE(none.size() == 1);
  CHECK(none[0].mean.users_hurt == 0);
}

TEST_CASE("Without a disturbance the whole run is judged by its burn rate", "[slo]") {
  const Scenario scenario = scenario_of(R"(
name = "w"
duration = "100s"
replications = 1
[service.api]
servers = 10
service_time = "20ms"
[client.web]
arrivals = { process = "constant", total_rate = 10 }
retry = { mode = "none" }
[slo.a]
share = 0.99
latency = "10ms"
)");
  const auto rows = budgets(scenario);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].event.name == "run");
  CHECK(rows[0].event.parts.empty());
  // All take longer than 10 ms: 1 of 0.01.
  CHECK(rows[0].mean.bad == rows[0].mean.requests);
  CHECK(rows[0].mean.burn_rate == about(100.0));
}

TEST_CASE("An event that does not end in the run is told apart", "[slo]") {
  // Without an end of the fault there is no aftermath: all requests from 20 s to 40 s fail.
  const Scenario scenario = scenario_of(R"(
name = "w"
duration = "40s"
replications = 1
[service.api]
servers = 10
service_time = "20ms"
[fault.deploy]
start = "20s"
duration = "100s"
errors.internal = 1.0
[client.web]
arrivals = { process = "constant", total_rate = 10 }
retry = { mode = "none" }
[slo.a]
share = 0.999
)");
  const auto rows = budgets(scenario);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].mean.bad == 200);
  CHECK(rows[0].ended == 0);
}

TEST_CASE("An error budget changes nothing else of a run", "[slo]") {
  const Scenario with = scenario_of(world("share = 0.999\nlatency = \"10ms\""));
  Scenario without = with;
  without.slos.clear();
  RunResult a = simulate(with, 0, {.fingerprint = true});
  const RunResult b = simulate(without, 0, {.fingerprint = true});
  REQUIRE(a.slos.size() == 1);
  a.slos.clear();
  CHECK(a == b);
}

}  // namespace
}  // namespace retrysim
