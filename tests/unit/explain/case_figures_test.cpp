// The figures in verdicts, whatever words are around them; and verdicts on replications of which
// only figures were kept are those on the replications.
//
// SPDX-License-Identifier: MIT
#include <retrysim/replications.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/verdict.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "explain/group_case.hpp"
#include "explain/rules.hpp"

namespace retrysim {
namespace {

/// Two layers: with an outage that the queue outlasts, errors, a quota, a limiter and a surge, so
/// that many rules have something to say.
constexpr const char* kFrontAndBack = R"(
name = "layers"
duration = "40s"
replications = 3
recovery = { hold = "5s" }
[service.api]
servers = 2
service_time = { distribution = "exponential", mean = "10ms" }
queue = { capacity = 100 }
[service.api.calls.db]
attempt_timeout = "100ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "10ms", cap = "20ms" } }
[service.db]
servers = 2
service_time = "4ms"
errors = { internal = 0.1 }
[fault.dip]
service = "db"
start = "10s"
duration = "3s"
speed = 0.2
[client.web]
calls = "api"
count = 40
arrivals = { process = "poisson", total_rate = 100 }
attempt_timeout = "200ms"
mutating = 0.5
retry = { mode = "standard" }
[client.batch]
calls = "api"
count = 4
arrivals = { process = "poisson", total_rate = 10 }
attempt_timeout = "200ms"
retry = { mode = "adaptive" }
)";

void check_same(const char* text, const std::vector<std::string>& edits) {
  const LoadResult result = load_scenario_text(text, "case.toml", ".", edits);
  REQUIRE(result.loaded);
  const Scenario& scenario = result.loaded->scenario;
  const std::vector<RunResult> runs = run_replications(scenario);
  std::vector<std::vector<double>> figures;
  for (const RunResult& run : runs) figures.push_back(verdict_figures(scenario, run));
  const std::vector<Verdict> whole = verdicts(scenario, runs), kept = verdicts(scenario, figures);
  REQUIRE(!whole.empty());
  REQUIRE(whole.size() == kept.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CAPTURE(whole[i].rule);
    CHECK(whole[i].client == kept[i].client);
    CHECK(whole[i].rule == kept[i].rule);
    CHECK(whole[i].severity == kept[i].severity);
    CHECK(whole[i].sentence == kept[i].sentence);
    REQUIRE(whole[i].evidence.size() == kept[i].evidence.size());
    for (std::size_t k = 0; k < whole[i].evidence.size(); ++k) {
      CHECK(whole[i].evidence[k].name == kept[i].evidence[k].name);
      CHECK(whole[i].evidence[k].value == Approx(kept[i].evidence[k].value).epsilon(1e-9));
    }
  }
}

TEST_CASE("Figures of replications lead to the verdicts that the replications lead to") {
  check_same(kFrontAndBack, {});
  check_same(kFrontAndBack, {"client.web.retry.quota.capacity=10"});
  check_same(kFrontAndBack, {"fault.dip.speed=1"});
  check_same(kFrontAndBack, {"fault.dip.duration=28s", "client.*.retry.max_attempts=6"});
  check_same(kFrontAndBack, {"client.web.arrivals.total_rate=300"});
}

/// A group of 400 requests a second for three servers of 10 ms, replications of 20 s.
struct Group {
  Scenario scenario;

  Group() {
    scenario.services.resize(1);
    scenario.services[0].servers = 3;
    scenario.services[0].service_time = Distribution::constant(Duration::milliseconds(10));
    scenario.clients.resize(1);
    scenario.duration = Duration::seconds(20);
  }

  void add_fault(std::int64_t start_s, std::int64_t end_s, double capacity, double speed) {
    FaultSpec fault;
    fault.name = "fault" + std::to_string(scenario.faults.size());
    fault.start = Time::zero() + Duration::seconds(start_s);
    fault.duration = Duration::seconds(end_s - start_s);
    fault.capacity = capacity;
    fault.speed = speed;
    scenario.faults.push_back(fault);
  }

  RunResult run(std::uint64_t requests_per_s) const {
    RunResult result;
    result.interval = Duration::seconds(1);
    result.window_end = Time::zero() + scenario.duration;
    result.services.resize(1);
    result.services[0].bins.resize(20);
    result.clients.resize(scenario.clients.size());
    result.clients[0].requests = result.clients[0].attempts = 20 * requests_per_s;
    result.clients[0].bins.resize(20);
    for (ClientBin& bin : result.clients[0].bins) {
      bin.flow.requests = bin.flow.attempts = bin.flow.arrivals = requests_per_s;
    }
    result.all_bins = result.clients[0].bins;
    return result;
  }

