// Queue disciplines against queueing theory: M/G/1 with a mean service time of 10 ms. The mean wait
// is the same under fifo, lifo (adaptive or not) and random order, so that a mistake shows in the
// standard deviation only: E[W^2] is that of fifo times 1/(1 - rho) (lifo) or 2/(2 - rho) (random
// order) (Takacs 1963, Kingman 1962). Under processor sharing E[T] = E[S]/(1 - rho) for any law of
// service times.
//
// Each check is that the mean of 20 replications lies within 6.28 standard errors of the exact
// value: with another seed one of these numbers would fail by chance in 200,000 runs. The standard
// errors are small enough for a value wrong by 10 % to be noticed.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <cmath>
#include <vector>

namespace retrysim {
namespace {

constexpr int kReplications = 20;

Scenario mg1(double rho, const Distribution& service_time, Discipline discipline) {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(2500);
  s.warmup = Duration::seconds(30);
  s.interval = Duration::seconds(100);
  s.services[0].service_time = service_time;
  s.services[0].queue.discipline = discipline;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = rho * 100;
  s.clients[0].retry.max_attempts = 1;
  return s;
}

struct Quantity {
  double exact;
  double (*measure)(const RunResult&);
};

void check_means(const Scenario& s, const std::vector<Quantity>& quantities) {
  std::vector<double> sums(quantities.size()), squares(quantities.size());
  for (std::uint32_t run = 0; run < kReplications; ++run) {
    const RunResult result = simulate(s, run);
    for (std::size_t i = 0; i < quantities.size(); ++i) {
      const double x = quantities[i].measure(result);
      sums[i] += x;
      squares[i] += x * x;
    }
  }
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    const double exact = quantities[i].exact, mean = sums[i] / kReplications;
    const double variance = (squares[i] - sums[i] * mean) / (kReplications - 1);
    const double margin = 6.28 * std::sqrt(variance / kReplications);
    CHECK(mean == Approx(exact).margin(margin));
    CHECK(margin < 0.1 * exact);
  }
}

double mean_s(const DurationMoments& m) {
  return static_cast<double>(m.sum_ns) / static_cast<double>(m.count) * 1e-9;
}
double mean_wait_s(const RunResult& r) { return mean_s(r.clients[0].queueing_time_m); }
double root_mean_square_wait_s(const RunResult& r) {
  const DurationMoments& m = r.clients[0].queueing_time_m;
  return std::sqrt(static_cast<double>(m.sum_squares_ns2) / static_cast<double>(m.count)) * 1e-9;
}
double mean_time_s(const RunResult& r) { return mean_s(r.clients[0].service_latency_m); }
double mean_number(const RunResult& r) {
  return r.services[0].window.in_system_ns /
         static_cast<double>((r.window_end - r.window_start).count());
}

TEST_CASE("Waiting times of M/M/1 spread as theory says: fifo, lifo and random order",
          "[repetitive]") {
  const double rho = 0.7, service = 0.01;
  const double wait = rho / (1 - rho) * service;
  // E[W^2] = 2 E[W]^2 + lambda E[S^3] / (3 (1 - rho)), with E[S^3] = 6 E[S]^3.
  const double square = 2 * wait * wait + rho / service * 2 * std::pow(service, 3) / (1 - rho);
  const Distribution law = Distribution::exponential(service);
  auto check = [&](Discipline discipline, double factor) {
    const Scenario s = mg1(rho, law, discipline);
    check_means(s, {{wait, mean_wait_s}, {std::sqrt(factor * square), root_mean_square_wait_s}});
  };
  SECTION("fifo") { check(Discipline::kFifo, 1); }
  SECTION("lifo") { check(Discipline::kLifo, 1 / (1 - rho)); }
  SECTION("random") { check(Discipline::kRandom, 2 / (2 - rho)); }
}

// Any order that does not look at service times has the mean wait of fifo. The mean squares of fifo
// and lifo are 1556 and 5185 ms^2. With so short a queue in the order of fifo the adaptive order
// comes within a tenth of lifo; all three see the same arrivals and service times.
TEST_CASE("adaptive-lifo waits as long as fifo on average, and spreads more", "[repetitive]") {
  const double rho = 0.7, service = 0.01, wait = rho / (1 - rho) * service;
  Scenario s = mg1(rho, Distribution::exponential(service), Discipline::kAdaptiveLifo);
  s.services[0].queue.lifo_above = 3;
  check_means(s, {{wait, mean_wait_s}});
  const auto mean_square = [&s](Discipline discipline) {
    s.services[0].queue.discipline = discipline;
    double sum = 0;
    for (std::uint32_t run = 0; run < kReplications; ++run) {
      sum += std::pow(root_mean_square_wait_s(simulate(s, run)), 2);
    }
    return sum / kReplications;
  };
  const double adaptive = mean_square(Discipline::kAdaptiveLifo);
  CHECK(adaptive > 1.2 * mean_square(Discipline::kFifo));
  CHECK(adaptive < mean_square(Discipline::kLifo));
}

TEST_CASE("M/G/1 with gamma service times waits as Pollaczek and Khinchine say", "[repetitive]") {
  // E[W] = lambda E[S^2] / (2 (1 - rho)), and E[W^2] as above; E[S^n] = a^n k (k+1) ... (k+n-1).
  const double rho = 0.5, shape = 0.5, scale = 0.01 / shape, rate = rho / 0.01;
  const double second = scale * scale * shape * (shape + 1);
  const double third = scale * second * (shape + 2);
  const double wait = rate * second / (2 * (1 - rho));
  const double square = 2 * wait * wait + rate * third / (3 * (1 - rho));
  const Scenario s = mg1(rho, Distribution::gamma(0.01, shape), Discipline::kFifo);
  check_means(s, {{wait, mean_wait_s}, {std::sqrt(square), root_mean_square_wait_s}});
}

TEST_CASE("The share of M/M/c that waits at most t is that of Erlang C", "[repetitive]") {
  // P(W <= t) = 1 - C e^(-(c mu - lambda) t). With 3 servers and a load of 2.4 the probability to
  // wait is C = 0.6471910112 (Erlang's formula: 2.4^3/3!/(1 - 0.8) / (sum + that)).
  const double load = 2.4, mu = 100, within_s = 0.02;
  const double tail = load * load * load / 6 / 0.2;
  const double c = tail / (1 + load + load * load / 2 + tail);
  CHECK(c == Approx(0.6471910112).epsilon(1e-9));
  Scenario s = mg1(load, Distribution::exponential(1 / mu), Discipline::kFifo);
  s.duration = Duration::seconds(150);
  s.services[0].servers = 3;
  s.services[0].wait_within = test::ms(20);
  check_means(s, {{1 - c * std::exp(-(3 - load) * mu * within_s), [](const RunResult& r) {
                     const WaitCounts& w = r.clients[0].waits;
                     return static_cast<double>(w.within) / static_cast<double>(w.started);
                   }}});
}

TEST_CASE("Processor sharing: the mean time depends on the mean service time only",
          "[repetitive]") {
  const double rho = 0.6;
  auto check = [&](const Distribution& law) {
    const Scenario s = mg1(rho, law, Discipline::kProcessorSharing);
    check_means(s, {{0.01 / (1 - rho), mean_time_s}, {rho / (1 - rho), mean_number}});
  };
  SECTION("exponential") { check(Distribution::exponential(0.01)); }
  SECTION("constant") { check(Distribution::constant(test::ms(10))); }
  SECTION("of high variance") { check(Distribution::hyperexponential_cv(0.01, 2)); }
}

TEST_CASE("Two classes of M/M/1 with priority wait as Cobham worked out", "[repetitive]") {
  // Mean residual work R = rho E[S]; the first class waits R/(1 - r1), the second
  // R/((1 - r1)(1 - r1 - r2)).
  const double rho1 = 0.3, rho2 = 0.4, service = 0.01;
  Scenario s = mg1(rho1, Distribution::exponential(service), Discipline::kPriority);
  s.clients.push_back(s.clients[0]);
  s.clients[1].arrivals.rate = rho2 * 100;
  s.clients[0].priority = 1;
  const double residual = (rho1 + rho2) * service;
  check_means(s, {{residual / (1 - rho1), mean_wait_s},
                  {residual / ((1 - rho1) * (1 - rho1 - rho2)),
                   [](const RunResult& r) { return mean_s(r.clients[1].queueing_time_m); }}});
}

}  // namespace
}  // namespace retrysim
