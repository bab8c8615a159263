// A service by itself: whom it admits, who is next, and how long attempts were there.
//
// SPDX-License-Identifier: MIT
#include "model/service/instance.hpp"

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <cstdint>
#include <vector>

namespace retrysim {
namespace {

using model::Attempt;
using test::ms;
using Admission = model::Instance::Admission;

Time since_start(std::int64_t t_ms) { return Time::zero() + ms(t_ms); }

/// A single server; service times are 100 ms.
Scenario one_server(std::int64_t room_to_wait, std::int64_t concurrency) {
  Scenario s = test::small_world();
  s.services[0].queue.capacity = room_to_wait;
  s.services[0].concurrency.limit = concurrency;
  return s;
}

struct Counter {
  explicit Counter(std::int64_t room_to_wait, std::int64_t concurrency = ServiceSpec::kUnlimited)
      : scenario(one_server(room_to_wait, concurrency)) {}

  Attempt& arrive(std::int64_t t_ms) {
    Attempt& a = attempts.allocate();
    a.arrived = since_start(t_ms);
    admission = service.admit(a, a.arrived);
    return a;
  }
  bool has_spent(std::int64_t queued_ms, std::int64_t in_system_ms) const {
    const model::Instance::TimeSpent spent = service.time_spent();
    return spent.queued == queued_ms * 1'000'000 && spent.in_system == in_system_ms * 1'000'000;
  }

  Scenario scenario;
  model::Streams streams{scenario, 0};
  model::AttemptPool attempts;
  std::uint64_t sequence = 0;
  model::Instance service{scenario.services[0], RandomKey(1, 0), 0, &streams, &attempts, &sequence};
  Admission admission = Admission::kFull;
};

TEST_CASE("service: attempts are served, wait, or find the queue full, and their time is kept") {
  Counter c(1);
  c.arrive(0);
  CHECK(c.admission == Admission::kStarted);
  Attempt& waits = c.arrive(40);
  CHECK(c.admission == Admission::kQueued);
  Attempt& refused = c.arrive(50);
  CHECK(c.admission == Admission::kFull);
  CHECK(c.service.in_system() == 2);
  CHECK(c.service.queued() == 1);
  c.service.count_wait_of_unserved(refused, since_start(50));  // at once
  CHECK(c.has_spent(0, 0));
  CHECK(c.service.take_from_queue(since_start(50)) == nullptr);  // no server

  c.service.in_service.complete(since_start(100));
  CHECK(c.has_spent(0, 100));
  REQUIRE(c.service.take_from_queue(since_start(100)) == &waits);
  c.service.start(waits, since_start(100));
  CHECK(c.has_spent(60, 160));
  c.service.in_service.complete(since_start(200));
  CHECK(c.has_spent(60, 260));
  CHECK(c.service.in_system() == 0);
}

TEST_CASE("service: who leaves the queue has spent the time in the queue and nowhere else") {
  Counter c(5);
  c.arrive(0);
  c.service.remove_from_queue(c.arrive(10), since_start(40));
  CHECK(c.has_spent(30, 30));
  CHECK(c.service.queued() == 0);
}

TEST_CASE("service: everybody leaves when the process dies, those in service first") {
  Counter c(5);
  const Attempt& served = c.arrive(0);
  const Attempt& first = c.arrive(10);
  const Attempt& second = c.arrive(30);
  CHECK(c.service.take_all(since_start(50)) ==
        std::vector<std::uint32_t>{served.id, first.id, second.id});
  CHECK(c.service.in_system() == 0);
  CHECK(c.has_spent(40 + 20, 50 + 40 + 20));
}

TEST_CASE("service: the limit on concurrency counts those who wait and those in service") {
  Counter c(5, 2);
  Attempt& served = c.arrive(0);
  c.arrive(10);
  CHECK(c.admission == Admission::kQueued);
  c.arrive(20);
  CHECK(c.admission == Admission::kOverLimit);
  CHECK(c.service.in_system() == 2);
  c.service.in_service.complete(since_start(100));
  c.service.leave(served, since_start(100));
  c.arrive(110);
  CHECK(c.admission == Admission::kQueued);
}

TEST_CASE("service: an attempt that is turned away at a price is answered before all that wait") {
  Counter c(1);
  c.arrive(0);
  c.arrive(10);
  Attempt& refused = c.arrive(20);
  REQUIRE(c.admission == Admission::kFull);
  c.service.turn_away(refused, since_start(20));
  CHECK(c.service.queued() == 2);
  c.service.in_service.complete(since_start(100));
  CHECK(c.service.take_from_queue(since_start(100)) == &refused);
}

TEST_CASE("service: faults change the servers that work and what stands in the way of attempts") {
  Counter c(5);
  c.arrive(0);
  model::Impairment slow;
  slow.speed = 0.5;
  slow.unreachable = true;
  c.service.impair(slow, since_start(60));
  CHECK(c.service.servers().next_completion().time == since_start(140));
  CHECK(c.service.traits().obstructs_way);
  model::Impairment none_works;
  none_works.capacity = 0;
  c.service.impair(none_works, since_start(100));
  CHECK(!c.service.traits().obstructs_way);
  CHECK(c.service.power().working_servers() == 0);
  c.service.in_service.complete(since_start(120));  // 20 ms at full speed were left
  CHECK(c.service.take_from_queue(since_start(120)) == nullptr);
  c.arrive(130);
  CHECK(c.admission == Admission::kQueued);
}

}  // namespace
}  // namespace retrysim
