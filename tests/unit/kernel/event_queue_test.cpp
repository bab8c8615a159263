// The queue of pending events against a model that sorts all of them: which event is next, with
// cancelled timers and answers at the instant of a timeout.
//
// SPDX-License-Identifier: MIT
#include "kernel/event_queue.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace retrysim::kernel {
namespace {

Time at(std::int64_t ns) { return Time::from_nanoseconds(ns); }

/// For queues without timers.
EventKey no_timers(std::uint32_t /*source*/) {
  FAIL("asked for the true head of a source that has no timers");
  return {};
}

TEST_CASE("An event queue without events says so") {
  EventQueue queue;
  queue.add(SourceRole::kPlain);
  queue.add(SourceRole::kAnswer);
  CHECK(queue.next(no_timers).time == Time::max());
}

TEST_CASE("Events come in the order of time, those of one instant as they were scheduled") {
  EventQueue queue;
  for (int i = 0; i < 3; ++i) queue.add(SourceRole::kPlain);
  queue.set(0, {at(5), 3});
  queue.set(1, {at(5), 2});
  queue.set(2, {at(7), 1});
  CHECK(queue.next(no_timers).source == 1);
  CHECK(queue.next(no_timers).time == at(5));
  queue.set(1, EventKey::never());
  CHECK(queue.next(no_timers).source == 0);
  queue.set(0, {at(9), 4});
  CHECK(queue.next(no_timers).source == 2);
}

TEST_CASE("An event that is offered counts only if it is the earliest of its source") {
  EventQueue queue;
  queue.add(SourceRole::kPlain);
  queue.offer(0, {at(5), 1});
  queue.offer(0, {at(6), 2});
  CHECK(queue.next(no_timers).time == at(5));
  queue.offer(0, {at(4), 3});
  CHECK(queue.next(no_timers).time == at(4));
}

TEST_CASE("A timer that was cancelled does not fire") {
  const SourceRole role = GENERATE(SourceRole::kCancellable, SourceRole::kTimeout);
  EventQueue queue;
  const std::uint32_t other = queue.add(SourceRole::kPlain);
  const std::uint32_t timers = queue.add(role);
  queue.set(timers, {at(3), 1});
  queue.set(other, {at(5), 2});
  EventKey pending{at(8), 3};  // the timer at 3 is gone
  const auto true_head = [&](std::uint32_t) { return pending; };
  CHECK(queue.next(true_head).source == other);
  queue.set(other, {at(9), 4});
  CHECK(queue.next(true_head).source == timers);
  CHECK(queue.next(true_head).time == at(8));
  pending = EventKey::never();
  CHECK(queue.next(true_head).source == other);
}

TEST_CASE("Only timeouts let an answer of the same instant go first") {
  const SourceRole role =
      GENERATE(SourceRole::kPlain, SourceRole::kCancellable, SourceRole::kTimeout);
  EventQueue queue;
  const std::uint32_t plain = queue.add(SourceRole::kPlain);
  const std::uint32_t answers = queue.add(SourceRole::kAnswer);
  const std::uint32_t more_answers = queue.add(SourceRole::kAnswer);
  const std::uint32_t first = queue.add(role);
  const EventKey key{at(5), 1};
  queue.set(first, key);
  queue.set(plain, {at(5), 2});
  const auto true_head = [&](std::uint32_t) { return key; };
  CHECK(queue.next(true_head).source == first);
  queue.set(answers, {at(6), 3});
  CHECK(queue.next(true_head).source == first);
  queue.set(answers, {at(5), 5});
  queue.set(more_answers, {at(5), 4});
  CHECK(queue.next(true_head).source == (role == SourceRole::kTimeout ? more_answers : first));
}

/// All pending events, in a list.
struct Model {
  std::vector<SourceRole> roles;
  std::vector<std::vector<EventKey>> pending;  // by source

  EventKey head(std::uint32_t source) const {
    const std::vector<EventKey>& keys = pending[source];
    return keys.empty() ? EventKey::never() : *std::min_element(keys.begin(), keys.end());
  }
  std::uint32_t next() const {
    std::uint32_t first = 0;
    for (std::uint32_t s = 1; s < roles.size(); ++s) {
      if (head(s) < head(first)) first = s;
    }
    if (roles[first] != SourceRole::kTimeout) return first;
    std::uint32_t chosen = first;
    for (std::uint32_t s = 0; s < roles.size(); ++s) {
      if (roles[s] != SourceRole::kAnswer || head(s).time != head(first).time) continue;
      if (chosen == first || head(s) < head(chosen)) chosen = s;
    }
    return chosen;
  }
};

TEST_CASE("The event queue agrees with a list of all events") {
  const std::uint32_t sources = GENERATE(1u, 3u, 4u, 5u, 13u);
  EventQueue queue;
  Model model;
  for (std::uint32_t s = 0; s < sources; ++s) {
    model.roles.push_back(static_cast<SourceRole>(s * 4 / sources));
    queue.add(model.roles.back());
  }
  model.pending.resize(sources);
  const auto true_head = [&](std::uint32_t source) { return model.head(source); };
  std::int64_t now = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Draws draws(RandomKey(1, sources), {i, 0, 0, Purpose::kArrival});
    const std::uint32_t s = draws.below(sources);
    std::vector<EventKey>& keys = model.pending[s];
    const bool cancels = model.roles[s] >= SourceRole::kCancellable && draws.below(3) == 0;
    if (cancels && !keys.empty()) {
      keys.erase(keys.begin() + draws.below(static_cast<std::uint32_t>(keys.size())));
    } else {
      keys.push_back({at(now + draws.below(8)), i});
      queue.offer(s, keys.back());
    }
    if (draws.below(2) == 0) continue;
    const EventQueue::Next next = queue.next(true_head);
    const std::uint32_t expected = model.next();
    REQUIRE(next.time == model.head(expected).time);
    if (next.time == Time::max()) continue;
    REQUIRE(next.source == expected);
    now = next.time.count();
    std::erase(model.pending[expected], model.head(expected));
    queue.set(expected, model.head(expected));
  }
}

}  // namespace
}  // namespace retrysim::kernel
