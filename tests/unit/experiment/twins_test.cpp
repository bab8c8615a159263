// Twins and load ramps of a small FIFO queue that retries keep down: 50 services in a timeout of 1
// s, three attempts at once.
//
// SPDX-License-Identifier: MIT
#include "experiment/twins.hpp"

#include "execution/units.hpp"
#include "experiment/load_ramp.hpp"
#include "unit/experiment/zombie_world.hpp"

#include <catch2/catch.hpp>

namespace retrysim {
namespace {

using stats::StormVerdict;

using test::zombie_world;

struct TwinCounts {
  std::size_t recovered = 0, metastable = 0;
};

/// Of the replications of a search for a tipping point.
TwinCounts count_twins(const Scenario& s, const ReplicationOptions& options) {
  TwinCounts counts;
  for (const execution::UnitFate& fate : execution::get_fates(s, options)) {
    counts.recovered += fate.twin_recovered;
    counts.metastable += fate.metastable;
  }
  return counts;
}

TEST_CASE("An outage of several timeouts is metastable, for any number of threads") {
  const Scenario s = zombie_world(Duration::seconds(3));
  std::vector<RunResult> runs = run_replications(s);
  ReplicationOptions options;
  for (const int jobs : {1, 4}) {
    options.jobs = jobs;
    const auto storms = experiment::storms_with_twins(s, runs, options);
    REQUIRE(storms.size() == 6);
    for (std::size_t r = 0; r < storms.size(); ++r) {
      CAPTURE(r);
      REQUIRE(storms[r].size() == 1);
      CHECK(storms[r][0].verdict == StormVerdict::kMetastable);
      // Without retries the backlog of the outage drains within some seconds.
      CHECK(storms[r][0].twin_recovery_s.value_or(1000) < 20);
      CHECK(runs[r].metastable == true);
    }
  }
  const TwinCounts counts = count_twins(s, options);
  CHECK(counts.recovered == 6);
  CHECK(counts.metastable == 6);
}

TEST_CASE("A service that another one keeps down by its retries is metastable without a storm") {
  // The clients of the first service make one attempt; it calls the second one up to three times.
  Scenario s = zombie_world(Duration::seconds(3));
  ServiceSpec front = s.services[0];
  front.name = "front";
  front.servers = ServiceSpec::kUnlimited;
  front.service_time = Distribution::constant(Duration::milliseconds(1));
  s.services.push_back(front);
  ClientSpec outside = s.clients[0];
  outside.name = "outside";
  outside.service = 1;
  outside.timeouts.has_attempt = false;
  outside.retry.max_attempts = 1;
  s.clients[0].arrivals = {};
  s.clients[0].arrivals.process = ArrivalProcess::kCalls;
  s.calls.push_back({.caller = 1, .client = 0});
  s.clients[0].count = 1;
  s.clients.push_back(outside);
  s.replications = 3;
  std::vector<RunResult> runs = run_replications(s);
  for (const auto& storms : experiment::storms_with_twins(s, runs, {})) CHECK(storms.empty());
  for (const RunResult& run : runs) CHECK(run.metastable == true);
}

TEST_CASE("What recovers needs no twin, and what has no retries is not metastable") {
  Scenario s = zombie_world(Duration::seconds(3));
  s.clients[0].retry.max_attempts = 1;
  std::vector<RunResult> runs = run_replications(s);
  CHECK(count_twins(s, {}).recovered == 0);
  for (const auto& storms : experiment::storms_with_twins(s, runs, {})) CHECK(storms.empty());
  for (const RunResult& run : runs) CHECK(run.metastable == false);
  // Overload that no retry is to blame for: twice the capacity.
  s = zombie_world(Duration::seconds(3));
  s.clients[0].arrivals.rate = 4;
  s.clients[0].arrivals.surges = {{"for-good", s.faults[0].start, Duration::seconds(1000), 3}};
  s.faults.clear();
  runs = run_replications(s);
  CHECK(count_twins(s, {}).metastable == 0);
}

TEST_CASE("A load ramp changes the load and nothing else") {
  Scenario s = zombie_world(Duration::seconds(3));
  const LoadRamp ramp{{3, 4, 6}, Duration::seconds(40)};
  const Scenario r = experiment::with_load_ramp(s, {0}, ramp);
  CHECK(r.faults.empty());
  CHECK(r.duration == Duration::seconds(200));
  const RunResult run = simulate(r, 0);
  for (std::size_t step = 0; step < 5; ++step) {
    std::uint64_t requests = 0;
    for (std::size_t i = 0; i < 400; ++i) requests += run.all_bins[step * 400 + i].flow.requests;
    // Poisson: 5 standard deviations of sqrt(1200) to sqrt(2400).
    CHECK(static_cast<double>(requests) == Approx(ramp.load(step) * 400).margin(250));
  }
  // The first step is the scenario as it was.
  s.faults.clear();
  const RunResult steady = simulate(s, 0);
  for (std::size_t i = 0; i < 399; ++i) {
    CHECK(run.all_bins[i].flow.requests == steady.all_bins[i].flow.requests);
  }
  const RampRun measured = stats::measure_ramp(r, ramp, run);
  CHECK(measured.tip_load == 6.0);  // more than the capacity of 5
}

}  // namespace
}  // namespace retrysim
