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

TEST_CASE("Completions come in order, also where more are in progress than were announced") {
  const std::int64_t announced = GENERATE(1, 10, 1000);
  const std::uint32_t most = GENERATE(3u, 24u, 25u, 100u);
  CAPTURE(announced, most);
  CompletionSet::Places places;
  CompletionSet set(announced, &places);
  std::map<kernel::EventKey, std::uint32_t> oracle;
  std::uint64_t sequence = 0;
  Time now;
  CHECK(set.head() == kernel::EventKey::never());
  for (std::uint32_t i = 0; i < 3000; ++i) {
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
  const std::int64_t servers = GENERATE(2, 1000);
  CompletionSet::Places places;
  CompletionSet set(servers, &places);
  set.insert(5, {Time::from_nanoseconds(3), 0});
  CHECK_THROWS_AS(set.erase(4), kernel::TimerMisused);
  CHECK(set.pop() == 5);
  CHECK_THROWS_AS(set.erase(5), kernel::TimerMisused);
}

}  // namespace
}  // namespace retrysim::model
