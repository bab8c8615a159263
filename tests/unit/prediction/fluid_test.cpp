// The fluid against the values that theory gives for it.
//
// SPDX-License-Identifier: MIT
#include <retrysim/fluid.hpp>
#include <retrysim/scenario_file.hpp>

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <string>

namespace retrysim {
namespace {

Scenario load(const std::string& text) {
  LoadResult result = load_scenario_text(text, "test.toml", ".");
  for (const Diagnostic& d : result.errors) FAIL(to_string(d));
  return std::move(result.loaded->scenario);
}

/// Clients that give up after a second and come back at once; work that is served all the same.
/// So many services in a second that chance is nothing.
constexpr double kPerTimeout = 10'000;

std::string zombie(double load, int attempts, const std::string& more = "") {
  return fmt::format(
      "name = \"zombie\"\nduration = 60\n"
      "[service.api]\nservice_time = {{ distribution = \"exponential\", mean = {} }}\n"
      "[client.web]\ncount = 100\n"
      "arrivals = {{ process = \"poisson\", total_rate = {} }}\n"
      "attempt_timeout = 1\nretry = {{ mode = \"custom\", max_attempts = {}, delays = [0] }}\n{}",
      1 / kPerTimeout, load * kPerTimeout, attempts, more);
}

TEST_CASE("The shortest outage that tips a queue of abandoned work") {
  struct Case {
    const char* id;
    double load;
    int attempts;
    double d50;
  };
  for (const Case& c :
       {Case{"P112", .6, 3, 1.3113}, Case{"P113", .65, 4, 1.225}, Case{"P114", .7, 3, 1.155},
        Case{"P115", .75, 2, 1.1069}, Case{"P116", .8, 3, 1.0588}}) {
    INFO(c.id);
    const auto points = fluid_tipping_points(
        load(zombie(c.load, c.attempts, "[fault.outage]\nstart = 5\nduration = 1\ncapacity = 0\n")),
        0);
    REQUIRE(points.size() == 1);
    CHECK(points[0].trigger == "fault.outage.duration");
    REQUIRE(points[0].found);
    CHECK(points[0].duration == Approx(c.d50).epsilon(0.003));
    CHECK(points[0].duration > 1 + (1 - c.load) * (1 - c.load) / c.load);
  }
}

TEST_CASE("The shortest surge that tips a queue of abandoned work") {
  struct Case {
    const char* id;
    double load;
    int attempts;
    double factor, d50;
  };
  for (const Case& c :
       {Case{"P117", .7, 3, 2, 2.655}, Case{"P118", .7, 3, 3, .985}, Case{"P119", .8, 3, 2, 1.725},
        Case{"P120", .6, 3, 3, 1.407}, Case{"P121", .8, 2, 2.5, 1.04}}) {
    INFO(c.id);
    const auto points = fluid_tipping_points(
        load(zombie(
            c.load, c.attempts,
            fmt::format("surge.peak = {{ start = 5, duration = 1, factor = {} }}\n", c.factor))),
        0);
    REQUIRE(points.size() == 1);
    CHECK(points[0].trigger == "client.web.surge.peak.duration");
    REQUIRE(points[0].found);
    CHECK(points[0].duration == Approx(c.d50).epsilon(0.005));
  }
}

}  // namespace
}  // namespace retrysim
