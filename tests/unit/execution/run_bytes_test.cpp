// Results as bytes: whatever a simulation gives comes back the same, and what was cut off is
// noticed.
//
// SPDX-License-Identifier: MIT
#include "execution/run_bytes.hpp"
#include "scenario_of.hpp"

#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <algorithm>

#include <stdexcept>

namespace retrysim::execution {
namespace {

// Something of everything, so that hardly a field stays zero.
constexpr const char* kScenario = R"(
name = "everything"
duration = "60s"
warmup = "5s"
[network]
latency = "1ms"
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "20ms" }
queue = { capacity = 30, drop_expired = true }
throttle = { rate = 180, burst = 10 }
errors = { "500" = 0.05 }
idempotency = { window = "2s" }
[service.api.calls.db]
retry = { mode = "standard" }
[service.db]
servers = "unlimited"
service_time = { distribution = "exponential", mean = "5ms" }
[fault.dip]
service = "api"
start = "20s"
duration = "5s"
capacity = 0.25
request_loss = 0.05
[client.web]
calls = "api"
count = 50
arrivals = { process = "poisson", total_rate = 170 }
mutating = 0.5
idempotency_token = true
attempt_timeout = "200ms"
deadline = "3s"
retry = { mode = "standard", max_attempts = 5 }
[client.adaptive]
calls = "api"
count = 5
attempt_timeout = "1s"
arrivals = { process = "closed", think_time = "100ms", think_from = "start" }
max_connections = 1
retry = { mode = "adaptive" }
[client.poller]
calls = "api"
count = 20
attempt_timeout = "1s"
arrivals = { process = "poll", rate = 0.05, job_time = "5s" }
retry = { mode = "legacy" }
)";

RunResult everything() {
  SimulationOptions options;
  options.fingerprint = true;
  return simulate(test::scenario_of(kScenario), 3, options);
}

TEST_CASE("A replication's results come back the same from their bytes") {
  RunResult run = everything();
  std::uint64_t lost = 0, late = 0, effects = 0, checks = 0, intended = 0, waited_ns = 0;
  for (const ClientResult& c : run.clients) {
    lost += c.lost;
    late += c.late;
    effects += c.effects;
    checks += c.jobs.checks;
    intended += c.latency_intended.count();
    waited_ns += static_cast<std::uint64_t>(c.connection_wait_ns + c.send_wait_ns);
  }
  // That the comparison means something.
  for (const std::uint64_t n :
       {lost, late, effects, checks, intended, waited_ns, run.fingerprint}) {
    CHECK(n > 0);
  }
  REQUIRE(run.all_phases.size() == 4);
  REQUIRE(run.all_phases[1].latency.quantiles_s[2] > 0);
  REQUIRE(decode_run(encode(run)) == run);
  for (const std::optional<bool> metastable : {false, true}) {
    run.metastable = metastable;
    REQUIRE(decode_run(encode(run)) == run);
  }
  run.metastable_groups = {0, 2};
  REQUIRE(decode_run(encode(run)) == run);
  run.clients[0].backoff_total_ns = -(WideNanoseconds{1} << 100) - 7;
  run.clients[0].latency_m.sum_squares_ns2 = ~SquareNanoseconds{0} - 5;
  run.services[0].window.busy_ns = -0x1.123456789abcdp-1000;
  REQUIRE(decode_run(encode(run)) == run);
  REQUIRE(decode_run(encode(RunResult{})) == RunResult{});
}

TEST_CASE("Bytes that were cut off or damaged are no results") {
  const std::string bytes = encode(everything());
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 1}) {
    REQUIRE_THROWS_AS(decode_run(std::string_view(bytes).substr(0, size)), std::runtime_error);
  }
  REQUIRE_THROWS_AS(decode_run(bytes + "x"), std::runtime_error);
}

TEST_CASE("A damaged count of elements takes no memory for what is not there") {
  // Counts of client groups, which are large, in place of everything: as many as pass for possible.
  const RunResult none;
  std::string bytes = encode(none);
  const std::string one = encode([] {
    RunResult run;
    run.clients.resize(1);
    return run;
  }());
  const auto count = static_cast<std::size_t>(
      std::mismatch(bytes.begin(), bytes.end(), one.begin()).first - bytes.begin());
  const std::size_t padding = 40'000'000;
  bytes += std::string(padding, '\xFF');
  const std::uint64_t possible = padding / 4;
  for (std::size_t i = 0; i < 8; ++i) bytes[count + i] = static_cast<char>(possible >> (8 * i));
  rusage before{}, after{};
  REQUIRE(::getrusage(RUSAGE_SELF, &before) == 0);
  REQUIRE_THROWS_AS(decode_run(bytes), std::runtime_error);
  REQUIRE(::getrusage(RUSAGE_SELF, &after) == 0);
  // At ten million groups of a kilobyte and more each, 10 GB.
  REQUIRE(after.ru_maxrss - before.ru_maxrss < 2 * 1024 * 1024);
}

}  // namespace
}  // namespace retrysim::execution
