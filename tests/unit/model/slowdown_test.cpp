// Service times that grow with the number of attempts already in service.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "model/service/servers.hpp"
#include "unit/model/small_world.hpp"

#include <cmath>

namespace retrysim {
namespace {

using model::slowdown_factor;
using test::ms;

TEST_CASE("Curves of slowdown", "[slowdown]") {
  ServiceSpec s;
  CHECK_FALSE(s.slowdown.enabled());
  s.slowdown.per_attempt = 0.1;
  CHECK(s.slowdown.enabled());
  for (const int n : {0, 1, 7, 100}) {
    s.slowdown.curve = SlowdownCurve::kLinear;
    CHECK(slowdown_factor(s, n) == 1 + 0.1 * n);
    s.slowdown.curve = SlowdownCurve::kPower;
    s.slowdown.exponent = 1.7;
    CHECK(slowdown_factor(s, n) == Approx(1 + 0.1 * std::pow(n, 1.7)).epsilon(1e-12));
    s.slowdown.curve = SlowdownCurve::kExponential;
    CHECK(slowdown_factor(s, n) == Approx(std::exp(0.1 * n)).epsilon(1e-12));
  }
  CHECK(slowdown_factor(s, 1'000'000) == 1e12);
}

TEST_CASE("A table of slowdown is linear between its rows and constant beyond", "[slowdown]") {
  ServiceSpec s;
  s.slowdown.curve = SlowdownCurve::kTable;
  s.slowdown.table = {{0, 2, 10}, {1, 1.5, 5.5}};
  CHECK(s.slowdown.enabled());
  CHECK(slowdown_factor(s, 0) == 1);
  CHECK(slowdown_factor(s, 1) == 1.25);
  CHECK(slowdown_factor(s, 2) == 1.5);
  CHECK(slowdown_factor(s, 4) == 2.5);
  CHECK(slowdown_factor(s, 10) == 5.5);
  CHECK(slowdown_factor(s, 1000) == 5.5);
}

TEST_CASE("An attempt is slowed down by those in service when it begins, at its own instance",
          "[slowdown]") {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].slowdown.curve = SlowdownCurve::kTable;
  s.services[0].slowdown.table = {{0, 1, 2}, {1, 2, 5}};
  s.clients[0].count = 3;
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == (100 + 200 + 500) * 1'000'000);
  s.services[0].instances.count = 2;
  CHECK(simulate(s, 0).clients[0].latency_m.sum_ns == (100 + 100 + 200) * 1'000'000);
}

}  // namespace
}  // namespace retrysim
