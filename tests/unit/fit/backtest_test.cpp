// A scenario that is fitted to one half of a log is compared with the other: what is met, what is
// not, and what that is good enough for.
//
// SPDX-License-Identifier: MIT
#include "fit/backtest.hpp"

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "fit/log.hpp"
#include "temporary_folder.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// What the servers of a scenario log.
std::vector<Observation> answers_of(const Scenario& scenario, std::uint32_t replication) {
  std::vector<Observation> rows;
  SimulationOptions options;
  options.access_log = [&](const AccessLogEntry& e) {
    rows.push_back(
        Observation::of(e.answered.count() - e.duration.count(), e.duration.count(), e.status));
  };
  simulate(scenario, replication, options);
  return rows;
}

Scenario scenario_with(const std::string& text, const InputTexts& inputs = {}) {
  const LoadResult result = load_scenario_with_inputs(text, "test", inputs);
  for (const Diagnostic& e : result.errors) FAIL_CHECK(e.message);
  REQUIRE(result.loaded);
  return result.loaded->scenario;
}

Log log_with(std::vector<Observation> rows) {
  Log log;
  log.rows = std::move(rows);
  std::ranges::sort(log.rows, {}, &Observation::start_ns);
  log.lines = log.rows.size();
  log.has_statuses = true;
  log.time_resolution_ns = 1;
  return log;
}

Backtest backtest_of(const Log& log) {
  std::string why_not;
  auto plan = BacktestPlan::of(log, fit_log(log), why_not);
  REQUIRE(plan);
  InputTexts inputs;
  for (auto& [name, content] : plan->files()) inputs[name] = content;
  const Scenario scenario = scenario_with(inputs["scenario.toml"], inputs);
  for (std::uint32_t run = 0; run < plan->runs(); ++run) {
    plan->add_run(answers_of(scenario, run));
  }
  return plan->result();
}

Log simulated_log(const std::string& service, const std::string& arrivals) {
  return log_with(
      answers_of(scenario_with("name = \"truth\"\nduration = \"200s\"\n[service.api]\n" + service +
                               "\n[client.web]\nretry.mode = \"none\"\narrivals." + arrivals),
                 0));
}

/// A request every 10 ms for 20 s; each takes so long, and has that status.
template <class Of>
Log even_log(Of of) {
  std::vector<Observation> rows;
  for (std::int64_t i = 0; i < 2'000; ++i) rows.push_back(of(i));
  return log_with(std::move(rows));
}

}  // namespace

