// Requests that differ in cost.
//
// SPDX-License-Identifier: MIT
#include "model/service/servers.hpp"

#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim::model {
namespace {

using test::ms;

std::vector<ClientSpec> groups() {
  std::vector<ClientSpec> clients(3);
  clients[0].operations = {{"read", 9, 1}, {"scan", 3, 20}};
  clients[1].service = 1;
  clients[1].operations = {{"other", 1, 5}};
  return clients;
}

TEST_CASE("Operations have their shares, each group its own, and only at its service") {
  const OperationMix mix(0, groups());
  const RandomKey key(1, 0);
  int scans = 0;
  constexpr int kRequests = 10'000;
  for (std::uint64_t r = 0; r < kRequests; ++r) {
    const double work = mix.work(key, r, 0);
    REQUIRE((work == 1 || work == 20));
    scans += work == 20;
    REQUIRE(mix.work(key, r, 0) == work);  // the same for every attempt
    REQUIRE(mix.work(key, r, 1) == 1);
    REQUIRE(mix.work(key, r, 2) == 1);
  }
  CHECK(scans == Approx(2500).margin(6 * 43.3));  // six standard deviations
  CHECK(OperationMix(1, groups()).work(key, 0, 1) == 5);
  CHECK(OperationMix(2, groups()).empty());
}

TEST_CASE("Work is a factor on the service time, the same in every attempt of a request") {
  // One server at its own pace: requests of 100 ms and 300 ms; every fourth second one of them.
  Scenario s = test::small_world();
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 0.25;
  s.duration = Duration::seconds(4000);
  s.clients[0].operations = {{"a", 1, 1}, {"b", 1, 3}};
  const ClientResult c = simulate(s, 0).clients[0];
  REQUIRE(c.requests == 1000);
  // Binomial: the mean is 200 ms with a standard error of 3.2 ms.
  CHECK(static_cast<double>(c.service_latency_m.sum_ns) / 1000 == Approx(200e6).margin(6 * 3.2e6));
  CHECK(c.service_latency_m.standard_deviation_ns() == Approx(100e6).epsilon(0.02));
  // With a time limit between the two, the heavy ones fail in all three attempts.
  test::set_timeout(s.clients[0], ms(200));
  const ClientResult limited = simulate(s, 0).clients[0];
  const std::uint64_t failed = test::count(limited, Outcome::kMaxAttemptsExceeded);
  CHECK(failed > 300);
  CHECK(test::count(limited, AttemptResult::kTimeout) == 3 * failed);
  CHECK(test::count(limited, AttemptResult::kSuccess) == 1000 - failed);
}

}  // namespace
}  // namespace retrysim::model
