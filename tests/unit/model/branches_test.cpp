// A run that takes another branch: the same until then, other random numbers from then on, the same
// requests, and the law that it would have had anyway. And runs that are followed to something
// rare.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include "scenario_of.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace retrysim::test {
namespace branches_test {
namespace {

constexpr const char* kBusy = R"(
name = "busy"
duration = "60s"
[service.api]
servers = 3
service_time = { distribution = "exponential", mean = "20ms" }
queue = { capacity = 40, discipline = "random" }
errors = { unavailable = 0.1 }
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 120 }
attempt_timeout = "150ms"
retry = { mode = "standard" }
[client.bursts]
count = 3
arrivals = { process = "on-off", total_rate = 6, on = "1s", off = "2s" }
attempt_timeout = "1s"
retry = { mode = "none" }
[client.loop]
count = 2
arrivals = { process = "closed", think_time = { distribution = "exponential", mean = "200ms" } }
attempt_timeout = "1s"
retry = { mode = "none" }
)";

RunResult run_with(const Scenario& s, std::vector<Branch> branches) {
  SimulationOptions options;
  options.fingerprint = true;
  options.branches = branches;
  return simulate(s, 2, options);
}

FollowedRun followed(const Scenario& s, std::vector<Branch> branches, const RareEvent& event,
                     Time from = Time::zero(), std::uint32_t replication = 2) {
  SimulationOptions options;
  options.branches = branches;
  return follow(s, replication, event, from, options);
}

}  // namespace
}  // namespace branches_test

using namespace branches_test;

