// Two modes in the results of a scenario, and intervals of a single run.
//
// SPDX-License-Identifier: MIT
#include "estimate/modes.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "estimate/steady_state.hpp"

using namespace retrysim;

namespace {

constexpr int kBins = 60;

Scenario one_group() {
  Scenario s;
  s.duration = Duration::seconds(kBins);
  s.services.resize(1);
  s.clients.resize(1);
  s.clients[0].name = "web";
  return s;
}

/// Ten requests in each bin; `successes_of(bin)` of them succeed, after 0.1 s, or 0.3 s in bins
/// with an odd number.
template <typename Function>
RunResult run_with(std::uint32_t replication, Function successes_of) {
  RunResult run;
  run.replication = replication;
  run.window_end = Time::zero() + Duration::seconds(kBins);
  run.interval = Duration::seconds(1);
  run.clients.resize(1);
  run.services.resize(1);
  run.services[0].nominal_servers = 1;
  run.services[0].bins.resize(kBins);
  ClientResult& c = run.clients[0];
  for (int i = 0; i < kBins; ++i) {
    ClientBin bin;
    bin.flow.requests = bin.flow.attempts = bin.flow.arrivals = 10;
    bin.flow.successes = static_cast<std::uint64_t>(successes_of(i));
    bin.flow.failures = 10 - std::min<std::uint64_t>(10, bin.flow.successes);
    bin.latency_count = 10;
    bin.latency_sum_ns = i % 2 == 0 ? 1e9 : 3e9;
    c.bins.push_back(bin);
    c.window.merge(bin.flow);
    for (int k = 0; k < 10; ++k) c.latency_m.add(Duration::milliseconds(i % 2 == 0 ? 100 : 300));
  }
  c.requests = c.window.requests;
  c.attempts = c.window.attempts;
  c.outcomes[static_cast<std::size_t>(Outcome::kSuccess)] = c.window.successes;
  run.all_bins = c.bins;
  return run;
}

}  // namespace

TEST_CASE("replications of two kinds are described apart") {
  // Four of twelve collapse after twenty bins; the others have 9 or 10 successes a bin.
  const Scenario s = one_group();
  std::vector<RunResult> runs;
  for (std::uint32_t r = 0; r < 12; ++r) {
    runs.push_back(run_with(r, [&](int bin) {
      if (r % 3 == 1) return bin < 20 ? 10 : 0;
      return (bin + static_cast<int>(r)) % 7 == 0 ? 9 : 10;
    }));
  }
  const auto found = stats::find_bistability(s, runs, MetricValues(s, runs));
  REQUIRE(found);
  REQUIRE(found->low);
  CHECK(found->low->replications == std::vector<std::size_t>{1, 4, 7, 10});
  CHECK(found->high->replications.size() == 8);
  CHECK(found->low_goodput == Approx(200.0 / 60));
  CHECK(found->low->share.share == Approx(1.0 / 3));
  CHECK(found->low->share.ci_low == Approx(stats::wilson(4, 12).ci_low));
  REQUIRE(found->low->means.size() == 4);
  CHECK(found->low->means[1].metric == "success_rate");
  CHECK(found->low->means[1].estimate.mean == Approx(1.0 / 3));
  CHECK(found->high->means[1].estimate.mean > 0.98);
  // Each of the four goes down, some bins after the twentieth, and stays there.
  REQUIRE(found->switches.size() == 4);
  CHECK(found->ended_low == 4);
  for (const stats::ModeSwitch& change : found->switches) {
    CHECK(change.replication % 3 == 1);
    CHECK(change.to_low);
    CHECK((change.time_s > 20 && change.time_s <= 27));
  }
}

TEST_CASE("a change of mode is seen in as many bins as its size asks for") {
  const Scenario s = one_group();
  const auto switch_times = [&](int high, int until) {
    std::vector<RunResult> runs;
    for (std::uint32_t r = 0; r < 12; ++r) {
      runs.push_back(run_with(r, [&](int bin) {
        if (r % 3 == 1) return bin < until ? high : 0;
        return (bin + static_cast<int>(r)) % 7 == 0 ? high - 1 : high;
      }));
    }
    std::vector<double> times;
    const auto found = stats::find_bistability(s, runs, MetricValues(s, runs));
    REQUIRE(found);
    for (const stats::ModeSwitch& change : found->switches) times.push_back(change.time_s);
    return times;
  };
  // Goodput 99.86 and 25: 256 x 99.86 / 74.86^2 = 4.6 bins, so 5. Their mean is below 25 and a
  // quarter of the distance, 43.7, with the third empty bin, which ends at 18 s.
  CHECK(switch_times(100, 15) == std::vector<double>(4, 18));
  // 9.86 and 3.33: 59 bins, but no more than 6 of 60. 5 is above 3.33 + 1.63, so with the fourth.
  CHECK(switch_times(10, 20) == std::vector<double>(4, 24));
}

