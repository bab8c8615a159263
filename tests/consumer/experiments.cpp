// A comparison of two policies, the best of three, a tipping point, a sweep and a hysteresis loop:
// scenarios filled in by hand, results read from structs.
//
// SPDX-License-Identifier: MIT
#include "experiments.hpp"

#include <retrysim/compare.hpp>
#include <retrysim/sweep.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace consumer {

using namespace retrysim;

namespace {

Duration seconds(double s) { return Duration::nanoseconds(static_cast<std::int64_t>(s * 1e9)); }

// A FIFO queue that serves 50 requests/s, each within a timeout of 1 s or in vain; clients make
// three attempts at once.
Scenario queue_of(double rate) {
  Scenario scenario;
  scenario.name = "queue";
  scenario.duration = seconds(150);
  scenario.interval = seconds(0.1);
  scenario.drain = false;
  scenario.replications = 6;
  scenario.recovery.hold = seconds(10);
  scenario.recovery.window = seconds(5);
  scenario.recovery.share = 0.8;
  ServiceSpec service;
  service.name = "api";
  service.service_time = Distribution::exponential(0.02);
  scenario.services.push_back(service);
  ClientSpec client;
  client.name = "web";
  client.count = 10;
  client.arrivals.rate = rate / 10;  // of each client
  client.timeouts.has_attempt = true;
  client.timeouts.attempt = Distribution::constant(seconds(1));
  client.retry.mode = RetryMode::kCustom;
  client.retry.max_attempts = 3;
  client.retry.backoff.delays = {Distribution::constant(Duration::zero())};
  scenario.clients.push_back(client);
  return scenario;
}

Scenario with_outage(double rate, double length_s) {
  Scenario scenario = queue_of(rate);
  FaultSpec outage;
  outage.name = "outage";
  outage.start = Time::zero() + seconds(20);
  outage.duration = seconds(length_s);
  outage.capacity = 0;
  scenario.faults.push_back(outage);
  return scenario;
}

}  // namespace

double extra_attempts_of_retries() {
  Scenario one = queue_of(100);
  one.duration = seconds(20);
  one.services[0].servers = ServiceSpec::kUnlimited;
  one.services[0].errors = {{{503, "ServiceUnavailable"}, 0.5}};
  Scenario three = one;
  one.clients[0].retry.max_attempts = 1;
  const MetricInfo* amplification = find_metric("amplification");
  CompareOptions options;
  options.metrics = {amplification};
  options.run.jobs = 2;
  const Comparison c = compare(
      {{"one attempt", {one, {}, {}, {}}}, {"three attempts", {three, {}, {}, {}}}}, options);
  const ComparisonRow* row = c.find(1, "all", *amplification);
  return row != nullptr && row->difference.significant ? row->difference.difference : 0;
}

std::size_t attempts_of_the_best_policy() {
  std::vector<NamedScenario> policies;
  for (const std::uint32_t attempts : {1U, 2U, 3U}) {
    Scenario scenario = queue_of(100);
    scenario.duration = seconds(20);
    scenario.clients[0].retry.max_attempts = attempts;
    policies.push_back({std::to_string(attempts), {scenario, {}, {}, {}}});
  }
  ChooseOptions options;
  options.aim.metric = find_metric("work_load");
  options.aim.maximize = false;
  options.limits = {parse_choice_limit("offered_load>=50+-10")};
  options.indifference = 0.1;
  const PolicyChoice choice = choose(std::move(policies), options);
  return choice.best ? *choice.best + 1 : 0;
}

double tipping_point_of_outage() {
  TippingSearch search;
  search.first = 0.05;
  search.last = 3;
  search.tolerance = 0.1;
  const TipResult found =
      find_tipping_point([](double length_s) { return with_outage(30, length_s); }, search);
  return found.point.d50 ? found.point.d50->middle() : 0;
}

double tipping_point_moves_by() {
  TippingSearch search;
  search.first = 0.05;
  search.last = 3;
  search.tolerance = 0.1;
  std::vector<TipCase> loads;
  for (const double rate : {30.0, 40.0}) {
    const std::string name = std::to_string(rate);
    loads.push_back(
        {name, {name}, [rate](double length_s) { return with_outage(rate, length_s); }});
  }
  TipSearchOptions options;
  options.run.jobs = 2;
  const std::vector<TipPoint> curve =
      find_tipping_points(plan_tip(std::move(loads), search), options);
  const auto& slow = curve.at(0).found.point.d50;
  const auto& fast = curve.at(1).found.point.d50;
  return slow && fast ? slow->middle() - fast->middle() : 0;
}

std::size_t points_that_keep_up() {
  std::vector<NamedScenario> points;
  for (const double load : {20.0, 30.0, 100.0}) {
    points.push_back({"load", {queue_of(load), {}, {}, {}}});
    points.back().name += std::to_string(load);
    points.back().loaded.scenario.replications = 2;
  }
  const auto metric = [](const char* name) {
    return static_cast<std::size_t>(find_metric(name) - metric_table().data());
  };
  std::size_t keep_up = 0;
  for (const SweepPoint& point : run_sweep(plan_sweep(std::move(points)))) {
    const std::size_t all = point.values.clients() - 1;
    const auto goodput = summarize_metric(point.values, all, metric("goodput"));
    const auto load = summarize_metric(point.values, all, metric("offered_load"));
    keep_up += goodput && load && goodput->mean > 0.9 * load->mean;
  }
  return keep_up;
}

double load_ratio_of_hysteresis() {
  Scenario scenario = queue_of(10);
  scenario.replications = 1;
  scenario.services[0].queue.capacity = 150;
  HysteresisOptions options;
  options.dwell = seconds(40);
  const HysteresisLoop loop =
      find_hysteresis(scenario, parse_load("client.web.arrivals.rate=1,2,6"), options);
  const RampRun& run = loop.runs.at(0);
  return run.tip_load && run.recover_load ? *run.recover_load / *run.tip_load : 0;
}

}  // namespace consumer
