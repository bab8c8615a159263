// Simulated faults are found again in the access log alone, and nothing is found where there was
// none.
//
// SPDX-License-Identifier: MIT
#include "fit/incidents.hpp"

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "fit/fit.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// What the servers of a scenario log.
Log logged(const std::string& text, const InputTexts& inputs = {}) {
  const LoadResult result = load_scenario_with_inputs(text, "test", inputs);
  for (const Diagnostic& e : result.errors) FAIL_CHECK(e.message);
  REQUIRE(result.loaded);
  Log log;
  SimulationOptions options;
  options.access_log = [&](const AccessLogEntry& e) {
    log.rows.push_back(
        Observation::of(e.answered.count() - e.duration.count(), e.duration.count(), e.status));
  };
  simulate(result.loaded->scenario, 0, options);
  std::ranges::sort(log.rows, {}, &Observation::start_ns);
  log.lines = log.rows.size();
  log.has_statuses = true;
  log.time_resolution_ns = 1;
  return log;
}

/// 200 s; a fault from 80 s on, of 30 s.
Log log_of(const std::string& service, double rate, const std::string& fault) {
  return logged(
      fmt::format("name = \"truth\"\nduration = \"200s\"\nseed = 5\n[service.api]\n{}\n"
                  "[fault.it]\nstart = \"80s\"\nduration = \"30s\"\n{}\n"
                  "[client.web]\nretry.mode = \"none\"\narrivals.process = \"poisson\"\n"
                  "arrivals.total_rate = {}\n",
                  service, fault, rate));
}

double seconds_after(std::int64_t t, const Fit& fit) {
  return static_cast<double>(t - fit.origin_ns) * 1e-9;
}

/// The only incident, which is where the fault was.
Incident incident_of(const Fit& fit, double end_s = 110) {
  REQUIRE(fit.incidents.found.size() == 1);
  CHECK(fit.incidents.notes.empty());
  const Incident& i = fit.incidents.found.front();
  CHECK(seconds_after(i.when.begin_ns, fit) == Approx(80).margin(1.5));
  CHECK(seconds_after(i.when.end_ns, fit) == Approx(end_s).margin(1.5));
  return i;
}

/// The fault that the scenario of the fit has.
FaultSpec fault_of(const Fit& fit) {
  InputTexts inputs;
  for (auto& [name, content] : scenario_files(fit, "fitted", "A test.")) inputs[name] = content;
  const LoadResult result = load_scenario_with_inputs(inputs["scenario.toml"], "fitted", inputs);
  for (const Diagnostic& e : result.errors) FAIL_CHECK(e.message);
  REQUIRE(result.loaded);
  REQUIRE(result.loaded->scenario.faults.size() == 1);
  return result.loaded->scenario.faults.front();
}

const std::string kTwenty =
    "servers = 20\nservice_time = { distribution = \"exponential\", mean = \"50ms\" }";

}  // namespace

TEST_CASE("lost servers are told from how long requests wait") {
  const Fit fit = fit_log(log_of(kTwenty, 280, "capacity = 0.4"));
  const Incident i = incident_of(fit);
  CHECK(i.slow);
  CHECK(i.servers_left == 8);
  REQUIRE(i.capacity);
  CHECK(*i.capacity == Approx(0.4));
  CHECK_FALSE(i.speed);
  CHECK(i.added_errors.empty());
  // Outside of the incident all is as it was.
  REQUIRE(fit.capacity->servers);
  CHECK(*fit.capacity->servers == 20);
  CHECK(fit.service_time->mean.value == Approx(0.05).epsilon(0.03));
  CHECK(fault_of(fit).capacity == Approx(0.4));
  CHECK_THAT(incident_words(i, fit.origin_ns), Catch::Contains("as if 8 servers had been left"));
}

TEST_CASE("slower servers are told from fewer ones") {
  for (const double rate : {40.0, 280.0}) {  // 10 % and 70 % load
    CAPTURE(rate);
    const Fit fit = fit_log(log_of(kTwenty, rate, "speed = 0.5"));
    const Incident i = incident_of(fit);
    CHECK(i.slow);
    CHECK(i.explained);
    CHECK(i.told_apart);
    REQUIRE(i.speed);
    CHECK(*i.speed == Approx(0.5).epsilon(0.1));
    CHECK_FALSE(i.capacity);
    CHECK(fit.service_time->mean.value == Approx(0.05).epsilon(0.05));
    CHECK(fault_of(fit).speed == Approx(0.5).epsilon(0.1));
    CHECK_THAT(incident_words(i, fit.origin_ns), Catch::Contains("as if each server had worked"));
  }
}

