// Scenarios are simulated with an access log, and fitted from the log alone: what comes out is what
// was put in, within the intervals that the fit states, and it runs.
//
// SPDX-License-Identifier: MIT
#include "fit/fit.hpp"

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "fit/log.hpp"
#include "random_logs.hpp"
#include "report/run/access_log.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <cmath>
#include <string>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

Scenario loaded(const std::string& text) {
  const LoadResult result = load_scenario_text(text, "test", ".");
  for (const Diagnostic& e : result.errors) FAIL_CHECK(e.message);
  REQUIRE(result.loaded);
  return result.loaded->scenario;
}

Log logged(const Scenario& scenario, const test::TemporaryFolder& place) {
  report::StringSink sink;
  report::AccessLogWriter writer(sink, scenario);
  SimulationOptions options;
  options.access_log = [&](const AccessLogEntry& entry) { writer.write(entry); };
  simulate(scenario, 0, options);
  return read_log({place.write("access.csv", sink.text()).string()}, {});
}

/// The scenario that the fit gives, from its files.
Scenario fitted_scenario(const Fit& fit, const test::TemporaryFolder& place) {
  for (const auto& [name, content] : scenario_files(fit, "fitted", "A test.")) {
    place.write(name, content);
  }
  const LoadResult result = load_scenario_file(place.path() / "scenario.toml");
  for (const Diagnostic& e : result.errors) FAIL_CHECK(e.message);
  REQUIRE(result.loaded);
  return result.loaded->scenario;
}

bool covers(const Estimate& e, double truth) { return e.low <= truth && truth <= e.high; }

struct Truth {
  Law law;
  std::size_t servers = 1;
  double load = 0, rate = 0;
  std::string text;
};

/// A random service with Poisson arrivals, and 20,000 requests on average.
Truth random_truth(std::uint64_t seed) {
  Draws draws(RandomKey(seed, 0), {1, 0, 0, Purpose::kServiceTime});
  Truth t;
  const double mean = 0.005 * std::exp(draws.uniform() * std::log(20));
  const double cv = 0.5 + 1.5 * draws.uniform();
  const double deviation = std::sqrt(std::log1p(cv * cv));
  switch (draws.below(4)) {
    case 0:
      t.law = {LawKind::kExponential, {mean}};
      break;
    case 1:
      t.law = {LawKind::kGamma, {1 / (cv * cv), mean * cv * cv}};
      break;
    case 2:
      t.law = {LawKind::kLognormal, {mean * std::exp(-deviation * deviation / 2), deviation}};
      break;
    default:
      t.law = {LawKind::kHyperexponential, {0.8, mean / 2, 3 * mean}};
  }
  t.servers = 1 + draws.below(20);
  t.load = 0.3 + 0.65 * draws.uniform();
  t.rate = t.load * static_cast<double>(t.servers) / mean;
  t.text = fmt::format(
      "name = \"truth\"\nseed = {}\nduration = \"{}s\"\n[service.api]\nservers = {}\n"
      "service_time = {}\n[client.web]\narrivals.process = \"poisson\"\n"
      "arrivals.total_rate = {}\nretry.mode = \"none\"\n",
      seed, 20'000 / t.rate, t.servers, law_text(t.law), t.rate);
  return t;
}

}  // namespace

// Rate, mean and 99 % quantile are each outside their interval in 5 % of all logs, so one of the
// three is in at most 15 %: in more than 7 of 20 logs with a probability of at most 0.6 %.
TEST_CASE("twenty random scenarios are found again in their access logs") {
  int found = 0, saturated = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Truth truth = random_truth(seed);
    CAPTURE(seed, truth.text);
    const test::TemporaryFolder place;
    const Fit fit = fit_log(logged(loaded(truth.text), place));
    REQUIRE(fit.service_time);
    REQUIRE(fit.capacity);
    found += covers(fit.arrivals.rate, truth.rate) &&
             covers(fit.service_time->mean, truth.law.mean()) &&
             covers(fit.service_time->p99, truth.law.quantile(0.99));
    CHECK(fit.capacity->low <= truth.servers);
    const double off =
        static_cast<double>(fit.capacity->free_below()) / static_cast<double>(truth.servers);
    constexpr double kNearSaturation = 0.8;
    if (truth.load > kNearSaturation) {
      ++saturated;
      REQUIRE(fit.capacity->servers);
      CHECK(off == Approx(1).margin(0.1));
    }
    // What it says runs, and means what was found.
    const Scenario again = fitted_scenario(fit, place);
    CHECK(again.services[0].servers == static_cast<std::int64_t>(fit.capacity->free_below()));
    CHECK(again.services[0].service_time.mean_seconds() ==
          Approx(fit.service_time->mean.value).epsilon(0.03));
    if (fit.arrivals.kind == ArrivalKind::kPoisson) {
      CHECK(again.clients[0].arrivals.rate == Approx(fit.arrivals.rate.value).epsilon(1e-5));
    }
  }
  CHECK(found >= 13);
  CHECK(saturated >= 4);
}

