// The wheel against an ordered set: what it takes in, it gives back in order. Times between two
// timers range over many powers of ten, so that the width of its slots has to follow.
//
// SPDX-License-Identifier: MIT
#include "kernel/timer_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <retrysim/random.hpp>
#include <set>
#include <utility>

namespace retrysim::kernel {
namespace {

Time instant(std::int64_t ns) { return Time::from_nanoseconds(ns); }

TimerEntry timer(std::int64_t ns, std::uint64_t sequence) {
  return {{instant(ns), sequence}, static_cast<std::uint32_t>(sequence), 7};
}

using Oracle = std::set<std::pair<EventKey, std::uint32_t>>;

/// Takes the earliest entry of both, which must be the same; returns its time.
Time pop_both(TimingWheel& wheel, Oracle& oracle) {
  REQUIRE(wheel.head() == oracle.begin()->first);
  REQUIRE(wheel.front().entity == oracle.begin()->second);
  const TimerEntry entry = wheel.pop();
  REQUIRE(entry.key == oracle.begin()->first);
  REQUIRE(entry.entity == oracle.begin()->second);
  REQUIRE(entry.kind == 7);
  oracle.erase(oracle.begin());
  REQUIRE(wheel.size() == oracle.size());
  REQUIRE(wheel.empty() == oracle.empty());
  wheel.advance(entry.key.time);
  wheel.count(1);
  return entry.key.time;
}

TEST_CASE("A wheel gives back in order what it takes in, however wide its slots are") {
  const RandomKey key(7, 0);
  TimingWheel wheel;
  Oracle oracle;
  Time now;
  std::uint64_t step = 0;
  int taken_in = 0, refused = 0;
  // Ten thousand timers of each size; those of the next size come while some of it are pending.
  for (const std::int64_t longest :
       {std::int64_t{200'000'000}, std::int64_t{1'000}, std::int64_t{3},
        std::int64_t{40'000'000'000}, std::int64_t{50'000}, std::int64_t{1'000'000'000'000'000},
        std::int64_t{1}}) {
    for (int i = 0; i < 10'000; ++i, ++step) {
      Draws d(key, {step, 0, 0, Purpose::kArrival});
      while (oracle.size() > 40 + d.below(60)) now = pop_both(wheel, oracle);
      const double share = d.uniform();
      const auto delay = static_cast<std::int64_t>(share * static_cast<double>(longest));
      const TimerEntry entry = timer((now + Duration::nanoseconds(delay)).count(), step);
      if (wheel.push(entry)) {
        oracle.emplace(entry.key, entry.entity);
        ++taken_in;
      } else {
        ++refused;
        if (!oracle.empty()) now = pop_both(wheel, oracle);
      }
    }
  }
  while (!oracle.empty()) pop_both(wheel, oracle);
  CHECK(wheel.head() == EventKey::never());
  // Otherwise this would be a test of little.
  CHECK(taken_in > 50'000);
  CHECK(refused > 100);
}

TEST_CASE("A wheel takes in timers of one instant, in scheduling order, as long as there is room") {
  TimingWheel wheel;
  REQUIRE(wheel.push(timer(2'000'000, 0)));
  std::uint64_t taken_in = 1;
  while (wheel.push(timer(1'000'000, taken_in))) ++taken_in;
  CHECK(taken_in == 512);
  CHECK(wheel.size() == taken_in);
  for (std::uint64_t i = 1; i < taken_in; ++i) REQUIRE(wheel.pop().key.sequence == i);
  CHECK(wheel.pop().key.sequence == 0);
  CHECK(wheel.push(timer(1'000'000, taken_in)));
}

TEST_CASE("A wheel refuses what is too far away until time has passed") {
  TimingWheel wheel;
  const std::int64_t second = 1'000'000'000;
  CHECK(wheel.push(timer(0, 0)));
  CHECK_FALSE(wheel.push(timer(3600 * second, 1)));
  CHECK(wheel.head().time == Time());
  CHECK(wheel.size() == 1);
  wheel.pop();
  wheel.advance(instant(3600 * second - 1000));
  CHECK(wheel.push(timer(3600 * second, 2)));
  CHECK(wheel.pop().entity == 2);
}

TEST_CASE("A wheel that has become narrower keeps what lies beyond its slots") {
  TimingWheel wheel;
  std::uint64_t sequence = 0;
  const std::int64_t far = 500'000'000;
  REQUIRE(wheel.push(timer(far, sequence++)));
  Oracle oracle{{{instant(far), 0}, 0}};
  for (std::int64_t ns = 0; ns < 100'000; ++ns, ++sequence) {  // one every nanosecond
    const TimerEntry entry = timer(ns, sequence);
    REQUIRE(wheel.push(entry));
    oracle.emplace(entry.key, entry.entity);
    pop_both(wheel, oracle);
  }
  CHECK(wheel.pop().key == EventKey{instant(far), 0});
}

// The queue as a whole: near and far timers of the same instants, a thousand and ten pending in
// turn, so that most go to the buckets, or to the wheel.
TEST_CASE("Timers of one instant keep their order wherever they are kept") {
  const RandomKey key(8, 0);
  TimerQueue queue;
  Oracle oracle;
  Time now;
  std::uint64_t sequence = 0;
  for (const std::size_t pending : {10u, 1000u, 10u, 600u, 500u, 3u, 2000u, 0u}) {
    for (int i = 0; i < 5000; ++i) {
      Draws d(key, {sequence, 0, 0, Purpose::kArrival});
      const bool push = oracle.size() < pending || (oracle.size() == pending && d.below(2) == 0);
      if (push) {
        // A grid of instants, up to some thousand slots ahead.
        const std::int64_t grid = 250'000;
        const std::int64_t due = (now.count() / grid + d.below(4000)) * grid;
        const TimerEntry entry = timer(std::max(due, now.count()), sequence++);
        const bool is_first = oracle.empty() || entry.key < oracle.begin()->first;
        REQUIRE(queue.push(entry) == is_first);
        oracle.emplace(entry.key, entry.entity);
      } else if (!oracle.empty()) {
        const TimerEntry entry = queue.pop();
        REQUIRE(entry.key == oracle.begin()->first);
        now = entry.key.time;
        oracle.erase(oracle.begin());
      }
      REQUIRE(queue.size() == oracle.size());
      REQUIRE(queue.head() == (oracle.empty() ? EventKey::never() : oracle.begin()->first));
    }
  }
}

}  // namespace
}  // namespace retrysim::kernel
