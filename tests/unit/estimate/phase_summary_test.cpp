// Phases over replications whose values were chosen by hand.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

namespace retrysim {
namespace {

/// One group, 100 s with a fault from 40 s to 50 s.
Scenario scenario() {
  Scenario s;
  s.duration = Duration::seconds(100);
  s.services.resize(1);
  s.services[0].servers = 1;
  s.clients.resize(1);
  s.clients[0].name = "web";
  s.faults.resize(1);
  s.faults[0].name = "dip";
  s.faults[0].start = Time::zero() + Duration::seconds(40);
  s.faults[0].duration = Duration::seconds(10);
  return s;
}

Time at(double s) { return Time::zero() + Duration::from_seconds(s); }

PhaseResult phase(double start_s, double end_s, std::uint64_t requests, std::uint64_t successes) {
  PhaseResult p;
  p.start = at(start_s);
  p.end = at(end_s);
  p.made.outcomes[static_cast<std::size_t>(Outcome::kSuccess)] = successes;
  p.made.outcomes[static_cast<std::size_t>(Outcome::kNotRetryable)] = requests - successes;
  p.made.attempts = 2 * requests;
  p.flow.requests = requests;
  p.flow.attempts = 2 * requests;
  p.flow.successes = successes;
  p.flow.failures = requests - successes;
  return p;
}

/// A run that recovers so many seconds after the fault, with 10 requests/s.
RunResult run(double recovery_s) {
  const double back_s = 50 + recovery_s;
  RunResult r;
  r.window_end = at(100);
  r.services.resize(1);
  r.services[0].nominal_servers = 1;
  r.clients.resize(1);
  const auto recovering = static_cast<std::uint64_t>(10 * recovery_s);
  r.clients[0].phases = {phase(0, 40, 400, 400), phase(40, 50, 100, 0),
                         phase(50, back_s, recovering, recovering / 2),
                         phase(back_s, 100, 500 - recovering, 500 - recovering)};
  r.all_phases = r.clients[0].phases;
  return r;
}

std::vector<PhaseSummary> summarize(const std::vector<RunResult>& runs) {
  return summarize_phases(scenario(), PhaseValues(scenario(), runs));
}

}  // namespace

TEST_CASE("phases are summarized by client in their order") {
  const auto phases = summarize({run(10), run(20)});
  REQUIRE(phases.size() == 8);
  const char* const names[] = {"before", "dip", "recovering", "after"};
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(phases[i].client == (i < 4 ? "web" : "all"));
    CHECK(phases[i].phase.name == names[i % 4]);
    CHECK(phases[i].replications == 2);
  }
  CHECK(find_phase(phases, "all", "dip") == &phases[5]);
  CHECK(find_phase(phases, "all", "dips") == nullptr);
  CHECK(phases[0].find("success_rate")->mean == 1);
  CHECK(phases[1].find("success_rate")->mean == 0);
  CHECK(phases[1].find("goodput")->mean == 0);
  CHECK(phases[1].find("failures")->mean == 100);
  CHECK(phases[1].find("amplification")->mean == 2);
  CHECK(phases[2].start_s == 50);
  CHECK(phases[2].end_s == 65);
  CHECK(phases[3].start_s == 65);
  CHECK(phases[3].end_s == 100);
}

TEST_CASE("counts are means over all replications, so that phases add up") {
  // One of three is back at once, another one never.
  const auto phases = summarize({run(0), run(20), run(50)});
  const PhaseSummary& recovering = *find_phase(phases, "web", "recovering");
  const PhaseSummary& after = *find_phase(phases, "web", "after");
  CHECK(recovering.replications == 2);
  CHECK(recovering.find("requests")->count == 3);
  CHECK(recovering.find("requests")->mean == Approx(700.0 / 3));
  CHECK(recovering.find("success_rate")->count == 2);
  CHECK(recovering.find("success_rate")->mean == 0.5);
  CHECK(recovering.end_s == Approx(50 + 70.0 / 3));
  CHECK(after.start_s == recovering.end_s);
  CHECK(after.replications == 2);
  double requests = 0;
  for (const PhaseSummary& p : phases) {
    if (p.client == "web") requests += p.find("requests")->mean;
  }
  CHECK(requests == Approx(1000));
}

