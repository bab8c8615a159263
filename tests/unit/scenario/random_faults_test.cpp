// Faults at random: what a draw gives, against closed forms, and how they are written.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "loading.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace retrysim {
namespace {

const std::string kFaultless = R"(name = "months"
duration = "1000s"
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "50ms" }
[client.web]
arrivals = { process = "poisson", rate = 10 }
attempt_timeout = "1s"
retry = { mode = "none" }
)";

Scenario scenario_with(const std::string& faults) { return load(kFaultless + faults).scenario; }

std::size_t count(const std::vector<FaultSpec>& faults, const std::string& prefix) {
  return static_cast<std::size_t>(std::ranges::count_if(
      faults, [&](const FaultSpec& f) { return f.name.starts_with(prefix + "-"); }));
}

/// A mean over draws with its standard error.
struct Sample {
  double n = 0, sum = 0, squares = 0;
  void add(double x) {
    n += 1;
    sum += x;
    squares += x * x;
  }
  double mean() const { return sum / n; }
  double error() const { return std::sqrt((squares / n - mean() * mean()) / (n - 1)); }
  /// In a right sample beyond 4.5 standard errors once in 150,000.
  bool agrees_with(double value) const { return std::abs(mean() - value) < 4.5 * error() + 1e-12; }
};

