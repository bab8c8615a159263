// The completions of a service against an ordered set, however many there are.
//
// SPDX-License-Identifier: MIT
#include "model/service/servers.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace retrysim::model {
namespace {

TEST_CASE("Completions come in order, however many are in progress") {
  const std::uint32_t most_at_peaks = GENERATE(3u, 8u, 9u, 64u, 65u, 300u);
  CAPTURE(most_at_peaks);
  CompletionSet::Places places;
  CompletionSet set(&places);
  std::map<kernel::EventKey, std::uint32_t> oracle;
  std::uint64_t sequence = 0;
  Time now;
  CHECK(set.head() == kernel::EventKey::never());
  for (std::uint32_t i = 0; i < 12'000; ++i) {
    const std::uint32_t most = i / 2000 % 2 == 0 ? most_at_peaks : 5;
    Draws draws(RandomKey(9, 0), {i, 0, 0, Purpose::kServiceTime});
    const std::uint32_t what = draws.below(10);
    if (oracle.size() < most && (oracle.empty() || what < 6)) {
      // Some of them never end; many end at the same time.
      const std::uint32_t length = draws.below(8);
      const Time end = length == 7 ? Time::max() : now + Duration::nanoseconds(length);
      set.insert(i, {end, sequence});
      oracle.emplace(kernel::EventKey{end, sequence++}, i);
    } else if (what == 9) {
      const auto place = draws.below(static_cast<std::uint32_t>(oracle.size()));
      const auto victim = std::next(oracle.begin(), place);
      set.erase(victim->second);
      oracle.erase(victim);
    } else if (oracle.begin()->first.time != Time::max() || what == 8) {
      if (oracle.begin()->first.time != Time::max()) now = oracle.begin()->first.time;
      REQUIRE(set.front() == oracle.begin()->second);
      REQUIRE(set.pop() == oracle.begin()->second);
      oracle.erase(oracle.begin());
    }
    REQUIRE(set.size() == oracle.size());
    REQUIRE(set.head() == (oracle.empty() ? kernel::EventKey::never() : oracle.begin()->first));
  }
  std::uint32_t visited = 0;
  set.for_each([&](std::uint32_t) { ++visited; });
  CHECK(visited == oracle.size());
  std::vector<std::uint32_t> rest;
  for (const auto& [key, attempt] : oracle) rest.push_back(attempt);
  CHECK(set.take_all() == rest);
  CHECK(set.size() == 0);
}

TEST_CASE("A completion that is not due cannot be cancelled") {
  const std::uint32_t others = GENERATE(0u, 100u);
  CompletionSet::Places places;
  CompletionSet set(&places);
  for (std::uint32_t i = 0; i < others; ++i) set.insert(10 + i, {Time::from_nanoseconds(9), i});
  set.insert(5, {Time::from_nanoseconds(3), others});
  CHECK_THROWS_AS(set.erase(4), kernel::TimerMisused);
  CHECK(set.pop() == 5);
  CHECK_THROWS_AS(set.erase(5), kernel::TimerMisused);
}

}  // namespace
}  // namespace retrysim::model
