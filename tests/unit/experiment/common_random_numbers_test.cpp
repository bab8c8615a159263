// Variants meet the same demand: what does not depend on the policy is the same to the last bit.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace retrysim;

namespace {

// A small overloaded service, bins of a millisecond: 60 s of 80 requests/s and a fault.
constexpr const char* kScenario = R"(
name = "small"
duration = "20s"
replications = 4
interval = "1ms"
[service.api]
servers = 1
service_time = { distribution = "exponential", mean = "10ms" }
queue = { capacity = 20 }
[fault.dip]
start = "5s"
duration = "3s"
speed = 0.3
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 80 }
attempt_timeout = "500ms"
retry = { mode = "custom", max_attempts = 4, backoff = { base = "50ms", cap = "1s" } }
)";

LoadedScenario variant(const std::string& edit) {
  LoadResult result = load_scenario_text(kScenario, "small.toml", {}, {}, {edit});
  REQUIRE(result.loaded.has_value());
  return *std::move(result.loaded);
}

}  // namespace

TEST_CASE("a scenario compared with itself differs in nothing") {
  CompareOptions options;
  for (const MetricInfo& metric : metric_table()) options.metrics.push_back(&metric);
  const Comparison comparison = compare({{"a", variant("client.web.attempt_timeout=500ms")},
                                         {"b", variant("client.web.attempt_timeout=0.5")}},
                                        options);
  CHECK(comparison.rows.size() > 50);
  int correlated = 0;
  for (const ComparisonRow& row : comparison.rows) {
    CAPTURE(std::string(row.metric->name));
    if (row.difference.pairs < 2) continue;  // too rare to recover
    CHECK(row.difference.identical);
    CHECK(row.difference.p_value == 1.0);
    if (row.metric->summary ==
        MetricSummary::kProportion) {  // that no pair differs does not prove that none ever will
      CHECK(row.difference.interval->low < 0);
      CHECK(row.difference.interval->high == -row.difference.interval->low);
    } else {
      CHECK(row.difference.interval->low == 0);
      CHECK(row.difference.interval->high == 0);
    }
    if (row.difference.correlation) {
      CHECK(row.difference.correlation == 1.0);
      ++correlated;
    }
  }
  CHECK(correlated > 20);
}

TEST_CASE("requests and their times are equal under every retry policy") {
  std::vector<RunResult> reference;
  std::size_t with_other_attempts = 0;
  for (const char* edit :
       {"client.web.retry.backoff.jitter=none", "client.web.retry.backoff.jitter=full",
        "client.web.retry.max_attempts=1", "client.web.retry.backoff.base=200ms"}) {
    const std::vector<RunResult> runs = run_replications(variant(edit).scenario);
    if (reference.empty()) reference = runs;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      CHECK(runs[r].clients[0].requests == reference[r].clients[0].requests);
      with_other_attempts += runs[r].clients[0].attempts != reference[r].clients[0].attempts;
      // The run of the reference may be longer: its drain.
      const std::size_t bins = 20'000;
      REQUIRE(runs[r].clients[0].bins.size() >= bins);
      std::size_t different = 0;
      for (std::size_t b = 0; b < bins; ++b) {
        different += runs[r].clients[0].bins[b].flow.requests !=
                     reference[r].clients[0].bins[b].flow.requests;
      }
      CHECK(different == 0);
    }
  }
  CHECK(with_other_attempts == 12);  // the policies did differ
}
