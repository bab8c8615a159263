// Arrival processes: exact where they are deterministic, tested against their law where not.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "model/client/arrivals.hpp"
#include "unit/model/small_world.hpp"

namespace retrysim::model {
namespace {

using test::ms;

std::vector<Time> arrivals(const ClientSpec& spec, double until_s, std::uint64_t seed = 1) {
  std::uint64_t sequence = 0;
  ArrivalStream stream(spec, RandomKey(seed, 0), &sequence);
  std::vector<Time> times;
  while (stream.head().time < Time::zero() + Duration::from_seconds(until_s)) {
    times.push_back(stream.head().time);
    stream.pop();
  }
  return times;
}

ClientSpec spec(ArrivalProcess process, std::uint32_t count, double rate) {
  ClientSpec s;
  s.count = count;
  s.arrivals.process = process;
  s.arrivals.rate = rate;
  return s;
}

TEST_CASE("Constant arrivals keep their interval exactly, aligned or with a phase each") {
  ClientSpec s = spec(ArrivalProcess::kConstant, 3, 3);
  s.arrivals.aligned = true;
  const std::vector<Time> aligned = arrivals(s, 1000);
  REQUIRE(aligned.size() == 9000);
  CHECK(aligned[8999] == Time::from_nanoseconds(999'666'666'667));  // 2999 thirds, no drift
  s.arrivals.aligned = false;
  const std::vector<Time> phased = arrivals(s, 1000);
  CHECK(phased.size() == 9000);
  CHECK(phased[0] != phased[1]);
  CHECK(phased[3] - phased[0] >= Duration::nanoseconds(333'333'332));
  CHECK(phased[3] - phased[0] <= Duration::nanoseconds(333'333'334));
}

TEST_CASE("A herd acts at its start, spread as asked") {
  ClientSpec s = spec(ArrivalProcess::kOnce, 1000, 0);
  s.arrivals.start = Time::zero() + Duration::seconds(5);
  for (const Time t : arrivals(s, 10)) CHECK(t == s.arrivals.start);
  s.arrivals.spread = Duration::seconds(2);
  const std::vector<Time> spread = arrivals(s, 10);
  REQUIRE(spread.size() == 1000);
  CHECK(std::is_sorted(spread.begin(), spread.end()));
  CHECK(spread.front() >= s.arrivals.start);
  CHECK(spread.back() < s.arrivals.start + s.arrivals.spread);
  double mean = 0;
  for (const Time t : spread) mean += (t - s.arrivals.start).in_seconds() / 1000;
  CHECK(mean == Approx(1).margin(0.11));  // six standard deviations: false alarm 2e-9
}

// Pearson's chi-square of counts against expectations; 20 degrees of freedom exceed 73 with
// probability 6e-8.
double chi_square(const std::vector<Time>& times, double bin_s,
                  const std::vector<double>& expected) {
  std::vector<double> counts(expected.size());
  for (const Time t : times) {
    const auto bin = static_cast<std::size_t>(t.in_seconds() / bin_s);
    if (bin < counts.size()) counts[bin] += 1;
  }
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double d = counts[i] - expected[i];
    if (expected[i] == 0) {
      CHECK(counts[i] == 0);
    } else {
      sum += d * d / expected[i];
    }
  }
  return sum;
}

TEST_CASE("Poisson arrivals follow profile and surges") {
  ClientSpec s = spec(ArrivalProcess::kPoisson, 50, 40);
  SECTION("plain") { CHECK(chi_square(arrivals(s, 20), 1, std::vector<double>(20, 2000)) < 73); }
  SECTION("surges multiply where they overlap, to the nanosecond") {
    s.arrivals.surges = {{"a", Time::zero() + Duration::seconds(5), Duration::seconds(10), 3},
                         {"b", Time::zero() + Duration::seconds(10), Duration::seconds(5), 0}};
    std::vector<double> expected(20, 2000);
    for (std::size_t i = 5; i < 10; ++i) expected[i] = 6000;
    for (std::size_t i = 10; i < 15; ++i) expected[i] = 0;
    CHECK(chi_square(arrivals(s, 20), 1, expected) < 73);
  }
  SECTION("linear profile, down to nothing and up again") {
    RateProfile p;
    p.linear = true;
    for (const auto& [t, r] : {std::pair{0, 1.0}, {10, 0.0}, {20, 2.0}}) {
      p.times.push_back(Time::zero() + Duration::seconds(t));
      p.rates.push_back(r);
    }
    s.arrivals.profile = p;
    std::vector<double> expected;
    for (int i = 0; i < 10; ++i) expected.push_back(2000 * (1 - (i + 0.5) / 10));
    for (int i = 0; i < 10; ++i) expected.push_back(2000 * 2 * (i + 0.5) / 10);
    CHECK(chi_square(arrivals(s, 20), 1, expected) < 73);
  }
}

TEST_CASE(
    "Gaps of a Poisson stream have the squared coefficient of variation 1, its clients are "
    "uniform") {
  ClientSpec s = spec(ArrivalProcess::kPoisson, 10, 100);
  std::uint64_t sequence = 0;
  ArrivalStream stream(s, RandomKey(3, 0), &sequence);
  double sum = 0, squares = 0;
  std::vector<double> clients(10);
  constexpr int n = 100'000;
  Time last;
  for (int i = 0; i < n; ++i) {
    const double gap = (stream.head().time - last).in_seconds();
    last = stream.head().time;
    sum += gap;
    squares += gap * gap;
    clients[stream.pop().client] += 1;
  }
  const double mean = sum / n;
  CHECK(mean == Approx(1e-3).epsilon(0.019));  // six standard deviations
  CHECK(squares / n / (mean * mean) == Approx(2).margin(6 * 0.0064 * 1.5));
  for (const double c : clients) CHECK(c == Approx(n / 10).margin(6 * 95));
}

TEST_CASE("A trace with rates: evenly spaced, or Poisson, nothing after its end") {
  ClientSpec s = spec(ArrivalProcess::kTrace, 4, 0);
  RateProfile p;
  p.times = {Time::zero(), Time::zero() + Duration::seconds(1),
             Time::zero() + Duration::seconds(2)};
  p.rates = {10, 4, 0};
  s.arrivals.profile = p;
  s.arrivals.even_spacing = true;
  const std::vector<Time> even = arrivals(s, 1000);
  REQUIRE(even.size() == 14);
  CHECK(even[0] == Time::zero() + ms(50));
  CHECK(even[9] == Time::zero() + ms(950));
  CHECK(even[10] == Time::zero() + ms(1125));
  CHECK(even[13] == Time::zero() + ms(1875));
  s.arrivals.even_spacing = false;
  for (const Time t : arrivals(s, 1000)) CHECK(t < Time::zero() + Duration::seconds(2));
}

TEST_CASE("Constant clients follow a profile too") {
  ClientSpec s = spec(ArrivalProcess::kConstant, 2, 1);
  s.arrivals.aligned = true;
  s.arrivals.surges = {{"a", Time::zero() + Duration::seconds(10), Duration::seconds(10), 5}};
  const std::vector<Time> times = arrivals(s, 30);
  CHECK(times.size() == 2 * (10 + 50 + 10));
  CHECK(times[2 * 11] == Time::zero() + ms(10'200));
}

TEST_CASE("A rate that starts at nothing, or is nothing for ever, is no trouble") {
  ClientSpec s = spec(ArrivalProcess::kConstant, 3, 1);
  s.arrivals.aligned = true;
  RateProfile p;
  p.linear = true;
  p.times = {Time::zero(), Time::zero() + Duration::seconds(10)};
  p.rates = {0, 5};
  s.arrivals.profile = p;
  // The integral of the rate is 25 after 10 s: requests 0 to 24 of each client.
  CHECK(arrivals(s, 10).size() == 3 * 25);
  p.rates = {0, 0};
  s.arrivals.profile = p;
  CHECK(arrivals(s, 10).empty());
  s.arrivals.process = ArrivalProcess::kPoisson;
  CHECK(arrivals(s, 10).empty());
}

TEST_CASE("Rounding to nanoseconds does not bias high rates") {
  // Six standard deviations of a Poisson count of 10^6: false alarm 2e-9.
  CHECK(arrivals(spec(ArrivalProcess::kPoisson, 1, 2e9), 5e-4).size() == Approx(1e6).margin(6e3));
}

TEST_CASE("Arrivals do not depend on the retry policy") {
  Scenario a = test::small_world();
  a.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  a.clients[0].arrivals.rate = 15;  // overload: much is retried
  a.services[0].queue.capacity = 5;
  Scenario b = a;
  b.clients[0].retry.max_attempts = 1;
  const RunResult ra = simulate(a, 0), rb = simulate(b, 0);
  REQUIRE(ra.clients[0].attempts > rb.clients[0].attempts);
  for (std::size_t i = 0; i < 100; ++i) {
    REQUIRE(ra.clients[0].bins[i].flow.requests == rb.clients[0].bins[i].flow.requests);
  }
}

}  // namespace
}  // namespace retrysim::model
