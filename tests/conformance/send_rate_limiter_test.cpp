// The send-rate limiter of adaptive mode against the SDKs' published tables: the CUBIC curve, the
// whole update, the measured rate, and the bucket of send tokens.
//
// SPDX-License-Identifier: MIT
#include "csv_rows.hpp"

#include <retrysim/retry_strategy.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <sstream>

using retrysim::conformance::CsvRow;
using retrysim::conformance::read_csv;

namespace retrysim {

/// Sets up the states that the tables start from; the calculations are the limiter's own.
struct SendRateLimiterTestAccess {
  static void throttled_at(SendRateLimiter& limiter, Time time, double rate) {
    limiter.set_last_max_rate(rate);
    limiter.last_throttle_ = time;
  }
  static double rate_on_curve(const SendRateLimiter& limiter, Time now) {
    return limiter.rate_on_curve(now);
  }
  static double time_window(const SendRateLimiter& limiter) { return limiter.time_window_; }
  static void set_rate(SendRateLimiter& limiter, Time now, double rate) {
    limiter.enabled_ = true;
    limiter.set_rate(now, rate);
  }
};

}  // namespace retrysim

using namespace retrysim;
using Access = SendRateLimiterTestAccess;

namespace {

Time at_second(double seconds) {
  return Time::from_nanoseconds(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
}

/// The tables were computed by other code in double precision: a few units in the last place.
Approx near(double value) { return Approx(value).epsilon(1e-11).margin(1e-12); }

}  // namespace

TEST_CASE("after a throttling error the rate follows the CUBIC curve") {
  const auto rows =
      read_csv("cubic_success.csv", "last_max_rate", "last_throttle_s", "time_s", "rate", "origin");
  CHECK(rows.size() == 7);
  for (const CsvRow& row : rows) {
    SendRateLimiter limiter;
    Access::throttled_at(limiter, at_second(row.number("last_throttle_s")),
                         row.number("last_max_rate"));
    CHECK(Access::time_window(limiter) == near(1.9574338205844317));
    CHECK(Access::rate_on_curve(limiter, at_second(row.number("time_s"))) ==
          near(row.number("rate")));
  }
}

TEST_CASE("the CUBIC curve with two throttling errors") {
  const auto rows = read_csv("cubic_mixed.csv", "time_s", "throttled", "rate", "last_max_rate",
                             "last_throttle_s", "origin");
  CHECK(rows.size() == 8);
  SendRateLimiter limiter;
  Access::throttled_at(limiter, at_second(5), 10);
  double rate = 0;
  for (const CsvRow& row : rows) {
    const Time now = at_second(row.number("time_s"));
    if (row.boolean("throttled")) {
      // A throttled update gives 0.7 of the rate. On the curve that is its value at the moment of
      // the error itself, which is where the limiter's own cut must meet it.
      Access::throttled_at(limiter, now, rate);
      rate = Access::rate_on_curve(limiter, now);
      Access::throttled_at(limiter, now, rate);
    } else {
      rate = Access::rate_on_curve(limiter, now);
    }
    CHECK(rate == near(row.number("rate")));
    CHECK(limiter.last_max_rate() == near(row.number("last_max_rate")));
  }
}

TEST_CASE("the adaptive update follows the reference table") {
  const auto rows =
      read_csv("adaptive_update.csv", "time_s", "throttled", "measured_rate", "fill_rate",
               "max_capacity", "capacity", "last_max_rate", "enabled", "origin");
  CHECK(rows.size() == 17);
  SendRateLimiter limiter;
  // The derived columns are printed with 12 digits.
  const auto derived = [](double value) { return Approx(value).epsilon(1e-10).margin(1e-12); };
  for (const CsvRow& row : rows) {
    INFO("t = " << row.text("time_s"));
    const Time now = at_second(row.number("time_s"));
    limiter.on_response(now, row.boolean("throttled"));
    CHECK(limiter.measured_rate() == near(row.number("measured_rate")));
    CHECK(limiter.fill_rate() == near(row.number("fill_rate")));
    CHECK(limiter.max_capacity() == derived(row.number("max_capacity")));
    CHECK(limiter.capacity(now) == derived(row.number("capacity")));
    CHECK(limiter.last_max_rate() == derived(row.number("last_max_rate")));
    CHECK(limiter.enabled() == row.boolean("enabled"));
  }
}

TEST_CASE("the measured send rate") {
  const auto rows =
      read_csv("measured_rate.csv", "case", "times_s", "min", "max", "exact", "origin");
  CHECK(rows.size() == 6);
  for (const CsvRow& row : rows) {
    INFO(row.text("case"));
    SendRateLimiter limiter;
    std::istringstream times(row.text("times_s"));
    for (double time; times >> time;) limiter.on_response(at_second(time), false);
    const double rate = limiter.measured_rate();
    CHECK(rate >= row.number("min") - 1e-12);
    CHECK(rate <= row.number("max") + 1e-12);
    // "1" stands for a limit that 20 steps of weight 0.2 have reached to 1e-13.
    CHECK(rate == near(row.number("exact")));
  }
}

TEST_CASE("send tokens are granted and waited for as the SDKs' tests say") {
  const auto rows = read_csv("send_tokens.csv", "case", "time_s", "operation", "argument", "wait_s",
                             "fill_rate", "max_capacity", "capacity", "origin");
  SendRateLimiter limiter;
  std::string at_case;
  int checked = 0;
  for (const CsvRow& row : rows) {
    INFO(row.text("case") << " at " << row.text("time_s"));
    if (row.text("case") != at_case) {
      SendRateRules rules;
      if (row.text("case") == "lowest_rate_0.2") rules.min_rate = 0.2;
      limiter = SendRateLimiter(Time::zero(), rules);
    }
    at_case = row.text("case");
    const Time now = at_second(row.number("time_s"));
    if (row.text("operation") == "set_rate") {
      Access::set_rate(limiter, now, row.number("argument"));
    } else if (row.text("operation") == "throttled_response") {
      limiter.on_response(now, true);
    } else {
      REQUIRE(row.text("operation") == "acquire");
      const int tokens = row.empty("argument") ? 1 : row.integer("argument");
      if (row.text("case") == "nonblocking") {  // an active limiter that has nothing at all
        Access::set_rate(limiter, now, 1);
      }
      if (!row.empty("wait_s")) {
        CHECK(limiter.wait(now, tokens).in_seconds() ==
              Approx(row.number("wait_s")).margin(1.5e-9));
      }
      CHECK(limiter.try_acquire(now, tokens) == (row.text("wait_s") == "0"));
    }
    if (!row.empty("fill_rate")) CHECK(limiter.fill_rate() == row.number("fill_rate"));
    if (!row.empty("max_capacity")) CHECK(limiter.max_capacity() == row.number("max_capacity"));
    if (!row.empty("capacity")) CHECK(limiter.capacity(now) == near(row.number("capacity")));
    ++checked;
  }
  CHECK(checked == 56);
}

TEST_CASE("rates rounded to eight decimals") {
  const auto rows = read_csv("rounded_rates.csv", "time_s", "rate", "wait_ms", "origin");
  CHECK(rows.size() == 8);
  for (const CsvRow& row : rows) {
    INFO("t = " << row.text("time_s"));
    SendRateRules rules;
    rules.round_rates = true;
    SendRateLimiter limiter(Time::zero(), rules);
    const Time now = at_second(row.number("time_s"));
    limiter.on_response(now, true);
    const double cut = limiter.last_max_rate() * 0.7;
    if (!row.empty("rate")) {
      CHECK(std::round(cut * 1e8) == std::round(row.number("rate") * 1e8));
      CHECK(limiter.last_max_rate() * 1e8 == Approx(std::round(limiter.last_max_rate() * 1e8)));
    }
    if (!row.empty("wait_ms")) {
      CHECK(limiter.wait(now).in_seconds() * 1e3 == Approx(row.number("wait_ms")).margin(1e-6));
    }
  }
}
