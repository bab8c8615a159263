// What a retry guard makes of a whole run: how many attempts reach a service.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "small_world.hpp"

#include <cmath>

using namespace retrysim;
using namespace retrysim::test;

namespace {

constexpr std::int64_t kRate = 100;  // requests per second

/// A service that answers at once, and fails attempts by chance; `m` attempts without backoff.
Scenario failing_service(double error_rate, std::uint32_t m) {
  Scenario s = small_world();
  s.duration = Duration::seconds(100);
  ServiceSpec& service = s.services[0];
  service.service_time = Distribution::constant({});
  service.errors = {{{500, "InternalError"}, error_rate}};
  ClientSpec& client = s.clients[0];
  client.arrivals.process = ArrivalProcess::kConstant;
  client.arrivals.rate = kRate;
  client.retry.max_attempts = m;
  client.retry.guard = {.enabled = true, .failure_share = 0.2, .sample = ms(500), .samples = 8};
  return s;
}

double attempts(const Scenario& s) {
  return static_cast<double>(total(simulate(s, 0).clients[0]).attempts);
}

}  // namespace

// All attempts fail: m a request for 8 samples of 0.5 s, one from then on, for good: the share of
// failures does not fall when retries stop. A request at the border may be on either side.
TEST_CASE("under a guard a service that fails gets m attempts a request until retries are off") {
  for (const std::uint32_t m : {2u, 3u, 10u}) {
    const double expected = kRate * (m * 4.0 + 96.0);
    CHECK(std::abs(attempts(failing_service(1, m)) - expected) <= m);
  }
}

// Three attempts with failures by chance p: 1 + p + p^2 attempts a request if p is below the
// guard's share; above it, that only for the first 4 s. Means of 10,000 requests: 5 standard
// deviations, which one of the two exceeds by chance with probability 10^-6.
TEST_CASE("a guard leaves retries alone below its share of failures and ends them above it") {
  const auto per_request = [](double p) { return 1 + p + p * p; };
  const auto deviation = [](double p, double requests) {
    const double square = 1 + 3 * p + 5 * p * p;  // of the attempts of a request
    const double mean = 1 + p + p * p;
    return 5 * std::sqrt(requests * (square - mean * mean));
  };
  const double low = 0.05, high = 0.5;
  CHECK(std::abs(attempts(failing_service(low, 3)) - 100 * kRate * per_request(low)) <
        deviation(low, 100 * kRate));
  CHECK(std::abs(attempts(failing_service(high, 3)) - kRate * (4 * per_request(high) + 96.0)) <
        deviation(high, 4 * kRate));
}
