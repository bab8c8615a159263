// Clients that gave up tell their timeout, and nothing of how long a server works.
//
// SPDX-License-Identifier: MIT
#include "fit/gave_up.hpp"

#include <retrysim/scenario.hpp>

#include "fit/fit.hpp"
#include "random_logs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

namespace retrysim::fit::random_logs {

namespace {

/// Exponential service times on enough servers, whose clients wait so long; a share hangs.
Log log_with_timeout(double mean_s, double timeout_s, double hanging, std::uint64_t seed) {
  Source source(seed, 9);
  Log log;
  double now_s = 0;
  for (int i = 0; i < 6000; ++i) {
    now_s += source.exponential() / 50;
    const double work_s =
        source.uniform() < hanging ? 100 * timeout_s : mean_s * source.exponential();
    const bool gave_up = work_s > timeout_s;
    log.rows.push_back(Observation::of(
        static_cast<std::int64_t>(now_s * 1e9),
        static_cast<std::int64_t>((gave_up ? timeout_s : work_s) * 1e9), gave_up ? 499 : 200));
  }
  log.has_statuses = true;
  log.time_resolution_ns = 1;
  log.lines = log.rows.size();
  return log;
}

std::string scenario_of(const Fit& fit) {
  InputTexts inputs;
  for (auto& [name, content] : scenario_files(fit, "test", "A test.")) inputs[name] = content;
  const LoadResult result =
      load_scenario_with_inputs(inputs["scenario.toml"], "scenario.toml", inputs);
  for (const Diagnostic& e : result.errors) FAIL_CHECK(e.message);
  CHECK(result.loaded);
  return inputs["scenario.toml"];
}

}  // namespace

TEST_CASE("answers that hang tell the timeout, and are no service times") {
  const Fit fit = fit_log(log_with_timeout(0.03, 1, 0.1, 1));
  REQUIRE(fit.gave_up);
  REQUIRE(fit.gave_up->timeout);
  CHECK(fit.gave_up->timeout->value == Approx(1));
  CHECK(fit.gave_up->unlike_others);
  CHECK(fit.error_share == Approx(0.1).margin(0.016));  // four standard errors
  REQUIRE(fit.service_time);
  CHECK(fit.service_time->mean.low < 0.03);
  CHECK(fit.service_time->mean.high > 0.03);
  REQUIRE(fit.capacity);
  CHECK(fit.capacity->most_under_way < 12);  // those that hang keep no server busy
  const std::string scenario = scenario_of(fit);
  CHECK_THAT(scenario, Catch::Contains("attempt_timeout = \"1s\""));
  CHECK_THAT(scenario, Catch::Contains("response_loss = 0."));
  CHECK_THAT(scenario, !Catch::Contains("\"499\" ="));
}

TEST_CASE("what a timeout cuts off is not lost for the mean") {
  // e^-2.5 = 8 % of the requests take longer.
  const Fit fit = fit_log(log_with_timeout(0.4, 1, 0, 2));
  REQUIRE(fit.gave_up);
  REQUIRE(fit.gave_up->timeout);
  CHECK_FALSE(fit.gave_up->unlike_others);
  REQUIRE(fit.service_time);
  // Of 6000: four standard errors, and as many of the extrapolation.
  CHECK(fit.service_time->mean.value == Approx(0.4).margin(0.03));
  CHECK_THAT(scenario_of(fit), Catch::Contains("attempt_timeout = \"1s\""));
}

TEST_CASE("clients that give up when they like tell no timeout") {
  Log log = log_with_timeout(0.03, 1, 0.05, 3);
  Source source(3, 10);
  for (Observation& row : log.rows) {
    if (!row.gave_up) continue;
    const double after_s = source.between(0.05, 5);
    row = Observation::of(row.start_ns, static_cast<std::int64_t>(after_s * 1e9), 499);
  }
  const Fit fit = fit_log(log);
  REQUIRE(fit.gave_up);
  CHECK_FALSE(fit.gave_up->timeout);
  CHECK_THAT(timeout_words(*fit.gave_up), Catch::Contains("after times of their own"));
  CHECK_THAT(scenario_of(fit), !Catch::Contains("attempt_timeout"));
  CHECK_FALSE(find_timeout(Log{}));
  // One client tells nothing of the times of others.
  const Log single = log.with({Observation::of(0, 900'000'000, 499)});
  CHECK_THAT(timeout_words(*find_timeout(single)),
             Catch::Equals("1 line is of a client that gave up (100 %), which is too few: a "
                           "timeout of the client cannot be told."));
}

}  // namespace retrysim::fit::random_logs
