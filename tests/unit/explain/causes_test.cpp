// Causes that are named, and causes that must not be: each case has a law from which it follows
// whether there is anything to name.
//
// SPDX-License-Identifier: MIT
#include <retrysim/experiment.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/verdict.hpp>

#include "experiment/twins.hpp"
#include "scenario_of.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {
namespace {

/// What is said of a group, a sentence on each line; of all of them if it has no name.
std::string said_of(std::string_view group, const Scenario& scenario,
                    const std::vector<RunResult>& runs) {
  std::string text;
  for (const Verdict& v : verdicts(scenario, runs)) {
    if (group.empty() || v.client == group) text += v.sentence + "\n";
  }
  return text;
}

std::string said_of(std::string_view group, const std::string& text) {
  const Scenario scenario = test::scenario_of(text);
  return said_of(group, scenario, run_replications(scenario));
}

auto says(const std::string& words) { return Catch::Contains(words); }

/// Ten servers of 50 ms, 200/s; clients that make 150 requests/s; a fault from 40 s to 55 s.
std::string outage(const std::string& fault, const std::string& retry,
                   const std::string& more = "") {
  return R"(
name = "outage"
duration = "100s"
replications = 3
[service.db]
servers = 10
service_time = { distribution = "exponential", mean = "50ms" }
queue = { capacity = 100 }
)" + more +
         R"(
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 150 }
attempt_timeout = "2s"
retry = { )" +
         retry + R"( }
[fault.outage]
start = "40s"
duration = "15s"
)" + fault;
}

const std::string kNone = R"(mode = "none")",
                  kFour = R"(mode = "custom", max_attempts = 4, backoff = { base = "10ms" })",
                  kOverload = "first attempts alone need", kStorm = "retries alone needed";

}  // namespace

TEST_CASE("what never asks for a server is no load") {
  // Half the capacity is 100/s, for 75/s that meet no error.
  CHECK_THAT(said_of("", outage("capacity = 0.5\nerrors = { unavailable = 0.5 }", kNone)),
             !says(kOverload));
  // 150/s without the errors are too many, and so are they with errors that come at the end.
  CHECK_THAT(said_of("", outage("capacity = 0.5", kNone)), says(kOverload));
  CHECK_THAT(said_of("", outage("capacity = 0.5\nerrors = { unavailable = 0.5, at = 1 }", kNone)),
             says(kOverload));
  for (const char* fault : {"errors = { unavailable = 1.0 }", "unreachable = true"}) {
    CAPTURE(fault);
    CHECK_THAT(said_of("", outage(fault, kFour)), !says(kStorm) && !says(kOverload));
  }
  // What was lost comes again within two seconds of its end, not in the 15 s before.
  CHECK_THAT(said_of("", outage("request_loss = 0.95", kFour)),
             says(kStorm) && says("times the capacity for 2 s") && !says(kOverload));
  // At a third of the speed retries do reach the servers.
  CHECK_THAT(said_of("", outage("speed = 0.2", kFour)), says(kOverload));
  // A throttle in front lets half the capacity pass, of one and a half times of it.
  const std::string throttled =
      said_of("", outage("speed = 0.99", kNone,
                         "throttle = { rate = 100, burst = 1 }\n[client.more]\n"
                         "arrivals = { process = \"poisson\", rate = 150 }\n"
                         "retry = { mode = \"none\" }"));
  CHECK_THAT(throttled, !says(kOverload) && says("the throttle lets 100 attempts a second pass"));
}

TEST_CASE("with autoscaling the capacity is what it may grow to") {
  const auto peak = [](const std::string& most) {
    return R"(
name = "scale"
duration = "400s"
replications = 2
[service.api]
servers = 10
service_time = { distribution = "exponential", mean = "50ms" }
queue = { capacity = 200 }
[service.api.autoscaling]
target = 0.6
min = 10
interval = "10s"
delay = "10s"
cooldown = "10s"
max = )" + most +
           R"(
[client.web]
count = 40
arrivals = { process = "poisson", total_rate = 120 }
attempt_timeout = "1s"
retry = { mode = "none" }
surge = { peak = { start = "60s", duration = "250s", factor = 3 } }
)";
  };
  CHECK_THAT(said_of("web", peak("60")), !says(kOverload));  // 18 servers' work
  CHECK_THAT(said_of("web", peak("12")), says(kOverload + " 1.5 times"));
}

TEST_CASE("a group is metastable if its own recovery hangs on the retries") {
  // What a's retries sustain is not what b suffers from: its service is slow to the end of the run.
  const Scenario scenario = test::scenario_of(R"(
name = "two"
duration = "300s"
replications = 2
[service.big]
servers = 10
service_time = { distribution = "exponential", mean = "50ms" }
queue = { capacity = 200 }
[service.small]
servers = 1
service_time = { distribution = "exponential", mean = "50ms" }
slowdown = 0.2
queue = { discipline = "processor-sharing", capacity = 200 }
[client.a]
calls = "big"
count = 200
arrivals = { process = "poisson", total_rate = 140 }
attempt_timeout = "500ms"
[client.a.retry]
mode = "custom"
max_attempts = 4
quota = { capacity = "unlimited" }
backoff = { base = "50ms" }
[client.b]
calls = "small"
count = 10
arrivals = { process = "poisson", total_rate = 4 }
attempt_timeout = "500ms"
retry = { mode = "none" }
[fault.big]
service = "big"
start = "60s"
duration = "10s"
capacity = 0.2
[fault.small]
service = "small"
start = "60s"
duration = "10s"
speed = 0.01
)");
  std::vector<RunResult> runs = run_replications(scenario);
  (void)experiment::storms_with_twins(scenario, runs, {});
  for (const RunResult& run : runs) {
    CHECK(run.metastable == true);
    CHECK(run.metastable_groups == std::vector<std::uint32_t>{0});
  }
  CHECK_THAT(said_of("a", scenario, runs), says("never recovers") && says("a metastable failure"));
  CHECK_THAT(said_of("b", scenario, runs), says("never recovers") && !says("metastable"));
}

