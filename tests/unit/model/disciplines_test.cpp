// Queue disciplines: who is served next, on worlds small enough to follow by hand.
//
// SPDX-License-Identifier: MIT
#include "model/service/servers.hpp"

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <utility>
#include <vector>

namespace retrysim {
namespace {

using test::count;
using test::ms;

constexpr std::int64_t kMs = 1'000'000;

/// One server, 100 ms an attempt; one group for each arrival time, none of which tries again.
Scenario arrivals_at(const std::vector<std::int64_t>& times_ms) {
  Scenario s = test::small_world();
  ClientSpec client = s.clients[0];
  client.arrivals.process = ArrivalProcess::kTrace;
  client.retry.max_attempts = 1;
  s.clients.clear();
  for (const std::int64_t t : times_ms) {
    client.arrivals.rows = {Time::zero() + ms(t)};
    s.clients.push_back(client);
  }
  return s;
}

/// How long the attempt of each group waited in the queue, in milliseconds.
std::vector<std::int64_t> waits_ms(const Scenario& s, std::uint32_t replication = 0) {
  std::vector<std::int64_t> waits;
  for (const ClientResult& c : simulate(s, replication).clients) {
    REQUIRE(c.queueing_time_m.count == 1);
    waits.push_back(static_cast<std::int64_t>(c.queueing_time_m.sum_ns) / kMs);
  }
  return waits;
}

using Waits = std::vector<std::int64_t>;

TEST_CASE("fifo serves the first that came, lifo the last, and neither interrupts a service") {
  Scenario s = arrivals_at({0, 10, 20, 30});
  CHECK(waits_ms(s) == Waits{0, 90, 180, 270});
  s.services[0].queue.discipline = Discipline::kLifo;
  CHECK(waits_ms(s) == Waits{0, 290, 180, 70});
}

TEST_CASE("adaptive-lifo serves the last that came while the queue is long, else the first") {
  Scenario s = arrivals_at({0, 10, 20, 30, 40});
  s.services[0].queue.discipline = Discipline::kAdaptiveLifo;
  // At 100 ms four wait, then three, two and one.
  const auto waits_above = [&s](std::int64_t limit) {
    s.services[0].queue.lifo_above = limit;
    return waits_ms(s);
  };
  CHECK(waits_above(4) == Waits{0, 90, 180, 270, 360});
  CHECK(waits_above(3) == Waits{0, 190, 280, 370, 60});
  CHECK(waits_above(2) == Waits{0, 290, 380, 170, 60});
  CHECK(waits_above(1) == Waits{0, 390, 280, 170, 60});
  CHECK(waits_above(0) == Waits{0, 390, 280, 170, 60});
  // One server: the same as one attempt.
  CHECK(waits_above(QueueSpec::kAsServers) == waits_above(1));
}

TEST_CASE("adaptive-lifo at its extremes is fifo or lifo, in every number", "[repetitive]") {
  Scenario s = test::small_world();
  s.services[0].queue.capacity = 20;
  s.services[0].abandoned = Abandoned::kRemove;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 12;
  s.clients[0].retry.backoff.base = ms(50);
  test::set_timeout(s.clients[0], ms(700));
  const auto [discipline, limit] =
      GENERATE(std::pair(Discipline::kFifo, 20), std::pair(Discipline::kLifo, 0));
  s.services[0].queue.discipline = discipline;
  const RunResult r = simulate(s, 0);
  s.services[0].queue.discipline = Discipline::kAdaptiveLifo;
  s.services[0].queue.lifo_above = limit;
  CHECK(simulate(s, 0) == r);
  s.services[0].queue.lifo_above = 3;
  CHECK(!(simulate(s, 0) == r));
}

TEST_CASE("An attempt in the middle of a line leaves it, under every discipline") {
  // The client of the third gives up at 70 ms, while the first is still in service.
  Scenario s = arrivals_at({0, 10, 20, 30});
  s.services[0].abandoned = Abandoned::kRemove;
  test::set_timeout(s.clients[2], ms(50));
  s.services[0].queue.discipline =
      GENERATE(Discipline::kFifo, Discipline::kLifo, Discipline::kAdaptiveLifo, Discipline::kRandom,
               Discipline::kPriority);
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[2].dropped == 1);
  CHECK(r.ended == Time::zero() + ms(300));
  CHECK(test::total(r.services[0]).completions == 3);
}

TEST_CASE("The highest priority is served first, and first come first among equals") {
  Scenario s = arrivals_at({0, 10, 20, 30, 40});
  s.services[0].queue.discipline = Discipline::kPriority;
  s.clients[2].priority = kMaxPriority;
  s.clients[3].priority = 7;
  s.clients[4].priority = 7;
  CHECK(waits_ms(s) == Waits{0, 390, 80, 170, 260});
  // A full queue does not make room for a higher priority.
  s.services[0].queue.capacity = 1;
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[1].executed == 1);
  CHECK(r.clients[2].rejected == 1);
}

