// What clients hold back by themselves: waits for connections that end, bulkheads, and limits on
// the send rate, against closed forms.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "small_world.hpp"

#include <cmath>

namespace retrysim::own_limits {

using namespace retrysim::test;

namespace {

/// One client with Poisson arrivals, and a service that serves all at once.
Scenario poisson(double rate, double mean_service_s) {
  Scenario s = small_world();
  s.duration = Duration::seconds(20'000);
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::exponential(mean_service_s);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = rate;
  s.clients[0].retry.max_attempts = 1;
  return s;
}

/// Threads of one client that ask again as soon as they have their answer.
Scenario threads(std::uint32_t number, std::uint32_t connections, double mean_service_s) {
  Scenario s = poisson(0, mean_service_s);
  s.clients[0].arrivals = {};
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.concurrency = number;
  s.clients[0].max_connections = connections;
  return s;
}

double share_unconnected(const ClientResult& c) {
  return static_cast<double>(c.unconnected) / static_cast<double>(c.requests);
}

/// The probability that all of `c` places are taken.
double erlang_b(double load, int c) {
  double b = 1;
  for (int k = 1; k <= c; ++k) b = load * b / (k + load * b);
  return b;
}

}  // namespace

TEST_CASE("an attempt without a connection fails when its longest wait is over, and not before") {
  Scenario s = small_world();
  s.services[0].service_time = Distribution::constant(Duration::seconds(60));
  s.clients[0].count = 1;
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.concurrency = 2;
  s.clients[0].arrivals.think_time = Distribution::constant(Duration::seconds(1000));
  s.clients[0].max_connections = 1;
  s.clients[0].connection_wait = Duration::seconds(10);
  s.clients[0].retry.max_attempts = 1;
  s.duration = Duration::seconds(1900);
  const RunResult run = simulate(s, 0);
  const ClientResult& c = run.clients[0];
  CHECK(c.requests == 2);
  CHECK(c.unconnected == 1);
  CHECK(c.attempts == 1);  // the other one has not been sent
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == 1);
  CHECK(c.connection_wait_ns == 10'000'000'000);
  CHECK(c.latency_m.sum_ns == 70'000'000'000);
}

TEST_CASE("a connection that becomes free at that very moment is in time") {
  Scenario s = small_world();
  s.services[0].service_time = Distribution::constant(Duration::seconds(10));
  s.services[0].servers = 5;
  s.clients[0].count = 1;
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.concurrency = 2;
  s.clients[0].arrivals.think_time = Distribution::constant(Duration::seconds(1));
  s.clients[0].max_connections = 1;
  s.clients[0].connection_wait = Duration::seconds(10);
  s.duration = Duration::seconds(5);
  CHECK(simulate(s, 0).clients[0].unconnected == 0);
  s.clients[0].connection_wait = Duration::seconds(10) - Duration::nanoseconds(1);
  CHECK(simulate(s, 0).clients[0].unconnected > 0);
}

TEST_CASE("what is not sent counts for the limit on attempts and for nothing else") {
  Scenario s = small_world();
  s.services[0].service_time = Distribution::constant(Duration::seconds(60));
  s.clients[0].count = 1;
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.concurrency = 2;
  s.clients[0].arrivals.think_time = Distribution::constant(Duration::seconds(1000));
  s.clients[0].max_connections = 1;
  s.clients[0].connection_wait = ms(0);
  s.clients[0].retry.max_attempts = 3;
  s.clients[0].retry.backoff.base = Duration::seconds(1);
  s.clients[0].retry.backoff.throttle_base = Duration::seconds(1);
  s.duration = Duration::seconds(1900);
  const RunResult run = simulate(s, 0);
  const ClientResult& c = run.clients[0];
  CHECK(c.unconnected == 3);
  CHECK(c.attempts == 1);
  CHECK(c.by_attempt[0].sent == 1);
  CHECK(count(c, Outcome::kMaxAttemptsExceeded) == 1);
  // Three attempts without a connection, and the backoffs of 1 s and 2 s between them.
  CHECK(c.backoff_total_ns == 3'000'000'000);
  s.clients[0].retry.errors.not_on = {*parse_error_pattern("no-connection")};
  const RunResult final = simulate(s, 0);
  CHECK(final.clients[0].unconnected == 1);
  CHECK(count(final.clients[0], Outcome::kNotRetryable) == 1);
}

// Little's law for the line: who is in it leaves after 10 s, either way. So
// (connections / service time + refused per second) x 10 s = threads that wait.
// HikariCP issue 2096: 136 threads, 8 connections, queries of 1 s.
// aws-sdk-java-v2: 50 connections, which are waited for 10 s; 500 threads, 2 s.
// The served ones wait a little less than 10 s, by up to the gap between two services.
TEST_CASE("threads that share a small pool fail as often as Little's law says") {
  struct Pool {
    std::uint32_t threads, connections;
    double service_s;
  };
  for (const Pool p : {Pool{136, 8, 1}, Pool{500, 50, 2}}) {
    Scenario s = threads(p.threads, p.connections, p.service_s);
    s.clients[0].connection_wait = Duration::seconds(10);
    s.duration = Duration::seconds(2100);
    s.warmup = Duration::seconds(100);
    const RunResult run = simulate(s, 0);
    const ClientResult& c = run.clients[0];
    const double served = p.connections / p.service_s;
    const double refused = (p.threads - p.connections) / 10.0 - served;
    CHECK(share_unconnected(c) == Approx(refused / (refused + served)).epsilon(0.03));
    CHECK(c.connection_wait_ns <= static_cast<WideNanoseconds>(c.requests) * 10'000'000'000);
  }
  Scenario patient = threads(136, 30, 1);  // 30 a second: 106 wait for 3.5 s
  patient.clients[0].connection_wait = Duration::seconds(10);
  patient.duration = Duration::seconds(1000);
  CHECK(simulate(patient, 0).clients[0].unconnected == 0);
}

// Poisson arrivals of 10 a second for 1 s each: of 200,000 requests a share of Erlang's B is
// refused. Requests in one busy period are correlated; ten standard deviations of independent ones
// are five of these (service times of 1 s, 20,000 of them): by chance 6 x 10^-7.
TEST_CASE("a bulkhead without a line loses what Erlang's formula says") {
  for (const int places : {5, 10, 15}) {
    Scenario s = poisson(10, 1);
    s.clients[0].bulkhead.max_concurrent = static_cast<std::uint32_t>(places);
    const RunResult run = simulate(s, 0);
    const ClientResult& c = run.clients[0];
    const double b = erlang_b(10, places);
    const double deviation = std::sqrt(b * (1 - b) / static_cast<double>(c.requests));
    CHECK(std::abs(share_unconnected(c) - b) < 10 * deviation);
    CHECK(count(c, Outcome::kMaxAttemptsExceeded) == c.unconnected);
  }
}

// With a line of 4: M/M/c/c+4. Who is not refused waits as in Erlang's C with a limit.
TEST_CASE("the line in front of a bulkhead is limited") {
  constexpr int kPlaces = 8, kLine = 4;
  Scenario s = poisson(10, 1);
  s.clients[0].bulkhead = {
      .max_concurrent = kPlaces, .longest_wait = Duration::max(), .queue = kLine};
  const RunResult run = simulate(s, 0);
  const ClientResult& c = run.clients[0];
  double weight = 1, sum = 1, last = 0, waiting = 0;
  for (int n = 1; n <= kPlaces + kLine; ++n) {
    weight *= 10.0 / std::min(n, kPlaces);
    sum += weight;
    waiting += std::max(0, n - kPlaces) * weight;
    last = weight;
  }
  const double requests = static_cast<double>(c.requests);
  CHECK(share_unconnected(c) == Approx(last / sum).epsilon(0.05));
  CHECK(static_cast<double>(c.connection_wait_ns) / 1e9 / requests ==
        Approx(waiting / sum / 10).epsilon(0.05));
}

TEST_CASE("a bulkhead and a pool: the place is kept while the connection is waited for") {
  Scenario s = threads(10, 2, 1);
  s.clients[0].bulkhead = {.max_concurrent = 4, .longest_wait = Duration::max()};
  s.clients[0].connection_wait = Duration::max();
  s.duration = Duration::seconds(2000);
  const RunResult run = simulate(s, 0);
  const ClientResult& c = run.clients[0];
  CHECK(static_cast<double>(c.requests) / 2000 == Approx(2).epsilon(0.05));  // of two connections
  CHECK(c.unconnected == 0);
}

// Burst 1: an attempt goes if the last one went 1 / r ago, as in a counter with a dead time. Of
// 200,000 Poisson arrivals of rate a, the share 1 / (1 + a / r) goes.
TEST_CASE("a send rate that refuses lets through what a counter with a dead time counts") {
  for (const double rate : {2.0, 10.0, 50.0}) {
    Scenario s = poisson(10, 0.01);
    s.clients[0].send_rate = {.rate = rate, .on_empty = SendRateOnEmpty::kFail};
    const RunResult run = simulate(s, 0);
    const ClientResult& c = run.clients[0];
    const double refused = static_cast<double>(c.unpermitted) / static_cast<double>(c.requests);
    CHECK(refused == Approx(1 - 1 / (1 + 10 / rate)).margin(0.005));
    CHECK(count(c, Outcome::kMaxAttemptsExceeded) == c.unpermitted);
  }
}

// Burst 1: the attempts wait as customers of a server that takes 1 / r (M/D/1).
TEST_CASE("attempts wait for a send rate as in a queue with constant service") {
  for (const double rate : {12.5, 20.0}) {
    Scenario s = poisson(10, 0.01);
    s.clients[0].send_rate = {.rate = rate};
    const RunResult run = simulate(s, 0);
    const ClientResult& c = run.clients[0];
    const double load = 10 / rate;
    const double wait = load / (2 * (1 - load)) / rate;
    CHECK(static_cast<double>(c.send_wait_ns) / 1e9 / static_cast<double>(c.requests) ==
          Approx(wait).epsilon(0.05));
    CHECK(c.unpermitted == 0);
  }
}

TEST_CASE("who would wait longer than is allowed is refused at once and takes nothing") {
  Scenario s = small_world();
  s.clients[0].count = 1;
  s.clients[0].arrivals.process = ArrivalProcess::kClosed;
  s.clients[0].arrivals.concurrency = 5;
  s.clients[0].arrivals.think_time = Distribution::constant(Duration::seconds(1000));
  s.clients[0].retry.max_attempts = 1;
  s.duration = Duration::seconds(1900);
  s.clients[0].send_rate = {.rate = 1, .longest_wait = Duration::seconds(2)};
  const RunResult run = simulate(s, 0);
  const ClientResult& c = run.clients[0];
  // At once, after 1 s and after 2 s; the other two would wait 3 s.
  CHECK(c.attempts == 3);
  CHECK(c.unpermitted == 2);
  CHECK(c.send_wait_ns == 3'000'000'000);
}

// kubernetes issue 26871: 4000 nodes meet an API server that takes 200 requests a second and
// answers others with 429 and a delay of 1 s. Each node retries ten times; what a node sends is
// limited by its own rate, retries included (client-go: rest/request.go waits for its limiter
// before each).
TEST_CASE("a client's own limit on its send rate holds for its retries") {
  constexpr double kRate = 0.15;
  Scenario s = small_world();
  s.duration = Duration::seconds(120);
  s.drain = false;
  ServiceSpec& api = s.services[0];
  api.servers = 400;
  api.service_time = Distribution::constant(ms(50));
  api.throttle.rate = 200;
  api.throttle.burst = 200;
  api.answers.throttled = ServiceAnswer{{429, ""}, Duration::seconds(1)};
  ClientSpec& nodes = s.clients[0];
  nodes.count = 4000;
  nodes.arrivals.process = ArrivalProcess::kConstant;
  nodes.arrivals.rate = 0.1;
  nodes.retry.max_attempts = 11;
  nodes.retry.errors.status_429 = Status429::kThrottling;
  nodes.retry.retry_after = RetryAfter::kReplace;
  nodes.retry.retry_after_max = Duration::max();
  const auto attempts_per_second = [&] {
    return static_cast<double>(simulate(s, 0).clients[0].attempts) / 120;
  };
  CHECK(attempts_per_second() > 1000);  // without the limit
  nodes.send_rate = {.rate = kRate, .burst = 1};
  // A token at the start and 0.15 a second, for each of 4000 nodes.
  CHECK(attempts_per_second() <= 4000 * (kRate + 1.0 / 120));
  CHECK(attempts_per_second() > 0.7 * 4000 * kRate);
}

TEST_CASE("calls between services have these limits, too") {
  Scenario s = poisson(10, 1);
  s.duration = Duration::seconds(2000);
  s.services[0].service_time = Distribution::constant({});
  ServiceSpec below = s.services[0];
  below.name = "below";
  below.service_time = Distribution::exponential(1);
  s.services.push_back(below);
  ClientSpec call = s.clients[0];
  call.name = "api.below";
  call.service = 1;
  call.bulkhead.max_concurrent = 10;
  add_call(s, 0, call);
  const RunResult run = simulate(s, 0);
  CHECK(share_unconnected(run.clients[1]) == Approx(erlang_b(10, 10)).epsilon(0.1));
  CHECK(run.clients[0].outcomes[static_cast<std::size_t>(Outcome::kMaxAttemptsExceeded)] ==
        run.clients[1].unconnected);
}

}  // namespace retrysim::own_limits
