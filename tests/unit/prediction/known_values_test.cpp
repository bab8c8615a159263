// Values that theory gives to twelve digits, and what the fluid makes of the same cases.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include "prediction/chain/markov_chain.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include "scenario_of.hpp"
#include "unit/prediction/zombie_system.hpp"

namespace retrysim {
namespace {

using test::scenario_of;
using test::zombie_system;

TEST_CASE("Critical failure shares, to 1e-9") {
  CHECK(quota_critical_share(3, 5) == Approx(0.320724347323).epsilon(1e-9));
  CHECK(quota_critical_share(3, 10) == Approx(0.245996204469).epsilon(1e-9));
  CHECK(quota_critical_share(3, 14) == Approx(0.214856303891).epsilon(1e-9));
  CHECK(quota_critical_share(4, 14) == Approx(0.211690952836).epsilon(1e-9));
}

TEST_CASE("Costly rejections, to 1e-9") {
  const OverloadEquilibria vulnerable = equilibria({0.7, 5, 0.3});  // P110
  REQUIRE(vulnerable.saturated.size() == 1);
  CHECK(vulnerable.saturated[0].failure == Approx(0.71985791994).epsilon(1e-9));
  CHECK(vulnerable.collapse);
  CHECK(vulnerable.vulnerable_load == Approx(0.659094006761).epsilon(1e-9));
  CHECK(vulnerable.collapse_load == Approx(2.0 / 3).epsilon(1e-9));
  CHECK(vulnerable.peak == Approx(1.51723424844).epsilon(1e-9));
  CHECK(vulnerable.failure_at_peak == Approx(0.927165).margin(1e-6));  // known to six digits
  const OverloadEquilibria sound = equilibria({0.9, 3, 0.2});          // P111
  CHECK(sound.saturated.empty());
  CHECK(sound.vulnerable_load == Approx(0.942513511977).epsilon(1e-9));
  CHECK(sound.peak == Approx(1.06099274683).epsilon(1e-9));
  CHECK(sound.failure_at_peak == Approx(0.383795).margin(1e-6));
  const OverloadEquilibria below = equilibria({0.6, 3, 0.5});  // P109
  CHECK(below.vulnerable_load == Approx(2.0 / 3).epsilon(1e-9));
  CHECK(below.collapse_load == Approx(2.0 / 3).epsilon(1e-9));
  CHECK(below.peak == Approx(1.5).epsilon(1e-9));
  CHECK(below.failure_at_peak == 1);
}

TEST_CASE("A loss system with late retries: failures, attempts and successes, to 1e-9") {
  struct Case {
    double load;
    int servers;
    double attempts, failure, amplification, success;
  };
  for (const Case& c : {Case{8, 8, 3, 0.481334605008, 1.71301760699, 0.888482953755},
                        Case{12, 8, 3, 0.714420727559, 2.22481770353, 0.635361821086},
                        Case{2, 2, 5, 0.702658121082, 2.7870766184, 0.828714598404}}) {
    const double p = late_retry_failure(c.load, c.servers, c.attempts);
    CHECK(p == Approx(c.failure).epsilon(1e-9));
    CHECK(attempts_per_request(p, c.attempts) == Approx(c.amplification).epsilon(1e-9));
    CHECK(1 - std::pow(p, c.attempts) == Approx(c.success).epsilon(1e-9));
  }
}

TEST_CASE("The send rate of adaptive mode, to 1e-9") {
  CHECK(cubic_window(100) == Approx(4.21716332651).epsilon(1e-9));
  CHECK(cubic_window(10) == Approx(1.95743382058).epsilon(1e-9));
  CHECK(cubic_rate(100, 1) == Approx(86.6807638351).epsilon(1e-9));
  CHECK(cubic_rate(100, 4.21716332651) == Approx(100).epsilon(1e-9));
  CHECK(cubic_rate(100, 6) == Approx(102.266703256).epsilon(1e-9));
  CHECK(cubic_rate(100, 7.14118106472) == Approx(110).epsilon(1e-9));
  CHECK(cubic_rate(10, 0.5) == Approx(8.76169815101).epsilon(1e-9));
  CHECK(cubic_rate(10, 3.31464262888) == Approx(11).epsilon(1e-9));
  for (const double rate : {10.0, 100.0}) {
    CHECK(cubic_rate(rate, 0) == Approx(0.7 * rate).epsilon(1e-9));
    constexpr int kParts = 1000;
    double sum = 0;
    for (int i = 0; i < kParts; ++i)
      sum += cubic_rate(rate, cubic_window(rate) * (i + 0.5) / kParts);
    CHECK(sum / kParts / rate == Approx(0.925).epsilon(1e-6));
  }
}

TEST_CASE("Live attempts and zombies, to 1e-8") {
  const ZombieServiceLaw half = solve(
      ZombieService{
          .arrival_rate = 0.7, .patience_rate = 0.05, .retry_probability = 0.5, .places = 40},
      5);  // P060
  CHECK(half.goodput == Approx(0.594059820338).epsilon(1e-8));
  CHECK(half.utilization == Approx(0.7920987152).epsilon(1e-8));
  CHECK(half.live == Approx(3.96077789724).epsilon(1e-8));
  CHECK(half.zombies == Approx(3.26049251303).epsilon(1e-8));
  CHECK(half.full == Approx(0.00662806498972).epsilon(1e-8));
  CHECK(half.timeout_rate == Approx(0.198038894862).epsilon(1e-8));
  CHECK(half.fill_time == Approx(3407.08643259).epsilon(1e-8));
  CHECK(half.recovery_time == Approx(335.167449241).epsilon(1e-8));
  const ZombieServiceLaw all =
      solve(ZombieService{.arrival_rate = 0.5, .patience_rate = 0.05, .places = 60}, 7);  // P061
  CHECK(all.goodput == Approx(0.323554197818).epsilon(1e-8));
  CHECK(all.utilization == Approx(0.897137610516).epsilon(1e-8));
  CHECK(all.live == Approx(11.471668254).epsilon(1e-8));
  CHECK(all.zombies == Approx(30.8179447883).epsilon(1e-8));
  CHECK(all.full == Approx(0.140555840505).epsilon(1e-8));
  CHECK(all.timeout_rate == Approx(0.573583412698).epsilon(1e-8));
  CHECK(all.fill_time == Approx(5681.34858072).epsilon(1e-8));
  CHECK(all.recovery_time == Approx(16945.2134369).epsilon(1e-8));
}

// --- The fluid -----------------------------------------------------------------------------------

TEST_CASE("Below 1 / attempts the fluid is safe, and collapsed it makes all attempts") {
  for (const auto& [rho, attempts] :
       {std::pair{.6, 3}, {.65, 4}, {.7, 3}, {.75, 2}, {.8, 3}}) {  // P112 .. P116
    const std::string outage = "[fault.outage]\nstart = 5\nduration = 5\ncapacity = 0\n";
    const Scenario scenario = scenario_of(zombie_system(rho, attempts, outage));
    CHECK(fluid_equilibria(scenario, 0).vulnerable_load == Approx(1.0 / attempts).epsilon(1e-9));
    const FluidRun run = run_fluid(scenario, 0, {.series_interval = 1});
    const FluidSample& late = run.series.at(run.series.size() - 2);
    CHECK(late.attempts / late.offered == Approx(attempts).epsilon(1e-6));
  }
}

TEST_CASE("A surge makes the first attempts late when theory says") {
  struct Case {
    double load, factor, first;
  };
  for (const Case& c : {Case{.7, 2, 2.5}, Case{.7, 3, 0.909090909091}, Case{.8, 2, 1.66666666667},
                        Case{.6, 3, 1.25}, Case{.8, 2.5, 1}}) {  // P117 .. P121
    for (const double share : {0.98, 1.02}) {
      const Scenario scenario = scenario_of(
          zombie_system(c.load, 3,
                        fmt::format("surge.peak = {{ start = 5, duration = {}, factor = {} }}\n",
                                    share * c.first, c.factor)));
      const double timeouts = run_fluid(scenario, 0).groups.at(0).timeouts;
      CHECK((timeouts > 1) == (share > 1));
    }
  }
}

TEST_CASE("A backlog drains with what the attempts leave of the capacity") {
  struct Case {
    double load, backlog, slope, time;
  };
  for (const Case& c :
       {Case{.2, 10, -0.4, 22.5}, Case{.1, 5, -0.7, 5.71428571429}}) {  // P122, P123
    // A stop of the service with the load of all three attempts makes the backlog.
    const double stop = c.backlog / (3 * c.load) + 4;
    const Scenario scenario = scenario_of(zombie_system(
        c.load, 3, fmt::format("[fault.stop]\nstart = 5\nduration = {}\ncapacity = 0\n", stop)));
    const FluidRun run = run_fluid(scenario, 0, {.series_interval = 0.05});
    double from = 0, to = 0;
    for (const FluidSample& s : run.series) {
      if (s.time < 5 + stop) continue;
      if (s.backlog > c.backlog * 0.9) from = s.time;
      if (s.backlog > 1) to = s.time;
    }
    REQUIRE(to > from);
    CHECK((1 - 0.9 * c.backlog) / (to - from) == Approx(c.slope).epsilon(0.02));
    CHECK((to - from) / (0.9 * c.backlog - 1) * (c.backlog - 1) == Approx(c.time).epsilon(0.02));
  }
}

TEST_CASE("Rejections that cost nothing: the run of the fluid settles where theory says") {
  struct Case {
    double load;
    int attempts;
    double failure, amplification, success;
  };
  for (const Case& c : {Case{1.2, 3, 0.550321208149, 1.85317464029, 0.833333333333},
                        Case{2, 3, 0.793700525984, 2.42366105093, 0.5},
                        Case{1.5, 5, 0.80274156176, 3.37966108125, 0.666666666667}}) {
    const Scenario scenario = scenario_of(fmt::format(
        "name = \"reject\"\nduration = 200\nwarmup = 100\n"
        "[service.api]\nservice_time = {{ distribution = \"exponential\", mean = 0.001 }}\n"
        "queue = {{ capacity = 100 }}\n"
        "[client.web]\narrivals = {{ process = \"poisson\", total_rate = {} }}\n"
        "attempt_timeout = 1\nretry = {{ mode = \"custom\", max_attempts = {}, "
        "backoff = {{ base = \"500ms\", cap = \"2s\", jitter = \"full\" }} }}\n",
        1000 * c.load, c.attempts));
    const FluidGroup g = run_fluid(scenario, 0).groups.at(0);
    CHECK(g.rejected / g.attempts == Approx(c.failure).epsilon(0.005));
    CHECK(g.attempt_rate / g.offered == Approx(c.amplification).epsilon(0.005));
    CHECK(g.goodput / g.offered == Approx(c.success).epsilon(0.005));
  }
}

}  // namespace
}  // namespace retrysim
