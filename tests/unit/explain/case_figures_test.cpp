// Verdicts on replications of which only figures were kept are those on the replications.
//
// SPDX-License-Identifier: MIT
#include <retrysim/replications.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/verdict.hpp>

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

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
