// Logs with times in whole seconds, in which hundreds of requests share a time.
//
// SPDX-License-Identifier: MIT
#include "fit/coarse.hpp"

#include <retrysim/random.hpp>

#include "fit/fit.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::fit::coarse_clock {

namespace {

double uniform(Draws& draws) { return draws.uniform(); }
double exponential(Draws& draws) { return -std::log1p(-draws.uniform()); }

struct Service {
  std::size_t servers = 1;
  double load = 0.2, mean_s = 0.03;
};

struct Logged {
  Log log;
  double wait_share = 0;  ///< of the mean duration that was waiting
};

enum class Clock { kFloor, kCeiling, kStart };

/// Gamma service times (shape 2) behind one queue, of which the log has whole seconds and
/// milliseconds of duration.
Logged logged(const Service& service, std::uint64_t seed, Clock clock, std::size_t lines = 4000) {
  Draws arrivals(RandomKey(seed, 0), {0, 0, 0, Purpose::kArrival});
  const double rate = service.load * static_cast<double>(service.servers) / service.mean_s;
  ServerClock queue(service.servers);
  std::vector<std::pair<double, double>> times;  // ends and starts
  double now_s = 0, waited_s = 0, taken_s = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    Draws draws(RandomKey(seed, 1), {i, 0, 0, Purpose::kServiceTime});
    now_s += exponential(draws) / rate;
    const double work_s = (exponential(draws) + exponential(draws)) / 2 * service.mean_s;
    // The clock of servers wants to know the end, which depends on when they begin.
    ServerClock ahead = queue;
    const auto start_ns = static_cast<std::int64_t>(now_s * 1e9);
    const std::int64_t begin_ns = ahead.begin_of({start_ns, start_ns});
    const std::int64_t end_ns = begin_ns + static_cast<std::int64_t>(work_s * 1e9);
    queue.begin_of({start_ns, end_ns});
    const double wait_s = static_cast<double>(begin_ns - start_ns) * 1e-9;
    waited_s += wait_s;
    taken_s += wait_s + work_s;
    times.emplace_back(now_s + wait_s + work_s, now_s);
  }
  std::ranges::sort(times);
  std::string text = clock == Clock::kStart ? "start_time" : "time";
  text += ",duration,status\n";
  for (const auto& [end_s, start_s] : times) {
    const double told = clock == Clock::kStart     ? std::floor(start_s)
                        : clock == Clock::kCeiling ? std::ceil(end_s)
                                                   : std::floor(end_s);
    text += fmt::format("{:.0f},{:.3f},200\n", 1.7e9 + told, end_s - start_s);
  }
  const test::TemporaryFolder place;
  return {read_log({place.write("log.csv", text).string()}, {}), waited_s / taken_s};
}

bool covers(const Estimate& e, double truth) { return e.low <= truth && truth <= e.high; }

}  // namespace

// A 95 % interval misses in more than 4 of 20 logs with a probability of 0.3 %.
TEST_CASE("whole seconds tell the service time where hardly any request waits") {
  const Clock clock = GENERATE(Clock::kFloor, Clock::kCeiling, Clock::kStart);
  int told = 0, right = 0, close = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Draws draws(RandomKey(seed, 2), {0, 0, 0, Purpose::kServiceTime});
    Service service{.servers = 1 + draws.below(12), .mean_s = 0.01 + 0.05 * uniform(draws)};
    // About 4 % of the duration is waiting at most.
    const auto n = static_cast<double>(service.servers);
    service.load = (0.3 + 0.7 * uniform(draws)) * (n < 2 ? 0.04 : 0.75 * (1 - 1 / std::sqrt(n)));
    const Logged truth = logged(service, seed, clock);
    CAPTURE(seed, service.servers, service.load, truth.wait_share);
    REQUIRE(truth.log.is_coarse);
    REQUIRE(truth.wait_share < 0.06);
    const Fit fit = fit_log(truth.log);
    if (!fit.service_time) continue;
    ++told;
    const Estimate& mean = fit.service_time->mean;
    right += covers(mean, service.mean_s);
    close += mean.high - mean.low < 0.2 * mean.value;
    CHECK(fit.capacity->low <= service.servers);
  }
  CHECK(told >= 18);
  CHECK(right >= told - 4);
  CHECK(close == told);
}

TEST_CASE("a scenario does not make requests wait that did not") {
  const Fit fit = fit_log(logged({.servers = 40, .load = 0.25}, 5, Clock::kStart, 12'000).log);
  REQUIRE(fit.service_time);
  REQUIRE_FALSE(fit.capacity->servers);
  CHECK(fit.capacity->low < 13);
  CHECK(fit.capacity->played() > 15);  // 10 are busy on average
  CHECK_THAT(scenario_files(fit, "x", "y").front().second,
             Catch::Contains(fmt::format("servers = {}\n", fit.capacity->played())));
}

TEST_CASE("whole seconds do not tell the service time where many requests wait") {
  const Service services[] = {{1, 0.5, 0.02}, {4, 0.8, 0.05}, {8, 0.9, 0.05}};
  for (const Service& service : services) {
    const Logged truth = logged(service, 7, Clock::kFloor, 12'000);
    CAPTURE(service.servers, truth.wait_share);
    const Fit fit = fit_log(truth.log);
    CHECK_FALSE(fit.service_time);
    CHECK_FALSE(fit.capacity->servers);
    CHECK(fit.capacity->low <= service.servers);
    REQUIRE_FALSE(fit.notes.empty());
    CHECK_THAT(fit.notes.front(), Catch::Contains("whole seconds, which do not say who waited"));
  }
}

TEST_CASE("durations that no queue explains are not taken for service times") {
  // Each second is slow or fast as a whole, and there are hundreds of servers' worth of work.
  std::string text = "time,duration,status\n";
  for (int second = 0; second < 100; ++second) {
    for (int i = 0; i < 50; ++i) {
      text += fmt::format("{},{:.3f},200\n", 1'700'000'000 + second,
                          (second / 7 % 2 == 0 ? 0.010 : 0.100) + 0.0001 * i);
    }
  }
  const test::TemporaryFolder place;
  const Fit fit = fit_log(read_log({place.write("log.csv", text).string()}, {}));
  CHECK((!fit.service_time || !fit.incidents.found.empty()));
}

TEST_CASE("lines of one second keep their order, and others their time") {
  const auto at = [](std::int64_t second, std::int64_t ms) {
    return Observation::of(second * 1'000'000'000, ms * 1'000'000, 200);
  };
  std::vector<Observation> rows(30, at(5, 20));
  rows.push_back(at(7, 20));
  const std::vector<Observation> before = rows;
  spread_over_steps(rows, 1'000'000'000, true, false);
  CHECK(std::ranges::is_sorted(rows, {}, &Observation::start_ns));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].start_ns >= before[i].start_ns);
    CHECK(rows[i].start_ns < before[i].start_ns + 1'000'000'000);
    CHECK(rows[i].duration_ns == before[i].duration_ns);
  }
  CHECK(is_coarse(before, 1'000'000'000, true));
  CHECK_FALSE(is_coarse(before, 1'000'000, true));
  CHECK_FALSE(is_coarse(std::span(before).first(30), 1'000'000'000, true));
}

}  // namespace retrysim::fit::coarse_clock