TEST_CASE("a phase that no replication has is left out") {
  const auto back_at_once = summarize({run(0), run(0)});
  CHECK(find_phase(back_at_once, "web", "recovering") == nullptr);
  CHECK(find_phase(back_at_once, "web", "after") != nullptr);
  const auto never = summarize({run(50), run(50)});
  CHECK(find_phase(never, "web", "recovering")->end_s == 100);
  CHECK(find_phase(never, "web", "after") == nullptr);
}

TEST_CASE("rates of a phase that is not equally long in all replications are those of the sums") {
  std::vector<RunResult> runs;
  for (int i = 1; i <= 10; ++i) runs.push_back(run(i));
  for (RunResult& r : runs) {
    // The longer the recovery, the higher its rate: the mean of the rates is not the rate.
    PhaseResult& p = r.clients[0].phases[2];
    const auto length = static_cast<std::uint64_t>((p.end - p.start).in_seconds() + 0.5);
    p.flow.successes = length * length;
  }
  const auto phases = summarize(runs);
  const Estimate& goodput = *find_phase(phases, "web", "recovering")->find("goodput");
  CHECK(goodput.mean == Approx(7).epsilon(0.05));  // 385 in 55 s; the mean of the rates is 5.5
  CHECK(goodput.ci_low.value() < goodput.mean);
  CHECK(goodput.ci_high.value() > goodput.mean);
  // Of equal length: their mean, with Student's interval.
  const Estimate& before = *find_phase(phases, "web", "before")->find("goodput");
  CHECK(before.mean == 10);
  CHECK(before.ci_low.value() == 10);
}

TEST_CASE("ratios of few requests are jackknifed as everywhere") {
  std::vector<RunResult> runs(10, run(10));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    // Nine times 1 of 2 and once 90 of 90.
    runs[i].clients[0].phases[1] = i == 0 ? phase(40, 50, 90, 90) : phase(40, 50, 2, 1);
  }
  const auto phases = summarize(runs);
  const Estimate& rate = *find_phase(phases, "web", "dip")->find("success_rate");
  CHECK(rate.mean > 0.85);  // 99 of 108, and not 0.55
  CHECK(rate.count == 10);
}

TEST_CASE("values kept elsewhere give the same summary") {
  const std::vector<RunResult> runs = {run(0), run(20)};
  const PhaseValues values(scenario(), runs);
  const PhaseValues again(2, 2, 4, values.all());
  const auto a = summarize_phases(scenario(), values), b = summarize_phases(scenario(), again);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].metrics.size() == b[i].metrics.size());
    for (std::size_t m = 0; m < a[i].metrics.size(); ++m) {
      CHECK(a[i].metrics[m].metric == b[i].metrics[m].metric);
      CHECK(a[i].metrics[m].estimate.mean == b[i].metrics[m].estimate.mean);
    }
  }
  CHECK(summarize_phases(scenario(), PhaseValues()).empty());
}

TEST_CASE("phases have the metrics that a reader asks for, each once") {
  std::vector<std::string_view> names;
  for (const MetricInfo* metric : phase_metrics()) names.push_back(metric->name);
  for (const std::string_view name :
       {"requests",     "successes",    "failures",       "attempts",     "retries",
        "success_rate", "goodput",      "offered_load",   "attempt_rate", "amplification",
        "latency_p50",  "latency_p99",  "latency_ok_p99", "timeouts",     "errors",
        "throttled",    "quota_denied", "rejected",       "utilization",  "queue_mean"}) {
    CAPTURE(name);
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
}

}  // namespace retrysim
