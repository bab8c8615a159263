// Controlled delay against RFC 8289, dequeue by dequeue, and what it does to an overloaded service.
//
// SPDX-License-Identifier: MIT
#include "model/service/queue.hpp"

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <vector>

namespace retrysim {
namespace {

using test::ms;

Time at_ms(std::int64_t t) { return Time::zero() + ms(t); }

/// Serves one attempt at `now` and says how many are turned away before it.
int turned_away(model::Codel& codel, Duration waited, std::uint64_t left, Time now) {
  int n = 0;
  while (codel.turns_away(waited, left, now)) ++n;
  return n;
}

TEST_CASE("codel: attempts are turned away at intervals that shrink with the square root") {
  model::Codel codel({ms(5), ms(100)});
  std::vector<std::int64_t> times;
  for (std::int64_t t = 0; t <= 480; ++t) {
    const int n = turned_away(codel, ms(20), 9, at_ms(t));
    CHECK(n <= 1);
    if (n == 1) times.push_back(t);
  }
  // Above the target from 0 on, for an interval at 100. Then 100 / sqrt(1, 2, 3, ...) later each:
  // 200, 270.7, 328.4, 378.4, 423.2, 464.0.
  CHECK(times == std::vector<std::int64_t>{100, 200, 271, 329, 379, 424, 464});
}

TEST_CASE("codel: a wait of exactly the target is too long, and a queue of two is one") {
  model::Codel codel({ms(5), ms(100)});
  for (std::int64_t t = 0; t < 100; ++t) CHECK(turned_away(codel, ms(5), 2, at_ms(t)) == 0);
  CHECK(turned_away(codel, ms(5), 2, at_ms(100)) == 1);
}

TEST_CASE("codel: one short wait, or a queue of one, ends it") {
  model::Codel codel({ms(5), ms(100)});
  for (std::int64_t t = 0; t < 100; ++t) CHECK(turned_away(codel, ms(20), 9, at_ms(t)) == 0);
  SECTION("a wait below the target") { CHECK(turned_away(codel, ms(4), 9, at_ms(100)) == 0); }
  SECTION("one attempt left") { CHECK(turned_away(codel, ms(20), 1, at_ms(100)) == 0); }
  SECTION("an empty queue") { codel.queue_is_empty(); }
  // The interval begins anew.
  for (std::int64_t t = 101; t < 200; ++t) CHECK(turned_away(codel, ms(20), 9, at_ms(t)) == 0);
  CHECK(turned_away(codel, ms(20), 9, at_ms(201)) == 1);
}

TEST_CASE("codel: catches up after a pause, and remembers its rate for a while") {
  model::Codel codel({ms(5), ms(100)});
  for (const std::int64_t t : {0, 100}) turned_away(codel, ms(20), 9, at_ms(t));
  // Due at 200, 270.7, 328.4, 378.4: all at once if nobody was taken before 400.
  CHECK(turned_away(codel, ms(300), 9, at_ms(400)) == 4);
  // It ends; begins again soon after: at the rate of four more than at the last beginning.
  CHECK(turned_away(codel, ms(1), 9, at_ms(410)) == 0);
  for (const std::int64_t t : {420, 520}) turned_away(codel, ms(20), 9, at_ms(t));
  CHECK(turned_away(codel, ms(20), 9, at_ms(569)) == 0);
  CHECK(turned_away(codel, ms(20), 9, at_ms(570)) == 1);  // 520 + 100 / sqrt(4)
  // After 16 intervals it is forgotten.
  CHECK(turned_away(codel, ms(1), 9, at_ms(580)) == 0);
  for (const std::int64_t t : {3000, 3100}) turned_away(codel, ms(20), 9, at_ms(t));
  CHECK(turned_away(codel, ms(20), 9, at_ms(3199)) == 0);
  CHECK(turned_away(codel, ms(20), 9, at_ms(3200)) == 1);
}

TEST_CASE("codel: the rate is remembered for 16 intervals after the next one was due") {
  model::Codel codel({ms(5), ms(100)});
  for (const std::int64_t t : {0, 100}) turned_away(codel, ms(20), 9, at_ms(t));
  CHECK(turned_away(codel, ms(300), 9, at_ms(400)) == 4);  // the next is due at 423.2 ms
  CHECK(turned_away(codel, ms(1), 9, at_ms(410)) == 0);
  const std::int64_t begin = GENERATE(600, 1000, 2000, 2023, 2024, 3000);
  turned_away(codel, ms(20), 9, at_ms(begin - 100));
  CHECK(turned_away(codel, ms(20), 9, at_ms(begin)) == 1);
  const std::int64_t next = begin + (begin <= 2023 ? 50 : 100);  // 100 / sqrt(4) or sqrt(1)
  CHECK(turned_away(codel, ms(20), 9, at_ms(next - 1)) == 0);
  CHECK(turned_away(codel, ms(20), 9, at_ms(next)) == 1);
}

TEST_CASE("codel: shedding is over when all who waited were turned away") {
  // Without an interval to wait for, the next long wait begins it anew: after the first one that is
  // turned away, one is served.
  model::Codel codel({ms(5), ms(0)});
  CHECK(codel.turns_away(ms(20), 9, at_ms(0)));
  CHECK(!codel.turns_away(ms(20), 9, at_ms(0)));
  for (int n = 0; n < 3; ++n) CHECK(codel.turns_away(ms(20), 9, at_ms(1)));
  codel.queue_is_empty();
  CHECK(codel.turns_away(ms(20), 9, at_ms(2)));
  CHECK(!codel.turns_away(ms(20), 9, at_ms(2)));
}

TEST_CASE("codel keeps the waiting time of an overloaded service short") {
  Scenario s = test::small_world();
  s.services[0].service_time = Distribution::constant(ms(10));
  s.services[0].queue.discipline = Discipline::kCodel;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 110;  // of 100 that it can serve
  s.clients[0].retry.max_attempts = 1;
  const RunResult r = simulate(s, 0);
  const ClientResult& c = r.clients[0];
  // The tenth too many is turned away, and the others wait a fraction of a second: with fifo the
  // queue would hold 1000 attempts at the end, a wait of ten seconds.
  CHECK(c.executed + c.rejected == c.attempts);
  CHECK(static_cast<double>(c.rejected) / static_cast<double>(c.attempts) ==
        Approx(0.1).margin(0.03));
  CHECK(c.queueing_time.quantile(0.99) / 1e9 < 0.8);
  CHECK(test::total(r.services[0]).queue_max < 100);
  s.services[0].rejection.overflow = Overflow::kDrop;
  test::set_timeout(s.clients[0], Duration::seconds(5));
  const ClientResult dropped = simulate(s, 0).clients[0];
  CHECK(dropped.dropped > 500);
  CHECK(dropped.rejected == 0);
  CHECK(test::count(dropped, AttemptResult::kTimeout) == dropped.dropped);
}

}  // namespace
}  // namespace retrysim
