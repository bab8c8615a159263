// The models of a service: independent failures, and a row under optimistic concurrency control,
// whose published study is reproduced (Brooker, "Exponential backoff and jitter", 2015; its
// program, run many times, gave the numbers below with their standard errors).
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <cmath>

namespace retrysim {
namespace {

using test::count;
using test::ms;

TEST_CASE("Independent attempts are all served at once and fail by themselves") {
  Scenario s = test::small_world();
  s.services[0].model = ServiceModelKind::kIndependent;
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(ms(10));
  s.services[0].errors = {{{500, "InternalError"}, 0.5}};
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 3000;
  s.clients[0].retry.max_attempts = 3;
  s.clients[0].retry.backoff.base = ms(1);
  const RunResult r = simulate(s, 0);
  const ClientResult& c = r.clients[0];
  const auto requests = static_cast<double>(c.requests);
  // 1 - p^3 and 1 + p + p^2. 3e5 requests: six standard deviations are 0.0037 and 0.0092; chance
  // of a false alarm below 1e-8.
  CHECK(static_cast<double>(count(c, Outcome::kSuccess)) / requests ==
        Approx(0.875).margin(0.0037));
  CHECK(static_cast<double>(c.attempts) / requests == Approx(1.75).margin(0.0092));
  // A failure has taken its time at the service.
  CHECK(c.executed == c.attempts);
  CHECK(c.attempt_total_ns == static_cast<WideNanoseconds>(c.attempts) * 10'000'000);
}

/// `n` clients that read and write one row at the start and go on until they have.
Scenario contended_row(std::uint32_t n, double latency_sd_s) {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(1);
  s.drain_limit = Duration::seconds(10'000);
  s.services[0].model = ServiceModelKind::kOcc;
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(Duration::zero());
  s.network.latency =
      latency_sd_s > 0 ? Distribution::normal(0.01, latency_sd_s) : Distribution::constant(ms(10));
  ClientSpec& c = s.clients[0];
  c.count = n;
  c.retry.max_attempts = RetryRules::kUnlimited;
  c.retry.backoff.base = ms(5);
  c.retry.backoff.factor = 2;
  c.retry.backoff.cap = ms(2000);
  c.retry.backoff.first_exponent = 1;
  c.retry.backoff.jitter = Jitter::kNone;
  return s;
}

TEST_CASE("occ: in lockstep one write of each round wins, with backoff or without") {
  Scenario s = contended_row(10, 0);
  SECTION("a client alone: read and write are four messages") {
    s.clients[0].count = 1;
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].attempts == 1);
    CHECK(r.clients[0].arrivals == 1);
    CHECK(r.last_request_end == Time::zero() + ms(40));
  }
  SECTION("without backoff") {
    s.clients[0].retry.backoff.base = Duration::zero();
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].attempts == 55);
    CHECK(r.clients[0].executed == 55);
    CHECK(r.last_request_end == Time::zero() + ms(400));
    CHECK(count(r.clients[0], AttemptResult::kError) == 45);
    CHECK(count(r.clients[0], Outcome::kSuccess) == 10);
  }
  SECTION("with exponential backoff") {
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].attempts == 55);
    CHECK(r.last_request_end == Time::zero() + ms(4950));
  }
  SECTION("a hundred clients") {
    s.clients[0].count = 100;
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].attempts == 5050);
    CHECK(r.last_request_end == Time::zero() + ms(188'550));
    s.clients[0].retry.backoff.base = Duration::zero();
    CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(4000));
  }
}

TEST_CASE("occ: the second call meets what the service has in store for calls") {
  Scenario s = contended_row(2, 0);
  SECTION("service time, a queue and a limit of time for each call") {
    // Reads 10-30 and 30-50, writes 50-70 and 70-90: the second conflicts, and comes once more.
    s.services[0].servers = 1;
    s.services[0].service_time = Distribution::constant(ms(20));
    s.clients[0].retry.backoff.base = Duration::zero();
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].attempts == 3);
    CHECK(r.services[0].window.busy_ns == 6 * 20e6);
    CHECK(r.last_request_end == Time::zero() + ms(100 + 80));
  }
  SECTION("a client that gives up between its calls makes no second one") {
    test::set_timeout(s.clients[0], ms(15));
    s.clients[0].retry.max_attempts = 1;
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], AttemptResult::kTimeout) == 2);
    CHECK(r.clients[0].executed == 0);
    CHECK(r.ended == Time::zero() + ms(20));
  }
  SECTION("messages are lost one by one: both calls, both ways") {
    s.clients[0].count = 40'000;
    s.services[0].model = ServiceModelKind::kOcc;
    s.network.request_loss = s.network.response_loss = 0.1;
    s.clients[0].retry.max_attempts = 1;
    test::set_timeout(s.clients[0], ms(500));
    const RunResult r = simulate(s, 0);
    // 0.9^4 have an answer (one success, else conflicts): 26244, standard deviation 95, six of them
    // are 570; chance of a false alarm below 1e-8.
    const auto answered = 40'000 - static_cast<double>(r.clients[0].lost);
    CHECK(answered == Approx(26'244).margin(570));
  }
}

TEST_CASE("occ: the study of backoff and jitter, a hundred clients", "[repetitive]") {
  // Writes and time to the last success (ms) of the published program, with standard errors.
  struct Published {
    Jitter jitter;
    double base_ms, calls, calls_se, end_ms, end_se;
  };
  const Published p = GENERATE(Published{Jitter::kNone, 0, 2424.8, 2.3655, 2027.3, 3.3459},
                               Published{Jitter::kNone, 5, 1856.8, 5.1493, 63799, 313.17},
                               Published{Jitter::kEqual, 5, 811.95, 0.63695, 6657.7, 54.487},
                               Published{Jitter::kFull, 5, 795.65, 0.55086, 4888.9, 41.169},
                               Published{Jitter::kDecorrelated, 5, 999.9, 2.3131, 4607.2, 56.233});
  Scenario s = contended_row(100, 0.002);
  s.interval = Duration::seconds(10);
  s.clients[0].retry.backoff.base = Duration::from_seconds(p.base_ms / 1000);
  s.clients[0].retry.backoff.jitter = p.jitter;
  constexpr int kRuns = 100;
  double calls = 0, calls2 = 0, end = 0, end2 = 0;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    const RunResult r = simulate(s, run);
    const auto n = static_cast<double>(r.clients[0].attempts);
    const double t = r.last_request_end.in_seconds() * 1000;
    calls += n / kRuns;
    calls2 += n * n / kRuns;
    end += t / kRuns;
    end2 += t * t / kRuns;
  }
  // Five standard errors of the difference: false alarm 6e-7 for each of the ten numbers.
  const double calls_se = std::sqrt((calls2 - calls * calls) / (kRuns - 1));
  const double end_se = std::sqrt((end2 - end * end) / (kRuns - 1));
  CHECK(calls == Approx(p.calls).margin(5 * std::hypot(calls_se, p.calls_se)));
  CHECK(end == Approx(p.end_ms).margin(5 * std::hypot(end_se, p.end_se)));
}

}  // namespace
}  // namespace retrysim
