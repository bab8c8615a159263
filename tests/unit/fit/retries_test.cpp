// Retries are told from the lines that chance puts behind a failed one.
//
// SPDX-License-Identifier: MIT
#include "fit/retries.hpp"

#include <retrysim/random.hpp>

#include "fit/fit.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

struct Traffic {
  double requests_per_s = 20;
  std::uint32_t clients = 20, paths = 5;
  double errors = 0.2;  // of attempts
  std::size_t most_attempts = 1;
  double pause_s = 0.3;  // twice as long at most
  std::size_t requests = 20'000;
};

/// A log whose lines have client and path; `retries`: how many of them are retries.
Log log_of(const Traffic& t, std::uint64_t seed, double& retries) {
  Draws draws(RandomKey(seed, 0), {1, 0, 0, Purpose::kServiceTime});
  Log log;
  double now_s = 0;
  retries = 0;
  for (std::size_t i = 0; i < t.requests; ++i) {
    now_s += unit_exponential(draws) / t.requests_per_s;
    const std::uint64_t key =
        std::uint64_t{1} + draws.below(t.clients) * t.paths + draws.below(t.paths);
    double at_s = now_s;
    for (std::size_t attempt = 1;; ++attempt) {
      const bool fails = draws.uniform() < t.errors;
      Observation row =
          Observation::of(std::llround(at_s * 1e9), 10'000'000 + i % 7, fails ? 503 : 200);
      row.request = key | Observation::kKeyBit;
      log.rows.push_back(row);
      if (!fails || attempt == t.most_attempts) break;
      ++retries;
      at_s += 0.01 + t.pause_s * (1 + draws.uniform());
    }
  }
  std::ranges::sort(log.rows, {}, &Observation::start_ns);
  log.has_statuses = log.has_keys = true;
  log.time_resolution_ns = 1;
  return log;
}

enum class Clock : std::uint8_t { kNanoseconds, kSecondsOfStart, kSecondsOfEnd };
constexpr Clock kClocks[] = {Clock::kNanoseconds, Clock::kSecondsOfStart, Clock::kSecondsOfEnd};

/// A log as a server writes it: 110 requests a second, 2 % of which fail at once; the others take
/// 40 ms on average. A failure is sent again once, after `pause_s` (at most `longest_s`), if that
/// is above 0.
struct Served {
  Clock clock = Clock::kSecondsOfStart;
  std::uint32_t clients = 20, paths = 5;
  double pause_s = 0, longest_s = 0;
  std::size_t requests = 22'000;
  double errors = 0.02;
  double retried = 1;  ///< share of the failures
};

Log log_of(const Served& s, std::uint64_t seed, double& retries) {
  struct Line {
    double start_s = 0, took_s = 0;
    bool failed = false;
    std::uint32_t client = 0, path = 0;
    double end_s() const { return start_s + took_s; }
  };
  Draws draws(RandomKey(seed, 0), {2, 0, 0, Purpose::kServiceTime});
  std::vector<Line> lines;
  double now_s = 0;
  retries = 0;
  constexpr double kRate = 110, kMeanTime = 0.04;
  for (std::size_t i = 0; i < s.requests; ++i) {
    now_s += unit_exponential(draws) / kRate;
    Line line{now_s, kMeanTime * unit_exponential(draws), draws.uniform() < s.errors,
              static_cast<std::uint32_t>(draws.below(s.clients)),
              static_cast<std::uint32_t>(draws.below(s.paths))};
    if (line.failed) line.took_s = 100e-6 * unit_exponential(draws);
    lines.push_back(line);
    if (!line.failed || s.pause_s == 0 || draws.uniform() >= s.retried) continue;
    line.start_s = line.end_s() + s.pause_s +
                   (s.longest_s > 0 ? s.longest_s - s.pause_s : 0) * draws.uniform();
    line.took_s = kMeanTime * unit_exponential(draws);
    line.failed = false;
    lines.push_back(line);
    ++retries;
  }
  std::ranges::sort(lines, {}, &Line::end_s);
  const bool of_start = s.clock == Clock::kSecondsOfStart;
  std::string text = of_start ? "start_time" : "time";
  text += ",duration,status,client_ip,path\n";
  for (const Line& line : lines) {
    const double time_s = of_start ? line.start_s : line.end_s();
    const double second = std::floor(time_s);
    fmt::format_to(std::back_inserter(text), "{:.0f}", 1.7e9 + second);
    if (s.clock == Clock::kNanoseconds) {
      fmt::format_to(std::back_inserter(text), "{:09.0f}", std::floor((time_s - second) * 1e9));
    }
    fmt::format_to(std::back_inserter(text), ",{:.6f},{},10.0.0.{},/{}\n", line.took_s,
                   line.failed ? 503 : 200, line.client, line.path);
  }
  const test::TemporaryFolder place;
  return read_log({place.write("log.csv", text).string()}, {});
}

