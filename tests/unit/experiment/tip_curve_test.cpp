// Searches for tipping points at several values of other keys, and the store they go on from.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/sweep.hpp>

#include "unit/experiment/request_file.hpp"
#include "unit/experiment/zombie_world.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <vector>

namespace retrysim {
namespace {

ScenarioAt outages_at(double rate) {
  return [rate](double seconds) {
    Scenario s =
        test::zombie_world(Duration::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
    s.replications = 2;
    s.duration = Duration::seconds(100);
    s.clients[0].arrivals.rate = rate;
    return s;
  };
}

TipRequest small_request(const test::RequestFile& file) {
  TipRequest request;
  request.scenario = file.scenario();
  request.edits = {"recovery.hold=1s", "replications=2"};
  request.trigger = parse_trigger("fault.outage.duration=0.1s:1s");
  request.tolerance = 0.5;
  request.varying = {"client.web.retry.mode=none,custom", "service.api.servers=1,2,3"};
  return request;
}

void check_same(const std::vector<TipPoint>& one, const std::vector<TipPoint>& other) {
  REQUIRE(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].name == other[i].name);
    CHECK(one[i].found.point.outcome == other[i].found.point.outcome);
    const auto& probes = one[i].found.point.probes;
    REQUIRE(probes.size() == other[i].found.point.probes.size());
    for (std::size_t k = 0; k < probes.size(); ++k) {
      CHECK(probes[k].value == other[i].found.point.probes[k].value);
      CHECK(probes[k].responses == other[i].found.point.probes[k].responses);
      CHECK(probes[k].metastable == other[i].found.point.probes[k].metastable);
    }
  }
}

TEST_CASE("A tipping point comes sooner at a higher load, and there may be none") {
  const TippingSearch search{0.05, 3, 0.2, false};
  // At 20 of 50 requests/s three attempts are more than the service can take, at 10 they are not.
  const auto points = find_tipping_points(plan_tip({{"10", {"10"}, outages_at(1)},
                                                    {"30", {"30"}, outages_at(3)},
                                                    {"40", {"40"}, outages_at(4)}},
                                                   search),
                                          {});
  REQUIRE(points.size() == 3);
  CHECK(points[0].found.point.outcome == TippingOutcome::kRecoversAtLast);
  REQUIRE(points[1].found.point.d50);
  REQUIRE(points[2].found.point.d50);
  CHECK(points[2].found.point.d50->middle() < points[1].found.point.d50->middle());
  // Each is what a search of its own finds.
  const TipResult alone = find_tipping_point(outages_at(3), search);
  CHECK(points[1].found.point.d50->middle() == alone.point.d50->middle());
  CHECK(points[1].keys == std::vector<std::string>{"30"});
}

TEST_CASE("A plan has a case for each combination, and the first key of numbers as its axis") {
  const test::RequestFile file;
  const TipPlanResult planned = plan_tip(small_request(file));
  REQUIRE(planned.plan);
  CHECK(planned.plan->cases.size() == 6);
  CHECK(planned.plan->cases[1].name == "mode=none servers=2");
  CHECK(planned.plan->cases[1].scenario(0.25).services[0].servers == 2);
  CHECK(planned.plan->cases[1].scenario(0.25).faults[0].duration == Duration::milliseconds(250));
  CHECK(planned.plan->paths() ==
        std::vector<std::string>{"client.web.retry.mode", "service.api.servers"});
  CHECK(planned.plan->axis() == 1U);
  TipRequest one = small_request(file);
  one.varying.clear();
  const TipPlanResult single = plan_tip(one);
  REQUIRE(single.plan);
  CHECK(single.plan->cases.at(0).name == "base");
  CHECK(!single.plan->axis());
  CHECK(single.plan->id != planned.plan->id);
}

TEST_CASE("What cannot be searched for is refused before anything runs") {
  const test::RequestFile file;
  TipRequest request = small_request(file);
  for (const char* varied : {"fault.outage.duration=1s,2s", "fault.*.duration=1s,2s"}) {
    request.varying = {varied};
    CHECK_THROWS_WITH(plan_tip(request), Catch::Contains("is the trigger"));
  }
  request.varying = {"service.api.servers=1:20000:1"};
  CHECK_THROWS_WITH(plan_tip(request), Catch::Contains("combinations"));
  request.varying = {"service.api.servers=1,-1"};
  const TipPlanResult wrong = plan_tip(request);
  REQUIRE(wrong.errors.size() == 1);
  CHECK(wrong.errors[0].message.find("at point servers=-1") != std::string::npos);
  CHECK(wrong.errors[0].file == "vary");
  CHECK_THROWS_AS(plan_tip(std::vector<TipCase>{}, TippingSearch{1, 2}), RequestError);
}

TEST_CASE("A search goes on from its store, whoever computes") {
  const test::RequestFile file;
  const TipPlan plan = *plan_tip(small_request(file)).plan;
  const auto whole = find_tipping_points(plan);
  const auto store = make_store();
  TipSearchOptions options;
  options.run.store = store.get();
  // Stopped at the fifth size.
  std::atomic<bool> stop{false};
  int sizes = 0;
  options.run.stop_flag = &stop;
  options.probing = [&](const std::string&, int, double) { stop = ++sizes == 5; };
  CHECK_THROWS_AS(find_tipping_points(plan, options), Interrupted);
  CHECK(store->units_kept == 8);
  options.run.stop_flag = nullptr;
  options.run.jobs = 3;
  sizes = 100;
  check_same(find_tipping_points(plan, options), whole);
  CHECK(store->units_found == 8);
  const std::size_t kept = store->units_kept;
  check_same(find_tipping_points(plan, options), whole);
  CHECK(store->units_kept == kept);
}

TEST_CASE("Searches that ask another question have another id") {
  const test::RequestFile file;
  const std::uint64_t id = plan_tip(small_request(file)).plan->id;
  for (const char* edit : {"seed=2", "client.web.count=21"}) {
    TipRequest other = small_request(file);
    other.edits.emplace_back(edit);
    CHECK(plan_tip(other).plan->id != id);
  }
  TipRequest other = small_request(file);
  other.tolerance = 0.4;
  CHECK(plan_tip(other).plan->id != id);
}

}  // namespace
}  // namespace retrysim