TEST_CASE("a bounded queue, errors and retries are found in the log") {
  const test::TemporaryFolder place;
  const Scenario truth = loaded(R"(
name = "truth"
duration = "400s"
[service.api]
servers = 5
service_time = { distribution = "exponential", mean = "50ms" }
queue.capacity = 10
[client.web]
arrivals.process = "poisson"
arrivals.total_rate = 85
retry.mode = "custom"
retry.max_attempts = 3
retry.delays = ["200ms"]
)");
  const Fit fit = fit_log(logged(truth, place));
  REQUIRE(fit.capacity);
  REQUIRE(fit.capacity->servers);
  CHECK(*fit.capacity->servers == 5);
  CHECK(fit.queue_capacity == 10);
  REQUIRE(fit.retries);
  CHECK(fit.retries->most_attempts == 3);
  CHECK(fit.retries->median_delay_s == Approx(0.2));
  CHECK(covers(fit.arrivals.rate, 85));
  const Scenario again = fitted_scenario(fit, place);
  CHECK(again.services[0].queue.capacity == 10);
  CHECK(again.clients[0].retry.max_attempts == 3);
}

TEST_CASE("random errors and a rate that changes are played again") {
  const test::TemporaryFolder place;
  place.write("rates.csv", "time_s,rate\n0,20\n300,20\n300.001,60\n600,60\n");
  const LoadResult truth = load_scenario_text(R"(
name = "truth"
duration = "600s"
[service.api]
servers = 50
service_time = "50ms"
errors.internal = 0.05
errors."429" = 0.02
[client.web]
arrivals.process = "trace"
arrivals.file = "rates.csv"
retry.mode = "none"
)",
                                              "test", place.path());
  REQUIRE(truth.loaded);
  const Fit fit = fit_log(logged(truth.loaded->scenario, place));
  CHECK(fit.arrivals.kind == ArrivalKind::kVarying);
  // Of 24,000 lines: four standard errors.
  CHECK(fit.error_share == Approx(0.07).margin(0.007));
  REQUIRE(fit.service_time);
  CHECK(fit.service_time->chosen.kind == LawKind::kConstant);
  CHECK(fit.service_time->mean.value == Approx(0.05));
  REQUIRE(fit.capacity);
  CHECK_FALSE(fit.capacity->servers);
  CHECK_THAT(capacity_words(*fit.capacity),
             Catch::StartsWith("The number of servers cannot be told from this log"));
  const test::TemporaryFolder second;
  const Scenario again = fitted_scenario(fit, second);
  const RunResult run = simulate(again, 0);
  std::uint64_t requests = 0;
  for (const ClientBin& b : run.clients[0].bins) requests += b.flow.requests;
  CHECK(static_cast<double>(requests) == Approx(24'000).epsilon(0.04));
  double errors = 0;
  for (const RandomError& e : again.services[0].errors) errors += e.probability;
  CHECK(errors == Approx(fit.error_share).epsilon(1e-4));
}

TEST_CASE("a log without durations gives arrivals, and says what is missing") {
  const test::TemporaryFolder place;
  std::string text = "time\n";
  for (int i = 0; i < 1'000; ++i) text += fmt::format("{}\n", 100 + 0.01 * i);
  const Fit fit = fit_log(read_log({place.write("log", text).string()}, {}));
  CHECK_FALSE(fit.service_time);
  CHECK_FALSE(fit.capacity);
  CHECK(fit.arrivals.kind == ArrivalKind::kOther);
  REQUIRE(fit.notes.size() == 1);
  CHECK_THAT(fit.notes[0], Catch::StartsWith("The log has no durations"));
  CHECK_FALSE(fit.has_statuses);
  CHECK(known_words(fit) == "known: arrivals; not known: service time, servers, errors, retries");
  const Scenario again = fitted_scenario(fit, place);
  CHECK(again.clients[0].arrivals.process == ArrivalProcess::kTrace);
  // The user knows it.
  Fit given = fit;
  give_service_time(given, {"\"30ms\"", 0.03});
  CHECK(given.notes.empty());
  const test::TemporaryFolder second;
  const Scenario with = fitted_scenario(given, second);
  CHECK(with.services[0].service_time.mean_seconds() == Approx(0.03));
  CHECK(with.services[0].servers == 5);  // 100 requests a second keep 3 busy
  CHECK_THROWS_WITH(fit_log(read_log({place.write("few", "time\n1\n2\n").string()}, {})),
                    "the log has 2 lines; 20 are needed at least");
}

TEST_CASE("a rate in an export is that of the whole interval") {
  const auto export_of = [](const std::string& column, int value) {
    std::string text = "time,latency_ms," + column + "\n";
    for (int i = 0; i < 30; ++i) text += fmt::format("{},40,{}\n", 1'747'130'400 + 15 * i, value);
    return text;
  };
  const test::TemporaryFolder place;
  for (const auto& [column, value] :
       {std::pair{"requests", 150}, {"rps", 10}, {"requests/min", 600}}) {
    CAPTURE(column);
    const Fit fit =
        fit_log(read_log({place.write("x.csv", export_of(column, value)).string()}, {}));
    CHECK(fit.arrivals.rate.value == Approx(10));
  }
}

TEST_CASE("what has no status is neither a success nor an error") {
  // Every fourth line has none, and took long.
  std::string text = "time,duration,status\n";
  for (int i = 0; i < 400; ++i) {
    const bool without = i % 4 == 0;
    text += fmt::format("{}.{:03},{},{}\n", 1'700'000'000 + i, i * 7 % 1000,
                        without ? "0.5" : fmt::format("0.0{}", 10 + i % 7),
                        without      ? "000"
                        : i % 4 == 1 ? "503"
                                     : "200");
  }
  const test::TemporaryFolder place;
  const Fit fit = fit_log(read_log({place.write("x.csv", text).string()}, {}));
  CHECK(fit.without_status == 100);
  CHECK(fit.error_share == Approx(1.0 / 3));
  REQUIRE(fit.service_time);
  CHECK(fit.service_time->values <= 200);
  CHECK(fit.service_time->values > 150);
  CHECK(fit.service_time->mean.value < 0.02);
  REQUIRE_FALSE(fit.notes.empty());
  CHECK_THAT(fit.notes[0], Catch::StartsWith("100 of 400 lines have no status"));
}

TEST_CASE("servers are told where durations are coarser than times") {
  const test::TemporaryFolder place;
  const auto fitted = [&](const random_logs::Service& service, std::int64_t step_ns) {
    std::string text = "time,duration_ms\n";
    const std::string exact =
        random_logs::log_of(service, random_logs::Clock::kNanoseconds, 3).text;
    for (std::size_t at = exact.find('\n') + 1; at < exact.size(); at = exact.find('\n', at) + 1) {
      const std::size_t comma = exact.find(',', at);
      const double took_s = std::stod(exact.substr(comma + 1));
      text += fmt::format(
          "{}000,{}\n", exact.substr(at, comma - at - 3),
          std::llround(took_s * 1e9 / static_cast<double>(step_ns)) * step_ns / 1'000'000);
    }
    return fit_log(read_log({place.write("x.csv", text).string()}, {}));
  };
  random_logs::Service service;
  service.mean_s = 0.2;
  service.servers = 4;
  service.load = 0.6;
  for (const std::int64_t step_ns : {1'000'000, 10'000'000}) {
    CAPTURE(step_ns);
    const Fit fit = fitted(service, step_ns);
    CHECK(fit.is_explained());
    REQUIRE(fit.capacity);
    CHECK(fit.capacity->servers == 4);
  }
}

TEST_CASE("a monitoring export gives a rate, and says what it does not tell") {
  // Two hours of five-minute counts; one is missing, one a little late.
  std::string text = "timestamp,value\n";
  for (int i = 0; i < 24; ++i) {
    if (i == 7) continue;
    const int minute = 5 * i;
    text += fmt::format("2014-04-10 {:02}:{:02}:{:02},{}.0\n", minute / 60, minute % 60,
                        i == 9 ? 20 : 0, i < 12 ? 300 : 900);
  }
  const test::TemporaryFolder place;
  const Log log = read_log({place.write("elb.csv", text).string()}, {});
  CHECK(log.rows.empty());
  CHECK(log.counts.size() == 23);
  const Fit fit = fit_log(log);
  CHECK(fit.arrivals.kind == ArrivalKind::kVarying);
  CHECK(fit.arrivals.bin_s == 300);
  REQUIRE(fit.arrivals.rates.size() == 24);
  CHECK(fit.arrivals.rates[0] == Approx(1));
  CHECK(fit.arrivals.rates[7] == Approx(1));
  CHECK(fit.arrivals.rates[23] == Approx(3));
  CHECK(fit.arrivals.rate.value == Approx(2));
  REQUIRE(fit.notes.size() == 2);
  CHECK_THAT(fit.notes[0], Catch::StartsWith("The log has numbers of requests for each 300 s"));
  CHECK_THAT(fit.notes[1], Catch::StartsWith("1 number is missing"));
  CHECK_THAT(arrival_words(fit.arrivals), Catch::Contains("played at random"));
  const RunResult run = simulate(fitted_scenario(fit, place), 0);
  std::uint64_t requests = 0;
  for (const ClientBin& b : run.clients[0].bins) requests += b.flow.requests;
  // Four standard errors.
  CHECK(static_cast<double>(requests) == Approx(14'400).margin(480));
  CHECK_THROWS_WITH(fit_log(read_log({place.write("few.csv", "time,count\n1,2\n").string()}, {})),
                    "the log has 1 line; 20 are needed at least");
}