TEST_CASE("of several services no cause is named that is only one's") {
  const auto both = [](const std::string& more) {
    return R"(
name = "both"
duration = "100s"
replications = 2
[service.a]
servers = 100
service_time = "50ms"
[service.b]
servers = 100
service_time = "50ms"
[client.web]
calls = ["a", "b"]
count = 50
arrivals = { process = "poisson", total_rate = 100 }
attempt_timeout = "500ms"
retry = { mode = "none" }
)" + more;
  };
  const std::string gone = R"(start = "40s"
duration = "20s"
capacity = 0
)";
  const std::string none = "no capacity at all";
  for (const char* one : {"a", "b"}) {
    const std::string fault = "[fault.f]\nservice = \"" + std::string(one) + "\"\n" + gone;
    CHECK_THAT(said_of("web", both(fault)), !says(none));
  }
  CHECK_THAT(said_of("web", both("[fault.f]\nservice = \"a\"\n" + gone +
                                 "[fault.g]\nservice = \"b\"\n" + gone)),
             says("its services have " + none));
  const std::string throttles = R"(
[service.a.throttle]
rate = 1000
burst = 1000
[service.b.throttle]
rate = 10
burst = 10
)";
  CHECK_THAT(said_of("web", both(throttles)),
             says("throttles refuse 4") && says("% of the attempts") && !says("lets"));
}

TEST_CASE("a throttle is blamed for what it refuses itself") {
  const auto with = [](const std::string& more) {
    return R"(
name = "throttle"
duration = "60s"
replications = 2
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 200 }
retry = { mode = "none" }
[service.api]
service_time = "50ms"
)" + more;
  };
  // All of 200/s pass, and three in ten meet errors that look like it.
  CHECK_THAT(said_of("", with("servers = 20\nerrors = { throttled = 0.3 }\n"
                              "throttle = { rate = 1000, burst = 10000 }")),
             !says("the throttle"));
  CHECK_THAT(said_of("", with("servers = 5\nqueue = { capacity = 5 }\noverflow = \"throttled\"\n"
                              "throttle = { rate = 10000, burst = 10000 }")),
             !says("the throttle"));
  // 70 of 140 that meet no error, of 200.
  CHECK_THAT(
      said_of("", with("servers = 20\nerrors = { throttled = 0.3 }\n"
                       "throttle = { rate = 70, burst = 100 }")),
      says("the throttle lets 70 attempts a second pass and refuses 3") && !says("refuses 6"));
}

TEST_CASE("no sentence has what is not a number, or an exponent") {
  // A connection takes longer than its timeout, and an attempt may take any time.
  const std::string text = said_of("", R"(
name = "connect"
duration = "30s"
replications = 2
[network]
connect = "300ms"
[service.api]
servers = 100
service_time = "50ms"
[client.web]
count = 50
arrivals = { process = "poisson", total_rate = 100 }
connect_timeout = "100ms"
retry = { mode = "standard" }
)");
  CHECK_THAT(text, says("of the requests fail") && !says("nan") && !says("inf") &&
                       !says("gives up after"));
  // 120 us become 400.
  CHECK_THAT(said_of("", R"(
name = "fast"
duration = "100s"
replications = 2
[service.api]
servers = 10
service_time = "120us"
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 200 }
retry = { mode = "standard" }
[fault.f]
start = "40s"
duration = "20s"
speed = 0.3
)"),
             says("400 µs on average instead of 120 µs"));
}

TEST_CASE("what came before, what is said of all runs, and what a longer run would tell, is so") {
  const auto with = [](const std::string& client, const std::string& fault) {
    return R"(
name = "when"
duration = "300s"
replications = 20
[service.api]
servers = 5
service_time = "50ms"
)" + client +
           "\n[fault.f]\n" + fault;
  };
  const std::string web = R"(
[client.web]
count = 10
attempt_timeout = "500ms"
retry = { mode = "standard" }
arrivals = { process = "poisson", total_rate = )";
  CHECK_THAT(
      said_of("web", with(web + "50 }", "start = \"0s\"\nduration = \"20s\"\nlatency = \"1ms\"")),
      says("unaffected") && says("as they do later") && !says("before"));
  // Some runs have too few requests to tell.
  const std::string few =
      said_of("web", with(web + "0.15 }", "start = \"150s\"\nduration = \"30s\"\ncapacity = 0"));
  CHECK_THAT(few, says("runs that have requests enough to tell"));
  // A herd is over long before the run is.
  CHECK_THAT(said_of("cron", with(web + R"(35 }
[client.cron]
count = 300
arrivals = { process = "once", start = "100s", spread = "1s" }
attempt_timeout = "20ms"
retry = { mode = "none" }
)",
                                  "start = \"30s\"\nduration = \"5s\"\nunreachable = true")),
             !says("run longer"));
}

TEST_CASE("a failing group's attempts are those of all its requests") {
  const std::string text = said_of("web", R"(
name = "fails"
duration = "60s"
replications = 2
[service.a]
model = "independent"
service_time = "10ms"
errors = { unavailable = 0.3 }
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 100 }
retry = { mode = "custom", max_attempts = 3, backoff = { base = "10ms", jitter = "full" } }
)");
  CHECK_THAT(text, says("of the requests fail, with 1.39") && says(" attempts per request"));
}

}  // namespace retrysim
