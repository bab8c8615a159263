// Retries are told from the lines that chance puts behind a failed one.
//
// SPDX-License-Identifier: MIT
#include "fit/retries.hpp"

#include <retrysim/random.hpp>

#include "fit/fit.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

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
          Approx(found->retries.value).margin(1));
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
