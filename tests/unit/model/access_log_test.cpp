// The access log has one entry for each answer of a service, in the order of the answers, and being
// asked for it changes nothing.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

using namespace retrysim;
using namespace retrysim::test;

namespace {

struct Entry {
  Time answered;
  Duration duration;
  int status;
  std::size_t service;
  std::uint32_t instance;
  std::string operation;
  std::uint64_t request;
};

struct LoggedRun {
  RunResult result;
  std::vector<Entry> log;

  std::size_t with_status(int status) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(log, [&](const Entry& e) { return e.status == status; }));
  }
};

LoggedRun run_with_log(const Scenario& s) {
  LoggedRun run;
  SimulationOptions options;
  options.fingerprint = true;
  options.access_log = [&run](const AccessLogEntry& e) {
    run.log.push_back({e.answered, e.duration, e.status, e.service, e.instance,
                       std::string(e.operation), e.request});
  };
  run.result = simulate(s, 0, options);
  CHECK(std::ranges::is_sorted(run.log, {}, &Entry::answered));
  return run;
}

/// A busy service: Poisson arrivals at 80 % of its capacity.
Scenario logged_world() {
  Scenario s = small_world();
  s.services[0].servers = 2;
  s.services[0].service_time = Distribution::exponential(0.02);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 80;
  return s;
}

}  // namespace

TEST_CASE("the access log has each served attempt, and its durations are the service's latency") {
  const Scenario s = logged_world();
  const LoggedRun run = run_with_log(s);
  REQUIRE(run.log.size() > 7000);
  CHECK(run.log.size() == total(run.result.services[0]).completions);
  CHECK(run.with_status(200) == run.log.size());
  double sum_s = 0;
  std::set<std::uint64_t> requests;
  for (const Entry& e : run.log) sum_s += e.duration.in_seconds(), requests.insert(e.request);
  CHECK(requests.size() == run.log.size());  // no retries
  CHECK(sum_s / static_cast<double>(run.log.size()) ==
        Approx(metric("service_latency_mean", s, run.result)));
  CHECK(run.result.fingerprint == simulate(s, 0, {.fingerprint = true}).fingerprint);
}

TEST_CASE("errors are logged with their status, and also answers that no client waits for") {
  Scenario s = logged_world();
  s.services[0].queue.capacity = 3;
  s.services[0].errors.push_back({{500, "InternalError"}, 0.1});
  set_timeout(s.clients[0], ms(40));
  const LoggedRun run = run_with_log(s);
  const ServiceFlow flow = total(run.result.services[0]);
  REQUIRE(flow.rejected > 100);
  REQUIRE(flow.errors > 100);
  REQUIRE(flow.wasted > 100);
  CHECK(run.with_status(200) == flow.completions);
  CHECK(run.with_status(500) == flow.errors);
  CHECK(run.with_status(503) == flow.rejected);
  CHECK(run.log.size() == flow.arrivals);
  for (const Entry& e : run.log) {
    if (e.status != 200) CHECK(e.duration == Duration::zero());
  }
  std::map<std::uint64_t, int> attempts;
  for (const Entry& e : run.log) ++attempts[e.request];
  CHECK(attempts.size() == total(run.result.clients[0]).requests);
  CHECK(std::ranges::any_of(attempts, [](const auto& a) { return a.second > 1; }));
}

TEST_CASE("attempts that leave a service without an answer are not logged") {
  Scenario s = logged_world();
  set_timeout(s.clients[0], ms(40));
  for (const Abandoned policy :
       {Abandoned::kDropAtDequeue, Abandoned::kRemove, Abandoned::kAbort}) {
    s.services[0].abandoned = policy;
    const LoggedRun run = run_with_log(s);
    const ServiceFlow flow = total(run.result.services[0]);
    CHECK(run.log.size() == flow.completions);
    CHECK(run.log.size() < flow.arrivals);
  }
}

TEST_CASE("the access log names services, instances and operations") {
  Scenario s = logged_world();
  s.services[0].instances.count = 2;
  s.clients[0].operations = {{.name = "get", .share = 3}, {.name = "put", .share = 1}};
  s.services.push_back(s.services[0]);
  s.services[1].name = "store";
  s.services[1].instances.count = 1;
  ClientSpec calls = s.clients[0];
  calls.name = "calls";
  calls.operations.clear();
  calls.service = 1;
  calls.count = 2;  // a client for each instance
  add_call(s, 0, calls);
  const LoggedRun run = run_with_log(s);
  std::map<std::string, std::size_t> lines;
  for (const Entry& e : run.log) {
    ++lines[s.services[e.service].name + " " + std::to_string(e.instance) + " " + e.operation];
  }
  CHECK(lines.size() == 5);
  CHECK(lines["store 0 "] == total(run.result.services[1]).completions);
  for (const char* name : {"api 0 get", "api 0 put", "api 1 get", "api 1 put"}) {
    CHECK(lines[name] > 500);
  }
}

TEST_CASE("an attempt that takes no time is logged as any other") {
  Scenario s = logged_world();
  s.services[0].service_time = Distribution::constant(Duration::zero());
  s.network.latency = Distribution::constant(ms(5));
  const LoggedRun run = run_with_log(s);
  CHECK(run.log.size() == total(run.result.services[0]).completions);
  REQUIRE(run.log.size() > 7000);
  for (const Entry& e : run.log) CHECK(e.duration == Duration::zero());
}
