// Whether a run recovered, and when, on systems of which it is known: some recover at once, some
// when a backlog has drained, some never. Loads go from 1 to 2,000 requests a second, and the
// width of time-series bins from 0.1 s to 30 s; share, hold and window are the defaults.
//
// False alarms: chance makes a system that has recovered look as if it had not in fewer than one
// run of 500 (the bounds are in recovery.cpp). That two or more of 20 runs are judged wrongly, so
// that a system fails here, then has a probability of 190 * 0.002^2 = 0.0008 for each of the
// fifteen. Seeds are fixed.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "measure/analyse/recovery.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

constexpr std::uint32_t kRuns = 20;

/// A system and what is known of it.
struct Known {
  std::string name, text;
  bool recovers;
  double from_s = 0, to_s = 0;  ///< where recovery_s lies
};

std::string head(int duration_s, const std::string& interval) {
  return "name = \"known\"\nwarmup = \"10s\"\ndrain_limit = \"10s\"\nseed = 11\nduration = " +
         std::to_string(duration_s) + "\ninterval = \"" + interval + "\"\n";
}

/// A queue without end in front of one server; clients that time out and do not take their attempts
/// back. After an outage the wait exceeds the timeout. With `attempts` * load above capacity it
/// stays so: a metastable failure. With one attempt each it drains.
std::string zombie(double rate, double load, const std::string& timeout,
                   const std::string& attempts, const std::string& outage) {
  return "[service.api]\nservice_time = { distribution = \"exponential\", mean = " +
         std::to_string(load / rate) +
         " }\n[client.web]\ncount = 50\narrivals = { process = \"poisson\", total_rate = " +
         std::to_string(rate) + " }\nattempt_timeout = \"" + timeout +
         "\"\nretry = { mode = \"custom\", max_attempts = " + attempts +
         ", delays = [0] }\n[fault.outage]\nstart = \"60s\"\nduration = \"" + outage +
         "\"\ncapacity = 0\n";
}

const Known kSystems[] = {
    {"200 clients, 180 requests a second, a dip of 10 s", head(200, "100ms") + R"(
[service.api]
servers = 10
service_time = { distribution = "exponential", mean = "40ms" }
queue = { capacity = 200 }
[client.web]
count = 200
arrivals = { process = "poisson", rate = 0.9 }
attempt_timeout = "2s"
retry = { mode = "standard", sdk = "botocore" }
[fault.dip]
start = "60s"
duration = "10s"
capacity = 0.5
)",
     true, 0, 15},
    {"20 requests a second, three in ten fail before and after", head(300, "1s") + R"(
[service.api]
model = "independent"
service_time = "80ms"
errors = { internal = 0.3 }
[client.web]
count = 20
arrivals = { process = "poisson", rate = 1 }
retry = { mode = "none" }
[fault.outage]
start = "100s"
duration = "20s"
unreachable = true
)",
     true, 0, 0},
    {"2,000 requests a second, an outage that refuses connections", head(130, "30s") + R"(
[service.api]
servers = 50
service_time = { distribution = "lognormal", mean = "20ms", cv = 1 }
[client.web]
count = 1000
arrivals = { process = "poisson", rate = 2 }
attempt_timeout = "1s"
retry = { mode = "legacy", sdk = "java-v1" }
[fault.outage]
start = "40s"
duration = "10s"
unreachable = true
)",
     true, 0, 5},
    {"a closed loop that the outage has put in step", head(200, "10s") + R"(
[service.api]
servers = 20
service_time = "50ms"
[client.web]
count = 60
arrivals = { process = "closed", think_time = "1s" }
attempt_timeout = "3s"
retry = { mode = "none" }
[fault.outage]
start = "60s"
duration = "15s"
capacity = 0
)",
     true, 0, 3},
    {"400 clients of a closed loop that ask again until they are answered: stuck for good",
     head(300, "10s") + R"(
[service.api]
servers = 2
service_time = "10ms"
[client.web]
count = 400
arrivals = { process = "closed", think_time = { distribution = "exponential", mean = "3s" } }
attempt_timeout = "200ms"
retry = { mode = "custom", max_attempts = "unlimited", delays = [0] }
[fault.outage]
start = "60s"
duration = "5s"
black_hole = true
)",
     false},
    {"a closed loop of 120 clients at a load of 0.9", head(300, "1s") + R"(
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "60ms" }
[client.web]
count = 120
arrivals = { process = "closed", think_time = { distribution = "exponential", mean = "2s" } }
attempt_timeout = "5s"
retry = { mode = "standard", sdk = "botocore" }
[fault.outage]
start = "100s"
duration = "20s"
unreachable = true
)",
     true, 0, 15},
    {"five clients of a closed loop, a request a second", head(600, "1s") + R"(
[service.api]
service_time = "50ms"
[client.web]
count = 5
arrivals = { process = "closed", think_time = { distribution = "exponential", mean = "5s" } }
retry = { mode = "none" }
[fault.outage]
start = "200s"
duration = "30s"
unreachable = true
)",
     true, 0, 40},
    {"a surge of bursts, last come first served", head(240, "5s") + R"(
[service.api]
servers = 8
service_time = { distribution = "exponential", mean = "30ms" }
queue = { discipline = "lifo", capacity = 400 }
[client.web]
count = 40
arrivals = { process = "poisson", total_rate = 120 }
attempt_timeout = "1s"
surge = { peak = { start = "90s", duration = "15s", factor = 3 } }
retry = { mode = "standard", revision = "2.1", sdk = "botocore" }
[client.batch]
count = 10
arrivals = { process = "on-off", total_rate = 60, on = "500ms", off = "500ms" }
attempt_timeout = "1s"
retry = { mode = "none" }
)",
     true, 0, 10},
    {"adaptive clients, a dip, 400 requests a second", head(300, "500ms") + R"(
[service.api]
servers = 10
service_time = { distribution = "exponential", mean = "15ms" }
queue = { capacity = 100 }
overflow = "throttled"
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 400 }
attempt_timeout = "2s"
retry = { mode = "adaptive", sdk = "botocore" }
[fault.dip]
start = "60s"
duration = "10s"
capacity = 0.4
)",
     true, 0, 90},
    {"350 requests a second, three attempts: down for good",
     head(140, "1s") + zombie(350, 0.7, "1s", "3", "3s"), false},
    {"20 requests a second, four attempts: down for good",
     head(500, "30s") + zombie(20, 0.7, "5s", "4", "40s"), false},
    {"40 requests a second, clients that never give up: nothing fails, nothing comes back",
     head(120, "2s") + zombie(40, 0.8, "1s", "\"unlimited\"", "10s"), false},
    {"2,000 requests a second, five attempts: down for good",
     head(110, "100ms") + zombie(2000, 0.6, "500ms", "5", "3s"), false},
    // The backlog of the outage, D, is gone when load * D - T = (1 - load) t: the wait is T then.
    {"a backlog that drains for 55 s", head(250, "15s") + zombie(200, 0.8, "1s", "1", "15s"), true,
     45, 70},
    {"a backlog that would drain for 260 s, with 130 s left",
     head(220, "300ms") + zombie(500, 0.9, "1s", "1", "30s"), false},
};

