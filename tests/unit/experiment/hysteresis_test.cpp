// Load ramps as calls of the library.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/sweep.hpp>

#include "unit/experiment/request_file.hpp"
#include "unit/experiment/zombie_world.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace retrysim {
namespace {

// A queue of 150 takes 3 s to be served, three times the timeout: who retries stays behind it.
Scenario queue_at(double rate_per_client) {
  Scenario s = test::zombie_world(Duration::seconds(3));
  s.replications = 2;
  s.services[0].queue.capacity = 150;
  s.clients[0].arrivals.rate = rate_per_client;
  return s;
}

TEST_CASE("Retries keep a queue down on the way back") {
  // The capacity is 5 per client and second. Three attempts of 2 each are more, of 1 less.
  const LoadKey key = parse_load("client.web.arrivals.rate=1,2,6");
  HysteresisOptions options;
  options.dwell = Duration::seconds(40);
  for (const int jobs : {1, 2}) {
    options.run.jobs = jobs;
    const HysteresisLoop loop = find_hysteresis(queue_at(1), key, options);
    REQUIRE(loop.runs.size() == 2);
    CHECK(loop.ramp.steps() == 5);
    for (const RampRun& run : loop.runs) {
      REQUIRE(run.steps.size() == 5);
      CHECK(run.tip_load == 6.0);
      CHECK(run.recover_load == 1.0);
      CHECK_FALSE(run.steps[1].down);
      CHECK(run.steps[3].down);
      CHECK(run.loop_area > 0);
      // Poisson: 200 requests in 20 s; five standard deviations are 71.
      CHECK(run.steps[0].offered_load == Approx(10).margin(3.5));
    }
    CHECK(loop.notes == std::vector<std::string>{"faults and surges of the scenario are left out"});
  }
}

TEST_CASE("A ramp has a dwell of its own unless one is asked for") {
  const Scenario s = queue_at(1);
  const LoadKey key = parse_load("client.*.arrivals.rate=1:3:1");
  // Twenty rolling windows of the timeout of 1 s and no backoff, at least 10 bins of 100 ms.
  CHECK(plan_ramp(s, key).dwell == Duration::seconds(20));
  CHECK(plan_ramp(s, key, Duration::seconds(7)).dwell == Duration::seconds(7));
  CHECK(plan_ramp(s, key).loads == std::vector<double>{1, 2, 3});
  CHECK_THROWS_WITH(plan_ramp(s, key, Duration::milliseconds(399)),
                    Catch::Contains("is shorter than four bins"));
  CHECK_THROWS_AS(plan_ramp(s, key, Duration::seconds(300'000'000)), RequestError);
  Scenario with_profile = s;
  with_profile.clients[0].arrivals.profile = RateProfile{{Time::zero()}, {1}};
  CHECK_THROWS_WITH(plan_ramp(with_profile, key), Catch::Contains("a profile of its own"));
}

TEST_CASE("A load key is the rate of a client group with rising values") {
  const LoadKey key = parse_load("client.web.arrivals.total_rate=100:300:100");
  CHECK(key.path == "client.web.arrivals.total_rate");
  CHECK(key.client == "web");
  CHECK(key.loads == std::vector<double>{100, 200, 300});
  for (const char* text :
       {"", "client.web.arrivals.rate", "client.web.count=1:5:1", "service.api.servers=1:5:1",
        "client.web.arrivals.rate=5", "client.web.arrivals.rate=5:1:-1",
        "client.web.arrivals.rate=0,1", "client.web.arrivals.rate=1s,2s",
        "client.a.arrivals.rate,client.b.arrivals.rate=(1,2),(3,4)",
        "client.web.arrivals.rate=1:2000:1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_load(text), RequestError);
  }
}

TEST_CASE("A scenario file is loaded at the first load") {
  const test::RequestFile file;
  const LoadKey key = parse_load("client.web.arrivals.total_rate=10:30:10");
  const LoadResult result = load_at(file.scenario(), {}, key);
  REQUIRE(result.loaded);
  CHECK(result.loaded->scenario.clients[0].arrivals.rate == 0.5);  // of each of 20 clients
  const LoadResult wrong =
      load_at(file.scenario(), {}, parse_load("client.wbe.arrivals.total_rate=10:30:10"));
  REQUIRE_FALSE(wrong.errors.empty());
  CHECK(wrong.errors[0].file == "hysteresis");
}

}  // namespace
}  // namespace retrysim