TEST_CASE("Random order gives every waiting attempt the same chance", "[repetitive]") {
  Scenario s = arrivals_at({0, 10, 20, 30});
  s.services[0].queue.discipline = Discipline::kRandom;
  std::vector<int> next(4);
  constexpr int kRuns = 3000;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    const Waits waits = waits_ms(s, run);
    for (std::size_t i = 1; i < 4; ++i) {
      next[i] += waits[i] + 10 * static_cast<std::int64_t>(i) == 100;
    }
  }
  // Binomial with mean 1000 and standard deviation 26: six of them; false alarm below 1e-8.
  for (std::size_t i = 1; i < 4; ++i) CHECK(next[i] == Approx(1000).margin(155));
  CHECK(next[1] + next[2] + next[3] == kRuns);
  CHECK(waits_ms(s, 5) == waits_ms(s, 5));
}

TEST_CASE("An attempt whose answer would come too late is dropped when its turn comes") {
  // 20 ms each way: the answers are there at 140, 240 and 340 ms.
  Scenario s = test::small_world();
  s.network.latency = Distribution::constant(ms(20));
  s.services[0].queue.drop_expired = true;
  s.clients[0].count = 3;
  s.clients[0].retry.max_attempts = 1;
  SECTION("by its timeout") {
    test::set_timeout(s.clients[0], ms(339));
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].dropped == 1);
    CHECK(r.clients[0].executed == 2);
    CHECK(count(r.clients[0], AttemptResult::kTimeout) == 1);
    CHECK(r.services[0].wasted_full_ns == 0);
  }
  SECTION("by its deadline") {
    s.clients[0].timeouts.deadline = ms(239);
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].dropped == 2);
    CHECK(count(r.clients[0], Outcome::kDeadlineExceeded) == 2);
  }
  SECTION("by a timeout that is drawn, and the earlier of both counts") {
    s.clients[0].timeouts.has_attempt = true;
    s.clients[0].timeouts.attempt = Distribution::uniform(0.2391, 0.2399);
    s.clients[0].timeouts.deadline = Duration::seconds(5);
    CHECK(simulate(s, 0).clients[0].dropped == 2);
  }
  SECTION("an answer at the very instant is in time") {
    test::set_timeout(s.clients[0], ms(340));
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].dropped == 0);
    CHECK(count(r.clients[0], Outcome::kSuccess) == 3);
  }
  SECTION("a fault's latency on the way back counts, once") {
    FaultSpec f;
    f.start = Time::zero() + ms(30);  // all have arrived
    f.duration = Duration::seconds(10);
    f.latency = ms(7);
    s.faults = {f};
    test::set_timeout(s.clients[0], ms(346));  // the last answer would be there at 347 ms
    CHECK(simulate(s, 0).clients[0].dropped == 1);
    test::set_timeout(s.clients[0], ms(347));
    CHECK(simulate(s, 0).clients[0].dropped == 0);
  }
  SECTION("a client that waits for ever is served") {
    CHECK(simulate(s, 0).clients[0].executed == 3);
  }
  SECTION("a client that has given up is not") {
    test::set_timeout(s.clients[0], ms(150));
    CHECK(simulate(s, 0).clients[0].executed == 1);
  }
  SECTION("a server that stands still would never be done") {
    test::set_timeout(s.clients[0], ms(500));
    FaultSpec f;
    f.start = Time::zero() + ms(120);
    f.duration = ms(10);
    f.speed = 0;
    s.faults = {f};
    CHECK(simulate(s, 0).clients[0].dropped == 2);
  }
}

