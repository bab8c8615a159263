// Operations and keys that a service's throttle lets pass at rates of their own.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "model/run/request.hpp"
#include "model/service/admission.hpp"
#include "unit/model/small_world.hpp"

#include <algorithm>
#include <array>

namespace retrysim::model {
namespace {

using test::count;
using test::ms;

constexpr double kHardlyAny = 1e-9;  // tokens a second: what a bucket holds is all that passes
constexpr std::uint64_t kRequestsSent = 40;

/// Forty clients each make one request, a read or a write, for one of three keys.
Scenario limited_world(ThrottleScope scope) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].throttle = {kHardlyAny, 1, scope, Duration::zero()};
  s.clients[0].retry.max_attempts = 1;
  s.clients[0].count = kRequestsSent;
  s.clients[0].operations = {{"read", 1}, {"write", 1}};
  s.clients[0].keys.count = 3;
  return s;
}

std::uint64_t throttled_of(const Scenario& s) {
  return count(simulate(s, 0).clients[0], AttemptResult::kThrottled);
}

struct Requests {
  std::uint64_t writes = 0;
  std::array<std::uint64_t, 3> of_key = {}, writes_of_key = {};
};

Requests requests_of(const Scenario& s) {
  const Streams streams(s, 0);
  const ClientSpec& c = s.clients[0];
  Requests n;
  for (std::uint64_t r = 0; r < kRequestsSent; ++r) {
    const bool write = OperationChoice(c.operations).of(streams.of_group(0), r) == 1;
    const std::uint32_t key = KeyChoice(c.keys).of(streams.of_group(0), r);
    n.writes += write;
    ++n.of_key.at(key);
    n.writes_of_key.at(key) += write;
  }
  return n;
}

TEST_CASE("An operation with a limit of its own takes nothing from the others") {
  Scenario s = limited_world(ThrottleScope::kService);
  const Requests n = requests_of(s);
  REQUIRE(n.writes > 7);
  REQUIRE(n.writes < kRequestsSent - 7);
  CHECK(throttled_of(s) == kRequestsSent - 1);
  s.services[0].throttle.operations = {{"write", kHardlyAny, 5}};
  CHECK(throttled_of(s) == kRequestsSent - 5 - 1);
  SECTION("its rate counts, not only its burst") {
    s.clients[0].arrivals.spread = Duration::seconds(100);
    s.services[0].throttle.operations = {{"write", 1e6, 1}};
    CHECK(throttled_of(s) == kRequestsSent - n.writes - 1);
  }
  SECTION("it may be unlimited") {
    s.services[0].throttle.operations = {{"write", 0}};
    CHECK(throttled_of(s) == kRequestsSent - n.writes - 1);
  }
  SECTION("several have one each") {
    s.services[0].throttle.operations.push_back({"read", kHardlyAny, 3});
    CHECK(throttled_of(s) == kRequestsSent - 5 - 3);
  }
  SECTION("it may have windows where the others have none") {
    s.services[0].throttle.operations = {{"write", 2, 1, Duration::seconds(2)}};
    CHECK(throttled_of(s) == kRequestsSent - 4 - 1);
  }
  SECTION("whichever group asks") {
    s.clients.push_back(s.clients[0]);
    s.clients[1].name = "app";
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], AttemptResult::kThrottled) +
              count(r.clients[1], AttemptResult::kThrottled) ==
          2 * kRequestsSent - 5 - 1);
  }
}

TEST_CASE("The scope says who shares a limit of an operation") {
  Scenario s = limited_world(ThrottleScope::kKey);
  const Requests n = requests_of(s);
  s.services[0].throttle.operations = {{"write", kHardlyAny, 2}};
  std::uint64_t pass = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    pass += std::min<std::uint64_t>(n.writes_of_key[k], 2);
    pass += std::min<std::uint64_t>(n.of_key[k] - n.writes_of_key[k], 1);
  }
  CHECK(throttled_of(s) == kRequestsSent - pass);
  s.services[0].throttle.scope = ThrottleScope::kOperation;
  CHECK(throttled_of(s) == kRequestsSent - 2 - 1);
  s.services[0].throttle.scope = ThrottleScope::kClient;
  CHECK(throttled_of(s) == 0);
}

TEST_CASE("A key may have a limit of its own") {
  Scenario s = limited_world(ThrottleScope::kService);
  const Requests n = requests_of(s);
  REQUIRE(n.of_key[1] > 4);
  s.services[0].throttle.keys = {{"2", kHardlyAny, 4}};
  CHECK(throttled_of(s) == kRequestsSent - 4 - 1);
  s.services[0].throttle.scope = ThrottleScope::kKey;
  CHECK(throttled_of(s) == kRequestsSent - 4 - 2);
}

TEST_CASE("Limits start anew after a restart, and only the first instance's count") {
  Scenario s = limited_world(ThrottleScope::kService);
  s.services[0].throttle.operations = {{"write", kHardlyAny, 5}};
  s.services[0].instances.count = 4;
  CHECK(throttled_of(s) == kRequestsSent - 5 - 1);
  ThrottleSpec spec{kHardlyAny, 1, ThrottleScope::kService, {}};
  spec.operations = {{"a", kHardlyAny, 2}, {"b", 0}};
  Throttle throttle(spec);
  throttle.set_numbers({4, 9});
  const Time now = Time::zero() + ms(1);
  for (int run = 0; run < 2; ++run) {
    CHECK(throttle.pass(0, 0, now, 4));
    CHECK(throttle.pass(0, 0, now, 4));
    CHECK_FALSE(throttle.pass(0, 0, now, 4));
    CHECK(throttle.pass(0, 0, now, 5));
    CHECK_FALSE(throttle.pass(0, 0, now, 0));
    for (int i = 0; i < 10; ++i) CHECK(throttle.pass(0, 0, now, 9));
    throttle.forget();
  }
}

}  // namespace
}  // namespace retrysim::model