TEST_CASE("slower servers of constant service times are told, fewer may have been slower") {
  for (const std::string& fault : {std::string("speed = 0.5"), std::string("capacity = 0.5")}) {
    CAPTURE(fault);
    const Fit fit = fit_log(log_of("servers = 8\nservice_time = \"40ms\"", 150, fault));
    const Incident i = incident_of(fit);
    CHECK(i.explained);
    CHECK(i.told_apart == (fault == "speed = 0.5"));
    REQUIRE(i.speed);
    CHECK(*i.speed == Approx(0.5).epsilon(0.05));
    CHECK(fit.capacity->servers == 8);
    if (!i.told_apart) {
      CHECK_THAT(incident_words(i, fit.origin_ns), Catch::Contains("which it was cannot be told"));
    }
  }
}

TEST_CASE("errors are those on top of the usual ones") {
  const Fit fit = fit_log(log_of(kTwenty + "\nerrors.internal = 0.02", 100,
                                 "errors = { \"503\" = 0.3, \"429\" = 0.1 }"));
  const Incident i = incident_of(fit);
  CHECK_FALSE(i.slow);
  CHECK(i.errors == Approx(0.38).margin(0.05));
  CHECK(i.usual_errors == Approx(0.02).margin(0.005));
  CHECK(fit.error_share == i.usual_errors);
  REQUIRE(i.added_errors.size() == 2);
  CHECK(i.added_errors[0].first == 429);
  CHECK(i.added_errors[0].second == Approx(0.1).margin(0.03));
  CHECK(i.added_errors[1].first == 503);
  CHECK(i.added_errors[1].second == Approx(0.3).margin(0.04));
  CHECK(fault_of(fit).errors.size() == 2);
}

TEST_CASE("few errors of many statuses are no full queue") {
  const Fit fit =
      fit_log(log_of(kTwenty, 280,
                     "errors.\"500\" = 0.004\nerrors.\"501\" = 0.004\nerrors.\"502\" = 0.004\n"
                     "errors.\"503\" = 0.004\nerrors.\"504\" = 0.004"));
  const Incident i = incident_of(fit);
  CHECK(i.errors == Approx(0.02).margin(0.005));
  CHECK_FALSE(i.full_queue);
  CHECK_THAT(incident_words(i, fit.origin_ns), !Catch::Contains("full queue"));
  double added = 0;
  for (const auto& [status, share] : i.added_errors) added += share;
  CHECK(added == Approx(i.errors));
}

TEST_CASE("moments of long logs are written without an exponent") {
  Incident i;
  i.when = {1'296'000 * kNsPerSecond, 1'425'600 * kNsPerSecond};
  i.silent = true;
  CHECK_THAT(incident_words(i, 0), Catch::StartsWith("From 1,296,000 to 1,425,600 s, no request"));
  CHECK(fault_text(i, 0) == "start = \"1296000s\"\nduration = \"129600s\"\nunreachable = true\n");
}

TEST_CASE("errors of a full queue follow from the servers that are lost") {
  const Fit fit = fit_log(log_of(kTwenty + "\nqueue.capacity = 30", 280, "capacity = 0.5"));
  const Incident i = incident_of(fit);
  REQUIRE(i.capacity);
  CHECK(*i.capacity == Approx(0.5));
  CHECK(i.errors > 0.25);
  CHECK(i.added_errors.empty());
  CHECK(fit.queue_capacity == 30);
  CHECK_THAT(incident_words(i, fit.origin_ns), Catch::EndsWith("those of a full queue."));
}

TEST_CASE("a cause that the log does not tell is not made up") {
  // A third of the requests is slow: neither all servers are, nor are there fewer.
  std::vector<Observation> rows;
  Draws draws(RandomKey(3, 0), {1, 0, 0, Purpose::kServiceTime});
  for (std::int64_t i = 0; i < 20'000; ++i) {
    const bool slow = i > 8'000 && i < 11'000 && i % 3 == 0;
    const double took = (0.01 + 0.02 * draws.uniform()) * (slow ? 20 : 1);
    rows.push_back(Observation::of(i * kNsPerSecond / 100, std::llround(took * 1e9), 200));
  }
  Log log;
  log.rows = std::move(rows);
  log.has_statuses = true;
  log.time_resolution_ns = 1;
  const Fit fit = fit_log(log);
  const Incident i = incident_of(fit);
  CHECK_FALSE(i.explained);
  CHECK_THAT(incident_words(i, fit.origin_ns), Catch::Contains("the cause cannot be told"));
}

TEST_CASE("durations that are rounded to 0 have no ratio") {
  Log log;
  for (std::int64_t i = 0; i < 8'000; ++i) {
    const bool slow = i >= 3'000 && i < 4'000;
    log.rows.push_back(Observation::of(i * kNsPerSecond / 10,
                                       slow ? 2 * kNsPerSecond + kNsPerSecond / 1000 : 0, 200));
  }
  log.has_statuses = true;
  log.time_resolution_ns = kNsPerSecond / 1'000;
  const Fit fit = fit_log(log);
  REQUIRE(fit.incidents.found.size() == 1);
  CHECK(fit.incidents.found[0].slow);
  CHECK(fault_of(fit).speed > 0);
}

