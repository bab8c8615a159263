// Not a test: prints the table of README.md, which takes ten minutes. How often the printed 95 %
// intervals cover, and how wide they are, over laws of steady states: every metric of every law, of
// twenty replications and of one long run. What is true is the mean of all repetitions (for a
// quantile that of all values together), which a thousand of them know thirty times as well as one
// does.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "estimate/intervals.hpp"
#include "estimate/steady_state.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

struct IntervalLaw {
  const char* name;
  const char* tables;
};

// The mean service time is 1 ms everywhere; the systems forget their start within 200 ms.
constexpr IntervalLaw kIntervalLaws[] = {
    {"M/M/1, load 0.5", R"(
[service.api]
service_time = { distribution = "exponential", mean = "1ms" }
[client.web]
arrivals = { process = "poisson", rate = 500 }
retry.mode = "none"
)"},
    {"M/M/1, load 0.8", R"(
[service.api]
service_time = { distribution = "exponential", mean = "1ms" }
[client.web]
arrivals = { process = "poisson", rate = 800 }
retry.mode = "none"
)"},
    {"M/D/4, load 0.7", R"(
[service.api]
servers = 4
service_time = "1ms"
[client.web]
arrivals = { process = "poisson", rate = 2800 }
retry.mode = "none"
)"},
    {"D/M/1, load 0.5", R"(
[service.api]
service_time = { distribution = "exponential", mean = "1ms" }
[client.web]
arrivals = { process = "constant", rate = 500 }
retry.mode = "none"
)"},
    {"bursts, phases drawn once", R"(
[service.api]
service_time = { distribution = "exponential", mean = "1ms" }
[client.web]
count = 20
arrivals = { process = "on-off", total_rate = 400, on = "20ms", off = "20ms" }
retry.mode = "none"
)"},
    {"errors and retries", R"(
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "1ms" }
errors.internal = 0.2
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 2000 }
retry = { mode = "custom", max_attempts = 3, backoff = { base = "5ms", cap = "20ms" } }
)"},
    {"a full queue", R"(
[service.api]
service_time = { distribution = "exponential", mean = "1ms" }
queue.capacity = 5
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 1100 }
retry = { mode = "custom", max_attempts = 3, backoff = { base = "5ms", cap = "20ms" } }
)"},
    {"a closed loop", R"(
[service.api]
service_time = { distribution = "exponential", mean = "1ms" }
[client.web]
count = 10
arrivals = { process = "closed", think_time = { distribution = "exponential", mean = "10ms" } }
retry.mode = "none"
)"},
    {"a throttle", R"(
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "1ms" }
throttle = { rate = 900, burst = 20 }
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 1000 }
retry.mode = "none"
)"},
};

Scenario scenario_of(const IntervalLaw& law, int length_ms, int replications, int repetition) {
  Scenario s = load_text(
      fmt::format("name = \"laws\"\nduration = \"{}ms\"\nwarmup = \"200ms\"\ninterval = \"10ms\"\n"
                  "replications = {}\n{}",
                  length_ms + 200, replications, law.tables));
  s.seed = static_cast<std::uint64_t>(repetition) + 1;
  return s;
}

struct OneInterval {
  double middle = 0, low = 0, high = 0;
};

/// The intervals of all repetitions by name.
using AllIntervals = std::map<std::string, std::vector<OneInterval>>;

void add_rows(std::map<std::string, OneInterval>& found, const std::vector<SummaryRow>& rows) {
  for (const SummaryRow& row : rows) {
    const Estimate& e = row.estimate;
    if (row.client != "all" || !e.ci_low || !std::isfinite(*e.ci_high)) continue;
    found[std::string(row.metric->name)] = {e.mean, *e.ci_low, *e.ci_high};
  }
}

void add_quantiles(std::map<std::string, OneInterval>& found, const std::vector<RunResult>& runs) {
  std::vector<const Histogram*> replications;
  Histogram pooled;
  for (const RunResult& run : runs) {
    replications.push_back(&run.clients[0].latency);
    pooled.merge(run.clients[0].latency);
  }
  for (const double p : {0.5, 0.9, 0.99}) {
    const auto q = stats::pooled_quantile(replications, pooled, p);
    if (q && q->ci_low_s) {
      found[fmt::format("p{:g} of latency.csv", 100 * p)] = {q->value_s, *q->ci_low_s,
                                                             *q->ci_high_s};
    }
  }
}

AllIntervals repeated(const IntervalLaw& law, int repetitions, int length_ms, int replications) {
  std::vector<std::map<std::string, OneInterval>> found(static_cast<std::size_t>(repetitions));
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i = next++; i < repetitions; i = next++) {
      const Scenario s = scenario_of(law, length_ms, replications, i);
      const std::vector<RunResult> runs = run_replications(s);
      std::vector<SummaryRow> rows = summarize(s, MetricValues(s, runs));
      auto& own = found[static_cast<std::size_t>(i)];
      if (replications == 1) {
        stats::add_batch_means(s, runs[0], rows);
      } else {
        add_quantiles(own, runs);
      }
      add_rows(own, rows);
    }
  };
  {
    std::vector<std::jthread> threads;
    const unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < jobs; ++i) threads.emplace_back(work);
  }
  AllIntervals all;
  for (const auto& one : found) {
    for (const auto& [name, interval] : one) all[name].push_back(interval);
  }
  return all;
}

struct LawCoverage {
  int intervals = 0, covered = 0;
  double width = 0;  ///< mean half-width over 1.96 standard deviations of what it is around
  double share() const { return static_cast<double>(covered) / intervals; }
};

LawCoverage law_coverage_of(const std::vector<OneInterval>& intervals) {
  LawCoverage c;
  const auto n = static_cast<double>(intervals.size());
  double truth = 0, squares = 0, width = 0;
  for (const OneInterval& i : intervals) truth += i.middle / n;
  for (const OneInterval& i : intervals) {
    squares += (i.middle - truth) * (i.middle - truth) / (n - 1);
    width += (i.high - i.low) / 2 / n;
    c.covered += i.low <= truth && truth <= i.high;
    ++c.intervals;
  }
  c.width = width / (1.96 * std::sqrt(squares));
  return c;
}

/// Those of which the table speaks.
constexpr std::string_view kShownMetrics[] = {
    "goodput",           "success_rate",       "amplification",
    "utilization",       "queue_mean",         "latency_mean",
    "latency_p99",       "p50 of latency.csv", "p90 of latency.csv",
    "p99 of latency.csv"};

void print_law(const IntervalLaw& law, const char* kind, const AllIntervals& all, int repetitions) {
  for (const auto& [name, intervals] : all) {
    if (std::ranges::count(kShownMetrics, name) == 0) continue;
    if (static_cast<int>(intervals.size()) < repetitions / 2) continue;
    const LawCoverage c = law_coverage_of(intervals);
    constexpr double kRounding = 100;  // far wider than what varies: it does not
    if (!(c.covered > 0 && c.width < kRounding)) continue;
    fmt::print("| {} | {} | {} | {} | {:.1f} % | {:.2f} |\n", law.name, kind, name, c.intervals,
               100 * c.share(), c.width);
  }
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("the table of intervals by law", "[.table][slow]") {
  for (const IntervalLaw& law : kIntervalLaws) {
    print_law(law, "20 replications", repeated(law, 1000, 2000, 20), 1000);
    print_law(law, "20 long replications", repeated(law, 100, 20'000, 20), 100);
    print_law(law, "one run", repeated(law, 1000, 20'000, 1), 1000);
  }
}

}  // namespace retrysim::validation
