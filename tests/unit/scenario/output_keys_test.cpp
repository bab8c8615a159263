// Keys that say how long and how often to measure: warmup = "auto", precision and what goes with
// it.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

using namespace retrysim;

namespace {

const std::string kSteady = R"(name = "steady"
duration = "300s"
[service.api]
service_time = "10ms"
[client.web]
arrivals = { process = "poisson", rate = 5 }
retry.mode = "none"
)";

std::string with(const std::string& lines) { return lines + "\n" + kSteady; }

}  // namespace

TEST_CASE("a warm-up is a duration or found by the program") {
  const LoadedScenario found = load(with("warmup = \"auto\""));
  CHECK(found.scenario.warmup_is_auto);
  CHECK(found.scenario.warmup == Duration::zero());
  CHECK(value_of(found, "warmup") == "\"auto\"");
  CHECK(!load(with("warmup = \"30s\"")).scenario.warmup_is_auto);
  CHECK(!load(kSteady).scenario.warmup_is_auto);
  CHECK(errors_of(with("warmup = \"automatic\"")).find("a duration") != std::string::npos);
}

TEST_CASE("the warm-up that was found takes the place of auto, with how it was found") {
  LoadedScenario loaded = load(with("warmup = \"auto\""));
  set_found_warmup(loaded, Duration::milliseconds(12'500), "\"auto\": MSER-5 of goodput");
  CHECK(loaded.scenario.warmup == Duration::milliseconds(12'500));
  CHECK(!loaded.scenario.warmup_is_auto);
  const std::string toml = to_toml(loaded, false);
  CHECK(toml.find("warmup = \"12500ms\"") != std::string::npos);
  CHECK(toml.find("# \"auto\": MSER-5 of goodput\n") != std::string::npos);
  const LoadResult again = load_scenario_text(toml, "scenario.toml", {});
  REQUIRE(again.loaded);
  CHECK(again.loaded->scenario.warmup == loaded.scenario.warmup);
}

TEST_CASE("no warm-up can be found of a transient") {
  CHECK(
      errors_of(with("warmup = \"auto\"") + "surge.peak = { start = \"5s\", duration = \"5s\", "
                                            "factor = 2 }\n") ==
      "demo.toml:1:10: error: warmup = \"auto\" needs a steady state, but client.web.surge.peak is "
      "a disturbance; expected a duration, such as \"30s\"\n"
      "warmup = \"auto\"\n"
      "         ^\n");
  CHECK(errors_of(with("warmup = \"auto\""), {"client.web.arrivals={process=\"once\"}"})
            .find("client.web.arrivals come once") != std::string::npos);
  // A disturbance after the end is none.
  CHECK(load(with("warmup = \"auto\"") +
             "[fault.late]\nstart = \"300s\"\nduration = \"9s\"\ncapacity = 0\n")
            .scenario.warmup_is_auto);
}

TEST_CASE("a warm-up is looked for in at least a hundred bins") {
  CHECK(load(with("warmup = \"auto\"\ninterval = \"3s\"")).scenario.warmup_is_auto);
  CHECK(errors_of(with("warmup = \"auto\"\ninterval = \"3.1s\"")) ==
        "demo.toml:1:10: error: warmup = \"auto\" looks at the time series, and a duration of 300s "
        "has fewer than 100 bins of the interval 3100ms; expected a shorter interval or a longer "
        "run\n"
        "warmup = \"auto\"\n"
        "         ^\n");
}

TEST_CASE("a precision has its metrics, and its fewest and most replications") {
  const LoadedScenario plain = load(kSteady);
  CHECK(plain.scenario.precision.target == 0);
  CHECK(plain.scenario.replications == 20);
  CHECK(value_of(plain, "precision") == "\"none\"");
  CHECK(value_of(plain, "max_replications").empty());

  const LoadedScenario precise = load(with("precision = 0.02"));
  CHECK(precise.scenario.precision.target == 0.02);
  CHECK(precise.scenario.replications == 10);
  CHECK(precise.scenario.precision.max_replications == 1000);
  CHECK(precise.scenario.precision.metrics ==
        std::vector<std::string>{"goodput", "success_rate", "amplification", "latency_mean"});
  // The documented default and that of the struct are the same.
  CHECK(precise.scenario.precision.metrics == Scenario().precision.metrics);

  const LoadedScenario chosen =
      load(with("precision = 0.1\nreplications = 40\nmax_replications = 90\nprecision_metrics = "
                "\" latency_p99,queue_mean goodput\""));
  CHECK(chosen.scenario.replications == 40);
  CHECK(chosen.scenario.precision.max_replications == 90);
  CHECK(chosen.scenario.precision.metrics ==
        std::vector<std::string>{"latency_p99", "queue_mean", "goodput"});
  CHECK(load(with("precision = \"none\"")).scenario.replications == 20);
  // What is written back means the same.
  const LoadResult again = load_scenario_text(to_toml(chosen, false), "scenario.toml", {});
  REQUIRE(again.loaded);
  CHECK(again.loaded->scenario.precision.metrics == chosen.scenario.precision.metrics);
  CHECK(again.loaded->scenario.replications == 40);
}

TEST_CASE("mistakes around a precision") {
  CHECK(errors_of(with("precision = 0")).find("expected a number") != std::string::npos);
  CHECK(errors_of(with("precision = 1.5")).find("expected a number") != std::string::npos);
  CHECK(errors_of(with("max_replications = 50")).find("does not apply here; it needs precision") !=
        std::string::npos);
  CHECK(errors_of(with("precision = 0.1\nreplications = 9")) ==
        "demo.toml:2:16: error: replications = 9 are too few to judge a precision by; expected at "
        "least 10, or no precision\n"
        "replications = 9\n"
        "               ^\n");
  CHECK(errors_of(with("precision = 0.1\nmax_replications = 9"))
            .find("max_replications = 9 is below replications = 10") != std::string::npos);
  CHECK(errors_of(with("precision = 0.1\nprecision_metrics = \"goodput, latency_men\""))
            .find("did you mean \"latency_mean\"?") != std::string::npos);
  CHECK(errors_of(with("precision = 0.1\nprecision_metrics = \" , \"")).find("names no metric") !=
        std::string::npos);
}
