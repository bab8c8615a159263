// Durations that cannot be those of the log are refused, with the law that they break.
//
// SPDX-License-Identifier: MIT
#include "fit/laws.hpp"

#include "fit/fit.hpp"
#include "random_logs.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <string>

namespace retrysim::fit::random_logs {

namespace {

Log read(const std::string& text, double unit_s) {
  const test::TemporaryFolder place;
  LogOptions options;
  options.duration_unit_s = unit_s;
  return read_log({place.write("log.csv", text).string()}, options);
}

const Service kUsual{.shape = Shape::kExponential, .mean_s = 0.035, .servers = 6, .load = 0.25};

}  // namespace

TEST_CASE("milliseconds that are read as seconds break a law") {
  for (const Clock clock : {Clock::kNanoseconds, Clock::kMillisecondsDown, Clock::kSecondsDown,
                            Clock::kSecondsStart, Clock::kMillisecondsStart}) {
    const Logged logged = log_of(kUsual, clock, 1);
    CAPTURE(static_cast<int>(clock));
    CHECK_FALSE(broken_law(read(logged.text, 1)));
    // 35 s instead of 35 ms.
    const Log wrong = read(logged.text, 1e3);
    CHECK(broken_law(wrong));
    const Fit fit = fit_log(wrong);
    CHECK_FALSE(fit.service_time);
    CHECK_FALSE(fit.capacity);
    REQUIRE_FALSE(fit.notes.empty());
    CHECK_THAT(fit.notes.front(), Catch::StartsWith("Service time and servers are refused"));
    // What does not depend on durations is told.
    CHECK(fit.arrivals.rate.low < kUsual.rate());
    CHECK(fit.arrivals.rate.high > kUsual.rate());
  }
}

TEST_CASE("the order of lines with times of requests tells their unit") {
  const Logged logged = log_of(kUsual, Clock::kMillisecondsStart, 2);
  const Log right = read(logged.text, 1);
  CHECK(right.order_factor == 1);
  // 35 us instead of 35 ms: the line of a longer request would come too late.
  const Log wrong = read(logged.text, 1e-3);
  CHECK(wrong.order_factor == 1000);
  REQUIRE(broken_law(wrong));
  CHECK_THAT(*broken_law(wrong), Catch::StartsWith("The order of the lines"));
}

TEST_CASE("lines that were sorted by the times of requests tell no unit") {
  const Log log = read(log_of(kUsual, Clock::kMillisecondsStart, 2).text, 1);
  CHECK(factor_by_order(log.rows, log.time_resolution_ns, true) == 1);
}

TEST_CASE("waiting in a long log tells that durations are too long") {
  const Service busy{
      .shape = Shape::kExponential, .mean_s = 0.01, .servers = 4, .load = 0.85, .lines = 60'000};
  const Logged logged = log_of(busy, Clock::kNanoseconds, 3);
  CHECK_FALSE(broken_law(read(logged.text, 1)));
  const std::optional<std::string> law = broken_law(read(logged.text, 1e3));
  REQUIRE(law);
  CHECK_THAT(*law, Catch::StartsWith("The order of the lines"));
}

TEST_CASE("durations that are no durations are refused") {
  std::string zeros = "time,duration\n", whole = "time,duration\n", tiny = "time,duration\n";
  for (int i = 0; i < 500; ++i) {
    zeros += fmt::format("{},0\n", 1.7e9 + i + i % 3);
    whole += fmt::format("{},{}\n", 1.7e9 + i + i % 3, i % 5 == 0 ? 1 : 0);
    tiny += fmt::format("{},0.000000{}\n", 1.7e9 + i + i % 3, 100 + i);
  }
  REQUIRE(broken_law(read(zeros, 1)));
  CHECK_THAT(*broken_law(read(zeros, 1)), Catch::StartsWith("All durations are 0"));
  REQUIRE(broken_law(read(whole, 1)));
  CHECK_THAT(*broken_law(read(whole, 1)), Catch::StartsWith("More than half of the durations"));
  REQUIRE(broken_law(read(tiny, 1)));
  CHECK_THAT(*broken_law(read(tiny, 1)), Catch::Contains("shorter than any answer"));
}

}  // namespace retrysim::fit::random_logs
