// The event structures against the simplest thing that is certainly right: an ordered set of
// (time, sequence). Random schedules with many ties; every structure must give the same order.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <retrysim/random.hpp>
#include <set>
#include <vector>

#include "kernel/event_queue.hpp"
#include "kernel/indexed_heap.hpp"
#include "kernel/memory.hpp"
#include "kernel/timer_queue.hpp"

namespace retrysim::kernel {
namespace {

Time at_ns(std::int64_t ns) { return Time::from_nanoseconds(ns); }

// Delays of very different size, many of them equal or zero.
std::int64_t random_delay(Draws& d) {
  switch (d.below(4)) {
    case 0:
      return 0;
    case 1:
      return d.below(4);
    case 2:
      return d.below(1000);
    default:
      return static_cast<std::int64_t>(d.next() >> (d.below(40) + 10));
  }
}

struct Word {  // fresh draws for every step: a Draws object holds 2048 words
  RandomKey key{42, 0};
  std::uint64_t step = 0;
  Draws next() { return Draws(key, {step++, 0, 0, Purpose::kArrival}); }
};

TEST_CASE("Timers come in time order, and in scheduling order at equal times") {
  const int operations = GENERATE(200, 20'000, 200'000);
  TimerQueue heap;
  std::set<std::pair<EventKey, std::uint32_t>> oracle;
  Word words;
  Time now = Time::zero();
  std::uint64_t sequence = 0;
  for (int i = 0; i < operations; ++i) {
    Draws d = words.next();
    const bool push = oracle.empty() || d.below(100) < (i < operations / 2 ? 60u : 40u);
    if (push) {
      const Time t = now + Duration::nanoseconds(random_delay(d));
      const TimerEntry entry{{t, sequence++}, static_cast<std::uint32_t>(i), 7};
      heap.push(entry);
      oracle.emplace(entry.key, entry.entity);
    } else {
      const TimerEntry entry = heap.pop();
      REQUIRE(entry.key == oracle.begin()->first);
      REQUIRE(entry.entity == oracle.begin()->second);
      REQUIRE(entry.kind == 7);
      now = entry.key.time;
      oracle.erase(oracle.begin());
    }
    REQUIRE(heap.size() == oracle.size());
    REQUIRE(heap.head() == (oracle.empty() ? EventKey::never() : oracle.begin()->first));
  }
}

TEST_CASE("Timers are taken before the head, as long as time does not go back") {
  TimerQueue heap;
  heap.push({{at_ns(1000), 0}, 0, 0});
  heap.push({{at_ns(10), 1}, 1, 0});
  REQUIRE(heap.pop().entity == 1);
  REQUIRE(heap.head().time == at_ns(1000));  // looking ahead must not move anything
  heap.push({{at_ns(500), 2}, 2, 0});
  heap.push({{at_ns(10), 3}, 3, 0});
  REQUIRE(heap.pop().entity == 3);
  REQUIRE(heap.pop().entity == 2);
  REQUIRE(heap.pop().entity == 0);
  REQUIRE(heap.empty());
}

TEST_CASE("A queue of timers keeps its order as it grows beyond its sorted array and shrinks") {
  // Up and down between empty and far more than the array and a block of a bucket hold, with ties
  // throughout.
  TimerQueue queue;
  std::set<std::pair<EventKey, std::uint32_t>> oracle;
  Word words;
  Time now = Time::zero();
  std::uint64_t sequence = 0;
  for (const std::size_t target :
       {3u, 48u, 49u, 30u, 1000u, 31u, 32u, 47u, 500u, 0u, 50u, 30'000u, 0u}) {
    while (oracle.size() != target) {
      Draws d = words.next();
      // Two steps towards the target and one back, on average.
      const bool push = oracle.empty() || (oracle.size() < target) == (d.below(3) > 0);
      if (push) {
        const TimerEntry entry{{now + Duration::nanoseconds(random_delay(d)), sequence}, 5, 7};
        ++sequence;
        queue.push(entry);
        oracle.emplace(entry.key, entry.entity);
      } else {
        REQUIRE(queue.head() == oracle.begin()->first);
        const TimerEntry entry = queue.pop();
        REQUIRE(entry.key == oracle.begin()->first);
        now = entry.key.time;
        oracle.erase(oracle.begin());
      }
      REQUIRE(queue.size() == oracle.size());
      REQUIRE(queue.head() == (oracle.empty() ? EventKey::never() : oracle.begin()->first));
    }
  }
  CHECK(queue.empty());
}

// Delays that end in the same few instants, at any distance: the spans of buckets that are full of
// ties, on and next to their edges.
TEST_CASE("Timers at the edges of spans keep their order") {
  const int shift = GENERATE(0, 5, 6, 12, 30, 60, 61);
  const std::int64_t edge = std::int64_t{1} << shift;
  TimerQueue queue;
  std::set<std::pair<EventKey, std::uint32_t>> oracle;
  Word words;
  Time now = Time::zero();
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    Draws d = words.next();
    if (oracle.empty() || d.below(100) < (i < 10'000 ? 60u : 40u)) {
      const std::int64_t due = edge * (1 + d.below(3)) - 1 + d.below(3);
      const TimerEntry entry{{std::max(now, at_ns(due)), i}, i, 7};
      queue.push(entry);
      oracle.emplace(entry.key, entry.entity);
    } else {
      const TimerEntry entry = queue.pop();
      REQUIRE(entry.key == oracle.begin()->first);
      now = entry.key.time;
      oracle.erase(oracle.begin());
    }
    REQUIRE(queue.head() == (oracle.empty() ? EventKey::never() : oracle.begin()->first));
  }
}

// More than the sorted array can tell apart, within one bucket and across buckets.
TEST_CASE("Timers that lie years apart keep their order") {
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600 * 1'000'000'000;
  TimerQueue queue;
  std::set<std::pair<EventKey, std::uint32_t>> oracle;
  Word words;
  for (std::uint32_t round = 0; round < 50; ++round) {
    Time now = at_ns(kYear * round);
    for (std::uint32_t i = 0; i < 100; ++i) {
      Draws d = words.next();
      const auto years = static_cast<std::int64_t>(d.below(1 + d.below(40)));
      const Time due = now + Duration::nanoseconds(kYear * years + d.below(3));
      const TimerEntry entry{{due, 100 * round + i}, i, 7};
      queue.push(entry);
      oracle.emplace(entry.key, entry.entity);
      if (d.below(3) == 0) continue;
      REQUIRE(queue.pop().key == oracle.begin()->first);
      now = oracle.begin()->first.time;
      oracle.erase(oracle.begin());
      REQUIRE(queue.head() == (oracle.empty() ? EventKey::never() : oracle.begin()->first));
    }
    while (!oracle.empty()) {
      REQUIRE(queue.pop().key == oracle.begin()->first);
      oracle.erase(oracle.begin());
    }
    queue = TimerQueue();
  }
}

TEST_CASE("A push tells whether the timer is the next") {
  TimerQueue queue;
  CHECK(queue.push({{at_ns(20), 0}, 0, 0}));
  CHECK_FALSE(queue.push({{at_ns(20), 1}, 1, 0}));
  CHECK_FALSE(queue.push({{at_ns(30), 2}, 2, 0}));
  CHECK(queue.push({{at_ns(10), 3}, 3, 0}));
  CHECK(queue.pop().entity == 3);
  CHECK_FALSE(queue.push({{at_ns(20), 4}, 4, 0}));
  CHECK(queue.push({{at_ns(15), 5}, 5, 0}));
}

TEST_CASE("A timer that is never due is a timer like any other") {
  TimerQueue queue;
  queue.push({EventKey{Time::max(), 0}, 0, 0});
  for (std::uint32_t i = 1; i <= 100; ++i) queue.push({{at_ns(100 - i), i}, i, 0});
  for (std::uint32_t i = 100; i >= 1; --i) REQUIRE(queue.pop().entity == i);
  queue.push({{Time::max(), 101}, 101, 0});
  REQUIRE(queue.head() == EventKey{Time::max(), 0});
  REQUIRE(queue.pop().entity == 0);
  REQUIRE(queue.pop().entity == 101);
  REQUIRE(queue.empty());
}

TEST_CASE("Every timer that is far away at first is announced once before it comes") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  TimerQueue queue;
  constexpr std::uint32_t n = 5000;
  std::vector<int> announced(n), popped(n);
  Word words;
  for (std::uint32_t i = 0; i < n; ++i) {
    queue.push({{at_ns(kSecond + words.next().below(kSecond)), i}, i, 0});
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    const TimerEntry entry = queue.pop([&](const TimerEntry& soon) {
      REQUIRE(popped[soon.entity] == 0);
      ++announced[soon.entity];
    });
    ++popped[entry.entity];
    REQUIRE(announced[entry.entity] == 1);
  }
}

TEST_CASE("A hundred thousand timers on one nanosecond keep their order") {
  TimerQueue heap;
  constexpr std::uint32_t n = 100'000;
  for (std::uint32_t i = 0; i < n; ++i) heap.push({{at_ns(5'000'000'000), i}, i, 0});
  for (std::uint32_t i = 0; i < n; ++i) {
    REQUIRE(heap.pop().entity == i);
    heap.push({{at_ns(5'000'000'000), n + i}, n + i, 0});  // acts at once, and again for now
  }
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(heap.pop().entity == n + i);
}

TEST_CASE("The indexed heap keeps its order through pushes, pops and cancellations") {
  IndexedHeap heap;
  constexpr std::uint32_t n = 300;
  std::vector<std::uint32_t> positions(n, IndexedHeap::kNotInHeap);
  auto position = [&](std::uint32_t e) -> std::uint32_t& { return positions[e]; };
  std::set<std::pair<EventKey, std::uint32_t>> oracle;
  std::vector<EventKey> keys(n);
  Word words;
  std::uint64_t sequence = 0;
  for (int i = 0; i < 100'000; ++i) {
    Draws d = words.next();
    const std::uint32_t e = d.below(n);
    if (positions[e] == IndexedHeap::kNotInHeap) {
      keys[e] = {at_ns(d.below(50)), sequence++};
      heap.push(e, keys[e], position);
      oracle.emplace(keys[e], e);
    } else if (d.below(2) == 0) {
      REQUIRE(heap.key_of(e, position) == keys[e]);
      heap.erase(e, position);
      oracle.erase({keys[e], e});
    } else {
      REQUIRE(heap.front() == oracle.begin()->second);
      REQUIRE(heap.pop(position) == oracle.begin()->second);
      oracle.erase(oracle.begin());
    }
    REQUIRE(heap.size() == oracle.size());
    REQUIRE(heap.head() == (oracle.empty() ? EventKey::never() : oracle.begin()->first));
  }
}

TEST_CASE("A timer lane is a queue from which any timer can be cancelled") {
  TimerLane<std::uint32_t> lane;
  std::vector<LaneLink<std::uint32_t>> links(6);
  auto link = [&](std::uint32_t id) -> LaneLink<std::uint32_t>& { return links[id]; };
  for (std::uint32_t i = 0; i < 6; ++i) lane.push_back(i, {at_ns(i), i}, link);
  for (const std::uint32_t cancelled : {0u, 3u, 5u}) lane.erase(cancelled, link);
  std::vector<std::uint32_t> order;
  while (!lane.empty()) {
    order.push_back(lane.front());
    lane.erase(lane.front(), link);
  }
  REQUIRE(order == std::vector<std::uint32_t>{1, 2, 4});
  lane.push_back(3, {at_ns(9), 9}, link);
  REQUIRE(lane.front() == 3);
}

TEST_CASE("A timer that is not armed has no time, and cannot be cancelled") {
  TimerLane<std::uint32_t> lane;
  std::vector<LaneLink<std::uint32_t>> links(3);
  auto link = [&](std::uint32_t id) -> LaneLink<std::uint32_t>& { return links[id]; };
  CHECK_FALSE(links[1].key().has_value());
  CHECK_THROWS_AS(lane.erase(1, link), TimerMisused);
  lane.push_back(1, {at_ns(5), 1}, link);
  CHECK(armed(links[1].key()) == EventKey{at_ns(5), 1});
  CHECK_THROWS_AS(lane.push_back(1, {at_ns(6), 2}, link), TimerMisused);
  lane.erase(1, link);
  CHECK_FALSE(links[1].key().has_value());
  CHECK_THROWS_AS(armed(links[1].key()), TimerMisused);
  CHECK_THROWS_AS(lane.erase(1, link), TimerMisused);
  lane.push_back(1, {at_ns(7), 3}, link);
  CHECK(armed(links[1].key()).time == at_ns(7));

  IndexedHeap heap;
  std::vector<std::uint32_t> positions(3, IndexedHeap::kNotInHeap);
  auto position = [&](std::uint32_t e) -> std::uint32_t& { return positions[e]; };
  CHECK_FALSE(heap.key_of(2, position).has_value());
  CHECK_THROWS_AS(heap.erase(2, position), TimerMisused);
  heap.push(2, {at_ns(5), 1}, position);
  CHECK_THROWS_AS(heap.push(2, {at_ns(6), 2}, position), TimerMisused);
  heap.erase(2, position);
  CHECK_FALSE(heap.key_of(2, position).has_value());
  CHECK_THROWS_AS(heap.erase(2, position), TimerMisused);
}

TEST_CASE("A message lane refuses what would overtake, and grows") {
  MessageLane lane;
  REQUIRE(lane.head() == EventKey::never());
  std::uint32_t pushed = 0, popped = 0;
  for (; pushed < 1000; ++pushed) {
    REQUIRE(lane.push_back({{at_ns(pushed), pushed}, pushed, 0}));
    if (pushed % 3 == 0) REQUIRE(lane.pop_front().entity == popped++);
  }
  REQUIRE_FALSE(lane.push_back({{at_ns(998), 2000}, 1, 0}));
  REQUIRE(lane.push_back({{at_ns(999), 2001}, 1000, 0}));
  while (popped <= 1000) REQUIRE(lane.pop_front().entity == popped++);
  REQUIRE(lane.empty());
}

TEST_CASE("The tournament names the source with the smallest key") {
  const std::uint32_t sources = GENERATE(1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 33u);
  Tournament tournament(sources);
  std::vector<EventKey> keys(sources);
  REQUIRE(tournament.winner().time == Time::max());
  Word words;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    Draws d = words.next();
    const std::uint32_t s = d.below(sources);
    keys[s] = d.below(5) == 0 ? EventKey::never() : EventKey{at_ns(d.below(20)), i};
    tournament.update(s, keys[s]);
    REQUIRE(tournament.key(s) == keys[s]);
    REQUIRE(tournament.has_key(s, keys[s]));
    REQUIRE_FALSE(tournament.has_key(s, {at_ns(30), i}));
    const EventKey least = *std::min_element(keys.begin(), keys.end());
    REQUIRE(tournament.winner().time == least.time);
    if (least != EventKey::never()) REQUIRE(keys[tournament.winner().source] == least);
    const EventKey offered{at_ns(d.below(20)), 10'000 + i};
    tournament.offer(s, offered);
    keys[s] = std::min(keys[s], offered);
    REQUIRE(tournament.key(s) == keys[s]);
  }
}

TEST_CASE("The objects of a large pool are apart from each other, and begin as their type says") {
  struct alignas(64) Object {
    std::uint64_t value = 17;
    std::array<std::uint64_t, 15> rest{};
  };
  Pool<Object> pool;  // of some 13 MiB: more than its first, small blocks
  constexpr std::uint32_t n = 100'000;
  for (std::uint32_t i = 0; i < n; ++i) {
    REQUIRE(pool.allocate() == i);
    REQUIRE(pool[i].value == 17);
    REQUIRE(reinterpret_cast<std::uintptr_t>(&pool[i]) % 64 == 0);
    pool[i].value = i;
    pool[i].rest.fill(i);
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    REQUIRE(pool[i].value == i);
    REQUIRE(pool[i].rest.back() == i);
  }
  CHECK(pool.bytes() >= n * sizeof(Object));
}

TEST_CASE("A pool reuses the last slot released and never moves its objects") {
  Pool<int> pool;
  const std::uint32_t a = pool.allocate();
  int* address = &pool[a];
  for (int i = 0; i < 5000; ++i) pool.allocate();
  REQUIRE(&pool[a] == address);
  REQUIRE(pool.live() == 5001);
  pool.release(17);
  pool.release(a);
  REQUIRE(pool.live() == 4999);
  REQUIRE(pool.allocate() == a);
  REQUIRE(pool.allocate() == 17);
}

TEST_CASE("So does a pool of objects that know their place") {
  struct Object {
    std::uint32_t id = 0;
    Object* next_free = nullptr;
  };
  LinkedPool<Object> pool;
  Object& a = pool.allocate();
  for (int i = 0; i < 5000; ++i) pool.allocate();
  for (std::uint32_t id = 0; id < pool.slots(); ++id) REQUIRE(pool[id].id == id);
  REQUIRE(&pool[a.id] == &a);
  REQUIRE(pool.live() == 5001);
  REQUIRE(pool.slots() == 5001);
  pool.release(pool[17]);
  pool.release(a);
  REQUIRE(pool.live() == 4999);
  REQUIRE(&pool.allocate() == &a);
  REQUIRE(pool.allocate().id == 17);
  REQUIRE(pool.live() == 5001);
  REQUIRE(pool.allocate().id == 5001);
}

}  // namespace
}  // namespace retrysim::kernel
