// What a scenario's tables are called decides what is drawn for them, not where they stand: their
// order changes nothing, and a group on a service of its own leaves the others as they were.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "scenario_of.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {
namespace {

constexpr std::string_view kTop = R"(
name = "order"
duration = "20s"
warmup = "2s"
)";

// Everything constant that can be, so that many events of different groups share an instant.
std::vector<std::string> tables() {
  return {R"(
[service.api]
servers = 4
service_time = "10ms"
parallel_calls = true
autoscaling = { target = 0.5, interval = "1s", delay = "1s", cooldown = "1s", min = 1, max = 8 }
[service.api.calls.db]
attempt_timeout = "40ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "5ms" } }
[service.api.calls.cache]
retry = { mode = "custom", max_attempts = 2, backoff = { base = "5ms" } }
)",
          R"(
[service.db]
servers = 3
service_time = { distribution = "exponential", mean = "8ms" }
queue = { discipline = "random", capacity = 20 }
errors = { 500 = 0.05, 503 = 0.1 }
)",
          R"(
[service.cache]
servers = 2
service_time = "1ms"
queue = { discipline = "processor-sharing" }
autoscaling = { target = 0.4, interval = "1s", delay = "1s", cooldown = "1s", min = 1, max = 4 }
)",
          R"(
[service.batch]
servers = 2
service_time = { distribution = "lognormal", mean = "20ms", cv = 1 }
queue = { capacity = 30, drop_expired = true }
abandoned = "abort"
)",
          R"(
[fault.slow]
service = "db"
start = "5s"
duration = "3s"
speed = 0.3
errors = { 500 = 0.2 }
)",
          R"(
[fault.errors]
service = "db"
start = "5s"
duration = "4s"
errors = { 503 = 0.3, 429 = 0.1 }
capacity = 0.7
)",
          R"(
[fault.restart]
service = "batch"
start = "5s"
duration = "1s"
cold_restart = true
)",
          R"(
[client.web]
calls = "api"
count = 10
arrivals = { process = "constant", rate = 10, phase = "aligned" }
attempt_timeout = "150ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "10ms" } }
[client.web.operation.read]
share = 9
[client.web.operation.scan]
share = 1
work = 5
[client.web.surge.noon]
start = "3s"
duration = "2s"
factor = 1.3
[client.web.surge.late]
start = "4s"
duration = "2s"
factor = 1.7
)",
          R"(
[client.hedged]
calls = "batch"
count = 3
arrivals = { process = "poisson", rate = 20 }
attempt_timeout = { distribution = "exponential", mean = "100ms" }
retry = { mode = "custom", max_attempts = 3, hedging = { delay = "15ms" } }
)",
          R"(
[client.loop]
calls = "batch"
count = 4
arrivals = { process = "closed", think_time = "10ms" }
deadline = "1s"
retry = { mode = "standard" }
)",
          R"(
[client.adaptive]
calls = "db"
like = "loop"
count = 5
arrivals = { process = "closed", think_time = "10ms" }
retry = { mode = "adaptive" }
)"};
}

Scenario load(const std::vector<std::string>& tables, const std::vector<std::string>& edits = {}) {
  std::string text(kTop);
  for (const std::string& table : tables) text += table;
  return test::scenario_of(text, edits);
}

RunResult run(const Scenario& s) {
  SimulationOptions options;
  options.fingerprint = true;
  return simulate(s, 1, options);
}

template <class Spec, class Result>
const Result& of(std::string_view name, const std::vector<Spec>& specs,
                 const std::vector<Result>& results) {
  const auto at = std::ranges::find(specs, name, &Spec::name);
  REQUIRE(at != specs.end());
  return results[static_cast<std::size_t>(at - specs.begin())];
}

