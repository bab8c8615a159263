// What services work, and what of it is used: executions that bring a success, those that fail,
// those that nobody waits for; and attempts that are not worked on at all.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::metric;
using test::ms;

TEST_CASE("Executions that fail are badput, but nobody's wasted time") {
  Scenario s = test::small_world();
  s.services[0].model = ServiceModelKind::kIndependent;
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].errors = {{{500, "InternalError"}, 0.5}};
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 20;
  s.clients[0].retry.max_attempts = 1;
  const RunResult r = simulate(s, 0);
  const std::uint64_t failures = test::total(r.clients[0]).errors;
  // Of some 2000 requests half: 10 standard deviations are 224.
  CHECK(static_cast<double>(failures) == Approx(1000).margin(300));
  CHECK(r.services[0].unused == 0);
  CHECK(r.services[0].wasted_full_ns == 0);
  // All that is missing are the few answers that come after the window.
  CHECK(r.services[0].failed <= failures);
  CHECK(r.services[0].failed + 20 >= failures);
  CHECK(metric("badput", s, r) == static_cast<double>(r.services[0].failed) / 100);
  CHECK(metric("throughput", s, r) ==
        Approx(metric("badput", s, r) + metric("goodput", s, r)).epsilon(1e-12));
}

TEST_CASE("An execution whose call to another service fails has failed") {
  Scenario s = test::small_world();
  ServiceSpec db;
  db.name = "db";
  db.errors = {{{500, "InternalError"}, 1.0}};
  s.services.push_back(db);
  ClientSpec call;
  call.name = "api.db";
  call.service = 1;
  call.retry.max_attempts = 1;
  test::add_call(s, 0, call);
  const RunResult r = simulate(s, 0);
  CHECK(r.services[0].failed == 3);
  CHECK(r.services[0].unused == 0);
  CHECK(r.services[1].failed == 0);  // it answers on arrival: nothing was executed
  s.warmup = ms(101);                // the first of the three ends at 100 ms, outside the window
  CHECK(simulate(s, 0).services[0].failed == 2);
}

TEST_CASE("A failure that nobody waits for any more is unused, and counts once") {
  Scenario s = test::small_world();
  s.services[0].model = ServiceModelKind::kIndependent;
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].retry.max_attempts = 1;
  SECTION("its client has given up") { test::set_timeout(s.clients[0], ms(50)); }
  SECTION("its answer is lost") {
    s.network.response_loss = 1;
    test::set_timeout(s.clients[0], ms(500));
  }
  const RunResult r = simulate(s, 0);
  CHECK(r.services[0].unused == 1);
  CHECK(r.services[0].failed == 0);
  CHECK(r.services[0].wasted_full_ns == 100e6);
}

TEST_CASE("occ: attempts count whole, server time by the pass") {
  Scenario s = test::small_world();
  s.services[0].model = ServiceModelKind::kOcc;
  s.services[0].service_time = Distribution::constant(ms(20));
  s.network.latency = Distribution::constant(ms(10));
  s.clients[0].retry.max_attempts = 1;
  SECTION("a write that conflicts is a failed execution") {
    // Reads 10-30 and 30-50, writes 50-70 and 70-90.
    s.clients[0].count = 2;
    const RunResult r = simulate(s, 0);
    CHECK(r.services[0].window.completions == 2);
    CHECK(r.services[0].failed == 1);
    CHECK(r.services[0].unused == 0);
    CHECK(r.services[0].wasted_full_ns == 0);
    CHECK(r.services[0].window.busy_ns == 80e6);
    // Both attempts need both passes, and get them.
    CHECK(metric("work_load", s, r) == Approx(metric("utilization", s, r)).epsilon(1e-12));
  }
  SECTION("a read that nobody waits for is wasted time, but no attempt") {
    SECTION("given up in service") { test::set_timeout(s.clients[0], ms(15)); }
    SECTION("given up while the answer is on its way") { test::set_timeout(s.clients[0], ms(35)); }
    SECTION("its answer is lost") {
      s.network.response_loss = 1;
      test::set_timeout(s.clients[0], ms(500));
    }
    const RunResult r = simulate(s, 0);
    CHECK(r.services[0].window.completions == 0);
    CHECK(r.services[0].unused == 0);
    CHECK(r.services[0].wasted_full_ns == 20e6);
  }
  SECTION("a write that nobody waits for is both") {
    test::set_timeout(s.clients[0], ms(75));  // read 10-30, write 50-70, answer at 80
    const RunResult r = simulate(s, 0);
    CHECK(r.services[0].window.completions == 1);
    CHECK(r.services[0].unused == 1);
    CHECK(r.services[0].wasted_full_ns == 20e6);
  }
}

TEST_CASE("Of an attempt that is refused, the price is that of refusals, however it is refused") {
  Scenario s = test::small_world();
  s.services[0].price = 1;
  s.services[0].rejection.price = 0.25;
  s.clients[0].count = 10;
  s.clients[0].retry.max_attempts = 1;
  test::set_timeout(s.clients[0], Duration::seconds(5));
  const bool lossy = GENERATE(false, true);
  s.network.response_loss = lossy ? 1 : 0;
  SECTION("a full queue") {
    s.services[0].queue.capacity = 3;
    for (const Overflow overflow :
         {Overflow::kUnavailable, Overflow::kThrottled, Overflow::kInvalid, Overflow::kDrop}) {
      s.services[0].rejection.overflow = overflow;
      CHECK(metric("cost", s, simulate(s, 0)) == 4 + 6 * 0.25);
      s.services[0].rejection.cost =
          ms(1);  // most clients have given up when they would hear of it
      test::set_timeout(s.clients[0], ms(2));
      CHECK(metric("cost", s, simulate(s, 0)) == 4 + 6 * 0.25);
    }
  }
  SECTION("a limit on concurrency") {
    s.services[0].concurrency.limit = 4;
    CHECK(metric("cost", s, simulate(s, 0)) == 4 + 6 * 0.25);
  }
  SECTION("a throttle") {
    s.services[0].throttle = {1, 4, ThrottleScope::kService, Duration::zero()};
    CHECK(metric("cost", s, simulate(s, 0)) == 4 + 6 * 0.25);
  }
  SECTION("controlled delay: first served, then shed") {
    s.services[0].queue.discipline = Discipline::kCodel;
    s.services[0].queue.codel.target = ms(5);
    s.services[0].queue.codel.interval = ms(100);
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].refused > 0);
    CHECK(r.clients[0].refused + r.clients[0].executed == 10);
    CHECK(metric("cost", s, r) == static_cast<double>(r.clients[0].executed) +
                                      0.25 * static_cast<double>(r.clients[0].refused));
  }
  SECTION("throttling errors by chance") {
    s.services[0].errors = {{{400, "ThrottlingException"}, 1.0}};
    CHECK(metric("cost", s, simulate(s, 0)) == 10 * 0.25);
    s.services[0].model = ServiceModelKind::kIndependent;
    s.services[0].servers = ServiceSpec::kUnlimited;
    CHECK(metric("cost", s, simulate(s, 0)) == 10 * 0.25);
  }
  SECTION("other errors cost what an attempt costs") {
    s.services[0].errors = {{{500, "InternalError"}, 1.0}};
    CHECK(metric("cost", s, simulate(s, 0)) == 10);
  }
}

}  // namespace
}  // namespace retrysim
