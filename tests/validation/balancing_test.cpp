// Balancing against queueing theory. Attempts come as a Poisson stream and take exponential times;
// each instance has one server.
//
//   random             each instance is an M/M/1 queue of its own
//   round-robin        each is an E_n/M/1 queue: n exponential gaps from one attempt to its next
//   least-connections  two instances: the shortest of two queues, a Markov chain in two dimensions,
//                      solved here
//   two-choices        many instances: the share of queues with k attempts or more tends to
//                      rho^(2^k - 1) (Vvedenskaya, Dobrushin and Karpelevich 1996; Mitzenmacher
//                      1996)
//
// Each check is that the mean of 20 replications lies within 6.28 standard errors of the exact
// value: with another seed one of these numbers would fail by chance in 200,000 runs. A standard
// error is small enough for a value wrong by a few percent to be noticed.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <retrysim/simulation.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace retrysim {
namespace {

constexpr int kReplications = 20;
constexpr double kService = 0.01;  // s

Scenario balanced(std::uint32_t instances, double rho, Balancing balancing, int seconds) {
  Scenario s;
  s.duration = Duration::seconds(seconds);
  s.warmup = Duration::seconds(seconds / 10);
  s.interval = s.duration;
  ServiceSpec service;
  service.name = "api";
  service.service_time = Distribution::exponential(kService);
  service.instances.count = instances;
  service.instances.balancing = balancing;
  s.services.push_back(service);
  ClientSpec client;
  client.name = "web";
  client.arrivals.rate = rho * instances / kService;
  client.retry.max_attempts = 1;
  s.clients.push_back(client);
  return s;
}

/// The mean time of an attempt at the service, in service times, agrees with theory. `bias`: how
/// far, as a share, theory itself may be off.
void check_mean_time(const Scenario& s, double exact, double most_margin, double bias = 0) {
  double sum = 0, squares = 0;
  for (std::uint32_t run = 0; run < kReplications; ++run) {
    const DurationMoments m = simulate(s, run).clients[0].service_latency_m;
    const double mean = static_cast<double>(m.sum_ns) / static_cast<double>(m.count) * 1e-9;
    sum += mean / kService;
    squares += mean / kService * (mean / kService);
  }
  const double mean = sum / kReplications;
  const double variance = (squares - sum * mean) / (kReplications - 1);
  const double margin = 6.28 * std::sqrt(variance / kReplications);
  CHECK(margin < most_margin * exact);
  CHECK(mean == Approx(exact).margin(margin + bias * exact));
}

/// The root s < 1 of s = (n rho / (n rho + 1 - s))^n, by iteration from below.
double erlang_root(int n, double rho) {
  double s = 0;
  for (int i = 0; i < 10'000; ++i) s = std::pow(n * rho / (n * rho + 1 - s), n);
  return s;
}

/// The mean number of attempts at two instances of which the one with fewer gets the next, by the
/// power method. States beyond `kMost` at an instance have next to no weight.
double mean_of_shortest_queue(double rho) {
  constexpr std::size_t kMost = 30;
  constexpr int kSteps = 4000;
  using Row = std::vector<double>;
  std::vector<Row> p(kMost + 1, Row(kMost + 1)), next = p;
  p[0][0] = 1;
  const double all = 2 * rho + 2;  // events per service time, those of idle servers included
  for (int step = 0; step < kSteps; ++step) {
    for (Row& row : next) std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t i = 0; i <= kMost; ++i) {
      for (std::size_t j = 0; j <= kMost; ++j) {
        const double mass = p[i][j] / all, arrivals = 2 * rho * mass;
        const double to_first = i < j ? 1 : i > j ? 0 : 0.5;
        next[std::min(i + 1, kMost)][j] += to_first * arrivals;
        next[i][std::min(j + 1, kMost)] += (1 - to_first) * arrivals;
        next[i > 0 ? i - 1 : 0][j] += mass;
        next[i][j > 0 ? j - 1 : 0] += mass;
      }
    }
    p.swap(next);
  }
  double mean = 0;
  for (std::size_t i = 0; i <= kMost; ++i) {
    for (std::size_t j = 0; j <= kMost; ++j) mean += static_cast<double>(i + j) * p[i][j];
  }
  return mean;
}

TEST_CASE("Random balancing makes an M/M/1 queue of each instance", "[balancing][repetitive]") {
  check_mean_time(balanced(5, 0.6, Balancing::kRandom, 90), 1 / (1 - 0.6), 0.03);
}

TEST_CASE("Round-robin makes an E_n/M/1 queue of each instance", "[balancing][repetitive]") {
  CHECK(erlang_root(1, 0.7) == Approx(0.7));  // M/M/1
  for (const int n : {2, 5}) {
    const Scenario s =
        balanced(static_cast<std::uint32_t>(n), 0.7, Balancing::kRoundRobin, 500 / n);
    check_mean_time(s, 1 / (1 - erlang_root(n, 0.7)), 0.05);
  }
}

TEST_CASE("The shortest of two queues", "[balancing][repetitive]") {
  const double rho = 0.7;
  const double time = mean_of_shortest_queue(rho) / (2 * rho);
  // Between one queue for both servers, M/M/2, and two queues chosen at random.
  CHECK(time > 1 / (1 - rho * rho));
  CHECK(time < 1 / (1 - rho));
  const Scenario s = balanced(2, rho, Balancing::kLeastConnections, 240);
  check_mean_time(s, time, 0.04);
  // Two choices of two instances are the same.
  CHECK(simulate(balanced(2, rho, Balancing::kTwoChoices, 240), 0) == simulate(s, 0));
}

TEST_CASE("Two choices among many instances", "[balancing][repetitive]") {
  const double rho = 0.9;
  double time = 0;  // E[T] = sum of rho^(2^k - 2)
  for (int k = 1; k < 12; ++k) time += std::pow(rho, std::pow(2, k) - 2);
  CHECK(time == Approx(2.614).margin(0.001));
  // With n instances the time is longer by a share of about 1/n. (At random it would be 10, at the
  // shortest of all queues little more than 1.)
  check_mean_time(balanced(500, rho, Balancing::kTwoChoices, 1), time, 0.04, 0.01);
}

}  // namespace
}  // namespace retrysim
