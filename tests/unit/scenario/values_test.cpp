// Durations, numbers, distributions and names as they are written in scenarios.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/values.hpp"

#include "loading.hpp"
#include "scenario/text/text.hpp"

#include <limits>

using namespace retrysim;
using namespace retrysim::scenario;

TEST_CASE("a duration is a number with a unit") {
  const auto ns = [](std::string_view text) { return parse_duration(text)->duration.count(); };
  CHECK(ns("7ns") == 7);
  CHECK(ns("7us") == 7'000);
  CHECK(ns("250ms") == 250'000'000);
  CHECK(ns("1.5s") == 1'500'000'000);
  CHECK(ns("2min") == 120'000'000'000);
  CHECK(ns("1h") == 3'600'000'000'000);
  CHECK(ns("30d") == 30 * 86'400'000'000'000);
  CHECK(ns("1e3ms") == 1'000'000'000);
  CHECK(ns("0.6ns") == 1);
  CHECK(ns("2 s") == 2'000'000'000);  // as the output writes it
  CHECK(ns("1.5 min") == 90'000'000'000);
  // 2^53 + 1 has no double: whole numbers stay exact.
  CHECK(ns("9007199254740993ns") == 9'007'199'254'740'993);
}

TEST_CASE("the seconds of a duration are the nearest double to what is written") {
  CHECK(parse_duration("10ms")->seconds == 0.01);
  CHECK(parse_duration("3us")->seconds == 3e-6);
  CHECK(parse_duration("0.1ns")->seconds == 1e-10);
}

TEST_CASE("what is no duration is refused") {
  for (const char* text : {"", "s", "5", "5  s", "5 ", "5m", "5sec", "-1s", "+1s", "1s ", " 1s",
                           "nans", "infs", "1e400s", "0x5s", "1_000s", "300000000000s", "1.2.3s"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text).has_value());
  }
}

TEST_CASE("a duration as text is exact") {
  CHECK(to_text(Duration::zero()) == "0s");
  CHECK(to_text(Duration::seconds(20)) == "20s");
  CHECK(to_text(Duration::milliseconds(1500)) == "1500ms");
  CHECK(to_text(Duration::microseconds(25)) == "25us");
  CHECK(to_text(Duration::nanoseconds(1'000'001)) == "1000001ns");
}

TEST_CASE("numbers are written so that they read back as the same double") {
  CHECK(render_number(0.1) == "0.1");
  CHECK(render_number(2) == "2.0");
  CHECK(render_number(1e300) == "1e+300");
  for (const double value : {0.1, 1e-7, 1.0 / 3, 1e22, std::numeric_limits<double>::denorm_min()}) {
    CHECK(parse_value(render_number(value), {})->real == value);
  }
}

TEST_CASE("text is written so that it reads back as the same text") {
  for (const std::string text :
       {"plain", "a \"quoted\" \\ word", "line\nline\ttab", "gr\xC3\xBC\xC3\x9F", "\x01\x7F", ""}) {
    CHECK(parse_value(render_text(text), {})->text == text);
  }
}

TEST_CASE("paths are split at dots outside quotes") {
  using Names = std::vector<std::string>;
  CHECK(*split_path("client.web.count") == Names{"client", "web", "count"});
  CHECK(*split_path("service.*.errors.\"a.b\"") == Names{"service", "*", "errors", "a.b"});
  CHECK(*split_path("errors.503:SlowDown") == Names{"errors", "503:SlowDown"});
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a b", "\"a", "a\"b\""}) {
    INFO(bad);
    CHECK_FALSE(split_path(bad).has_value());
  }
}

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("duraton", "duration") == 1);
  CHECK(edit_distance("durration", "duration") == 1);
  CHECK(edit_distance("cuont", "count") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("only a near name is suggested") {
  CHECK(nearest("lantency", {"latency", "request_loss"}) == "latency");
  CHECK(nearest("precision", {"description", "duration"}).empty());
  CHECK(nearest("x", {"p"}).empty());
  CHECK(nearest(std::string(1000, 'a'), {"a"}).empty());
}

namespace {

// Loads a scenario whose service time is `value`.
LoadedScenario with_service_time(const std::string& value) {
  return load(kSmall, {"service.api.service_time=" + value});
}

double mean_of(const std::string& value) {
  return with_service_time(value).scenario.services[0].service_time.mean_seconds();
}

std::string error_of(const std::string& value) {
  return errors_of(kSmall, {"service.api.service_time=" + value});
}

}  // namespace

TEST_CASE("a distribution is a duration or a table") {
  using Kind = Distribution::Kind;
  const auto kind_of = [](const std::string& value) {
    return with_service_time(value).scenario.services[0].service_time.kind();
  };
  CHECK(kind_of("20ms") == Kind::kConstant);
  CHECK(kind_of("0.5") == Kind::kConstant);
  CHECK(mean_of("0.5") == 0.5);
  CHECK(mean_of("{distribution='constant', mean='20ms'}") == 0.02);
  CHECK(kind_of("{distribution='exponential', mean='20ms'}") == Kind::kExponential);
  CHECK(mean_of("{distribution='exponential', mean=0.02}") == 0.02);
  CHECK(kind_of("{distribution='uniform', min='10ms', max='30ms'}") == Kind::kUniform);
  CHECK(mean_of("{distribution='uniform', min='10ms', max='30ms'}") == Approx(0.02));
  CHECK(kind_of("{distribution='erlang', mean='20ms', shape=4}") == Kind::kErlang);
  CHECK(kind_of("{distribution='gamma', mean='20ms', shape=0.5}") == Kind::kGamma);
  CHECK(mean_of("{distribution='gamma', mean='20ms', shape=0.5}") == 0.02);
  CHECK(mean_of("{distribution='gamma', shape=2.5, scale='4ms'}") == Approx(0.01));
  CHECK(kind_of("{distribution='hyperexponential', mean='20ms', cv=2}") == Kind::kHyperexponential);
  // 0.25 * 40 ms + 0.75 * 20 ms.
  CHECK(mean_of("{distribution='hyperexponential', p=0.25, mean1='40ms', mean2='20ms'}") ==
        Approx(0.025));
  CHECK(kind_of("{distribution='lognormal', mean='20ms', cv=0.5}") == Kind::kLognormal);
  CHECK(kind_of("{distribution='normal', mean='20ms', sd='5ms'}") == Kind::kNormal);
  CHECK(kind_of("{distribution='pareto', mean='20ms', shape=2.5}") == Kind::kPareto);
  CHECK(kind_of("{distribution='weibull', mean='20ms', shape=0.5}") == Kind::kWeibull);
}

TEST_CASE("every distribution of the table can be written") {
  // The forms above, by name; a form added to the table must be tested there, too.
  std::string names;
  for (const DistributionForm& form : distribution_forms()) {
    names += std::string(form.name) + "(" + std::string(form.parameters) + ") ";
  }
  CHECK(names ==
        "constant(mean) exponential(mean) uniform(min max) erlang(mean shape) "
        "gamma(mean shape) gamma(shape scale) "
        "hyperexponential(mean cv) hyperexponential(p mean1 mean2) "
        "hyperexponential(p mean1 mean2 factor) lognormal(mean cv) "
        "normal(mean sd) pareto(mean shape) weibull(mean shape) empirical(file) "
        "empirical(file factor) ");
}

TEST_CASE("mistakes in a distribution are named") {
  CHECK_THAT(error_of("{distribution='exponental', mean='1ms'}"),
             Catch::Contains("did you mean \"exponential\"?"));
  CHECK_THAT(error_of("{mean='1ms'}"),
             Catch::Contains("service.api.service_time.distribution is missing; expected one of "
                             "constant, exponential"));
  CHECK_THAT(error_of("{distribution='erlang', mean='1ms'}"),
             Catch::Contains("service_time.shape is missing; erlang needs mean, shape"));
  CHECK_THAT(error_of("{distribution='erlang', mean='1ms', shape=1.5}"),
             Catch::Contains("erlang: shape must be a whole number"));
  CHECK_THAT(error_of("{distribution='exponential', mean='1ms', cv=1}"),
             Catch::Contains("exponential has no parameter \"cv\"; its parameters are: mean"));
  CHECK_THAT(error_of("{distribution='hyperexponential', mean='1ms', p=0.5}"),
             Catch::Contains("takes mean, cv or p, mean1, mean2"));
  CHECK_THAT(error_of("{distribution='exponential', mean='0s'}"),
             Catch::Contains("service.api.service_time: exponential: "));
  CHECK_THAT(error_of("{distribution='pareto', mean='1ms', shape=1}"),
             Catch::Contains("service.api.service_time: pareto: "));
  CHECK_THAT(error_of("{distribution='gamma', mean='1ms', shape=2, scale='1ms'}"),
             Catch::Contains("takes mean, shape or shape, scale"));
  CHECK_THAT(error_of("{distribution='gamma', mean='1ms', shape=0.001}"),
             Catch::Contains("gamma: shape must be between 0.01 and 1e6"));
  CHECK_THAT(error_of("true"), Catch::Contains("service.api.service_time = true is wrong"));
  CHECK_THAT(error_of("{distribution='weibull', mean='1ms', shape=inf}"),
             Catch::Contains("service.api.service_time.shape = inf is wrong"));
}
