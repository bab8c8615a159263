// Experiments: the schedule of sequential stopping, the warm-up found in pilot runs, and that
// threads change nothing.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>

#include "unit/model/small_world.hpp"

#include <catch2/catch.hpp>

#include <cmath>

namespace retrysim {
namespace {

/// A queue with exponential service times of 100 ms, loaded to `load`.
Scenario single_queue(double load) {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(300);
  s.replications = 10;
  s.services[0].service_time = Distribution::exponential(0.1);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 10 * load;
  s.clients[0].retry.max_attempts = 1;
  return s;
}

std::vector<int> schedule(int from, int limit) {
  std::vector<int> points = {from};
  while (points.back() < limit) points.push_back(next_replications(points.back(), limit));
  return points;
}

}  // namespace

TEST_CASE("The schedule of replications") {
  REQUIRE(schedule(10, 400) == std::vector<int>{10, 15, 20, 30, 45, 67, 100, 150, 225, 337, 400});
  REQUIRE(schedule(12, 20) == std::vector<int>{12, 15, 20});
  REQUIRE(schedule(50, 1000) == std::vector<int>{50, 67, 100, 150, 225, 337, 505, 757, 1000});
  REQUIRE(next_replications(999'999, 1'000'000) == 1'000'000);
}

TEST_CASE("Replications are added until the interval is as narrow as asked, and no longer") {
  Scenario s = single_queue(0.7);
  s.precision.target = 0.05;
  s.precision.metrics = {"latency_mean"};
  const Experiment e = run_experiment(s);
  REQUIRE(e.precision);
  REQUIRE(e.precision->met);
  REQUIRE(e.precision->metrics.size() == 1);
  const auto precision_after = [&](std::size_t runs) {
    std::vector<double> values;
    for (std::size_t r = 0; r < runs; ++r) {
      values.push_back(*metric_value(*find_metric("latency_mean"), s, e.runs[r], std::nullopt));
    }
    const auto summary = estimate(values);
    return *summary->half_width() / summary->mean;
  };
  REQUIRE(e.runs.size() > 15);  // else the test shows little
  for (int n = 10;; n = next_replications(n, 1000)) {
    const double reached = precision_after(static_cast<std::size_t>(n));
    if (static_cast<std::size_t>(n) == e.runs.size()) {
      REQUIRE(reached <= 0.05 / 1.05);
      REQUIRE(*e.precision->metrics[0].reached == Approx(reached));
      break;
    }
    REQUIRE(reached > 0.05 / 1.05);
  }
  for (std::size_t r = 0; r < e.runs.size(); ++r) REQUIRE(e.runs[r].replication == r);
}

TEST_CASE("What always happens is repeated until the opposite could not have been missed") {
  Scenario s = single_queue(0.3);
  s.replications = 5;
  FaultSpec fault;
  fault.start = Time::zero() + Duration::seconds(100);
  fault.duration = Duration::seconds(10);
  fault.capacity = 0;
  s.faults.push_back(fault);
  s.precision.target = 0.12;
  s.precision.metrics = {"recovered"};
  const Experiment e = run_experiment(s);
  REQUIRE(e.precision->met);
  // 1 - 0.05^(1/n) is 18 % for 15 and 13.9 % for 20 replications.
  REQUIRE(e.runs.size() == 30);
  REQUIRE(*e.precision->metrics[0].reached == Approx(1 - std::pow(0.05, 1.0 / 30)));
}

TEST_CASE("Threads change neither the number of replications nor the warm-up") {
  Scenario s = single_queue(0.7);
  s.precision.target = 0.1;
  s.warmup_is_auto = true;
  Scenario alone = s;
  const Experiment one = run_experiment(alone);
  for (const int jobs : {2, 5}) {
    Scenario together = s;
    ReplicationOptions options;
    options.jobs = jobs;
    const Experiment several = run_experiment(together, options);
    REQUIRE(together.warmup == alone.warmup);
    REQUIRE(several.runs.size() == one.runs.size());
    REQUIRE(several.warmup->decided_by == one.warmup->decided_by);
    for (std::size_t r = 0; r < one.runs.size(); ++r) {
      REQUIRE(several.runs[r].events == one.runs[r].events);
      REQUIRE(several.runs[r].clients[0].latency_m.sum_ns ==
              one.runs[r].clients[0].latency_m.sum_ns);
    }
  }
}

TEST_CASE("A target out of reach ends at the largest number of replications, and says so") {
  Scenario s = single_queue(0.7);
  s.duration = Duration::seconds(30);
  s.precision.target = 0.001;
  s.precision.max_replications = 17;
  const Experiment e = run_experiment(s);
  REQUIRE(e.runs.size() == 17);
  REQUIRE(!e.precision->met);
  REQUIRE(e.precision->metrics.size() == 4);
  REQUIRE(e.precision->metrics[1].metric == "success_rate");
  REQUIRE(e.precision->metrics[1].met);  // always 1
  REQUIRE(!e.precision->metrics[3].met);
}

TEST_CASE("A share near zero does not ask for the impossible") {
  Scenario s = single_queue(0.5);
  s.services[0].errors = {{{500, "InternalError"}, 0.001}};
  s.precision.target = 0.05;
  s.precision.metrics = {"error_share"};
  const Experiment e = run_experiment(s);
  // Errors are 0.001 ± some 1e-4: 10 % of themselves, 0.1 % of the size of a share, 0.1.
  REQUIRE(e.precision->met);
  REQUIRE(e.runs.size() == 10);
  REQUIRE(*e.precision->metrics[0].reached < 0.02);
}

TEST_CASE("The limit on events counts all stages together") {
  Scenario s = single_queue(0.7);
  s.precision.target = 0.02;
  s.precision.metrics = {"latency_mean"};
  std::uint64_t events = 0;
  for (const RunResult& r : run_experiment(s).runs) events += r.events;
  ReplicationOptions options;
  options.max_events = events;
  REQUIRE_NOTHROW(run_experiment(s, options));
  options.max_events = events - 1;
  REQUIRE_THROWS_AS(run_experiment(s, options), LimitExceeded);
}

TEST_CASE("A warm-up is found where it ends, and is the same for all that are compared") {
  // Every request takes 50 s: none succeeds before that, and just as long the number at the service
  // grows.
  Scenario slow = single_queue(0.5), quick = single_queue(0.3);
  slow.services[0].servers = ServiceSpec::kUnlimited;
  slow.services[0].service_time = Distribution::constant(Duration::seconds(50));
  slow.duration = quick.duration = Duration::seconds(600);
  slow.replications = 30;
  slow.name = "slow";
  quick.name = "quick";
  const FoundWarmup of_slow = find_warmup(std::span(&slow, 1));
  REQUIRE(of_slow.warmup.in_seconds() >= 50);
  REQUIRE(of_slow.warmup.in_seconds() <= 150);
  REQUIRE(of_slow.removed_share == Approx(of_slow.warmup.in_seconds() / 600));
  REQUIRE(of_slow.pilot_runs == 20);
  // In whole fives of bins.
  REQUIRE(of_slow.warmup.count() % (5 * slow.interval.count()) == 0);
  const FoundWarmup of_quick = find_warmup(std::span(&quick, 1));
  REQUIRE(of_quick.warmup < of_slow.warmup);
  REQUIRE(of_quick.pilot_runs == 10);
  const std::vector<Scenario> both = {quick, slow};
  const FoundWarmup of_both = find_warmup(both);
  REQUIRE(of_both.warmup == of_slow.warmup);
  REQUIRE(of_both.decided_by == of_slow.decided_by + " in \"slow\"");
}

TEST_CASE("One warm-up for all must leave half of the shortest run") {
  Scenario slow = single_queue(0.5), brief = single_queue(0.5);
  slow.services[0].servers = ServiceSpec::kUnlimited;
  slow.services[0].service_time = Distribution::constant(Duration::seconds(100));
  slow.duration = Duration::seconds(4000);
  brief.duration = Duration::seconds(150);
  const std::vector<Scenario> both = {slow, brief};
  REQUIRE_NOTHROW(find_warmup(std::span(both).first(1)));
  REQUIRE_THROWS_AS(find_warmup(both), WarmupNotFound);
}

TEST_CASE("A queue that grows for good has no warm-up, and a transient is refused") {
  Scenario s = single_queue(1.5);
  REQUIRE_THROWS_AS(find_warmup(std::span(&s, 1)), WarmupNotFound);
  s = single_queue(0.5);
  FaultSpec fault;
  fault.name = "dip";
  fault.start = Time::zero() + Duration::seconds(10);
  fault.duration = Duration::seconds(5);
  s.faults.push_back(fault);
  REQUIRE(why_transient(s) == "fault.dip is a disturbance");
  REQUIRE_THROWS_WITH(find_warmup(std::span(&s, 1)), Catch::Contains("fault.dip"));
  s.warmup_is_auto = true;
  REQUIRE_THROWS_AS(run_replications(s), std::invalid_argument);  // not yet found
}

TEST_CASE("What makes a scenario a transient") {
  Scenario s = single_queue(0.5);
  REQUIRE(!why_transient(s));
  FaultSpec later;
  later.name = "later";
  later.start = Time::zero() + s.duration;
  later.duration = Duration::seconds(5);
  s.faults = {later};
  REQUIRE(!why_transient(s));  // after the end
  s.clients[0].arrivals.surges.push_back({"peak", Time::zero(), Duration::seconds(1), 3});
  REQUIRE(why_transient(s) == "client.web.surge.peak is a disturbance");
  s.clients[0].arrivals.surges.clear();
  s.clients[0].arrivals.process = ArrivalProcess::kOnce;
  REQUIRE(why_transient(s) == "client.web.arrivals come once, with nothing after them");
  s.clients[0].arrivals.process = ArrivalProcess::kTrace;
  REQUIRE(why_transient(s));
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.services[0].profile.emplace();
  REQUIRE(why_transient(s) == "service.api.profile changes its capacity");
}

}  // namespace retrysim
