// What a service lets pass: windows, and allowances of operations and keys.
//
// SPDX-License-Identifier: MIT
#include "model/service/admission.hpp"

#include <catch2/catch.hpp>

#include "model/run/request.hpp"
#include "unit/model/small_world.hpp"

#include <set>
#include <vector>

namespace retrysim::model {
namespace {

using test::count;
using test::ms;

/// Everything is answered at once; hardly any token comes back.
Scenario throttled_world(ThrottleScope scope) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].throttle = {1e-9, 1, scope, Duration::zero()};
  s.clients[0].retry.max_attempts = 1;
  s.clients[0].count = 40;
  return s;
}

std::uint64_t throttled(const Scenario& s, std::size_t group = 0) {
  return count(simulate(s, 0).clients[group], AttemptResult::kThrottled);
}

TEST_CASE("Keys are as popular as they are said to be, and the same in every attempt") {
  const RandomKey key(1, 0);
  constexpr int kRequests = 20'000;
  const auto counts = [&](const KeySpec& spec) {
    const KeyChoice choice(spec);
    std::vector<int> n(spec.count, 0);
    for (std::uint64_t r = 0; r < kRequests; ++r) {
      const std::uint32_t k = choice.of(key, r);
      REQUIRE(k == choice.of(key, r));
      ++n.at(k);
    }
    return n;
  };
  // Binomial counts within six standard deviations: fewer than 1 in 10^8 seeds would fail.
  const auto check = [&](int n, double p) {
    CHECK(n == Approx(kRequests * p).margin(6 * std::sqrt(kRequests * p * (1 - p))));
  };
  for (const int n : counts({.count = 4})) check(n, 0.25);
  const std::vector<int> hot =
      counts({.count = 5, .popularity = Popularity::kHot, .hot_share = 0.4});
  check(hot[0], 0.4);
  for (std::size_t k = 1; k < 5; ++k) check(hot[k], 0.15);
  // 1 + 1/4 + 1/9 + 1/16 = 205/144.
  const std::vector<int> zipf =
      counts({.count = 4, .popularity = Popularity::kZipf, .exponent = 2});
  for (std::size_t k = 0; k < 4; ++k) {
    check(zipf[k], 144.0 / 205 / static_cast<double>((k + 1) * (k + 1)));
  }
  for (const int n : counts({.count = 4, .popularity = Popularity::kZipf, .exponent = 0})) {
    check(n, 0.25);
  }
  CHECK(KeyChoice().of(key, 7) == 0);
}

TEST_CASE("Each key has an allowance of its own, whoever asks for it") {
  Scenario s = throttled_world(ThrottleScope::kKey);
  s.clients[0].keys = {.count = 30, .popularity = Popularity::kZipf};
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "app";
  std::set<std::uint32_t> keys;
  const Streams streams(s, 0);
  for (const std::size_t g : {0u, 1u}) {
    for (std::uint64_t r = 0; r < 40; ++r) {
      keys.insert(KeyChoice(s.clients[g].keys).of(streams.of_group(g), r));
    }
  }
  CHECK(keys.size() > 10);
  CHECK(throttled(s, 0) + throttled(s, 1) == 80 - keys.size());
  s.clients[0].keys = s.clients[1].keys = {};
  CHECK(throttled(s, 0) + throttled(s, 1) == 79);
}

TEST_CASE("Operations of the same name share an allowance, and so do requests without one") {
  Scenario s = throttled_world(ThrottleScope::kOperation);
  s.clients[0].operations = {{"read", 1}, {"write", 1}};
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "app";
  CHECK(throttled(s, 0) + throttled(s, 1) == 78);
  s.clients[1].operations = {{"write", 1}, {"scan", 1}};
  CHECK(throttled(s, 0) + throttled(s, 1) == 77);
  s.clients[1].operations = {};
  CHECK(throttled(s, 0) + throttled(s, 1) == 77);
}

TEST_CASE("In windows a number of attempts passes, from the start of each") {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(10);
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].throttle = {5, 1, ThrottleScope::kService, Duration::zero(), Duration::seconds(2)};
  s.clients[0].retry.max_attempts = 1;
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 10;
  s.clients[0].arrivals.aligned = true;
  const RunResult r = simulate(s, 0);
  // Ten of twenty, and those are the first: every second second is throttled as a whole.
  for (std::size_t bin = 0; bin < 10; ++bin) {
    CHECK(r.clients[0].bins[bin].flow.throttled == (bin % 2 == 0 ? 0 : 10));
  }
  SECTION("rounded down") {
    s.services[0].throttle.rate = 5.4;
    CHECK(throttled(s) == 50);
    s.services[0].throttle.rate = 5.5;
    CHECK(throttled(s) == 45);
    s.services[0].throttle.rate = 0.1 + 0.2;  // 0.6 in two seconds, but never less than one
    CHECK(throttled(s) == 95);
  }
  SECTION("for each client") {
    s.services[0].throttle.scope = ThrottleScope::kClient;
    s.clients[0].count = 3;
    CHECK(throttled(s) == 150);
  }
  SECTION("a restart forgets what has passed") {
    FaultSpec restart;
    restart.start = Time::zero() + ms(1550);
    restart.duration = ms(1);
    restart.cold_restart = true;
    s.faults.push_back(restart);
    CHECK(throttled(s) == 46);
  }
}

TEST_CASE("Who asks exactly as fast as tokens come is never refused, however times are rounded") {
  // An interval of 1/0.7 s is no whole number of nanoseconds: what flows in meanwhile is up to
  // 3.5e-10 of a token too little.
  Scenario s = test::small_world();
  s.duration = Duration::seconds(1000);
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].throttle = {0.7, 1, ThrottleScope::kService, Duration::zero()};
  s.clients[0].retry.max_attempts = 1;
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 0.7;
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].requests == 700);
  CHECK(count(r.clients[0], AttemptResult::kThrottled) == 0);
  // 20 ns early, 1.4e-8 of a token is missing: that is no matter of rounding.
  Throttle throttle(s.services[0].throttle);
  CHECK(throttle.pass(0, 0, Time::zero()));
  CHECK_FALSE(throttle.pass(0, 0, Time::from_nanoseconds(1'428'571'408)));
  CHECK(throttle.pass(0, 0, Time::from_nanoseconds(1'428'571'429)));
}

TEST_CASE("A window may begin with the run only: time is counted from zero") {
  ThrottleSpec spec{1, 1, ThrottleScope::kService, {}, Duration::seconds(3)};
  Throttle throttle(spec);
  const auto at = [](std::int64_t t) { return Time::zero() + ms(t); };
  CHECK(throttle.pass(0, 0, at(2900)));
  CHECK(throttle.pass(0, 0, at(2900)));
  CHECK(throttle.pass(0, 0, at(2999)));
  CHECK_FALSE(throttle.pass(0, 0, at(2999)));
  CHECK(throttle.pass(0, 0, at(3000)));
  throttle.forget();
  CHECK(throttle.pass(0, 0, at(3000)));
}

}  // namespace
}  // namespace retrysim::model
