// Sweeps as calls of the library: points, limits, stores, shards.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/sweep.hpp>

#include "unit/experiment/request_file.hpp"
#include "unit/experiment/zombie_world.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {
namespace {

SweepRequest request_for(const test::RequestFile& file, std::vector<std::string> varying) {
  SweepRequest request;
  request.scenario = file.scenario();
  request.varying = std::move(varying);
  return request;
}

SweepPlan plan_of(const SweepRequest& request) {
  SweepPlanResult result = plan_sweep(request);
  REQUIRE(result.errors.empty());
  return *std::move(result.plan);
}

/// All values of all replications.
std::vector<std::optional<double>> values_of(const SweepPoint& point) {
  std::vector<std::optional<double>> values;
  for (std::size_t r = 0; r < point.values.runs(); ++r) {
    for (std::size_t c = 0; c < point.values.clients(); ++c) {
      for (std::size_t m = 0; m < metric_table().size(); ++m) {
        values.push_back(point.values.at(r, c, m));
      }
    }
  }
  return values;
}

const std::vector<std::string> kGrid = {"client.web.count=10,20",
                                        "fault.outage.duration=0.1s,0.2s"};

TEST_CASE("A sweep has the replications of every combination for any number of threads") {
  const test::RequestFile file;
  const SweepPlan plan = plan_of(request_for(file, kGrid));
  CHECK(plan.points() == 4);
  CHECK(plan.grid_points == 4);
  CHECK(plan.paths == std::vector<std::string>{"client.web.count", "fault.outage.duration"});
  for (const int jobs : {1, 3}) {
    ReplicationOptions options;
    options.jobs = jobs;
    const std::vector<SweepPoint> points = run_sweep(plan, options);
    REQUIRE(points.size() == 4);
    CHECK(points[1].name == "count=10 duration=0.2s");
    CHECK(points[1].keys == std::vector<std::string>{"10", "0.2s"});
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::shared_ptr<const Scenario> scenario = plan.scenario(i);
      const MetricValues expected(*scenario, run_replications(*scenario));
      CHECK(values_of(points[i]) ==
            values_of({"", {}, scenario, MetricValues(expected), std::nullopt}));
      CHECK_FALSE(points[i].limit);
    }
  }
}

TEST_CASE("A CSV input that changes during a sweep plays no part in it") {
  const test::RequestFile file(R"(
name = "traced"
duration = "4s"
replications = 2
[service.api]
servers = 1
service_time = "100ms"
[client.web]
count = 10
arrivals = { process = "trace", file = "trace.csv" }
retry.mode = "standard"
)");
  const auto trace = [&](const char* times) {
    std::ofstream(file.folder() / "trace.csv") << "time_s\n" << times;
  };
  trace("0.5\n1\n");
  const SweepRequest request = request_for(file, {"client.web.count=10,20"});
  const auto store = make_store();
  ReplicationOptions options;
  options.store = store.get();
  SweepPlan plan = plan_of(request);
  trace("0.5\n1\n2\n");
  const std::vector<SweepPoint> points = run_sweep(std::move(plan), options);
  CHECK(*points[0].values.at(0, 0, index_of(*find_metric("requests"))) == 2);
  // What is kept is found for the file as it was, and for no other.
  trace("0.5\n1\n");
  CHECK(values_of(run_sweep(plan_of(request), options)[1]) == values_of(points[1]));
  CHECK(store->units_found == 4);
  trace("0.5\n1\n2\n");
  const std::vector<SweepPoint> others = run_sweep(plan_of(request), options);
  CHECK(*others[0].values.at(0, 0, index_of(*find_metric("requests"))) == 3);
  CHECK(store->units_found == 4);
}

TEST_CASE("The points of a sweep have the phases of their runs") {
  const test::RequestFile file;
  const SweepPlan plan = plan_of(request_for(file, kGrid));
  const auto store = open_store(file.folder() / "store");
  ReplicationOptions options;
  options.store = store.get();
  Sweep sweep(plan, options);
  sweep.run();
  for (std::size_t i = 0; i < plan.points(); ++i) {
    const std::shared_ptr<const Scenario> scenario = plan.scenario(i);
    const PhaseValues expected(*scenario, run_replications(*scenario));
    const SweepPoint point = sweep.point(i);
    REQUIRE(expected.phases() == 4);
    CHECK(point.phases.phases() == 4);
    CHECK(point.phases.all() == expected.all());
    // The outline of the point is enough to name them.
    CHECK(phases_of(*point.scenario) == phases_of(*scenario));
    CHECK(summarize_phases(*point.scenario, point.phases).size() ==
          summarize_phases(*scenario, expected).size());
  }
}

TEST_CASE("A point that is asked for again has the same values, from a store or from memory") {
  const test::RequestFile file;
  Sweep in_memory(plan_of(request_for(file, kGrid)));
  in_memory.run();
  const auto store = open_store(file.folder() / "store");
  ReplicationOptions options;
  options.store = store.get();
  Sweep sweep(plan_of(request_for(file, kGrid)), options);
  sweep.run();
  for (int time = 0; time < 2; ++time) {
    for (std::size_t i = 0; i < sweep.points(); ++i) {
      const SweepPoint point = sweep.point(i), other = in_memory.point(i);
      CHECK(point.name == other.name);
      CHECK(point.keys == other.keys);
      CHECK(values_of(point) == values_of(other));
      CHECK(point.phases.all() == other.phases.all());
      CHECK(point.verdict_figures == other.verdict_figures);
    }
  }
  CHECK(values_of(sweep.point(0)) != values_of(sweep.point(1)));
}