FittedRetries retries_in(const Log& log) {
  std::optional<FittedRetries> found;
  first_attempts(log, found);
  REQUIRE(found);
  return *found;
}

}  // namespace

// The interval misses the truth in one of a hundred logs, more than one of ten in 0.4 %.
TEST_CASE("retries are counted without those that chance makes") {
  int missed = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    Traffic traffic;
    traffic.most_attempts = 3;
    traffic.clients =
        static_cast<std::uint32_t>(10 + 10 * seed);  // with few clients, chance does much
    double truth = 0;
    const Log log = log_of(traffic, seed, truth);
    std::optional<FittedRetries> found;
    const std::vector<bool> first = first_attempts(log, found);
    REQUIRE(found);
    CHECK_FALSE(found->by_name);
    CHECK(found->any());
    CHECK(found->attempts == log.rows.size());
    missed += truth < found->retries.low || truth > found->retries.high;
    CHECK(found->retries.value == Approx(truth).epsilon(0.1));
    CHECK(static_cast<double>(found->attempts - found->requests) ==
          Approx(found->retries.value).margin(3));  // of two failures with one line behind them
    CHECK(static_cast<std::size_t>(std::ranges::count(first, true)) == found->requests);
    CHECK(found->most_attempts == 3);
    CHECK(found->window_s >= 0.5);
    CHECK(found->window_s <= 1);
    CHECK(found->median_delay_s == Approx(0.45).epsilon(0.1));
  }
  CHECK(missed <= 1);
}

TEST_CASE("without retries none are seen, however often clients come back") {
  // Four standard errors for each of twelve windows: by chance at most one log in 2000.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Traffic traffic;
    traffic.clients = static_cast<std::uint32_t>(1 + seed);
    traffic.errors = 0.1;
    traffic.requests = 5'000;
    double truth = 0;
    std::optional<FittedRetries> found;
    const Log log = log_of(traffic, seed, truth);
    const std::vector<bool> first = first_attempts(log, found);
    REQUIRE(found);
    CHECK_FALSE(found->any());
    CHECK(std::ranges::count(first, false) == 0);
    CHECK_THAT(retry_words(*found), Catch::StartsWith("No retries can be told"));
  }
}

TEST_CASE("the rate of requests is that without the retries that were told") {
  Traffic traffic;
  traffic.most_attempts = 4;
  traffic.errors = 0.3;
  double truth = 0;
  const Fit fit = fit_log(log_of(traffic, 1, truth));
  CHECK(fit.arrivals.rate.low <= 20);
  CHECK(fit.arrivals.rate.high >= 20);
  REQUIRE(fit.retries);
  CHECK(fit.retries->most_attempts == 4);
  CHECK_THAT(retry_words(*fit.retries), Catch::Contains("Which ones is not known"));
}

TEST_CASE("where nothing failed, nothing can be said of retries") {
  Traffic traffic;
  traffic.errors = 0;
  traffic.requests = 100;
  double truth = 0;
  const Log log = log_of(traffic, 1, truth);
  std::optional<FittedRetries> found;
  first_attempts(log, found);
  REQUIRE(found);
  CHECK_THAT(retry_words(*found), Catch::StartsWith("Nothing failed"));
}