  explain::GroupCase of(const std::vector<RunResult>& runs) const {
    return explain::group_case(scenario, runs, 0);
  }
};

/// The figure of a rule that applies to the group; -1 if the rule does not apply.
double figure(const explain::GroupCase& group, std::string_view rule, std::string_view name) {
  for (const explain::Rule& r : explain::overload_rules()) {
    if (r.about.id != rule) continue;
    const auto found = r.find(group);
    if (!found) return -1;
    for (const EvidenceFigure& f : found->evidence) {
      if (f.name == name) return f.value;
    }
  }
  FAIL("there is no " << rule << " with " << name);
  return 0;
}

TEST_CASE_METHOD(Group,
                 "Servers that a load needs: more than the load, which they would never do") {
  const auto needed = [&](std::uint64_t requests_per_s) {
    return figure(of({run(requests_per_s)}), "overload-without-retries", "servers_needed");
  };
  CHECK(needed(299) == -1);  // three servers do 300
  CHECK(needed(300) == 4);
  CHECK(needed(399) == 4);
  CHECK(needed(400) == 5);  // four have no time to spare
  CHECK(needed(401) == 5);
  CHECK(needed(600) == 7);
}

TEST_CASE_METHOD(Group, "Retries above the capacity are told if they last two bins and a second") {
  const auto seconds_told = [&](double bin_s, double seconds) {
    explain::GroupCase group = of({run(100)});
    group.bin_s = bin_s;
    group.retries_above_capacity = {1, seconds, 1.2};
    return figure(group, "retries-above-capacity", "retries_above_capacity_s");
  };
  CHECK(seconds_told(2, 2) == -1);
  CHECK(seconds_told(2, 4) == 4);
  CHECK(seconds_told(1, 1) == -1);
  CHECK(seconds_told(1, 2) == 2);
  CHECK(seconds_told(0.1, 0.9) == -1);
  CHECK(seconds_told(0.1, 1) == 1);
}

TEST_CASE_METHOD(Group,
                 "Of faults at the same time each leaves its share of what the others leave") {
  const auto left = [&] { return of({}).capacity.left; };
  CHECK(left() == 1);
  add_fault(2, 10, 1, 0.5);
  CHECK(left() == Approx(0.5));
  add_fault(5, 7, 0.4, 1);
  CHECK(left() == Approx(0.2));
  add_fault(6, 7, 0.5, 0.5);
  CHECK(left() == Approx(0.05));
  scenario.faults[2].start = Time::zero() + Duration::seconds(10);  // when the first one ends
  CHECK(left() == Approx(0.2));
  scenario.faults[2].start = Time::zero() + Duration::seconds(9);
  CHECK(left() == Approx(0.125));
  scenario.services.resize(2);
  scenario.faults[0].service = 1;
  CHECK(left() == Approx(0.25));
  scenario.faults[1].unreachable = true;
  CHECK(left() == 0);
}

TEST_CASE_METHOD(Group, "The load in a disturbance is that of the capacity that is left") {
  add_fault(5, 10, 0.5, 1);
  add_fault(5, 10, 1, 0.5);
  // 240 a second are 0.8 of 300, and 3.2 times 75.
  const explain::GroupCase group = of({run(240)});
  CHECK(figure(group, "overload-by-disturbance", "new_load_ratio") == Approx(3.2));
  CHECK(figure(group, "overload-by-disturbance", "capacity_left_share") == Approx(0.25));
}

TEST_CASE_METHOD(Group, "The longest queue of replications is that of the worst of them") {
  std::vector<RunResult> runs = {run(100), run(100), run(100)};
  // 10 ms each for three servers: 6 s, 4.5 s, 0.3 s of work, in whatever order.
  runs[0].services[0].bins[7].queue_max = 1800;
  runs[1].services[0].bins[3].queue_max = 1350;
  runs[2].services[0].bins[19].queue_max = 90;
  for (int order = 0; order < 3; ++order) {
    std::rotate(runs.begin(), runs.begin() + 1, runs.end());
    CHECK(of(runs).capacity.largest_queue_s == Approx(6));
    std::vector<std::vector<double>> figures;
    for (const RunResult& r : runs) figures.push_back(explain::figures_of(scenario, r, 0));
    const std::vector<std::span<const double>> kept(figures.begin(), figures.end());
    CHECK(explain::group_case(scenario, kept, 0).capacity.largest_queue_s == Approx(6));
  }
}

TEST_CASE("Figures of another scenario are refused") {
  const LoadResult one = load_scenario_text(kFrontAndBack, "case.toml", ".", {"duration=5s"});
  REQUIRE(one.loaded);
  const Scenario& scenario = one.loaded->scenario;
  std::vector<std::vector<double>> figures = {
      verdict_figures(scenario, run_replications(scenario).front())};
  figures.front().pop_back();
  CHECK_THROWS_AS(verdicts(scenario, figures), std::invalid_argument);
  CHECK(verdicts(scenario, std::vector<std::vector<double>>{}).empty());
}

}  // namespace
}  // namespace retrysim