std::optional<double> value(std::string_view metric, const Scenario& s, const RunResult& run) {
  return metric_value(*find_metric(metric), s, run, std::nullopt);
}

}  // namespace

TEST_CASE("fifteen systems of which it is known whether they recover") {
  std::uint32_t runs = 0, right = 0;
  for (const Known& known : kSystems) {
    const Scenario scenario = load_text(known.text);
    std::uint32_t right_here = 0;
    for (std::uint32_t r = 0; r < kRuns; ++r) {
      const RunResult run = simulate(scenario, r);
      const auto seconds = value("recovery_s", scenario, run);
      const bool when = !seconds || (*seconds >= known.from_s && *seconds <= known.to_s);
      right_here += (*value("recovered", scenario, run) == 1.0) == known.recovers && when;
    }
    CAPTURE(known.name, right_here);
    CHECK(right_here + 1 >= kRuns);
    right += right_here;
    runs += kRuns;
  }
  CHECK(right >= runs * 95 / 100);
}

TEST_CASE("the width of time-series bins has no part in a recovery") {
  // Standard retries after a dip, and a backlog that drains.
  for (const std::size_t system : {std::size_t{0}, std::size_t{13}}) {
    Scenario scenario = load_text(kSystems[system].text);
    const RunResult first = simulate(scenario, 1);
    const auto seconds = value("recovery_s", scenario, first);
    REQUIRE(seconds);
    for (const std::int64_t interval_ms : {100, 700, 1000, 30'000, 60'000, 85'000}) {
      scenario.interval = Duration::milliseconds(interval_ms);
      const RunResult run = simulate(scenario, 1);
      CHECK(value("recovery_s", scenario, run) == seconds);
      CHECK(run.clients[0].counts == first.clients[0].counts);
    }
  }
}

TEST_CASE("back at once from an outage in which every request failed, which is said beside it") {
  const Scenario scenario = load_text(head(200, "85s") + R"(
[service.api]
servers = 10
service_time = "20ms"
[client.web]
count = 100
arrivals = { process = "poisson", rate = 1 }
retry = { mode = "none" }
[fault.outage]
start = "60s"
duration = "45s"
unreachable = true
)");
  const RunResult run = simulate(scenario, 0);
  CHECK(value("recovery_s", scenario, run) == 0.0);
  CHECK(value("disturbed_success_rate", scenario, run) == 0.0);
}

}  // namespace retrysim::validation
