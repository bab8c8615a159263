// Attempts at the servers of a service, step by step: served, held, aborted, and how long they were
// there.
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

Time after_ms(std::int64_t t) { return Time::zero() + ms(t); }

/// Service times are 100 ms.
Scenario world_of(std::int64_t servers, Discipline discipline) {
  Scenario s = test::small_world();
  s.services[0].servers = servers;
  s.services[0].queue.discipline = discipline;
  s.services[0].rejection.cost = ms(30);
  return s;
}

struct Station {
  explicit Station(std::int64_t servers, Discipline discipline = Discipline::kFifo)
      : scenario(world_of(servers, discipline)) {}

  /// An attempt that arrived at the start of the run, and begins at `t` ms.
  Attempt& start(std::int64_t t, unsigned flags = 0) {
    Attempt& a = attempts.allocate();
    a.set(flags);
    in_service.start(a, after_ms(t));
    return a;
  }
  std::int64_t time_spent_ms() const {
    return static_cast<std::int64_t>(in_service.time_spent() / 1'000'000);
  }

  Scenario scenario;
  model::Streams streams{scenario, 0};
  model::AttemptPool attempts;
  std::uint64_t sequence = 0;
  model::AttemptsInService in_service{scenario.services[0], &streams, &attempts, &sequence};
};

TEST_CASE("in service: an attempt is served for its service time, and executed") {
  Station s(1);
  Attempt& a = s.start(10);
  CHECK(a.stage == Attempt::Stage::kInService);
  CHECK(!s.in_service.servers().has_room());
  CHECK(s.in_service.servers().next_completion().time == after_ms(110));
  CHECK(&s.in_service.complete(after_ms(110)) == &a);
  CHECK(a.is(Attempt::kExecuted));
  CHECK(a.stage == Attempt::Stage::kOnTheWire);
  CHECK(a.finished == after_ms(110));
  CHECK(s.time_spent_ms() == 100);  // not the wait before
  CHECK(s.in_service.servers().attempts() == 0);
}

TEST_CASE("in service: what is turned away takes its own time, and is not executed") {
  Station s(1);
  s.start(0, Attempt::kRejection);
  CHECK(s.in_service.servers().next_completion().time == after_ms(30));
  CHECK(!s.in_service.complete(after_ms(30)).is(Attempt::kExecuted));
  CHECK(s.time_spent_ms() == 30);
}

TEST_CASE("in service: a server that is held works for nobody until it is released") {
  Station s(1);
  Attempt& a = s.start(0);
  s.in_service.hold(after_ms(100));
  CHECK(a.stage == Attempt::Stage::kHoldingServer);
  CHECK(!a.is(Attempt::kExecuted));
  CHECK(!s.in_service.servers().has_room());
  CHECK(s.in_service.servers().next_completion() == kernel::EventKey::never());
  s.in_service.release(a, after_ms(250));
  CHECK(a.is(Attempt::kExecuted));
  CHECK(a.finished == after_ms(250));
  CHECK(s.in_service.servers().has_room());
  CHECK(s.time_spent_ms() == 250);
}

TEST_CASE("in service: an aborted attempt frees its server, whether that works or is held") {
  for (const Discipline discipline : {Discipline::kFifo, Discipline::kProcessorSharing}) {
    CAPTURE(static_cast<int>(discipline));
    Station s(2, discipline);
    Attempt& works = s.start(0);
    s.in_service.abort(works, after_ms(40));
    CHECK(s.in_service.servers().attempts() == 0);
    CHECK(s.time_spent_ms() == 40);
    CHECK(!works.is(Attempt::kExecuted));

    Attempt& held = s.start(100);
    s.in_service.hold(s.in_service.servers().next_completion().time);
    s.in_service.abort(held, after_ms(500));
    CHECK(s.in_service.servers().attempts() == 0);
    CHECK(s.time_spent_ms() == 440);
  }
}

TEST_CASE("in service: all that servers work on is taken out, what is held stays") {
  Station s(3);
  Attempt& held = s.start(0);
  s.in_service.hold(after_ms(100));
  const Attempt& first = s.start(100);
  const Attempt& second = s.start(110);
  CHECK(s.in_service.take_all(after_ms(130)) == std::vector<std::uint32_t>{first.id, second.id});
  CHECK(s.time_spent_ms() == 30 + 20);
  CHECK(s.in_service.servers().attempts() == 1);
  s.in_service.release(held, after_ms(200));
  CHECK(s.time_spent_ms() == 30 + 20 + 200);
}

TEST_CASE("in service: the time of an attempt depends on the speed and on the others") {
  Station s(4);
  s.scenario.services[0].slowdown.per_attempt = 0.5;
  model::AttemptsInService slower(s.scenario.services[0], &s.streams, &s.attempts, &s.sequence);
  const Attempt& next = s.attempts.allocate();
  CHECK(s.in_service.time_of(next, 1) == ms(100));
  CHECK(s.in_service.time_of(next, 0.5) == ms(200));
  CHECK(s.in_service.time_of(next, 0) == Duration::max());
  for (int i = 0; i < 2; ++i) slower.start(s.attempts.allocate(), after_ms(0));
  CHECK(slower.time_of(next, 1) == ms(200));  // 100 ms x (1 + 0.5 x 2)
  Attempt& late = s.attempts.allocate();
  slower.start(late, after_ms(0));
  CHECK(late.work.left_ns == 200e6);
}

TEST_CASE("in service: work in progress goes on at a new speed") {
  Station s(1);
  s.start(0);
  s.in_service.set_power(1, 0.5, after_ms(60));
  CHECK(s.in_service.servers().next_completion().time == after_ms(140));
}

TEST_CASE("in service: only shared servers have a level of work that nobody waits for") {
  Station own(2);
  own.start(0);
  CHECK(!own.in_service.given_up(after_ms(10)));
  CHECK(own.in_service.servers().wasting_servers() == 0);
  Station shared(2, Discipline::kProcessorSharing);
  shared.start(0);
  shared.start(0);
  CHECK(shared.in_service.given_up(after_ms(10)));
  CHECK(shared.in_service.servers().wasting_servers() == 1);  // half of the two servers
}

}  // namespace
}  // namespace retrysim
