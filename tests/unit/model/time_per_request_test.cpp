// Service times that stay with a request: what they change for hedges and retries, and that they
// change no other draw.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "small_world.hpp"

#include <cmath>

namespace retrysim::time_per_request {

using namespace retrysim::test;

namespace {

constexpr double kMean = 0.1, kDelay = 0.08;

/// A service that serves all at once, and clients that send a hedge after 80 ms.
Scenario hedged() {
  Scenario s = small_world();
  s.duration = Duration::seconds(1000);
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::exponential(kMean);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 200;
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.hedging = {true, Duration::from_seconds(kDelay)};
  return s;
}

double mean_latency(const Scenario& s) { return metric("latency_mean", s, simulate(s, 0)); }

}  // namespace

// Of the first attempt and a hedge of its own length the sooner is the answer: the mean of
// min(S, d + S') is m (1 - e^(-d/m)) + e^(-d/m) m / 2. A hedge of the same length as the first
// attempt never comes sooner: the mean is m. With probability p that one, otherwise the other. The
// mean of 200,000 latencies has a standard deviation of 0.1 s / sqrt(200,000) = 0.0002 s, at most;
// five of them are exceeded in one of three cases with probability 2 x 10^-6.
TEST_CASE("a hedge helps as far as its service time is its own") {
  const double left = std::exp(-kDelay / kMean);
  const double own = kMean * (1 - left) + left * kMean / 2;
  Scenario s = hedged();
  CHECK(std::abs(mean_latency(s) - own) < 0.0011);
  s.services[0].service_time_per = ServiceTimePer::kRequest;
  CHECK(std::abs(mean_latency(s) - kMean) < 0.0011);
  s.services[0].service_time_repeats = 0.4;
  CHECK(std::abs(mean_latency(s) - (0.4 * kMean + 0.6 * own)) < 0.0011);
}

TEST_CASE("with a chance of zero every attempt draws its own, as before") {
  Scenario s = hedged();
  s.duration = Duration::seconds(50);
  const RunResult plain = simulate(s, 0);
  s.services[0].service_time_per = ServiceTimePer::kRequest;
  s.services[0].service_time_repeats = 0;
  const RunResult same = simulate(s, 0);
  CHECK(plain.clients[0] == same.clients[0]);
  CHECK(plain.services[0] == same.services[0]);
}

TEST_CASE("first attempts are the same either way") {
  Scenario s = hedged();
  s.duration = Duration::seconds(50);
  s.clients[0].retry.max_attempts = 1;
  s.clients[0].retry.hedging = {};
  const RunResult plain = simulate(s, 0);
  s.services[0].service_time_per = ServiceTimePer::kRequest;
  CHECK(plain.clients[0] == simulate(s, 0).clients[0]);
}

// A request that timed out times out again: with all its attempts, so that as many requests fail as
// first attempts take longer than the timeout, e^(-t/m).
TEST_CASE("a slow request is slow again when it is retried") {
  Scenario s = hedged();
  s.clients[0].retry.hedging = {};
  s.clients[0].retry.max_attempts = 3;
  set_timeout(s.clients[0], ms(200));
  const auto failed = [&] {
    const RunResult run = simulate(s, 0);
    return static_cast<double>(count(run.clients[0], Outcome::kMaxAttemptsExceeded)) /
           static_cast<double>(run.clients[0].requests);
  };
  const double once = std::exp(-2.0);
  CHECK(std::abs(failed() - once * once * once) < 0.0006);
  s.services[0].service_time_per = ServiceTimePer::kRequest;
  CHECK(std::abs(failed() - once) < 0.004);
}

}  // namespace retrysim::time_per_request
