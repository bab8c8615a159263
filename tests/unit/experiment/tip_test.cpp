// The search for a tipping point as a call of the library, and the triggers of scenario files.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/sweep.hpp>

#include "measure/analyse/recovery.hpp"
#include "unit/experiment/request_file.hpp"
#include "unit/experiment/zombie_world.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <vector>

namespace retrysim {
namespace {

Scenario outage_of(double seconds) {
  Scenario s = test::zombie_world(Duration::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
  s.replications = 4;
  return s;
}

TEST_CASE("A tipping point lies between outages that recover and outages that do not") {
  TipOptions options;
  std::vector<double> sizes;
  options.probing = [&](int probe, double value) {
    sizes.push_back(value);
    CHECK(probe == static_cast<int>(sizes.size()));
  };
  const TippingSearch search{0.05, 3, 0.5, false};
  const TipResult r = find_tipping_point(outage_of, search, options);
  REQUIRE(r.point.outcome == TippingOutcome::kFound);
  REQUIRE(r.point.d50);
  CHECK(r.point.d50->low >= 0.05);
  CHECK(r.point.d50->high <= 3);
  CHECK(r.point.d50->low < r.point.d50->high);
  CHECK(r.point.thresholds.size() == 4);
  CHECK(r.point.rank == 0);  // six replications are the least for an interval
  REQUIRE(r.point.probes.size() == sizes.size());
  CHECK(sizes[0] == 0.05);
  CHECK(sizes[1] == 3);
  CHECK(r.point.probes.front().tipped() == 0);
  CHECK(r.point.probes.back().tipped() == 4);
  CHECK(r.point.probes.back().metastable == 4);
  CHECK(r.point.probes.back().twin_recovered == 4);
  CHECK(r.notes ==
        std::vector<std::string>{"4 replications: the result is rough; use at least 20"});
}

TEST_CASE("Runs that are too short to tell say how long they should be") {
  const auto short_runs = [](double seconds) {
    Scenario s = outage_of(seconds);
    s.duration = Duration::seconds(30);
    return s;
  };
  const TipResult r = find_tipping_point(short_runs, {0.05, 3, 0.3, false});
  CHECK(r.point.outcome == TippingOutcome::kNotJudged);
  REQUIRE(r.notes.size() == 2);
  CHECK(r.notes[1].find("a duration of ") != std::string::npos);
}

TEST_CASE("Runs that are too short are known to be before the search") {
  const auto plan = [](double duration_s, double last_s) {
    const auto at = [duration_s](double seconds) {
      Scenario s = outage_of(seconds);
      s.duration = Duration::from_seconds(duration_s);
      return s;
    };
    return plan_tip({{"base", {}, at}}, {0.05, last_s, 0.3, false});
  };
  const auto needed = [](double seconds) {
    return *stats::least_duration_to_judge_s(outage_of(seconds));
  };
  CHECK(notes_before(plan(needed(3), 3)).empty());
  // Ten times the length of the outage, its end, and the hold.
  CHECK(needed(30) - needed(20) == Approx(11 * 10));
  const auto high = notes_before(plan(needed(20), 30));
  REQUIRE(high.size() == 1);
  CHECK_THAT(high[0], Catch::Contains("but near HI are too short to show that it does not"));
  const auto all = notes_before(plan(needed(0.05) / 2, 3));
  REQUIRE(all.size() == 1);
  CHECK_THAT(all[0],
             Catch::Contains("are too short to show that it does not; set duration to 63 s"));
}

TEST_CASE("A search without two sizes or with a tolerance out of range is refused") {
  CHECK_THROWS_AS(find_tipping_point(outage_of, {1, 1, 0.1, false}), RequestError);
  CHECK_THROWS_AS(find_tipping_point(outage_of, {1, 2, 0, false}), RequestError);
  CHECK_THROWS_AS(find_tipping_point(outage_of, {1, 2, 0.6, false}), RequestError);
}

TEST_CASE("Limits and a request to stop end a search") {
  TipOptions options;
  options.run.max_events = 1000;
  CHECK_THROWS_AS(find_tipping_point(outage_of, {0.05, 3, 0.3, false}, options), LimitExceeded);
  options = {};
  options.run.timeout = Duration::nanoseconds(1);
  CHECK_THROWS_AS(find_tipping_point(outage_of, {0.05, 3, 0.3, false}, options), LimitExceeded);
  const std::atomic<bool> stop{true};
  options = {};
  options.run.stop_flag = &stop;
  CHECK_THROWS_AS(find_tipping_point(outage_of, {0.05, 3, 0.3, false}, options), Interrupted);
}

TEST_CASE("A trigger takes its unit and kind from the table of keys") {
  const Trigger seconds = parse_trigger("fault.outage.duration=0.9:1600ms");
  CHECK(seconds.path == "fault.outage.duration");
  CHECK(seconds.first == 0.9);
  CHECK(seconds.last == 1.6);
  CHECK(seconds.unit == "s");
  CHECK(seconds.edit(1.5) == "fault.outage.duration=\"1500ms\"");
  const Trigger whole = parse_trigger("client.web.retry.max_attempts=1:8");
  CHECK(whole.whole_numbers);
  CHECK(whole.edit(3) == "client.web.retry.max_attempts=3");
  CHECK(parse_trigger("client.*.arrivals.total_rate=100:200").unit == "1/s");
  const Trigger large = parse_trigger("service.api.servers=1:1e9");
  CHECK(large.whole_numbers);
  CHECK(large.edit(large.last) == "service.api.servers=1000000000");
  CHECK_THROWS_WITH(parse_trigger("service.api.servers=5s:20s"),
                    Catch::EndsWith("service.api.servers takes whole numbers, which are no "
                                    "durations"));
  CHECK_THROWS_WITH(parse_trigger("slo.web.share=0.9:0.99"),
                    Catch::Contains("slo.web.share controls how runs are made and measured"));
  for (const char* text :
       {"", "x", "=1:2", "fault.outage.duration=1s", "fault.outage.duration=1s:soon",
        "fault.outage.duration=1s:1000ms", "seed=1:2", "client.web.retry.mode=1:2",
        "client.web.retry.max_attempts=1.5:3"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_trigger(text), RequestError);
  }
}

TEST_CASE("A scenario file has a scenario for each size of a trigger") {
  const test::RequestFile file;
  const Trigger trigger = parse_trigger("fault.outage.duration=0.1s:2s");
  const ScenarioAt at = scenarios_of(file.scenario(), {"seed=7"}, trigger);
  CHECK(at(0.25).faults[0].duration == Duration::milliseconds(250));
  CHECK(at(0.25).seed == 7);
  const Trigger wrong = parse_trigger("fault.outage.capacity=0:-1");
  CHECK_THROWS_WITH(scenarios_of(file.scenario(), {}, wrong)(-1), Catch::StartsWith("trigger: "));
  const LoadResult result = load_at(file.scenario(), {}, wrong, -1, "part");
  REQUIRE(result.errors.size() == 1);
  CHECK(result.errors[0].file == "part");
}

}  // namespace
}  // namespace retrysim