TEST_CASE("Processor sharing: all are served together, each at its share of the servers") {
  Scenario s = arrivals_at({0, 50});
  s.services[0].queue.discipline = Discipline::kProcessorSharing;
  auto ends_ms = [&s] {
    const RunResult r = simulate(s, 0);
    return Waits{static_cast<std::int64_t>(r.clients[0].service_latency_m.sum_ns) / kMs,
                 static_cast<std::int64_t>(r.clients[1].service_latency_m.sum_ns) / kMs + 50};
  };
  // 50 ms alone, then half a server each: the first has its 100 ms at 150, the second at 200.
  CHECK(ends_ms() == Waits{150, 200});
  CHECK(simulate(s, 0).clients[1].queueing_time_m.sum_ns == 0);
  // The servers are one of twice the speed: the first is done when the second comes.
  s.services[0].servers = 2;
  CHECK(ends_ms() == Waits{50, 100});
  SECTION("speed and capacity are factors on what is shared") {
    s.services[0].servers = 1;
    FaultSpec f;
    f.start = Time::zero() + ms(50);
    f.duration = ms(100);
    f.speed = 0.5;
    s.faults = {f};
    // At 150 ms both have had 25 ms more: 25 and 75 ms are left.
    CHECK(ends_ms() == Waits{200, 250});
    s.faults[0].speed = 1;
    s.faults[0].capacity = 0;
    CHECK(ends_ms() == Waits{250, 300});
  }
}

TEST_CASE("Processor sharing: the capacity bounds those in service") {
  Scenario s = test::small_world();
  s.services[0].queue.discipline = Discipline::kProcessorSharing;
  s.services[0].queue.capacity = 3;
  s.clients[0].count = 5;
  s.clients[0].retry.max_attempts = 1;
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].rejected == 2);
  CHECK(r.clients[0].executed == 3);
  CHECK(r.ended == Time::zero() + ms(300));
  CHECK(r.services[0].window.in_system_ns == 3 * 300e6);
  CHECK(r.services[0].window.busy_ns == 300e6);
  CHECK(r.services[0].window.queue_ns == 0);
  CHECK(r.clients[0].waited == 0);
}

TEST_CASE("Processor sharing: who waits for the answer of another service keeps a place") {
  // At the servers until 100 ms, then 200 ms of a call.
  Scenario s = arrivals_at({0, 200, 299, 301});
  s.services[0].queue.discipline = Discipline::kProcessorSharing;
  s.services.push_back(s.services[0]);
  s.services[1].service_time = Distribution::constant(ms(200));
  ClientSpec call = s.clients[0];
  call.service = 1;
  test::add_call(s, 0, call);
  const auto rejected = [&s](std::int64_t capacity) {
    s.services[0].queue.capacity = capacity;
    const RunResult r = simulate(s, 0);
    std::vector<std::uint64_t> all;
    for (std::size_t c = 0; c < 4; ++c) all.push_back(r.clients[c].rejected);
    return all;
  };
  using Rejected = std::vector<std::uint64_t>;
  CHECK(rejected(1) == Rejected{0, 1, 1, 0});
  CHECK(rejected(2) == Rejected{0, 0, 1, 0});  // one waits, and one is served
  CHECK(rejected(3) == Rejected{0, 0, 0, 0});
}