TEST_CASE("a branch is the same until its event, and its number decides what follows",
          "[model][branches]") {
  const Scenario s = scenario_of(kBusy);
  const RunResult plain = run_with(s, {});
  CHECK(run_with(s, {{1'000, 0}, {5'000, 0}}).fingerprint == plain.fingerprint);
  const RunResult one = run_with(s, {{1'000, 1}});
  CHECK(one.fingerprint != plain.fingerprint);
  CHECK(run_with(s, {{1'000, 1}}).fingerprint == one.fingerprint);
  CHECK(run_with(s, {{1'000, 2}}).fingerprint != one.fingerprint);
  CHECK(run_with(s, {{1'001, 1}}).fingerprint != one.fingerprint);
  CHECK(run_with(s, {{1'000, 1}, {3'000, 2}}).fingerprint != one.fingerprint);
  CHECK(run_with(s, {{0, 1}}).fingerprint != plain.fingerprint);
  // Beyond the end there is nothing to take.
  CHECK(run_with(s, {{1'000'000'000, 1}}).fingerprint == plain.fingerprint);

  // Scores of a run show each event at which it comes nearer.
  const RareEvent never{.count = 1'000'000};
  const FollowedRun own = followed(s, {}, never);
  CHECK(own.events == plain.events);
  REQUIRE(own.records.size() > 5);
  const NearestSoFar middle = own.records[own.records.size() / 2];
  const FollowedRun other = followed(s, {{middle.after_event, 9}}, never);
  for (std::size_t i = 0; own.records[i].after_event <= middle.after_event; ++i) {
    CHECK(own.records[i] == other.records[i]);
  }
  CHECK(own.records != other.records);
}

TEST_CASE("a queue that takes many branches has the law of one that takes none",
          "[model][branches]") {
  // M/M/1 at half load: one attempt there on average. The mean of 40 runs of 4,000 s has a standard
  // error of about 0.011 (variance of a mean over time t: 2 rho (1 + rho) / (1 - rho)^4 / t); with
  // 4.5 of these the false-alarm probability is 1e-5.
  const Scenario s = scenario_of(R"(
name = "s"
duration = "4000s"
interval = "4000s"
[service.api]
servers = 1
service_time = { distribution = "exponential", mean = "1s" }
[client.web]
arrivals = { process = "poisson", total_rate = 0.5 }
attempt_timeout = "none"
retry.mode = "none"
)");
  std::vector<Branch> branches;
  for (std::uint64_t i = 1; i < 400; ++i) branches.push_back({10 * i, i});
  double sum = 0;
  for (std::uint32_t r = 0; r < 40; ++r) {
    SimulationOptions options;
    options.branches = branches;
    const RunResult run = simulate(s, r, options);
    sum += run.services[0].window.in_system_ns / 4e12;
  }
  CHECK(std::abs(sum / 40 - 1) < 4.5 * 0.011);
}

TEST_CASE("what a request is stays the same in all branches", "[model][branches]") {
  // Attempts fail when they are done, after the service time of their request.
  const Scenario s = scenario_of(R"(
name = "s"
duration = "20s"
[service.api]
servers = "unlimited"
service_time = { distribution = "exponential", mean = "100ms" }
service_time_per = "request"
errors = { unavailable = 0.7, at = 1 }
[client.web]
arrivals = { process = "poisson", total_rate = 20 }
attempt_timeout = "none"
retry = { mode = "custom", max_attempts = 6, delays = ["50ms"] }
)");
  std::vector<Branch> branches;
  for (std::uint64_t i = 1; i < 200; ++i) branches.push_back({5 * i, i});
  std::map<std::uint64_t, Duration> of_request;
  std::size_t repeated = 0;
  SimulationOptions options;
  options.branches = branches;
  options.access_log = [&](const AccessLogEntry& e) {
    const auto [known, is_new] = of_request.try_emplace(e.request, e.duration);
    if (is_new) return;
    ++repeated;
    CHECK(known->second == e.duration);
  };
  simulate(s, 0, options);
  CHECK(repeated > 100);
}

TEST_CASE("a run is followed until the event, which counts from a time on", "[model][branches]") {
  const Scenario s = scenario_of(kBusy);
  const RareEvent six{.count = 6};
  const FollowedRun run = followed(s, {}, six);
  REQUIRE(run.happened);
  CHECK(run.end == *run.happened);
  CHECK(run.records.back().score == kHappened);
  CHECK(run.records.back().after_event == run.events);
  for (std::size_t i = 1; i < run.records.size(); ++i) {
    CHECK(run.records[i - 1].score < run.records[i].score);
    CHECK(run.records[i - 1].after_event < run.records[i].after_event);
  }
  // Too early, it ends the run, but does not count.
  const FollowedRun late = followed(s, {}, six, *run.happened + Duration::milliseconds(1));
  CHECK(late.happened_before);
  CHECK(!late.happened);
  CHECK(late.records.empty());
  CHECK(late.events == run.events);
  CHECK(followed(s, {}, six, *run.happened).happened == run.happened);
}

TEST_CASE("too few successes within a window", "[model][branches]") {
  const auto with_errors = [](const char* share) {
    return scenario_of(R"(
name = "s"
duration = "100s"
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "10ms" }
errors = { internal = 0.6 }
[client.web]
arrivals = { process = "poisson", total_rate = 100 }
attempt_timeout = "1s"
retry.mode = "none"
)",
                       {std::string("service.api.errors.internal=") + share});
  };
  // About 1,000 requests in a window, of which 500 would have to be others than expected: never.
  const RareEvent half{
      .kind = RareEvent::Kind::kSuccessRate, .below = 0.5, .window = Duration::seconds(10)};
  const FollowedRun bad = followed(with_errors("0.7"), {}, half);
  REQUIRE(bad.happened);
  // At the first look, when the run has lasted for a window; events come about 300 times a second.
  CHECK(*bad.happened >= Time::zero() + Duration::seconds(10));
  CHECK(*bad.happened < Time::zero() + Duration::milliseconds(10'100));
  CHECK(!followed(with_errors("0.3"), {}, half).happened);
  RareEvent of_group = half;
  of_group.client = 0;
  CHECK(followed(with_errors("0.7"), {}, of_group).happened == bad.happened);
  // Few requests say nothing.
  Scenario quiet = with_errors("0.7");
  quiet.clients[0].arrivals.rate /= 2'000;
  CHECK(!followed(quiet, {}, half).happened);
}

TEST_CASE("an event that no scenario has is an error", "[model][branches]") {
  const Scenario s = scenario_of(kBusy);
  CHECK_THROWS_AS(followed(s, {}, {.service = 1}), std::invalid_argument);
  CHECK_THROWS_AS(followed(s, {}, {.count = 0}), std::invalid_argument);
  RareEvent share{.kind = RareEvent::Kind::kSuccessRate};
  share.client = 3;
  CHECK_THROWS_AS(followed(s, {}, share), std::invalid_argument);
  share.client = {};
  share.below = 0;
  CHECK_THROWS_AS(followed(s, {}, share), std::invalid_argument);
  share.below = 0.5;
  share.window = Duration::nanoseconds(10);
  CHECK_THROWS_AS(followed(s, {}, share), std::invalid_argument);
}

}  // namespace retrysim::test
