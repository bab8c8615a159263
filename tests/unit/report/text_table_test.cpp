// What a person reads in the terminal.
//
// SPDX-License-Identifier: MIT
#include "report/run/text.hpp"

#include "report/document/text.hpp"
#include "sample_result.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace retrysim;
using namespace retrysim::report;

namespace {

Estimate with_half_width(double mean, double half) {
  Estimate e;
  e.count = 20;
  e.mean = e.min = e.max = mean;
  e.ci_low = mean - half;
  e.ci_high = mean + half;
  return e;
}

Estimate single(double mean) {
  Estimate e;
  e.count = 1;
  e.mean = e.min = e.max = mean;
  return e;
}

std::string table(const ResultSet& set) {
  const Evaluation evaluation(set);
  StringSink sink;
  run_document(evaluation).write_text(sink, kNarrowColumns);
  return sink.text();
}

}  // namespace

TEST_CASE("the interval decides the digits of the value") {
  CHECK(format_estimate(with_half_width(812.3456, 1.234), "1/s") == "812.3 ± 1.2 /s");
  CHECK(format_estimate(with_half_width(812.3456, 45.6), "1/s") == "812 ± 46 /s");
  CHECK(format_estimate(with_half_width(1.23456, 0.00123), "1") == "1.2346 ± 0.0012");
  CHECK(format_estimate(with_half_width(0, 0.5), "1") == "0.00 ± 0.50");
  CHECK(format_estimate(with_half_width(10.0316, 0.00001), "s") == "10.0316 ± <0.0001 s");
  // What ends where the metric ends is no mean plus or minus something.
  Estimate cut = with_half_width(0.97, 0.05);
  respect_range(cut, MetricRange::kShare);
  CHECK(format_metric(cut, *find_metric("success_rate")) == "97.0 (92.0..100) %");
  cut = with_half_width(0.02, 0.05);
  respect_range(cut, MetricRange::kShare);
  CHECK(format_metric(cut, *find_metric("wasted_share")) == "2.0 (0..7.0) %");
  // The rounding of equal values is no interval.
  CHECK(format_estimate(with_half_width(1.5, 1e-14), "1") == "1.5");
}

TEST_CASE("without an interval a value has four digits") {
  CHECK(format_estimate(single(812.3456), "1/s") == "812.3 /s");
  CHECK(format_estimate(single(0.00123456), "1") == "0.001235");
  CHECK(format_estimate(single(30), "requests") == "30");
  CHECK(format_estimate(with_half_width(30, 0), "requests") == "30");
}

TEST_CASE("times have the unit of their size") {
  CHECK(format_estimate(single(12.345), "s") == "12.35 s");
  CHECK(format_estimate(with_half_width(0.01234, 0.0001), "s") == "12.34 ± 0.10 ms");
  CHECK(format_estimate(single(0.00001234), "s") == "12.34 µs");
  CHECK(format_estimate(single(5e-9), "s") == "5 ns");
  CHECK(format_estimate(single(0), "s") == "0 s");
}

TEST_CASE("a whole table: two groups, an interval, expectations and notes") {
  LoadedScenario loaded = sample_scenario();
  loaded.scenario.clients[1].name = "batch";
  loaded.scenario.expectations = {{"works", "success_rate", "web", std::nullopt, 0.9},
                                  {"calm", "amplification", "all", 1.05, std::nullopt},
                                  {"calmer", "amplification", "all", 0.5, std::nullopt}};
  const ResultSet set{loaded, "base", {sample_run(0, 2), sample_run(1, 4)}};
  CHECK(table(set) ==
        R"(sample: A sample

web: all is well: 100 % of the requests succeed, with 1.3 attempts each.
batch: all is well: 100 % of the requests succeed, with 1 attempt each.

Expectations
  pass  works: success_rate of web 100 % (95 % CI from 100 % to 100 %), expected
        at least 90 %
  warn  calm: amplification 1.1 (95 % CI from 0.676 to 1.52), expected at most
        1.05: uncertain
  FAIL  calmer: amplification 1.1 (95 % CI from 0.676 to 1.52), expected at most
        0.5

2 replications of 2 s, seed 7
Means over replications ± half the 95 % interval.

                               web  batch             all
Load
  requests                      10     20              30
  offered load                5 /s  10 /s           15 /s
  attempt rate        6.5 ± 6.4 /s  10 /s   16.5 ± 6.4 /s
  throughput                                        15 /s
  goodput                     5 /s  10 /s           15 /s
  amplification          1.3 ± 1.3      1     1.10 ± 0.42
  peak attempt rate     13 ± 13 /s  20 /s      33 ± 13 /s
Requests
  success rate               100 %  100 %           100 %
Attempts
  success            77 (2..100) %  100 %  91 (56..100) %
  throttled           23 (0..98) %    0 %     9 (0..44) %
Latency of requests
  mean                       64 ns  64 ns           64 ns
  median                     64 ns  64 ns           64 ns
  p90                        64 ns  64 ns           64 ns
Service
  utilization                                      12.5 %
  queue, mean                                        0.75
  queue, largest                                        5

note: 2 replications: intervals are rough; use at least 10
note: short runs: of 30 requests per replication, fewer than 100 lie beyond p99
note: 1 expectation is uncertain, because the interval straddles the bound; more
  replications narrow it
)");
}

