// How attempts arrive, against the theory of point processes: Poisson requests have an index of
// dispersion of 1 in every window and no rhythm; with retries they are a cluster process, whose
// index and autocorrelation are known.
//
// False alarms: every comparison is with six standard errors of 20 replications, or says its own
// probability; seeds are fixed.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <string_view>
#include <vector>

#include "measure/analyse/burstiness.hpp"

namespace retrysim::validation {
namespace {

constexpr std::uint32_t kReplications = 20;

/// Poisson requests, 100 a second for 2000 s; attempts fail with probability `p`, and are retried
/// `delay` later, three attempts in all.
Scenario clusters(double p, Duration delay) {
  Scenario s;
  s.name = "clusters";
  s.duration = Duration::seconds(2000);
  s.warmup = Duration::seconds(20);
  ServiceSpec service;
  service.name = "api";
  service.model = ServiceModelKind::kIndependent;
  service.servers = ServiceSpec::kUnlimited;
  if (p > 0) service.errors = {{{500, "InternalError"}, p}};
  s.services.push_back(service);
  ClientSpec client;
  client.name = "web";
  client.count = 10;
  client.arrivals.rate = 10;
  client.retry.mode = RetryMode::kCustom;
  client.retry.max_attempts = 3;
  client.retry.backoff.delays = {Distribution::constant(delay)};
  s.clients.push_back(client);
  return s;
}

std::vector<RunResult> replicate(const Scenario& s) {
  std::vector<RunResult> runs;
  for (std::uint32_t r = 0; r < kReplications; ++r) runs.push_back(simulate(s, r));
  return runs;
}

void check_mean(const std::vector<double>& values, double expected) {
  const auto found = estimate(values);
  REQUIRE(found->count == kReplications);
  const double standard_error = *found->stddev / std::sqrt(double{kReplications});
  CAPTURE(found->mean, standard_error, expected);
  CHECK(standard_error < 0.05 * expected);  // a comparison with anything would agree otherwise
  CHECK(std::fabs(found->mean - expected) <= 6 * standard_error);
}

/// The index of dispersion in windows of `bins` bins.
std::vector<double> dispersion(const std::vector<RunResult>& runs, double window_s) {
  std::vector<double> values;
  for (const RunResult& run : runs) {
    const auto arrivals = stats::arrival_counts(run, run.all_bins, false);
    for (const stats::Dispersion& d : stats::dispersion_ladder(arrivals)) {
      if (d.window_s == window_s) values.push_back(d.index);
    }
  }
  return values;
}

/// Index of dispersion of clusters of at most three attempts that lie `d` apart, in windows of `w`:
/// 1 + 2 sum over i < j of P(attempt j) (1 - (j - i) d / w)+ per attempt.
double cluster_dispersion(double p, double d, double w) {
  const double mean = 1 + p + p * p;
  const auto overlap = [&](double distance) { return std::max(0.0, 1 - distance / w); };
  return 1 + 2 * (p * overlap(d) + p * p * (overlap(d) + overlap(2 * d))) / mean;
}

TEST_CASE("Poisson requests: dispersion 1 in every window, correlation by chance only, no rhythm") {
  const std::vector<RunResult> runs = replicate(clusters(0, Duration::seconds(1)));
  for (const double window_s : {1.0, 2.0, 4.0, 8.0}) {
    CAPTURE(window_s);
    check_mean(dispersion(runs, window_s), 1);
  }
  int below_half = 0;
  for (const RunResult& run : runs) {
    const auto arrivals = stats::arrival_counts(run, run.all_bins);
    // The largest of 495 correlations with standard deviation 1 / sqrt(1980): above 6 of them with
    // probability 5e-7.
    CHECK(stats::strongest_echo(arrivals)->correlation < 6 / std::sqrt(1980.0));
    const double p = stats::spectral_peak(arrivals)->p_value;
    CHECK(p > 1e-8);
    below_half += p < 0.5;
  }
  // Binomial (20, 1/2): outside of [1, 19] with probability 2e-6.
  CHECK(below_half >= 1);
  CHECK(below_half <= 19);
}

TEST_CASE("Retries after a fixed delay: dispersion of clusters, echo at the delay") {
  constexpr double kP = 0.5, kDelay = 4;
  const std::vector<RunResult> runs = replicate(clusters(kP, Duration::seconds(4)));
  for (const double window_s : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    CAPTURE(window_s);
    // In windows up to the delay retries cannot be seen at all.
    const double expected = cluster_dispersion(kP, kDelay, window_s);
    if (window_s <= kDelay) CHECK(expected == 1);
    check_mean(dispersion(runs, window_s), expected);
  }
  std::vector<double> at_delay, at_twice;
  for (const RunResult& run : runs) {
    const auto arrivals = stats::arrival_counts(run, run.all_bins);
    const auto correlations = stats::autocorrelations(arrivals.counts, 8);
    at_delay.push_back(correlations[4]);
    at_twice.push_back(correlations[8]);
    CHECK(stats::strongest_echo(arrivals)->lag_s == kDelay);
  }
  constexpr double kMean = 1 + kP + kP * kP;
  check_mean(at_delay, (kMean - 1) / kMean);
  check_mean(at_twice, kP * kP / kMean);
}

// An interrupted Poisson process with exponential bursts (mean 1 / a) and pauses (1 / b) and rate
// r in bursts has the index of dispersion 1 + 2 r a / (a + b)^2 (1 - (1 - e^-x) / x), x = (a + b)
// w; independent ones together have that of each, all in step have that of their common rate.
TEST_CASE("Bursts: the dispersion of interrupted Poisson processes, independent or in step") {
  Scenario s = clusters(0, Duration::zero());
  ArrivalSpec& arrivals = s.clients[0].arrivals;
  arrivals.process = ArrivalProcess::kOnOff;
  arrivals.on = Distribution::exponential(1);
  arrivals.off = Distribution::exponential(4);
  for (const bool aligned : {false, true}) {
    CAPTURE(aligned);
    arrivals.aligned = aligned;
    const double rate_in_burst = 10 * 5 * (aligned ? 10 : 1);
    constexpr double kA = 1, kB = 0.25;
    const std::vector<RunResult> runs = replicate(s);
    for (const double window_s : {1.0, 2.0, 4.0, 8.0}) {
      CAPTURE(window_s);
      const double x = (kA + kB) * window_s;
      const double expected =
          1 + 2 * rate_in_burst * kA / ((kA + kB) * (kA + kB)) * (1 - (1 - std::exp(-x)) / x);
      check_mean(dispersion(runs, window_s), expected);
    }
  }
}

}  // namespace
}  // namespace retrysim::validation
