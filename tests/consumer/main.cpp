// Uses the installed library as another project would: public headers only, a scenario filled in
// by hand, one replication. It checks numbers from theory, so a library that links but is wrong
// fails, too.
//
// SPDX-License-Identifier: MIT
#include "experiments.hpp"
#include "strategy.hpp"

#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "consumer: error: %s does not hold\n", what);
  ++failures;
}

// One server at half load for 2000 s: an M/M/1 queue, whose utilization is 0.5 and whose mean
// latency is 10 ms / (1 - 0.5) = 20 ms.
retrysim::Scenario half_loaded_server() {
  retrysim::Scenario scenario;
  scenario.name = "consumer";
  scenario.duration = retrysim::Duration::seconds(2000);
  retrysim::ServiceSpec service;
  service.name = "api";
  service.service_time = retrysim::Distribution::exponential(0.010);
  scenario.services.push_back(service);
  retrysim::ClientSpec client;
  client.name = "web";
  client.count = 10;
  client.arrivals.rate = 5;  // per second and client
  scenario.clients.push_back(client);
  return scenario;
}

void draws_follow_their_key() {
  const retrysim::RandomKey key(1, 0);
  retrysim::Draws a(key, {.entity = 7, .purpose = retrysim::Purpose::kServiceTime});
  retrysim::Draws b(key, {.entity = 7, .purpose = retrysim::Purpose::kServiceTime});
  expect(a.next() == b.next(), "that equal keys give equal draws");
}

void simulation_follows_theory() {
  const retrysim::RunResult result = retrysim::simulate(half_loaded_server(), 0);
  const retrysim::ClientResult& client = result.clients.at(0);
  const double mean_s = static_cast<double>(client.latency_m.sum_ns) * 1e-9 /
                        static_cast<double>(client.latency_m.count);
  const double utilization = result.services.at(0).window.busy_ns * 1e-9 / 2000;
  // The standard deviations of both over 2000 s are near 0.17 ms and 0.002; these limits are more
  // than five of them away, and the seed is fixed.
  expect(std::abs(mean_s - 0.020) < 0.0015, "the mean latency of M/M/1 at half load, 20 ms");
  expect(std::abs(utilization - 0.5) < 0.02, "the utilization of M/M/1 at half load, 0.5");
}

void files_and_presets_are_there() {
  const auto loaded = retrysim::load_scenario_text("nonsense = ", "inline.toml", ".");
  expect(!loaded.loaded && loaded.errors.size() == 1, "that a syntax error is one error");
  const retrysim::Preset* preset = retrysim::find_preset("standard", "2.0", "botocore", "default");
  expect(preset != nullptr && preset->rules.max_attempts == 3,
         "that standard mode makes three attempts");
}

void strategies_work_outside_and_inside() {
  const std::vector<double> delays = consumer::delays_of_standard_mode();
  expect(delays == std::vector<double>{50, 100}, "that standard mode 2.1 waits 50 and 100 ms");
  // Some 10 000 requests, half of which fail: five standard deviations are 0.025.
  expect(std::abs(consumer::success_share_of_own_strategy() - 0.5) < 0.03,
         "that a strategy which gives up succeeds as often as single attempts");
}

void experiments_are_calls() {
  // 20 s at 100 requests/s, six replications: the standard deviation is near 0.007.
  expect(std::abs(consumer::extra_attempts_of_retries() - 0.75) < 0.04,
         "that two retries of what fails half the time are 3/4 of an attempt more");
  expect(consumer::attempts_of_the_best_policy() == 1,
         "that one attempt asks least of an overloaded service");
  const double tips_at = consumer::tipping_point_of_outage();
  expect(tips_at > 0.05 && tips_at < 3, "that some outage is too long for three attempts");
  expect(consumer::tipping_point_moves_by() > 0, "that more load tips at a shorter outage");
  expect(consumer::points_that_keep_up() == 2,
         "that loads below the capacity of 50 requests/s are served, and twice as much is not");
  const double ratio = consumer::load_ratio_of_hysteresis();
  expect(ratio > 0 && ratio < 1, "that a queue tips at a load above the one it recovers at");
}

}  // namespace

int main() {
  draws_follow_their_key();
  simulation_follows_theory();
  files_and_presets_are_there();
  strategies_work_outside_and_inside();
  experiments_are_calls();
  if (failures == 0) std::puts("consumer: the installed library works");
  return failures == 0 ? 0 : 1;
}