TEST_CASE("Processor sharing: rejections take a share of the servers, but no place") {
  Scenario s = arrivals_at({0, 10, 200});
  s.services[0].queue.discipline = Discipline::kProcessorSharing;
  s.services[0].queue.capacity = 1;
  s.services[0].rejection.cost = ms(150);
  for (ClientSpec& c : s.clients) c.retry.max_attempts = 1;
  const RunResult r = simulate(s, 0);
  // The first has 90 ms left at 10 ms and half a server from then on: it is done at 190 ms, when
  // 60 ms of the rejection are left. The third shares with that from 200 to 300 ms.
  CHECK(r.clients[0].executed == 1);
  CHECK(r.clients[1].rejected == 1);
  CHECK(r.clients[2].executed == 1);
  CHECK(r.ended == Time::zero() + ms(350));
}

TEST_CASE("Processor sharing: what is wasted is the share that abandoned attempts have") {
  Scenario s = arrivals_at({0, 0});
  s.services[0].queue.discipline = Discipline::kProcessorSharing;
  test::set_timeout(s.clients[0], ms(100));
  const RunResult served = simulate(s, 0);
  // Half a server from 100 to 200 ms; in all the first attempt had 100 ms of the server.
  CHECK(served.services[0].wasted_after_give_up_ns == 50e6);
  CHECK(served.services[0].wasted_full_ns == 100e6);
  CHECK(served.clients[0].late == 1);
  s.services[0].abandoned = Abandoned::kAbort;
  const RunResult aborted = simulate(s, 0);
  CHECK(aborted.ended == Time::zero() + ms(150));
  CHECK(aborted.services[0].wasted_after_give_up_ns == 0);
  CHECK(aborted.services[0].window.busy_ns == 150e6);
}

TEST_CASE("Processor sharing stays exact over days without an idle moment") {
  // Every second two attempts of 250 ms come, beside one that never ends: 750 ms for the three.
  model::ProcessorSharing::Places places;
  model::ProcessorSharing sharing(&places);
  sharing.set_power(1, 1);
  sharing.insert(0, 1e18);
  Time now;
  bool exact = true;
  for (int second = 1; second <= 200'000; ++second) {
    now = Time::zero() + Duration::seconds(second);
    sharing.advance(now);
    sharing.insert(1, 250e6);
    sharing.insert(2, 250e6);
    for (const std::uint32_t attempt : {1u, 2u}) {
      exact &= sharing.next_end() == now + ms(750);
      sharing.advance(sharing.next_end());
      exact &= sharing.pop() == attempt;
    }
  }
  CHECK(exact);
  CHECK(sharing.size() == 1);
  CHECK(sharing.next_end() > now + Duration::seconds(900'000'000));
}

TEST_CASE("Processor sharing: what is left stays the same when the sums start over") {
  // They do when each attempt has been given 18 minutes. An attempt of 30 minutes has 10 left after
  // 20; the one of a minute that comes then is done at 22 minutes, the one of 10 in time with it.
  model::ProcessorSharing::Places places;
  model::ProcessorSharing sharing(&places);
  sharing.set_power(2, 1);
  sharing.insert(0, 1800e9);
  sharing.insert(1, 1800e9);
  const auto minutes = [](std::int64_t n) { return Time::zero() + Duration::seconds(60 * n); };
  sharing.advance(minutes(20));
  sharing.insert(2, 60e9);
  sharing.insert(3, 600e9);
  std::vector<std::pair<std::uint32_t, Time>> ends;
  while (sharing.next_end() != Time::max()) {
    const Time end = sharing.next_end();
    sharing.advance(end);
    ends.emplace_back(sharing.pop(), end);
  }
  // Four share two servers until the third has its minute, 2 minutes later; the other three have 9
  // minutes left each, at two thirds of a server. Equals are in the order in which they came.
  const Time last = minutes(22) + Duration::seconds(810);
  CHECK(ends == std::vector<std::pair<std::uint32_t, Time>>{
                    {2, minutes(22)}, {0, last}, {1, last}, {3, last}});
}

}  // namespace
}  // namespace retrysim