// The log is one more run: a figure that differs by more than 10 % lies outside of all 20 runs with
// a probability of 2 / 21, and at this size hardly one differs so much.
TEST_CASE("a backtest meets the log of a service that is as a scenario has it") {
  const Backtest b = backtest_of(simulated_log(
      "servers = 8\nservice_time = { distribution = \"lognormal\", mean = \"50ms\", cv = 0.8 }",
      "process = \"poisson\"\narrivals.total_rate = 120"));
  CHECK(b.fitted_lines + b.compared_lines == Approx(24'000).epsilon(0.05));
  CHECK(b.runs == 16);
  CHECK_FALSE(b.times_repeated);
  CHECK(b.all.begin_s == Approx(100).margin(0.1));
  CHECK(b.all.end_s == Approx(200).margin(0.1));
  for (const BacktestFigure f :
       {BacktestFigure::kRate, BacktestFigure::kP50, BacktestFigure::kP90, BacktestFigure::kP99}) {
    CAPTURE(names_of(f).in_words);
    REQUIRE(b.all[f]);
    REQUIRE(b.all[f]->off());
    CHECK(std::abs(*b.all[f]->off()) < 0.1);
    CHECK(b.all[f]->agreement == Agreement::kMet);
    CHECK(b.all[f]->low < b.all[f]->simulated);
    CHECK(b.all[f]->simulated < b.all[f]->high);
  }
  REQUIRE(b.all[BacktestFigure::kErrorShare]);
  CHECK(b.all[BacktestFigure::kErrorShare]->logged == 0);
  CHECK(b.all[BacktestFigure::kErrorShare]->agreement == Agreement::kMet);
  CHECK_FALSE(b.all[BacktestFigure::kErrorShare]->off());
  CHECK(b.bins.size() == 12);
  CHECK(b.bins.front().begin_s == b.all.begin_s);
  CHECK(b.bins.back().end_s == Approx(b.all.end_s));
  CHECK_THAT(b.verdict.front(), Catch::StartsWith("Good enough for questions about timeouts"));
}

TEST_CASE("a backtest cuts durations off as the log does, also with a coarse clock") {
  // Envoy writes starts and durations in whole milliseconds, which most of these requests take.
  Log log = simulated_log(
      "servers = 4\nservice_time = { distribution = \"lognormal\", mean = \"2ms\", cv = 0.5 }",
      "process = \"poisson\"\narrivals.total_rate = 300");
  std::ranges::sort(log.rows, {}, [](const Observation& o) { return o.start_ns + o.duration_ns; });
  constexpr std::int64_t kMillisecond = 1'000'000;
  std::string text;
  for (const Observation& o : log.rows) {
    const std::int64_t at_ms = o.start_ns / kMillisecond;
    const std::int64_t took_ms = o.duration_ns / kMillisecond;
    text += fmt::format(
        "[2026-03-02T10:{:02}:{:02}.{:03}Z] \"GET / HTTP/1.1\" 200 - 0 123 {} {} \"-\" \"curl\" "
        "\"-\" \"web\" \"10.0.0.1:80\"\n",
        at_ms / 60'000, at_ms / 1'000 % 60, at_ms % 1'000, took_ms, took_ms);
  }
  const test::TemporaryFolder folder;
  log = read_log({folder.write("envoy.log", text).string()}, {});
  REQUIRE(log.is_coarse);
  REQUIRE(log.rounding == HowRounded::kCut);
  const Backtest b = backtest_of(log);
  for (const BacktestFigure f : {BacktestFigure::kP50, BacktestFigure::kP99}) {
    CAPTURE(names_of(f).in_words);
    REQUIRE(b.all[f]);
    CHECK(b.all[f]->agreement == Agreement::kMet);
  }
  const Fit whole = fit_log(log);
  REQUIRE(whole.service_time);
  CHECK(whole.service_time->step_s == 0.001);
  CHECK(whole.service_time->mean.low < 0.002);
  CHECK(whole.service_time->mean.high > 0.002);
}

TEST_CASE("a service that became much slower for good has no service time") {
  const Log slower = even_log([](std::int64_t i) {
    return Observation::of(i * 10'000'000, (i < 1'000 ? 2 : 7) * 1'000'000 + i * 1'000, 200);
  });
  const std::optional<std::string> why = backtest_of(slower).refusal(fit_log(slower));
  REQUIRE(why);
  CHECK_THAT(*why, Catch::StartsWith("The service time is refused, since the backtest"));
  Fit fit = fit_log(slower);
  refuse_service_time(fit, *why);
  CHECK_FALSE(fit.service_time);
  CHECK_THAT(known_words(fit), Catch::Contains("not known: service time"));
  // Where requests wait, halves of a log differ although the service is the same.
  const Log busy = simulated_log(
      "servers = 2\nservice_time = { distribution = \"exponential\", mean = \"50ms\" }",
      "process = \"poisson\"\narrivals.total_rate = 38");
  CHECK_FALSE(backtest_of(busy).refusal(fit_log(busy)));
}

// Errors that came at once and have no status look like requests that were served, of which a clock
// of milliseconds does not tell who came first.
TEST_CASE("what no number of servers explains is not good enough, and has no interval") {
  Log log = simulated_log(
      "servers = 6\nservice_time = { distribution = \"exponential\", mean = \"40ms\" }\n"
      "errors.unavailable = 0.02",
      "process = \"poisson\"\narrivals.total_rate = 110");
  constexpr std::int64_t kMillisecond = 1'000'000;
  for (Observation& row : log.rows) {
    const std::int64_t end_ns = row.end_ns() / kMillisecond * kMillisecond;
    row.start_ns = end_ns - row.duration_ns;
    row.status = 0;
  }
  std::ranges::sort(log.rows, {}, &Observation::start_ns);
  log.time_resolution_ns = kMillisecond;
  log.has_statuses = false;
  const Fit fit = fit_log(log);
  REQUIRE(fit.capacity);
  REQUIRE_FALSE(fit.is_explained());
  CHECK(known_words(fit) == "known: arrivals; not known: service time, servers, errors, retries");
  CHECK_THAT(capacity_words(*fit.capacity),
             Catch::StartsWith("No number of servers explains the durations: the scenario has "));
  const std::string scenario = scenario_files(fit, "mine", "From a log.").front().second;
  CHECK_THAT(scenario, !Catch::Contains("[uncertain.\"service.service.service_time"));
  CHECK_THAT(scenario, !Catch::Contains("[uncertain.\"service.service.servers"));
  CHECK_THAT(scenario, Catch::Contains("neither servers nor service time can be drawn"));
  CHECK_THAT(
      backtest_of(log).verdict.front(),
      Catch::StartsWith("Not good enough for questions about timeouts, retries or capacity"));
}

TEST_CASE("a scenario without a service time is not tested") {
  std::string why_not;
  const Log zeros =
      even_log([](std::int64_t i) { return Observation::of(i * 10'000'000, 0, 200); });
  CHECK_FALSE(BacktestPlan::of(zeros, fit_log(zeros), why_not));
  CHECK_THAT(why_not, Catch::Contains("its service time is not known"));
}

TEST_CASE("where no process describes the arrivals, those of the second half are repeated") {
  const Backtest b =
      backtest_of(simulated_log("servers = 8\nservice_time = \"20ms\"",
                                "process = \"on-off\"\narrivals.total_rate = 120\n"
                                "arrivals.on = \"500ms\"\narrivals.off = \"500ms\""));
  CHECK(b.times_repeated);
  REQUIRE(b.all[BacktestFigure::kRate]);
  CHECK(b.all[BacktestFigure::kRate]->logged ==
        Approx(b.all[BacktestFigure::kRate]->simulated).epsilon(0.01));
  for (const BacktestStretch& bin : b.bins) {
    CHECK(*bin[BacktestFigure::kRate]->off() == Approx(0).margin(0.02));
  }
}

TEST_CASE("a service that becomes slower in the second half is not met") {
  const Backtest b = backtest_of(even_log([](std::int64_t i) {
    const std::int64_t took = (i < 1'000 ? 1 : 2) * (kSecond / 1000 + (i % 7) * kSecond / 10'000);
    return Observation::of(i * kSecond / 100, took, 200);
  }));
  REQUIRE(b.all[BacktestFigure::kP50]);
  CHECK(*b.all[BacktestFigure::kP50]->off() == Approx(-0.5).margin(0.02));
  CHECK(b.all[BacktestFigure::kP50]->agreement == Agreement::kOff);
  CHECK_THAT(b.verdict.at(0), Catch::StartsWith("Not good enough for questions about durations"));
  CHECK(b.verdict.at(1) == "The median is 1.3 ms in the simulation and 2.6 ms in the log.");
}

TEST_CASE("a tail that comes in the second half spoils only what depends on it") {
  const Backtest b = backtest_of(even_log([](std::int64_t i) {
    const bool slow = i >= 1'000 && i % 20 == 0;
    const std::int64_t took = slow ? kSecond / 10 : kSecond / 1000 + (i % 7) * kSecond / 10'000;
    return Observation::of(i * kSecond / 100, took, 200);
  }));
  CHECK(b.all[BacktestFigure::kP50]->agreement == Agreement::kMet);
  CHECK(b.all[BacktestFigure::kP99]->agreement == Agreement::kOff);
  CHECK_THAT(b.verdict.at(0), Catch::StartsWith("Good enough for questions about typical"));
  CHECK_THAT(b.verdict.at(1), Catch::StartsWith("The 99 % quantile is 1.6 ms in the simulation"));
}

TEST_CASE("errors of another share are named") {
  const Backtest b = backtest_of(even_log([](std::int64_t i) {
    const bool fails = i >= 1'000 && i % 5 == 0;
    const std::int64_t took = kSecond / 1000 + (i % 7) * kSecond / 10'000;
    return Observation::of(i * kSecond / 100, took, fails ? 503 : 200);
  }));
  REQUIRE(b.all[BacktestFigure::kErrorShare]);
  CHECK(b.all[BacktestFigure::kErrorShare]->logged == Approx(0.2));
  CHECK(b.all[BacktestFigure::kErrorShare]->simulated == 0);
  CHECK(b.all[BacktestFigure::kErrorShare]->agreement == Agreement::kOff);
  CHECK_THAT(b.verdict.at(0),
             Catch::StartsWith("Good enough for questions about durations, not about errors"));
  CHECK(b.verdict.back() == "The share of errors is 0 % in the simulation and 20 % in the log.");
}

// The seed is fixed, so that nothing is left to chance here: of this log a figure differs from the
// mean of the runs by more than 10 %, and none from all runs.
TEST_CASE("a short log finds no fault, which is less than being met") {
  const Backtest b = backtest_of(simulated_log(
      "servers = 8\nservice_time = { distribution = \"exponential\", mean = \"50ms\" }",
      "process = \"poisson\"\narrivals.total_rate = 3"));
  const auto count = [&](Agreement agreement) {
    return std::ranges::count_if(b.all.figures,
                                 [&](const auto& f) { return f && f->agreement == agreement; });
  };
  CHECK(count(Agreement::kByChance) > 0);
  CHECK(count(Agreement::kOff) == 0);
  CHECK_THAT(b.verdict.at(0), Catch::StartsWith("No fault is found, but a longer log"));
  CHECK_THAT(b.verdict.at(1), Catch::StartsWith("Not met, but within what the runs differ"));
}

TEST_CASE("nothing is said of durations where nothing succeeds") {
  const Backtest b = backtest_of(even_log([](std::int64_t i) {
    return Observation::of(i * kSecond / 100, 2'000'000 + i * 1'000, i < 999 ? 200 : 503);
  }));
  CHECK_FALSE(b.all[BacktestFigure::kP50]);
  CHECK_THAT(b.verdict.at(0), Catch::StartsWith("Nothing can be said about durations"));
}

TEST_CASE("a log that gives no backtest says why") {
  const auto refusal = [](const Log& log) {
    std::string why_not;
    CHECK_FALSE(BacktestPlan::of(log, fit_log(log), why_not));
    return why_not;
  };
  const auto row = [](std::int64_t i) {
    return Observation::of(i * kSecond, kSecond / 100 + i % 3, 200);
  };
  std::vector<Observation> rows;
  for (std::int64_t i = 0; i < 199; ++i) rows.push_back(row(i));
  CHECK(refusal(log_with(rows)) ==
        "The scenario was not tested against the log: the first half of its time has 99 lines and "
        "the second 100, and 100 are needed in each.");
  rows.push_back(row(199));
  rows.push_back(row(200));
  Log log = log_with(rows);
  std::string none;
  CHECK(BacktestPlan::of(log, fit_log(log), none));
  CHECK(none.empty());
  log.has_durations = false;
  CHECK_THAT(refusal(log), Catch::EndsWith(": the log has no durations."));
  for (std::size_t i = 0; i < 100; ++i) log.rows[i].start_ns = 0;
  log.has_durations = true;
  CHECK_THAT(refusal(log), Catch::EndsWith(": all requests of its first half arrive at once."));
  for (Observation& each : rows) each.status = 503;
  CHECK_THAT(refusal(log_with(rows)), Catch::Contains("the service time cannot be told"));
}

TEST_CASE("an incident in the half that is not fitted is played with what it shows") {
  // Only in it is the queue full.
  const Backtest b = backtest_of(simulated_log(
      "servers = 20\nservice_time = { distribution = \"exponential\", mean = \"50ms\" }\n"
      "queue.capacity = 60\n[fault.it]\nstart = \"140s\"\nduration = \"25s\"\ncapacity = 0.5",
      "process = \"poisson\"\narrivals.total_rate = 280"));
  CHECK(b.faults == 1);
  for (const BacktestFigure f : {BacktestFigure::kRate, BacktestFigure::kP50, BacktestFigure::kP90,
                                 BacktestFigure::kP99, BacktestFigure::kErrorShare}) {
    CAPTURE(names_of(f).in_words, b.all[f]->logged, b.all[f]->simulated);
    CHECK(b.all[f]->agreement != Agreement::kOff);
  }
  CHECK(b.all[BacktestFigure::kErrorShare]->logged > 0.05);
}

TEST_CASE("an incident that the half's end cuts does not spoil the fit of the half") {
  const Backtest b = backtest_of(simulated_log(
      "servers = 8\nservice_time = { distribution = \"exponential\", mean = \"40ms\" }\n"
      "[fault.it]\nstart = \"80s\"\nduration = \"30s\"\ncapacity = 0.5",
      "process = \"poisson\"\narrivals.total_rate = 130"));
  CHECK(b.faults == 1);
  CHECK(b.all[BacktestFigure::kP99]->logged > 1);
  CHECK(b.all[BacktestFigure::kP50]->agreement != Agreement::kOff);
  CHECK(b.all[BacktestFigure::kP90]->agreement != Agreement::kOff);
}

TEST_CASE("what an incident of the fitted half leaves behind is played, too") {
  // Half of the requests of 30 s are served later, when the second half has begun.
  const Backtest b = backtest_of(simulated_log(
      "servers = 20\nservice_time = { distribution = \"exponential\", mean = \"50ms\" }\n"
      "[fault.it]\nstart = \"68s\"\nduration = \"30s\"\ncapacity = 0.4",
      "process = \"poisson\"\narrivals.total_rate = 300"));
  CHECK(b.faults == 1);
  CHECK(b.all[BacktestFigure::kP90]->logged > 1);
  CHECK(b.all[BacktestFigure::kP90]->agreement != Agreement::kOff);
  CHECK(b.all[BacktestFigure::kP50]->agreement != Agreement::kOff);
}
