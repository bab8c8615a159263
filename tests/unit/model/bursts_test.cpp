// Clients that send in bursts: where the bursts are, how many requests come, and when they end.
//
// SPDX-License-Identifier: MIT
#include "model/client/arrivals.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "unit/model/small_world.hpp"

namespace retrysim::model {
namespace {

Time at_second(double s) { return Time::zero() + Duration::from_seconds(s); }

/// Bursts of a second after pauses of three; 10 requests a second and client on average.
ClientSpec bursty(std::uint32_t count, bool aligned) {
  ClientSpec s;
  s.count = count;
  s.arrivals.process = ArrivalProcess::kOnOff;
  s.arrivals.rate = 10;
  s.arrivals.aligned = aligned;
  s.arrivals.on = Distribution::constant(Duration::seconds(1));
  s.arrivals.off = Distribution::constant(Duration::seconds(3));
  return s;
}

struct Arrival {
  double time_s;
  std::uint32_t client;
};

std::vector<Arrival> requests(const ClientSpec& spec, double until_s) {
  std::uint64_t sequence = 0;
  ArrivalStream stream(spec, RandomKey(1, 0), &sequence, at_second(until_s));
  std::vector<Arrival> all;
  while (stream.head().time != Time::max()) {
    const double time = stream.head().time.in_seconds();
    all.push_back({time, stream.pop().client});
  }
  return all;
}

TEST_CASE("Aligned bursts: all clients in the same second of four, at the mean rate") {
  const std::vector<Arrival> all = requests(bursty(50, true), 400);
  std::vector<double> by_client(50);
  double last = 0;
  for (const Arrival& r : all) {
    REQUIRE(std::fmod(r.time_s, 4) < 1);
    REQUIRE(r.time_s >= last);
    last = r.time_s;
    by_client[r.client] += 1;
  }
  // A Poisson number with mean 200000, and 4000 for each client: six standard deviations.
  CHECK(static_cast<double>(all.size()) == Approx(200'000).margin(6 * 448));
  for (const double n : by_client) CHECK(n == Approx(4000).margin(6 * 64));
}

TEST_CASE("Clients that burst on their own: each in its own second of four, from the start on") {
  const std::vector<Arrival> all = requests(bursty(200, false), 400);
  std::vector<std::vector<double>> times(200);
  double last = 0;
  std::size_t first_second = 0;
  for (const Arrival& r : all) {
    REQUIRE(r.time_s >= last);
    last = r.time_s;
    times[r.client].push_back(r.time_s);
    first_second += r.time_s < 1;
  }
  CHECK(static_cast<double>(all.size()) == Approx(800'000).margin(6 * 895));
  for (const std::vector<double>& own : times) {
    // All lie within a second, going round in four: some gap between phases is at least 3 s.
    std::vector<double> phases;
    for (const double t : own) phases.push_back(std::fmod(t, 4));
    std::sort(phases.begin(), phases.end());
    double widest = phases.front() + 4 - phases.back();
    for (std::size_t i = 1; i < phases.size(); ++i) {
      widest = std::max(widest, phases[i] - phases[i - 1]);
    }
    REQUIRE(widest > 3);
  }
  // The time that a client is on in the first second has mean 1/4 and variance at most 3/16; its
  // requests have mean 10 and variance at most 10 + 1600 * 3 / 16 = 310: six deviations of 200.
  CHECK(static_cast<double>(first_second) == Approx(2000).margin(6 * std::sqrt(200 * 310.0)));
}

TEST_CASE("Bursts of random length keep the mean rate from the start on") {
  ClientSpec s = bursty(2000, false);
  s.arrivals.on = Distribution::exponential(0.5);
  s.arrivals.off = Distribution::exponential(4.5);
  const std::vector<Arrival> all = requests(s, 10);
  std::vector<double> by_second(10);
  for (const Arrival& r : all) by_second[static_cast<std::size_t>(r.time_s)] += 1;
  // Index of dispersion of one second: 1 + 2 * 100 * 0.9 / 2.22 (1 - (1 - e^-2.22) / 2.22) = 50.3.
  for (const double n : by_second) CHECK(n == Approx(20'000).margin(6 * std::sqrt(20'000 * 50.3)));
}

TEST_CASE("Surges and profiles change the rate in bursts") {
  ClientSpec s = bursty(50, true);
  s.arrivals.surges = {{"a", at_second(100), Duration::seconds(100), 3},
                       {"b", at_second(200), Duration::seconds(100), 0}};
  std::vector<double> by_hundred(4);
  for (const Arrival& r : requests(s, 400)) {
    by_hundred[static_cast<std::size_t>(r.time_s / 100)] += 1;
  }
  CHECK(by_hundred[0] == Approx(50'000).margin(6 * 224));
  CHECK(by_hundred[1] == Approx(150'000).margin(6 * 388));
  CHECK(by_hundred[2] == 0);
  CHECK(by_hundred[3] == Approx(50'000).margin(6 * 224));
  RateProfile down;
  down.linear = true;
  down.times = {at_second(0), at_second(400)};
  down.rates = {2, 0};
  s.arrivals.surges.clear();
  s.arrivals.profile = down;
  std::vector<double> halves(2);
  for (const Arrival& r : requests(s, 400)) halves[r.time_s < 200 ? 0 : 1] += 1;
  // Means over the bursts: 1.5025 and 0.5025 of the rate (the first second of four is an early
  // one).
  CHECK(halves[0] == Approx(150'375 - 125).margin(6 * 388));
  CHECK(halves[1] == Approx(50'375 - 125).margin(6 * 225));
}

TEST_CASE("A surge that ends while the rate rises has its highest rate at its end") {
  ClientSpec s = bursty(50, true);
  RateProfile up;
  up.linear = true;
  up.times = {at_second(0), at_second(100)};
  up.rates = {0, 2};
  s.arrivals.profile = up;
  s.arrivals.surges = {{"a", Time::zero(), Duration::seconds(50), 3}};
  // From 0 to 3 at 50 s, then from 1 to 2.
  const RateFunction rate(10, s.arrivals.profile, s.arrivals.surges);
  CHECK(rate.highest() == Approx(30).epsilon(1e-12));
  CHECK(RateFunction(10, s.arrivals.profile, {}).highest() == Approx(20).epsilon(1e-12));
  // 2000 requests a second in the first second of four, times the rate in its middle: with
  // t = 4k + 0.5 the sum of 3t/50 over k = 0, ..., 12 is 19.11, that of t/50 over 13, ...,
  // 24 17.88.
  CHECK(static_cast<double>(requests(s, 100).size()) == Approx(2000 * 36.99).margin(6 * 272));
}

TEST_CASE("A rate that stays and then rises rises") {
  RateProfile profile;
  profile.linear = true;
  profile.times = {at_second(0), at_second(25), at_second(50), at_second(100)};
  profile.rates = {1, 1, 1, 2};
  const RateFunction rate(10, profile, {});
  CHECK(rate.at(at_second(40)) == Approx(10));
  CHECK(rate.at(at_second(75)) == Approx(15));
  CHECK(rate.highest() == Approx(20));
  CHECK(rate.area(at_second(100)) == Approx(500 + 750));
}

TEST_CASE("Steps that lead to nothing end at their limit, and not before") {
  constexpr std::uint64_t kLimit = 200'000;
  IdleSteps steps(kLimit);
  for (std::uint64_t i = 0; i < kLimit; ++i) steps.count();
  CHECK_THROWS_AS(steps.count(), LimitExceeded);
}

TEST_CASE("Rounding to nanoseconds does not bias high rates in bursts") {
  // Three bursts of 0.1 ms at 2 requests a nanosecond: six standard deviations of 6e5.
  ClientSpec s = bursty(1, true);
  s.arrivals.rate = 1e9;
  s.arrivals.on = s.arrivals.off = Distribution::constant(Duration::microseconds(100));
  CHECK(static_cast<double>(requests(s, 5e-4).size()) == Approx(6e5).margin(6 * 775));
}

TEST_CASE("Nothing comes from nothing, and rare requests are not searched for beyond the end") {
  ClientSpec s = bursty(3, false);
  s.arrivals.surges = {{"never", Time::zero(), Duration::seconds(1000), 0}};
  CHECK(requests(s, 1000).empty());
  s = bursty(1, false);
  s.arrivals.rate = 1e-12;
  CHECK(requests(s, 1000).size() <= 1);
  s = bursty(1, true);
  s.arrivals.off = Distribution::constant(Duration::zero());  // no pauses: plain Poisson
  CHECK(static_cast<double>(requests(s, 10'000).size()) == Approx(100'000).margin(6 * 317));
}

}  // namespace
}  // namespace retrysim::model
