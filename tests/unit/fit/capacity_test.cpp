// The number of servers, from simulated queues.
//
// SPDX-License-Identifier: MIT
#include "fit/capacity.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

using namespace retrysim;
using namespace retrysim::fit;

namespace {

/// First come, first served.
std::vector<Visit> queue_of(std::size_t servers, double load, const Distribution& service,
                            std::size_t count, std::uint64_t seed) {
  Draws draws(RandomKey(seed, 0), {1, 0, 0, Purpose::kServiceTime});
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> free;
  for (std::size_t i = 0; i < servers; ++i) free.push(0);
  std::vector<Visit> visits;
  double now_s = 0;
  const double gap_s = service.mean_seconds() / (load * static_cast<double>(servers));
  for (std::size_t i = 0; i < count; ++i) {
    now_s += unit_exponential(draws) * gap_s;
    const auto start = static_cast<std::int64_t>(now_s * 1e9);
    const std::int64_t begin = std::max(start, free.top());
    free.pop();
    visits.push_back({start, begin + service.sample(draws).count()});
    free.push(visits.back().end_ns);
  }
  return visits;
}

}  // namespace

TEST_CASE("servers are found where requests wait, whatever the law of service times") {
  // The interval misses the truth in 1 % of all logs: more than one of twelve in 0.6 %.
  const std::vector<Distribution> laws = {
      Distribution::exponential(0.04), Distribution::constant(Duration::milliseconds(40)),
      Distribution::lognormal(0.04, 1.5), Distribution::gamma(0.04, 4)};
  int missed = 0;
  for (const Distribution& law : laws) {
    for (const std::size_t servers : {1u, 4u, 16u}) {
      CAPTURE(servers);
      const FittedCapacity fit = fit_capacity(queue_of(servers, 0.9, law, 20'000, servers), 1);
      REQUIRE(fit.high);
      missed += fit.low > servers || *fit.high < servers;
      CHECK(static_cast<double>(*fit.servers) == Approx(static_cast<double>(servers)).epsilon(0.1));
      CHECK(static_cast<double>(*fit.high - fit.low) <= 0.2 * static_cast<double>(servers));
      CHECK(fit.waited > 1'000);
      CHECK_FALSE(fit.contradictory);
    }
  }
  CHECK(missed <= 1);
}

TEST_CASE("a log that never came near saturation gives a least number and no more") {
  const Distribution law = Distribution::exponential(0.04);
  const std::vector<Visit> visits = queue_of(30, 0.2, law, 20'000, 1);
  const FittedCapacity fit = fit_capacity(visits, 1);
  CHECK_FALSE(fit.servers);
  CHECK_FALSE(fit.high);
  CHECK(fit.low > 5);
  CHECK(fit.low <= 30);
  CHECK(fit.free_below() == fit.low);
  CHECK(fit.busy == Approx(6).epsilon(0.05));
  // Durations do not grow with what requests find, and the counts are those of all requests.
  std::size_t requests = 0;
  for (const DurationAtLoad& d : fit.durations) {
    requests += d.requests;
    if (d.requests > 500) CHECK(d.mean_s == Approx(0.04).epsilon(0.2));
  }
  CHECK(requests == visits.size());
}

TEST_CASE("what a request finds under way are those that came before and have not ended") {
  const std::vector<Visit> visits = {{0, 10}, {1, 4}, {2, 3}, {3, 9}, {9, 11}, {20, 21}};
  UnderWay under_way;
  std::vector<std::uint32_t> found;
  for (const Visit& v : visits) found.push_back(under_way.found_by(v));
  CHECK(found == std::vector<std::uint32_t>{0, 1, 2, 2, 1, 0});
}

// The times of beginnings have whole milliseconds, so that of some pairs either may have come
// first.
TEST_CASE("requests in an unknown order do not make servers impossible") {
  std::vector<Visit> visits =
      queue_of(1, 0.0676, Distribution::constant(Duration::microseconds(18'837)), 7'000, 2);
  constexpr std::int64_t kMs = 1'000'000;
  for (Visit& v : visits) {
    const std::int64_t duration = (v.end_ns - v.start_ns + kMs / 2) / kMs * kMs;
    v.start_ns = v.start_ns / kMs * kMs;
    v.end_ns = v.start_ns + duration;
  }
  std::ranges::sort(visits, [](const Visit& a, const Visit& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  CHECK(fit_capacity(visits, kMs).low == 1);
}

TEST_CASE("times that are rounded to milliseconds do not make servers impossible") {
  std::vector<Visit> visits = queue_of(4, 0.9, Distribution::exponential(0.04), 20'000, 4);
  constexpr std::int64_t kMs = 1'000'000;
  for (Visit& v : visits) {
    const std::int64_t duration = (v.end_ns - v.start_ns) / kMs * kMs;
    v.end_ns = v.end_ns / kMs * kMs;
    v.start_ns = v.end_ns - duration;
  }
  std::ranges::sort(visits, {}, &Visit::start_ns);
  const FittedCapacity fit = fit_capacity(visits, kMs);
  REQUIRE(fit.servers);
  CHECK(*fit.servers == 4);
}