TEST_CASE("a single group has one column, with the service") {
  LoadedScenario loaded = sample_scenario();
  loaded.scenario.clients.pop_back();
  RunResult run = sample_run(0, 2);
  run.clients.pop_back();
  const ResultSet set{loaded, "base", {run}};
  const std::string text = table(set);
  CHECK(text.find("utilization") != std::string::npos);
  CHECK(text.find("  all\n") == std::string::npos);
  CHECK(text.find("note: one replication: there are no intervals") != std::string::npos);
  CHECK(text.find("±") == std::string::npos);
}

TEST_CASE("unfinished requests and missing recovery are said aloud") {
  LoadedScenario loaded = sample_scenario();
  loaded.scenario.faults.resize(1);
  loaded.scenario.faults[0].duration = Duration::seconds(1);
  RunResult run = sample_run(0, 2);
  run.clients[0].outcomes[static_cast<std::size_t>(Outcome::kUnfinished)] = 3;
  const ResultSet set{loaded, "base", {run, run}};
  const std::string text = table(set);
  CHECK(text.find("note: short runs: up to 3 requests in a replication were still open") !=
        std::string::npos);
  // The verdict says so first; result.json has it as a note.
  INFO(text);
  CHECK(text.find("web, a \"b\", c: not recovered when ") < text.find("Requests"));
  const std::vector<std::string> notes = result_notes(Evaluation(set));
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.starts_with("web did not recover within the run in 2 of 2 replications");
  }));
}

TEST_CASE("storms are counted by verdict") {
  LoadedScenario loaded = sample_scenario();
  const ResultSet set{loaded, "base", {sample_run(0, 2), sample_run(1, 2)}};
  Evaluation evaluation(set);
  stats::Storm a;
  a.verdict = stats::StormVerdict::kTransient;
  stats::Storm b;
  b.verdict = stats::StormVerdict::kCensored;
  evaluation.storms = {{a, a, b}, {}};
  StringSink sink;
  run_document(evaluation).write_text(sink, kNarrowColumns);
  CHECK(sink.text().find("Retry storms in 1 of 2 replications: 2 transient, 1 censored\n") !=
        std::string::npos);
}

TEST_CASE("the progress line fits the terminal") {
  CHECK(progress_line("dip", 0.5, 10, 80) ==
        "dip [====================>                   ]  50 %  ~10 s left");
  CHECK(progress_line("dip", 1, 10, 80) == "dip [========================================] 100 %");
  CHECK(progress_line("dip", -3, 0, 80) == progress_line("dip", 0, 0, 80));
  CHECK(progress_line("dip", 0.01, 600, 200).ends_with("~990 min left"));
  CHECK(progress_line("dip", 0.5, 10, 12).size() <= 12);
  for (std::size_t columns = 1; columns < 120; ++columns) {
    CHECK(progress_line("a-scenario-name", 0.33, 5, columns).size() <= columns);
  }
}

TEST_CASE("a bar that is not wanted stays away") {
  ProgressBar bar("dip", false);
  CHECK(!bar.visible());
}