TEST_CASE("a stretch without lines is an outage, or nobody asked") {
  const Fit fit = fit_log(log_of(kTwenty, 100, "unreachable = true"));
  const Incident i = incident_of(fit);
  CHECK(i.silent);
  CHECK(i.lines == 0);
  CHECK(fit.arrivals.kind == ArrivalKind::kPoisson);
  CHECK(fit.arrivals.rate.low <= 100);
  CHECK(fit.arrivals.rate.high >= 100);
  CHECK(fault_of(fit).unreachable);
  CHECK_THAT(incident_words(i, fit.origin_ns),
             Catch::EndsWith("or nobody asked, the log does not tell which."));
}

TEST_CASE("servers that all stand still are told from requests that nobody answers") {
  for (const std::string& queue : {std::string(), std::string("\nqueue.capacity = 40")}) {
    CAPTURE(queue);
    const Fit fit = fit_log(log_of(kTwenty + queue, 200, "capacity = 0"));
    const Incident i = incident_of(fit);
    CHECK(i.capacity == 0);
    CHECK(i.lines > 5'000);
    CHECK(fault_of(fit).capacity == 0);
    CHECK(fit.service_time->mean.value == Approx(0.05).epsilon(0.05));
    if (!queue.empty()) CHECK(fit.queue_capacity == 40);
    CHECK_THAT(incident_words(i, fit.origin_ns), Catch::EndsWith(": no server worked."));
  }
}

TEST_CASE("what does not end, or did not begin, in the log is a note") {
  const auto log_with_errors = [](std::int64_t from, std::int64_t to) {
    Log log;
    for (std::int64_t i = 0; i < 10'000; ++i) {
      const bool fails = i >= from && i < to && i % 4 == 0;
      log.rows.push_back(
          Observation::of(i * kNsPerSecond / 100, kNsPerSecond / 100 + i % 7, fails ? 503 : 200));
    }
    log.has_statuses = true;
    log.time_resolution_ns = 1;
    return log;
  };
  const Fit late = fit_log(log_with_errors(7'000, 10'000));
  CHECK(late.incidents.found.empty());
  REQUIRE(late.incidents.notes.size() == 1);
  CHECK_THAT(late.incidents.notes[0], Catch::StartsWith("From 69.99 s on, until the log ends"));
  const Fit early = fit_log(log_with_errors(0, 2'000));
  CHECK(early.incidents.found.empty());
  REQUIRE(early.incidents.notes.size() == 1);
  CHECK_THAT(early.incidents.notes[0], Catch::StartsWith("Until 20 s after the log begins"));
  // What fills most of the log is what is usual.
  CHECK(fit_log(log_with_errors(1'000, 9'000)).incidents.found.empty());
  CHECK(fit_log(log_with_errors(5'000, 6'000)).incidents.found.size() == 1);
}

// By chance one log in a thousand shows an incident: more than one of 60 does with a probability
// of 0.2 %.
TEST_CASE("a log without incidents shows none") {
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Draws draws(RandomKey(seed, 0), {1, 0, 0, Purpose::kServiceTime});
    const std::size_t servers = 1 + draws.below(12);
    const double load = 0.2 + 0.75 * draws.uniform();
    const double mean = 0.03, cv = 0.3 + 1.7 * draws.uniform();
    const double rate = load * static_cast<double>(servers) / mean;
    const std::string text = fmt::format(
        "name = \"truth\"\nseed = {}\nduration = \"{}s\"\n[service.api]\nservers = {}\n"
        "service_time = {{ distribution = \"lognormal\", mean = \"30ms\", cv = {} }}\n{}"
        "errors.internal = {}\n[client.web]\narrivals.process = \"poisson\"\n"
        "arrivals.total_rate = {}\nretry.mode = \"none\"\n",
        seed, 5'000 / rate, servers, cv, seed % 3 == 0 ? "queue.capacity = 12\n" : "",
        0.05 * draws.uniform(), rate);
    CAPTURE(text);
    const Fit fit = fit_log(logged(text));
    alarms += fit.incidents.found.empty() && fit.incidents.notes.empty() ? 0 : 1;
    for (const Incident& i : fit.incidents.found) {
      UNSCOPED_INFO(seed << ": " << incident_words(i, fit.origin_ns));
    }
    for (const std::string& note : fit.incidents.notes) UNSCOPED_INFO(seed << ": " << note);
  }
  CHECK(alarms <= 1);
}
