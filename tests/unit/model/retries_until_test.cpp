// The same replication with and without retries from some time on: what comes before that time must
// be the same to the last draw, and after it no retry may be sent.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <memory>

using namespace retrysim;
using namespace retrysim::test;

namespace {

/// A busy service that fails now and then, and clients that retry in every way the model knows.
Scenario busy_world() {
  Scenario s = small_world();
  s.duration = Duration::seconds(60);
  s.drain = false;
  s.services[0].servers = 2;
  s.services[0].service_time = Distribution::exponential(0.02);
  s.services[0].errors.push_back({{503, "ServiceUnavailable"}, 0.2});
  ClientSpec& c = s.clients[0];
  c.count = 20;
  c.arrivals.process = ArrivalProcess::kPoisson;
  c.arrivals.rate = 4;
  c.retry.backoff.base = ms(300);
  c.retry.backoff.jitter = Jitter::kFull;
  c.retry.quota.enabled = true;
  set_timeout(c, ms(150));
  return s;
}

void check_same_bin(const ClientBin& a, const ClientBin& b) {
  CHECK(a.flow.requests == b.flow.requests);
  CHECK(a.flow.attempts == b.flow.attempts);
  CHECK(a.flow.retries == b.flow.retries);
  CHECK(a.flow.successes == b.flow.successes);
  CHECK(a.flow.failures == b.flow.failures);
  CHECK(a.flow.timeouts == b.flow.timeouts);
  CHECK(a.flow.errors == b.flow.errors);
  CHECK(a.flow.in_backoff_ns == b.flow.in_backoff_ns);
  CHECK(a.flow.in_flight_ns == b.flow.in_flight_ns);
  CHECK(a.flow.limiter_waiting_ns == b.flow.limiter_waiting_ns);
  CHECK(a.latency_p99_s == b.latency_p99_s);
}

/// Compares the run of `s` with its twin, which has no retries from 30 s on.
void check_twin(const Scenario& s) {
  SimulationOptions options;
  options.fingerprint = true;
  const RunResult run = simulate(s, 3, options);
  options.retries_until = Time::zero() + Duration::seconds(30);
  const RunResult twin = simulate(s, 3, options);
  std::uint64_t retries_after = 0;
  for (std::size_t i = 0; i < 30; ++i) check_same_bin(run.all_bins[i], twin.all_bins[i]);
  for (std::size_t i = 30; i < 60; ++i) {
    CHECK(twin.all_bins[i].flow.retries == 0);
    retries_after += run.all_bins[i].flow.retries;
    CHECK(twin.all_bins[i].flow.requests == run.all_bins[i].flow.requests);  // the same demand
  }
  CHECK(retries_after > 0);
  CHECK(run.fingerprint != twin.fingerprint);

  // The event sequence itself, up to the time: both runs end there.
  Scenario half = s;
  half.duration = Duration::seconds(30);
  const std::uint64_t until_then = simulate(half, 3, options).fingerprint;
  options.retries_until = Time::max();
  CHECK(simulate(half, 3, options).fingerprint == until_then);
  // A time that never comes changes nothing at all.
  options.retries_until = Time::zero() + Duration::seconds(60);
  CHECK(simulate(s, 3, options).fingerprint == run.fingerprint);
}

}  // namespace

TEST_CASE("without retries from some time on, nothing before it changes") {
  check_twin(busy_world());
}

TEST_CASE("retries end with a limit on connections") {
  Scenario s = busy_world();
  s.clients[0].max_connections = 1;
  s.clients[0].arrivals.rate = 6;
  check_twin(s);
}

TEST_CASE("retries end with hedging") {
  Scenario s = busy_world();
  s.clients[0].retry.hedging = {.enabled = true, .delay = ms(50)};
  check_twin(s);
}

TEST_CASE("retries end with send tokens") {
  Scenario s = busy_world();
  s.clients[0].retry.rate_limit.enabled = true;
  s.services[0].errors[0].answer = {400, "ThrottlingException"};
  check_twin(s);
}

TEST_CASE("a request in backoff when retries end fails when the backoff is over") {
  Scenario s = small_world();  // one request at 0, an error at once, backoff until 2 s
  s.services[0].errors.push_back({{503, "ServiceUnavailable"}, 1.0});
  s.clients[0].retry.backoff.delays = {Distribution::constant(Duration::seconds(2))};
  SimulationOptions options;
  options.retries_until = Time::zero() + Duration::seconds(1);
  const RunResult run = simulate(s, 0, options);
  CHECK(run.clients[0].attempts == 1);
  CHECK(count(run.clients[0], Outcome::kMaxAttemptsExceeded) == 1);
  CHECK(run.last_request_end == Time::zero() + Duration::seconds(2));
}

TEST_CASE("a strategy of one's own is overruled when retries end") {
  class Stubborn : public CustomStrategy {
   public:
    RetryDecision refresh_retry_token(std::uint64_t, std::uint32_t, const Failure&, Time,
                                      Draws&) override {
      return {Outcome::kRetry, ms(10), 0};
    }
  };
  Scenario s = small_world();
  s.duration = Duration::seconds(10);
  s.services[0].errors.push_back({{503, "ServiceUnavailable"}, 1.0});
  s.clients[0].strategy = [](std::uint32_t) { return std::make_unique<Stubborn>(); };
  SimulationOptions options;
  options.retries_until = Time::zero() + Duration::seconds(5);
  const RunResult run = simulate(s, 0, options);
  CHECK(count(run.clients[0], Outcome::kMaxAttemptsExceeded) == 1);
  CHECK(run.last_request_end.in_seconds() < 6);
  CHECK(run.clients[0].attempts > 10);
}