// Four standard errors in one of at most twelve windows, which overlap: less than one log in 2000
// (of 300 logs as those of the night none), so one of these 24 shows retries with a probability of
// about 1 %.
TEST_CASE("errors that come at once are no retries, whatever the clock") {
  for (const Clock clock : kClocks) {
    for (const std::uint32_t clients : {1u, 5u, 20u, 200u}) {
      for (const std::uint32_t paths : {1u, 5u}) {
        CAPTURE(static_cast<int>(clock), clients, paths);
        double truth = 0;
        const Log log = log_of({clock, clients, paths}, clients + paths, truth);
        REQUIRE(log.is_coarse == (clock != Clock::kNanoseconds));
        const FittedRetries found = retries_in(log);
        CHECK_FALSE(found.any());
        if (clock == Clock::kNanoseconds) continue;
        CHECK(found.window_s >= 1);
        CHECK(found.step_s == 1);
      }
    }
  }
}

// One of 1,500 logs with a probability of 3 in 10,000 each would be more than three in 0.2 %.
TEST_CASE("of hundreds of logs without retries hardly any shows them", "[.nightly][slow]") {
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    for (const Clock clock : kClocks) {
      Served served;
      served.clock = clock;
      served.clients = static_cast<std::uint32_t>(1 + seed * seed % 300);
      served.paths = static_cast<std::uint32_t>(1 + seed % 7);
      served.requests = 11'000;
      double truth = 0;
      alarms += retries_in(log_of(served, seed, truth)).any();
    }
  }
  CHECK(alarms <= 3);
}

// 95 % intervals: more than four of 24 miss the truth with a probability of 0.6 %.
TEST_CASE("retries that come seconds later are found by a clock of whole seconds") {
  int missed = 0;
  for (const Clock clock : kClocks) {
    for (const std::uint32_t clients : {50u, 1000u}) {
      for (const auto& [pause_s, longest_s] : {std::pair{0.99, 0.99}, std::pair{1.98, 1.98},
                                               std::pair{4.95, 4.95}, std::pair{1.0, 4.95}}) {
        CAPTURE(static_cast<int>(clock), clients, pause_s, longest_s);
        double truth = 0;
        const Log log = log_of({clock, clients, 5, pause_s, longest_s}, clients, truth);
        const FittedRetries found = retries_in(log);
        REQUIRE(found.any());
        CAPTURE(truth, found.retries.low, found.retries.value, found.retries.high);
        // By a clock of whole seconds some of 0.99 s fall within the second of the failure.
        missed += truth < found.retries.low || 0.95 * truth > found.retries.high;
        CHECK(found.retries.value == Approx(truth).epsilon(0.1));
        if (clients < 1000) continue;  // of these, other lines often come before the retry
        CHECK(found.median_delay_s > 0.6 * pause_s);
        CHECK(found.median_delay_s < 1.4 * longest_s);
        CHECK(found.most_attempts == 2);
      }
    }
  }
  CHECK(missed <= 4);
}

TEST_CASE("where the clock cannot tell retries, the sentence says so") {
  double truth = 0;
  const FittedRetries one = retries_in(log_of({Clock::kSecondsOfStart, 1, 1}, 1, truth));
  CHECK_FALSE(one.would_show);
  CHECK_THAT(
      retry_words(one),
      Catch::StartsWith("Whether lines are retries cannot be told: the log's clock has whole "
                        "seconds, and of "));
  const FittedRetries many = retries_in(log_of({Clock::kSecondsOfEnd, 200, 5}, 1, truth));
  CHECK(many.would_show);
  CHECK_THAT(retry_words(many), Catch::StartsWith("No retries can be told from the clients") &&
                                    Catch::Contains("within the same one does not show"));
}

TEST_CASE("the figures of the sentence add up") {
  double truth = 0;
  Served half{Clock::kSecondsOfStart, 50, 5, 2, 2};
  half.retried = 0.5;
  const FittedRetries found = retries_in(log_of(half, 3, truth));
  REQUIRE(found.any());
  CHECK(found.retries.value == Approx(truth).epsilon(0.3));
  const double by_chance = static_cast<double>(found.followed) - found.retries.value;
  CHECK(by_chance > 50);
  CHECK_THAT(
      retry_words(found),
      Catch::Contains(fmt::format("About {:.0f} lines are retries", found.retries.value)) &&
          Catch::Contains(fmt::format(" {} were followed", found.followed)) &&
          Catch::Contains(fmt::format("whole seconds, {:.0f} of them only by chance", by_chance)));
}