TEST_CASE(
    "replications that change over at any time are seen one by one, unless something made them") {
  Scenario s = one_group();
  std::vector<RunResult> runs;
  for (std::uint32_t r = 0; r < 10; ++r) {
    runs.push_back(run_with(r, [&](int bin) {
      const int until = 6 + 5 * static_cast<int>(r);  // replications' goodputs are evenly spread
      return bin < until ? 100 - 10 * (bin % 2) : 10 + 10 * (bin % 2);
    }));
  }
  const MetricValues values(s, runs);
  const auto found = stats::find_bistability(s, runs, values);
  REQUIRE(found);
  CHECK(!found->low);
  CHECK(found->runs_with_both == 10);
  CHECK(found->low_goodput == Approx(15).margin(2));
  CHECK(found->high_goodput == Approx(95).margin(2));
  CHECK(found->ended_low == 10);
  // With a fault in it two modes of a run are no news.
  FaultSpec fault;
  fault.duration = Duration::seconds(30);
  s.faults.push_back(fault);
  CHECK(!stats::find_bistability(s, runs, values));
}

TEST_CASE("runs that are all alike have one mode") {
  const Scenario s = one_group();
  std::vector<RunResult> runs;
  for (std::uint32_t r = 0; r < 20; ++r) {
    runs.push_back(run_with(r, [&](int bin) { return 8 + (bin + static_cast<int>(r)) % 3; }));
  }
  CHECK(!stats::find_bistability(s, runs, MetricValues(s, runs)));
  CHECK(!stats::find_bistability(s, std::span(runs).first(1),
                                 MetricValues(s, std::span(runs).first(1))));
}

TEST_CASE("a success more or less is no other mode") {
  // One success, or none, in a minute: the values have a gap and no spread.
  const Scenario s = one_group();
  std::vector<RunResult> runs;
  for (std::uint32_t r = 0; r < 20; ++r) {
    runs.push_back(run_with(r, [&](int bin) { return bin == 30 && r % 2 == 0 ? 1 : 0; }));
  }
  CHECK(!stats::find_bistability(s, runs, MetricValues(s, runs)));
}

TEST_CASE("a single run of a steady state has intervals from its batches") {
  const Scenario s = one_group();
  const std::vector<RunResult> runs = {run_with(0, [](int bin) { return 8 + bin / 2 % 2; })};
  std::vector<SummaryRow> rows = summarize(s, MetricValues(s, runs));
  const auto result = stats::add_batch_means(s, runs[0], rows);
  CHECK(!result.none_because);
  // Batches of two bins: goodput 8, 9, 8, 9, ..., latency always 0.2 s.
  const SummaryRow* goodput = find_row(rows, "web", "goodput");
  REQUIRE(goodput->estimate.ci_low);
  CHECK(*goodput->estimate.half_width() == Approx(2.0452296 * 0.5 / std::sqrt(29)));
  CHECK((*goodput->estimate.ci_low + *goodput->estimate.ci_high) / 2 == Approx(8.5));
  CHECK(!goodput->estimate.stddev);
  CHECK(goodput->estimate.count == 1);
  const SummaryRow* latency = find_row(rows, "all", "latency_mean");
  CHECK(latency->estimate.ci_low == Approx(0.2));
  CHECK(!find_row(rows, "all", "latency_sd")->estimate.ci_low);
  CHECK(result.most_batches == 30);
  CHECK(result.correlated == 0);
}

TEST_CASE("a single run has no intervals if it is a transient, too coarse, or too short") {
  Scenario s = one_group();
  std::vector<RunResult> runs = {run_with(0, [](int bin) { return bin / 6; })};
  const std::vector<SummaryRow> plain = summarize(s, MetricValues(s, runs));
  std::vector<SummaryRow> rows = plain;
  const auto ramp = stats::add_batch_means(s, runs[0], rows);
  CHECK(ramp.correlated >= 1);
  CHECK(!find_row(rows, "web", "goodput")->estimate.ci_low);

  runs[0].window_start = Time::zero() + Duration::seconds(31);
  rows = plain;
  CHECK(
      stats::add_batch_means(s, runs[0], rows).none_because->starts_with("the run has fewer than"));
  s.clients[0].arrivals.process = ArrivalProcess::kOnce;
  CHECK(stats::add_batch_means(s, runs[0], rows).none_because ==
        "client.web.arrivals come once, with nothing after them");
  CHECK(!find_row(rows, "web", "offered_load")->estimate.ci_low);
}