TEST_CASE("A sweep goes on from its store and does nothing twice") {
  const test::RequestFile file;
  const SweepPlan plan = plan_of(request_for(file, kGrid));
  const std::vector<SweepPoint> whole = run_sweep(plan);
  ReplicationOptions options;
  const auto first = open_store(file.folder() / "store");
  options.store = first.get();
  std::atomic<bool> stop{false};
  options.stop_flag = &stop;
  {
    // Stops at the third point.
    SweepPlan stopping = plan;
    stopping.scenario = [&](std::size_t point) {
      stop = stop || point == 2;
      return plan.scenario(point);
    };
    Sweep sweep(stopping, options);
    CHECK_THROWS_AS(sweep.run(), Interrupted);
    CHECK(first->units_kept == 6);
  }
  const auto second = open_store(file.folder() / "store");
  options.store = second.get();
  options.stop_flag = nullptr;
  Sweep sweep(plan, options);
  sweep.run();
  CHECK(second->units_found == 6);
  for (std::size_t i = 0; i < 4; ++i) CHECK(values_of(sweep.point(i)) == values_of(whole[i]));
}

TEST_CASE("Shards have the points of the grid in turn and belong to one sweep") {
  const test::RequestFile file;
  SweepRequest request = request_for(file, {"client.web.count=1,2,3,4,5"});
  const SweepPlan whole = plan_of(request);
  request.shard = Shard{2, 3};
  const SweepPlan part = plan_of(request);
  REQUIRE(part.points() == 2);
  CHECK((*part.variants)[0].name == "count=2");
  CHECK((*part.variants)[1].name == "count=5");
  CHECK(part.grid_points == 5);
  CHECK(part.id == whole.id);
}

TEST_CASE("A point that goes over a limit is noted and the others go on") {
  const test::RequestFile file;
  ReplicationOptions options;
  options.max_events = 3000;  // 240 requests take about a thousand
  Sweep sweep(plan_of(request_for(file, {"client.web.arrivals.total_rate=60,2000"})), options);
  sweep.run();
  CHECK_FALSE(sweep.point(0).limit);
  CHECK(sweep.point(0).values.runs() == 3);
  CHECK(sweep.point(1).limit == LimitKind::kEvents);
  CHECK(sweep.point(1).values.runs() == 0);
  const auto first = sweep.first_over_limit();
  REQUIRE(first);
  CHECK(std::string_view(first->what()).starts_with("total_rate=2000: "));
  CHECK(first->kind() == LimitKind::kEvents);
}

TEST_CASE("Mistakes of points are told with the points they concern") {
  const test::RequestFile file;
  const SweepPlanResult result = plan_sweep(
      request_for(file, {"client.web.arrivals.total_rate=80,-1", "client.web.count=0,1,2"}));
  CHECK_FALSE(result.plan);
  REQUIRE(result.errors.size() == 2);
  CHECK(result.errors[0].message.ends_with("(at point total_rate=80 count=0 and 1 more)"));
  CHECK(plan_sweep(request_for(file, {"client.web.count=1:0:1"})).errors.size() == 1);
  SweepRequest nowhere = request_for(file, kGrid);
  nowhere.scenario = file.folder() / "nowhere.toml";
  CHECK(plan_sweep(nowhere).errors.size() == 1);
}

TEST_CASE("Sweeps that cannot be are refused, and notes are told") {
  const test::RequestFile file;
  CHECK_THROWS_AS(plan_sweep(request_for(file, {"client.web.count=1:100000:1", "seed=1:1000:1"})),
                  RequestError);
  SweepRequest request = request_for(file, {"seed=1:100000:1"});
  request.max_memory = 1000;
  CHECK_THROWS_AS(plan_sweep(request), LimitExceeded);
  CHECK_THROWS_AS(plan_sweep(std::vector<NamedScenario>{}), RequestError);
  std::vector<std::string> notes;
  request = request_for(file, {"seed=1,2"});
  request.edits = {"replications=10", "precision=0.1"};
  request.note = [&](const std::string& note) { notes.push_back(note); };
  plan_of(request);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].starts_with("precision has no effect on a sweep"));
}

TEST_CASE("Scenarios made by hand are points of a sweep") {
  Scenario a = test::zombie_world(Duration::seconds(1));
  a.duration = Duration::seconds(25);
  a.replications = 2;
  Scenario b = a;
  b.clients[0].arrivals.rate = 1;
  const SweepPlan plan =
      plan_sweep(std::vector<NamedScenario>{{"a", {a, {}, {}, {}}}, {"b", {b, {}, {}, {}}}});
  double shown = -1;
  ReplicationOptions options;
  options.progress = [&](double share) { shown = share; };
  const std::vector<SweepPoint> points = run_sweep(plan, options);
  REQUIRE(points.size() == 2);
  CHECK(points[0].name == "a");
  CHECK(values_of(points[1]) ==
        values_of({"", {}, nullptr, MetricValues(b, run_replications(b)), std::nullopt}));
  CHECK(shown <= 1);
}

}  // namespace
}  // namespace retrysim