TEST_CASE("a fault so many times a year begins as a Poisson process does", "[random_faults]") {
  const Scenario s = scenario_with(R"([fault.deploy]
per_year = 12
duration = "45s"
unreachable = true
)");
  CHECK(s.faults.empty());
  Sample counts, squares;
  for (std::uint32_t draw = 1; draw <= 2000; ++draw) {
    const auto faults = draw_faults(s, draw, Duration::seconds(365LL * 86'400));
    const auto n = static_cast<double>(faults.size());
    counts.add(n);
    squares.add((n - 12) * (n - 12));
    for (const FaultSpec& f : faults) REQUIRE(f.duration == Duration::seconds(45));
    REQUIRE(std::ranges::is_sorted(faults, {}, &FaultSpec::start));
  }
  CHECK(counts.agrees_with(12));
  CHECK(squares.agrees_with(12));  // variance of a Poisson number
}

TEST_CASE("a fault that comes with the load comes as often as the law says", "[random_faults]") {
  // Load 10 x 0.05 / 4 = 0.125, half of that at which it comes 40 times a year: 2^-3 as often.
  const std::string by_load = "at_load = 0.25\nload_exponent = 3\n";
  const std::string overheats = "[fault.heat]\nper_year = 40\nduration = \"1min\"\nspeed = 0.5\n";
  const Duration year = Duration::seconds(365LL * 86'400);
  Sample counts;
  const Scenario s = scenario_with(overheats + by_load);
  for (std::uint32_t draw = 1; draw <= 2000; ++draw) {
    counts.add(static_cast<double>(draw_faults(s, draw, year).size()));
  }
  CHECK(counts.agrees_with(5));
  // At the load itself it is the fault without a load, draw by draw.
  const Scenario same = scenario_with(overheats + "at_load = 0.125\nload_exponent = 3\n");
  const Scenario without = scenario_with(overheats);
  const auto starts = [&](const Scenario& of) {
    std::vector<Time> all;
    for (const FaultSpec& f : draw_faults(of, 7, year)) all.push_back(f.start);
    return all;
  };
  CHECK(starts(same) == starts(without));
  // Without an exponent it is in proportion.
  CHECK(scenario_with(overheats + "at_load = 0.25\n").random_faults[0].chance.load_exponent == 1);
}

TEST_CASE("a fault follows a load that rises and falls", "[random_faults]") {
  // For 1000 s of each 4000 s a surge of 3: loads of 0.125 and 0.375, per_year at 0.125 is once in
  // 500 s. With the square, 9 times as often in the surge: 2 in 1000 s, and 18 in the surge.
  const Scenario s =
      scenario_with(R"(surge.rush = { start = "1000s", duration = "1000s", factor = 3 }
[fault.heat]
per_year = 63072
at_load = 0.125
load_exponent = 2
duration = "1s"
speed = 0.5
)");
  Sample before, within, after;
  for (std::uint32_t draw = 1; draw <= 1000; ++draw) {
    double counts[3] = {};
    for (const FaultSpec& f : draw_faults(s, draw, Duration::seconds(3000))) {
      ++counts[static_cast<int>(f.start.in_seconds() / 1000)];
    }
    before.add(counts[0]);
    within.add(counts[1]);
    after.add(counts[2]);
  }
  CHECK(before.agrees_with(2));
  CHECK(within.agrees_with(18));
  CHECK(after.agrees_with(2));
}

TEST_CASE("mtbf and lengths alternate: number and time down are those of a renewal process",
          "[random_faults]") {
  // Up exponential with mean 100 s, down exponential with mean 25 s: from up at time 0 on, the
  // chance to be down at t is 0.2 (1 - exp(-t / 20)). Over 1000 s: 0.2 (1000 - 20) = 196 s down.
  // Failures begin at rate 1/100 while up: (1000 - 196) / 100.
  const Scenario s = scenario_with(R"([fault.outage]
mtbf = "100s"
length = { distribution = "exponential", mean = "25s" }
unreachable = true
)");
  Sample downs, counts;
  for (std::uint32_t draw = 1; draw <= 4000; ++draw) {
    double down = 0;
    const auto faults = draw_faults(s, draw, s.duration);
    Time last;
    for (const FaultSpec& f : faults) {
      REQUIRE(f.start >= last);
      last = f.start + f.duration;
      down += (std::min(last, Time::zero() + s.duration) - f.start).in_seconds();
    }
    downs.add(down);
    counts.add(static_cast<double>(faults.size()));
  }
  CHECK(downs.agrees_with(196));
  CHECK(counts.agrees_with(8.04));
}

TEST_CASE("a fault that comes with another one shares its cause", "[random_faults]") {
  const Scenario s = scenario_with(R"([fault.zone]
mtbf = "50s"
duration = "5s"
capacity = 0.5
[fault.network]
with = "zone"
probability = 0.25
start = "2s"
duration = "1s"
latency = "50ms"
[fault.after]
with = "network"
duration = "3s"
speed = 0.2
speed_to = 0.6
)");
  Sample joined, speeds;
  for (std::uint32_t draw = 1; draw <= 500; ++draw) {
    const auto faults = draw_faults(s, draw, s.duration);
    for (const FaultSpec& f : faults) {
      const auto starts_at = [&](const std::string& prefix, Time start) {
        return std::ranges::any_of(faults, [&](const FaultSpec& other) {
          return other.name.starts_with(prefix) && other.start == start;
        });
      };
      if (f.name.starts_with("network-")) {
        REQUIRE(starts_at("zone-", Time::zero() + (f.start - Time::zero() - Duration::seconds(2))));
      }
      if (f.name.starts_with("after-")) {
        REQUIRE(starts_at("network-", f.start));
        speeds.add(f.speed);
      }
    }
    REQUIRE(count(faults, "after") == count(faults, "network"));
    const double zones = static_cast<double>(count(faults, "zone"));
    joined.add(static_cast<double>(count(faults, "network")) - 0.25 * zones);
  }
  // The last zone of a run may be less than two seconds before its end.
  CHECK(std::abs(joined.mean()) < 4.5 * joined.error() + 0.25 * 2 / 55);
  CHECK(speeds.agrees_with(0.4));
}

TEST_CASE("a longer time has the same faults and more, and another fault changes none",
          "[random_faults]") {
  const std::string outage = R"([fault.outage]
mtbf = { distribution = "weibull", mean = "100s", shape = 2 }
length = "10s"
unreachable = true
)";
  const Scenario s = scenario_with(outage);
  const Scenario with_more = scenario_with(outage + R"([fault.slow]
per_year = 500000
duration = "5s"
speed = 0.5
)");
  const auto faults = draw_faults(s, 7, Duration::seconds(1000));
  const auto longer = draw_faults(s, 7, Duration::seconds(5000));
  const auto more = draw_faults(with_more, 7, Duration::seconds(1000));
  REQUIRE(!faults.empty());
  REQUIRE(longer.size() > faults.size());
  for (std::size_t i = 0; i < faults.size(); ++i) {
    CHECK(longer[i].start == faults[i].start);
    CHECK(std::ranges::any_of(more, [&](const FaultSpec& f) {
      return f.name == faults[i].name && f.start == faults[i].start;
    }));
  }
  CHECK(draw_faults(s, 8, Duration::seconds(1000)).front().start != faults.front().start);
}

TEST_CASE("a draw is played as faults of the script are", "[random_faults]") {
  const std::string outage = R"([fault.outage]
mtbf = "200s"
duration = "20s"
unreachable = true
)";
  const Scenario drawn = load(kFaultless + outage, {"fault_draw=3"}).scenario;
  REQUIRE(drawn.faults.size() == count(drawn.faults, "outage"));
  REQUIRE(!drawn.faults.empty());
  Scenario scripted = drawn;
  scripted.random_faults.clear();
  scripted.fault_draw = 0;
  SimulationOptions options;
  options.fingerprint = true;
  CHECK(simulate(drawn, 0, options).fingerprint == simulate(scripted, 0, options).fingerprint);
  const Scenario also = with_drawn_faults(scenario_with(outage), 3);
  CHECK(simulate(also, 0, options).fingerprint == simulate(scripted, 0, options).fingerprint);
  CHECK_THROWS_WITH(simulate(scenario_with(outage), 0, options),
                    Catch::Contains("fault.outage is left to chance"));
}

TEST_CASE("mistakes in faults at random are said", "[random_faults]") {
  const auto errors = [](const std::string& faults, const Edits& edits = {}) {
    return errors_of(kFaultless + faults, edits);
  };
  const std::string down = "unreachable = true\n";
  CHECK_THAT(errors("[fault.a]\nmtbf = \"0s\"\nduration = \"1s\"\n" + down),
             Catch::Contains("fault.a.mtbf is no time"));
  CHECK_THAT(errors("[fault.a]\nmtbf = \"9s\"\nlength = \"0s\"\n" + down),
             Catch::Contains("fault.a.length is no time"));
  CHECK_THAT(errors("[fault.a]\nmtbf = \"9s\"\nper_year = 3\nduration = \"1s\"\n" + down),
             Catch::Contains("keep either it or"));
  CHECK_THAT(errors("[fault.a]\nper_year = 3\nwith = \"b\"\nduration = \"1s\"\n" + down +
                    "[fault.b]\nstart = \"1s\"\nduration = \"1s\"\n" + down),
             Catch::Contains("fault.a.with does not apply here"));
  CHECK_THAT(errors("[fault.a]\nper_year = 3\nduration = \"1s\"\nlength = \"1s\"\n" + down),
             Catch::Contains("keep either it or"));
  CHECK_THAT(errors("[fault.a]\nwith = \"zone\"\nduration = \"1s\"\n" + down +
                    "[fault.zones]\nper_year = 3\nduration = \"1s\"\n" + down),
             Catch::Contains("did you mean \"zones\""));
  CHECK_THAT(errors("[fault.a]\nwith = \"b\"\nduration = \"1s\"\n" + down +
                    "[fault.b]\nwith = \"a\"\nduration = \"1s\"\n" + down),
             Catch::Contains("which begins only if it does"));
  CHECK_THAT(errors("[fault.a]\nper_year = 3\nduration = \"1s\"\nprobability = 0.5\n" + down),
             Catch::Contains("has no meaning without `with`"));
  CHECK_THAT(errors("[fault.a]\nper_year = 3\nduration = \"1s\"\nspeed_to = 0.5\n"),
             Catch::Contains("expected speed as well"));
  CHECK_THAT(errors("[fault.a]\nmtbf = \"9s\"\nat_load = 0.5\nduration = \"1s\"\n" + down),
             Catch::Contains("fault.a.at_load does not apply here"));
  CHECK_THAT(errors("[fault.a]\nstart = \"9s\"\nat_load = 0.5\nduration = \"1s\"\n" + down),
             Catch::Contains("fault.a.at_load has no meaning without per_year"));
  CHECK_THAT(errors("[fault.a]\nper_year = 9\nload_exponent = 2\nduration = \"1s\"\n" + down),
             Catch::Contains("fault.a.load_exponent has no meaning without at_load"));
  CHECK_THAT(errors("[fault.a]\nper_year = 9\nat_load = 0.5\nduration = \"1s\"\n" + down,
                    {"service.api.servers=\"unlimited\""}),
             Catch::Contains("fault.a.at_load: the unlimited servers of \"api\" are never busy"));
  CHECK_THAT(errors("[fault.a]\nduration = \"1s\"\n" + down), Catch::Contains("start is missing"));
  CHECK_THAT(errors("[fault.a]\nper_year = 1e12\nduration = \"1s\"\n" + down, {"fault_draw=1"}),
             Catch::Contains("fault_draw = 1: the faults at random are more than 10000"));
  CHECK_THAT(errors("[fault.a]\nper_year = 1e6\nduration = \"1s\"\n" + down +
                        "[fault.a-1]\nstart = \"1s\"\nduration = \"1s\"\n" + down,
                    {"fault_draw=1"}),
             Catch::Contains("has the name of a drawn one"));
}

}  // namespace
}  // namespace retrysim