// Every group and service of `s` has the same results in both.
void require_same(const Scenario& s, const RunResult& r, const Scenario& other,
                  const RunResult& theirs) {
  for (std::size_t i = 0; i < s.clients.size(); ++i) {
    INFO(s.clients[i].name);
    REQUIRE(r.clients[i].requests > 0);
    REQUIRE((r.clients[i] == of(s.clients[i].name, other.clients, theirs.clients)));
  }
  for (std::size_t i = 0; i < s.services.size(); ++i) {
    INFO(s.services[i].name);
    REQUIRE((r.services[i] == of(s.services[i].name, other.services, theirs.services)));
  }
}

TEST_CASE("The order of tables changes nothing") {
  const std::vector<std::string> edits =
      GENERATE(std::vector<std::string>{},
               std::vector<std::string>{"client.loop.count=6", "service.cache.service_time=2ms"});
  std::vector<std::string> order = tables();
  const Scenario s = load(order, edits);
  const RunResult r = run(s);
  const auto same = [&] {
    const Scenario other = load(order, edits);
    const RunResult theirs = run(other);
    require_same(s, r, other, theirs);
    REQUIRE(theirs.fingerprint == r.fingerprint);  // every event at its place
    REQUIRE(theirs.all_bins == r.all_bins);
    for (const MetricInfo& metric : metric_table()) {  // of all groups together, to the last bit
      INFO(metric.name);
      REQUIRE(metric_value(metric, s, r, std::nullopt) ==
              metric_value(metric, other, theirs, std::nullopt));
    }
  };
  std::ranges::reverse(order);
  same();
  std::rotate(order.begin(), order.begin() + 4, order.end());
  same();
}

TEST_CASE("The order of operations, surges, parallel calls and errors changes nothing") {
  Scenario s = load(tables());
  const RunResult r = run(s);
  const std::size_t first_call = s.clients.size() - 2;
  REQUIRE(s.clients[first_call].makes_calls());
  for (ServiceSpec& service : s.services) std::ranges::reverse(service.errors);
  for (FaultSpec& fault : s.faults) std::ranges::reverse(fault.errors);
  for (ClientSpec& client : s.clients) {
    std::ranges::reverse(client.operations);
    std::ranges::reverse(client.arrivals.surges);
  }
  Scenario other = s;
  std::swap(other.clients[first_call], other.clients[first_call + 1]);
  require_same(s, r, other, run(other));
}

TEST_CASE("A group on a service of its own leaves the others as they were") {
  std::vector<std::string> order = tables();
  const Scenario s = load(order);
  const RunResult r = run(s);
  // Before all others, between them, or behind them in the order of names.
  const std::string name = GENERATE("aaa", "dc", "zzz");
  order.insert(order.begin(), "[service." + name + "]\nservice_time = \"1ms\"\n[client." + name +
                                  "]\ncalls = \"" + name +
                                  "\"\ncount = 10\narrivals = { process = \"constant\", rate = 10, "
                                  "phase = \"aligned\" }\nretry = { mode = \"standard\" }\n");
  const Scenario more = load(order);
  require_same(s, r, more, run(more));
}

TEST_CASE("Groups draw by their names, even those that share one") {
  Scenario s = load(tables());
  ClientSpec& hedged = *std::ranges::find(s.clients, "hedged", &ClientSpec::name);
  const std::size_t at = static_cast<std::size_t>(&hedged - s.clients.data());
  const RunResult as_hedged = run(s);
  s.clients[at].name = "other";
  const RunResult as_other = run(s);
  CHECK_FALSE(as_hedged.clients[at].latency_m == as_other.clients[at].latency_m);
  // Two groups of one name, from C++: still two streams.
  s.clients.insert(s.clients.begin() + static_cast<std::ptrdiff_t>(at), s.clients[at]);
  for (CallSpec& call : s.calls) call.client += call.client > at;
  const RunResult twice = run(s);
  CHECK_FALSE(twice.clients[at].latency_m == twice.clients[at + 1].latency_m);
}

}  // namespace
}  // namespace retrysim
