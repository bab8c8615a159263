// Distributions by their percentiles, as scenarios write them.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/percentiles.hpp"

#include "loading.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace retrysim::scenario {
namespace {

LoadedScenario with_time(const std::string& value) {
  return load(kSmall, {"service.api.service_time=" + value});
}

Distribution law_by(const std::string& value) {
  return with_time(value).scenario.services[0].service_time;
}

std::string mistake(const std::string& value) {
  return errors_of(kSmall, {"service.api.service_time=" + value});
}

std::string said(const std::string& value) {
  const LoadedScenario loaded = with_time(value);
  return loaded.notes.empty() ? "" : loaded.notes.front();
}

TEST_CASE("names of percentiles") {
  CHECK(percentile_share("p50") == 0.5);
  CHECK(percentile_share("p5") == 0.05);
  CHECK(percentile_share("p05") == 0.05);
  CHECK(percentile_share("p99") == 0.99);
  CHECK(*percentile_share("p999") == Approx(0.999).epsilon(1e-15));
  CHECK(*percentile_share("p99.9") == Approx(0.999).epsilon(1e-15));
  CHECK(*percentile_share("p9999") == Approx(0.9999).epsilon(1e-15));
  for (const char* name : {"p", "p0", "p00", "p100", "p100.0", "p99.", "p.5", "p1.2.3", "P50",
                           "q50", "p-5", "p5e1", "phase", "p1234567890123", ""}) {
    CAPTURE(name);
    CHECK(!percentile_share(name));
  }
}

TEST_CASE("two percentiles are a lognormal law, or the one that is named") {
  // sigma = log(400 / 30) / 2.326348; mean = 30 ms exp(sigma^2 / 2), by hand.
  const Distribution lognormal = law_by("{ p50 = '30ms', p99 = '400ms' }");
  CHECK(lognormal.kind() == Distribution::Kind::kLognormal);
  CHECK(lognormal.parameters().a == Approx(0.030).epsilon(1e-9));
  CHECK(lognormal.parameters().b == Approx(1.113448).epsilon(1e-6));
  CHECK(lognormal.mean_seconds() == Approx(0.055761).epsilon(1e-4));
  CHECK(law_by("{ p99 = 0.4, p50 = 0.03 }").mean_seconds() == lognormal.mean_seconds());
  // 1 - exp(-(x / s)^k) by hand: k = log(log(100) / log(2)) / log(400 / 30).
  const Distribution weibull = law_by("{ distribution = 'weibull', p50 = '30ms', p99 = '400ms' }");
  CHECK(weibull.kind() == Distribution::Kind::kWeibull);
  CHECK(1 / weibull.parameters().b == Approx(0.731080).epsilon(1e-5));
  CHECK(law_by("{ distribution = 'exponential', p50 = '69.314718056ms' }").mean_seconds() ==
        Approx(0.1).epsilon(1e-9));
  CHECK(law_by("{ distribution = 'uniform', p10 = '20ms', p90 = '100ms' }").mean_seconds() ==
        Approx(0.06).epsilon(1e-9));
  CHECK(law_by("{ p99 = '100ms', mean = '30ms' }").mean_seconds() == Approx(0.03).epsilon(1e-9));
  CHECK(law_by("{ p50 = '30ms', cv = 1 }").mean_seconds() == Approx(0.03 * 1.414214).epsilon(1e-6));
  CHECK(law_by("{ p50 = '30ms', \"p99.9\" = '400ms' }").mean_seconds() ==
        law_by("{ p50 = '30ms', p999 = '400ms' }").mean_seconds());
}

TEST_CASE("of three percentiles the nearest law is taken and said") {
  const std::string exponential = "{ p50 = '69.31ms', p90 = '230.3ms', p99 = '460.5ms' }";
  CHECK((law_by(exponential).kind() == Distribution::Kind::kWeibull ||
         law_by(exponential).kind() == Distribution::Kind::kGamma));
  CHECK_THAT(said(exponential), Catch::EndsWith("nearest to these percentiles"));
  CHECK_THAT(said("{ p50 = '30ms', p95 = '200ms', p99 = '210ms' }"),
             Catch::Contains("% above the one given") || Catch::Contains("% below the one given"));
  CHECK(said("{ p50 = '30ms', p99 = '210ms' }").empty());
  CHECK(said("{ distribution = 'weibull', p50 = '30ms', p95 = '200ms', p99 = '260ms' }").empty());
}

TEST_CASE("percentiles work wherever a distribution does") {
  const LoadedScenario loaded =
      load(kSmall, {"network.latency={ p50 = '1ms', p99 = '5ms' }",
                    "client.web.attempt_timeout={ p50 = '1s', p99 = '2s' }"});
  CHECK(loaded.scenario.network.latency.kind() == Distribution::Kind::kLognormal);
  // A single one can be changed, and the resolved scenario reads back.
  CHECK(load(kSmall, {"service.api.service_time={ p50 = '30ms', p99 = '400ms' }",
                      "service.api.service_time.p99='60ms'"})
            .scenario.services[0]
            .service_time.mean_seconds() < 0.04);
  const std::string written =
      value_of(with_time("{ p50 = '30ms', p99 = '400ms' }"), "service.api.service_time");
  CHECK(law_by(written).mean_seconds() == law_by("{ p50 = '30ms', p99 = '400ms' }").mean_seconds());
}

TEST_CASE("percentiles that take the place of another law inherit nothing of it") {
  const auto mean = [](const std::string& base, const std::string& own) {
    std::string text = kSmall;
    const std::string plain = "service_time = \"10ms\"";
    text.replace(text.find(plain), plain.size(), "service_time = " + base);
    text += "[service.other]\nlike = \"api\"\nservice_time = " + own + "\n";
    const Scenario scenario = load(text, {"client.web.calls='api'"}).scenario;
    return scenario.services[1].service_time.mean_seconds();
  };
  const double alone = law_by("{ p50 = '30ms', p99 = '400ms' }").mean_seconds();
  const std::string exponential = "{ distribution = 'exponential', mean = '1s' }";
  CHECK(mean(exponential, "{ p50 = '30ms', p99 = '400ms' }") == alone);
  CHECK(mean("{ p50 = '30ms', p99 = '400ms' }", exponential) == 1);
  CHECK(mean("{ p50 = '30ms', p99 = '1s' }", "{ p99 = '400ms' }") == alone);
}

TEST_CASE("percentiles that cannot be met are errors") {
  const auto contains = [](const std::string& text) { return Catch::Contains(text); };
  CHECK_THAT(mistake("{ p50 = '400ms', p99 = '30ms' }"),
             contains("service.api.service_time: p99 must be longer than p50"));
  CHECK_THAT(mistake("{ p50 = '30ms', p99 = '30ms' }"), contains("p99 must be longer than p50"));
  CHECK_THAT(mistake("{ p50 = '30ms' }"),
             contains("lognormal: one percentile does not say how much"));
  CHECK_THAT(mistake("{ p50 = '0s', p99 = '1s' }"), contains("service_time.p50 must be above 0"));
  CHECK_THAT(mistake("{ p50 = '-1s', p99 = '1s' }"),
             contains("service_time.p50 = \"-1s\" is out of range"));
  CHECK_THAT(mistake("{ p50 = '30', p99 = '1s' }"), contains("service_time.p50 = \"30\" is wrong"));
  CHECK_THAT(mistake("{ p99 = '1s', p990 = '2s' }"), contains("are the same percentile"));
  CHECK_THAT(mistake("{ p50 = '30ms', p100 = '1s' }"), contains("\"p100\" is no percentile"));
  CHECK_THAT(mistake("{ p50 = '30ms', p99.9 = '1s' }"), contains("p999 is 99.9 %"));
  CHECK_THAT(mistake("{ p50 = '30ms', max = '1s' }"), contains("\"max\" is no percentile"));
  CHECK_THAT(mistake("{ distribution = 'weibul', p50 = '30ms', p99 = '1s' }"),
             contains("did you mean \"weibull\"?"));
  CHECK_THAT(mistake("{ distribution = 'erlang', p50 = '30ms', p99 = '1s' }"),
             contains("percentiles cannot be given for distribution = \"erlang\""));
  CHECK_THAT(mistake("{ distribution = 'pareto', p50 = '30ms', p99 = '10s' }"),
             contains("pareto: the percentiles are so far apart that it would have no mean"));
  CHECK_THAT(mistake("{ distribution = 'uniform', p50 = '30ms', p99 = '1s' }"),
             contains("uniform: it would begin below 0"));
  CHECK_THAT(
      mistake("{ distribution = 'exponential', p50 = '30ms', p99 = '1s' }"),
      contains("no exponential law has these percentiles: its p50 is 124 % above the one given"));
  CHECK_THAT(mistake("{ p50 = '1ms', p90 = '2ms', p99 = '10s' }"),
             contains("no law of lognormal, weibull, gamma and pareto has these percentiles"));
  CHECK_THAT(mistake("{ p99 = '1s', mean = '10ms' }"),
             contains("no lognormal law has a percentile so far above its mean"));
  CHECK_THAT(mistake("{ p50 = '1s', p99 = '2s', mean = '10ms' }"),
             contains("mean goes with one percentile; there are 2"));
  CHECK_THAT(mistake("{ p50 = '1s', cv = 1, mean = '10ms' }"), contains("leave one of them"));
  CHECK_THAT(mistake("{ distribution = 'weibull', p50 = '1s', cv = 1 }"),
             contains("cv beside a percentile goes with lognormal only"));
  CHECK_THAT(mistake("{ p1 = '1ns', p99 = '9e9s' }"), contains("service.api.service_time: "));
}

TEST_CASE("a median that is taken for the mean is suspected") {
  const auto noted = [](const std::string& line) {
    std::string text = kSmall;
    const std::string plain = "service_time = \"10ms\"";
    text.replace(text.find(plain), plain.size(), line);
    const LoadedScenario loaded = load(text);
    return loaded.notes.empty() ? std::string() : loaded.notes.front();
  };
  CHECK_THAT(noted("service_time = { distribution = 'exponential', mean = '30ms' }  # our p50"),
             Catch::Contains("service.api.service_time is taken for a law with that mean, and its "
                             "comment says p50"));
  CHECK_THAT(noted("service_time = '30ms' # Median of Grafana"),
             Catch::Contains("is taken for the time of all, and its comment says median"));
  CHECK(noted("service_time = '30ms' # mean in the P1 incident, phase 2").empty());
  CHECK(noted("service_time = { p50 = '30ms', p99 = '1s' } # p50 and p99 of Grafana").empty());
}

}  // namespace
}  // namespace retrysim::scenario
