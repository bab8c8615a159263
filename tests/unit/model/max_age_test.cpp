// A bound on how long attempts wait (queue.max_age): who is turned away, when, and what that does
// to an overloaded service.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <vector>

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// One server, 100 ms an attempt; a group for each of four attempts, which come at 0, 10, 20 and
/// 30 ms and are not tried again.
Scenario four_attempts(Discipline discipline, Duration max_age) {
  Scenario s = test::small_world();
  s.services[0].queue.discipline = discipline;
  s.services[0].queue.max_age = max_age;
  ClientSpec client = s.clients[0];
  client.arrivals.process = ArrivalProcess::kTrace;
  client.retry.max_attempts = 1;
  s.clients.clear();
  for (const int t : {0, 10, 20, 30}) {
    client.arrivals.rows = {Time::zero() + ms(t)};
    s.clients.push_back(client);
  }
  return s;
}

using Numbers = std::vector<std::uint64_t>;

Numbers executed(const RunResult& r) {
  Numbers all;
  for (const ClientResult& c : r.clients) all.push_back(c.executed);
  return all;
}
/// When the answers came, in milliseconds.
Numbers answered_ms(const RunResult& r) {
  Numbers all;
  for (std::size_t i = 0; i < r.clients.size(); ++i) {
    all.push_back(static_cast<std::uint64_t>(r.clients[i].latency_m.sum_ns) / 1'000'000 + 10 * i);
  }
  return all;
}

TEST_CASE("An attempt that has waited for longer than max_age is turned away, not served") {
  // The first turn is at 100 ms, when the second attempt has waited for 90 ms.
  const Duration max_age = GENERATE(ms(90), ms(90) - Duration::nanoseconds(1));
  const RunResult r = simulate(four_attempts(Discipline::kFifo, max_age), 0);
  const bool in_time = max_age == ms(90);
  CHECK(executed(r) == (in_time ? Numbers{1, 1, 0, 0} : Numbers{1, 0, 1, 0}));
  CHECK(answered_ms(r) == (in_time ? Numbers{100, 200, 200, 200} : Numbers{100, 100, 200, 200}));
  for (const ClientResult& c : r.clients) {
    CHECK(c.rejected == 1 - c.executed);
    CHECK(count(c, Outcome::kSuccess) == c.executed);
    CHECK(c.queueing_time_m.count == c.executed);
  }
}

TEST_CASE("Whatever the order, those that are too old are turned away first, the oldest first") {
  const Discipline discipline =
      GENERATE(Discipline::kFifo, Discipline::kLifo, Discipline::kAdaptiveLifo, Discipline::kRandom,
               Discipline::kPriority, Discipline::kCodel);
  // At 100 ms they have waited for 90, 80 and 70 ms.
  Scenario s = four_attempts(discipline, ms(75));
  s.clients[1].priority = 9;
  s.clients[2].priority = 3;
  SECTION("at once") {
    const RunResult r = simulate(s, 0);
    CHECK(executed(r) == Numbers{1, 0, 0, 1});
    CHECK(answered_ms(r) == Numbers{100, 100, 100, 200});
  }
  SECTION("one by one, if that takes a server: it looks anew each time") {
    s.services[0].rejection.cost = ms(10);
    const RunResult r = simulate(s, 0);
    CHECK(executed(r) == Numbers{1, 0, 0, 0});
    CHECK(answered_ms(r) == Numbers{100, 110, 120, 130});
  }
  SECTION("with an answer of their own") {
    s.services[0].answers.shed = ServiceAnswer{{400, "ThrottlingException"}};
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[1], AttemptResult::kThrottled) == 1);
    CHECK(r.clients[1].refused == 1);
  }
  SECTION("without any, if the service drops what it does not serve") {
    s.services[0].rejection.overflow = Overflow::kDrop;
    for (ClientSpec& c : s.clients) test::set_timeout(c, ms(500));
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[1].dropped == 1);
    CHECK(count(r.clients[1], AttemptResult::kTimeout) == 1);
  }
}

TEST_CASE("Of attempts that are not dropped when their clients give up, old ones leave as well") {
  Scenario s = four_attempts(Discipline::kLifo, ms(75));
  for (ClientSpec& c : s.clients) test::set_timeout(c, ms(65));
  s.services[0].abandoned = GENERATE(Abandoned::kServe, Abandoned::kDropAtDequeue);
  const RunResult r = simulate(s, 0);
  // Only the last one is young enough; its client has given up at 95 ms.
  const bool is_served = s.services[0].abandoned == Abandoned::kServe;
  CHECK(executed(r) == Numbers{1, 0, 0, is_served ? 1u : 0u});
  CHECK(r.clients[1].dropped == (is_served ? 0 : 1));
  CHECK(r.ended == Time::zero() + ms(is_served ? 200 : 100));
}

/// Ten servers, 100 ms each: 100 attempts a second. Half as many again come, and their clients give
/// up after a second.
Scenario overloaded(Discipline discipline) {
  Scenario s = test::small_world();
  s.services[0].servers = 10;
  s.services[0].service_time = Distribution::exponential(0.1);
  s.services[0].queue.discipline = discipline;
  s.clients[0].count = 100;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 1.5;
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], Duration::seconds(1));
  return s;
}

// In 100 seconds the servers finish 10,000 attempts, within 3.5 %: more than three standard
// deviations of the sum of as many exponential times on ten servers. The margins below are wider.
TEST_CASE("When more comes than can be served, fifo serves nobody in time, lifo nearly as many") {
  const auto in_time = [](Scenario s, Duration max_age) {
    s.services[0].queue.max_age = max_age;
    return count(simulate(s, 0).clients[0], Outcome::kSuccess);
  };
  // The wait of fifo exceeds a second after two or three.
  CHECK(in_time(overloaded(Discipline::kFifo), Duration::max()) < 600);
  CHECK(in_time(overloaded(Discipline::kLifo), Duration::max()) > 9'000);
  CHECK(in_time(overloaded(Discipline::kAdaptiveLifo), Duration::max()) > 9'000);
  // A bound on the age saves fifo, too: who is served has waited for half a second.
  CHECK(in_time(overloaded(Discipline::kFifo), ms(500)) > 9'000);
  CHECK(in_time(overloaded(Discipline::kAdaptiveLifo), ms(500)) > 9'000);
}

TEST_CASE("With max_age nobody is served who has waited for longer", "[repetitive]") {
  Scenario s = overloaded(GENERATE(Discipline::kFifo, Discipline::kLifo, Discipline::kAdaptiveLifo,
                                   Discipline::kRandom, Discipline::kPriority, Discipline::kCodel));
  s.duration = Duration::seconds(20);
  s.services[0].queue.max_age = ms(300);
  const RunResult r = simulate(s, 0);
  const ClientResult& c = r.clients[0];
  CHECK(c.queueing_time.quantile_bounds(1).low <= 300e6);
  // A mean that gives long waits more weight.
  CHECK(static_cast<double>(c.queueing_time_m.sum_squares_ns2) <=
        300e6 * static_cast<double>(c.queueing_time_m.sum_ns));
  CHECK(c.rejected > 500);
  // Nor does anybody stay: at the end, all who wait have come within the last 300 ms or so.
  CHECK(r.services[0].window.queue_max < 150);
  // Without the bound there are 1,000 too many at the end.
  s.services[0].queue.max_age = Duration::max();
  if (s.services[0].queue.discipline != Discipline::kCodel) {
    CHECK(simulate(s, 0).services[0].window.queue_max > 500);
  }
}

}  // namespace
}  // namespace retrysim
