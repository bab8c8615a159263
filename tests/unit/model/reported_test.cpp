// What users have reported of other software, as scenario files: the figures that they saw, and
// that follow from its rules.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario.hpp>

#include <catch2/catch.hpp>

#include <string>

#include "small_world.hpp"

namespace retrysim::reported {

using namespace retrysim::test;

namespace {

ClientResult first_client_of(const std::string& text) {
  const LoadResult result = load_scenario_text(text, "reported.toml", ".");
  for (const Diagnostic& error : result.errors) UNSCOPED_INFO(error.message);
  REQUIRE(result.loaded);
  return simulate(result.loaded->scenario, 0).clients[0];
}

}  // namespace

// resilience4j issue 1305: a dependency that always fails, three attempts, a breaker that opens at
// half of at least five calls, for 50 s, with three probes. Five attempts open it; in 300 s follow
// five rounds of three probes, and what was under way when it opened.
TEST_CASE("a breaker inside the retries leaves 20 to 25 attempts of 9000", "[reported]") {
  const std::string breaker =
      "breaker = { preset = 'resilience4j', min_calls = 5, open = '50s', probes = 3 }\n";
  const auto attempts = [](const std::string& line) {
    const ClientResult c = first_client_of(
        "name = 'stock'\nduration = '300s'\n"
        "[service.stock]\nmodel = 'independent'\nservice_time = '20ms'\n"
        "errors = { unavailable = 1.0 }\n"
        "[client.shop]\narrivals = { process = 'constant', total_rate = 10 }\n"
        "attempt_timeout = '2s'\nretry = { mode = 'custom', sdk = 'resilience4j' }\n" +
        line);
    CHECK(c.requests == 3000);
    return c.attempts;
  };
  CHECK(attempts("") == 9000);
  CHECK(attempts(breaker) >= 20);
  CHECK(attempts(breaker) <= 25);
}

// aws-sdk-java-v2: 50 connections, and 10 s to get one (CONNECTION_ACQUIRE_TIMEOUT). 500 threads
// whose calls take 2 s would wait 18 s each.
TEST_CASE("whoever waits for a connection of the SDK for Java fails after 10 s", "[reported]") {
  const auto run = [](const std::string& line) {
    return first_client_of(
        "name = 'pool'\nduration = '300s'\n[service.table]\nservers = 1000\n"
        "service_time = { distribution = 'exponential', mean = '2s' }\n"
        "[client.app]\ncount = 1\narrivals = { process = 'closed', concurrency = 500 }\n"
        "attempt_timeout = 'sdk'\nmax_connections = 'sdk'\n"
        "retry = { mode = 'standard', sdk = 'java-v2', max_attempts = 1 }\n" +
        line);
  };
  const ClientResult c = run("");
  // 25 calls a second get a connection; in 10 s that is 250 of the 450 that wait at first.
  CHECK(c.unconnected > 1000);
  CHECK(static_cast<double>(c.attempts) == Approx(300 * 25).epsilon(0.05));
  // Nobody waits for longer: those that fail 10 s, the others less.
  const auto calls = static_cast<double>(c.attempts + c.unconnected);
  CHECK(static_cast<double>(c.connection_wait_ns) / calls <= 10e9);
  CHECK(static_cast<double>(c.connection_wait_ns) >= 10e9 * static_cast<double>(c.unconnected));
  const ClientResult patient = run("connection_wait = 'none'\n");
  CHECK(patient.unconnected == 0);
  CHECK(static_cast<double>(patient.connection_wait_ns) / static_cast<double>(patient.requests) >
        15e9);
}

// kubernetes issues 26871 and 34938: nodes meet an API server that answers what is beyond its limit
// with 429 and a delay of 1 s; client-go retries ten times, and its limiter (QPS) is asked before
// retries, too.
TEST_CASE("the limit of client-go holds for retries after a 429", "[reported]") {
  const auto per_second = [](const std::string& line) {
    const ClientResult c = first_client_of(
        "name = 'nodes'\nduration = '120s'\ndrain = false\n"
        "[service.api]\nservers = 40\nservice_time = '50ms'\n"
        "throttle = { rate = 20, burst = 20 }\nanswers = { throttled = '429+retry-after=1s' }\n"
        "[client.nodes]\ncount = 400\narrivals = { process = 'constant', rate = 0.1 }\n"
        "retry = { mode = 'custom', max_retries = 10, status_429 = 'throttling', "
        "retry_after = 'replace', backoff = { base = '1s', factor = 1, jitter = 'none' } }\n" +
        line);
    return static_cast<double>(c.attempts) / 120;
  };
  CHECK(per_second("") > 100);  // of 40 requests
  const double limited = per_second("send_rate = { rate = 0.15, burst = 1 }\n");
  CHECK(limited <= 400 * (0.15 + 1.0 / 120));
  CHECK(limited > 0.7 * 400 * 0.15);
}

}  // namespace retrysim::reported
