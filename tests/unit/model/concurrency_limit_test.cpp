// Limits on concurrency: fixed, and found by the service. The samples of the adaptive ones are
// worked through by hand.
//
// SPDX-License-Identifier: MIT
#include "model/service/admission.hpp"

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using model::ConcurrencyLimit;
using test::count;
using test::ms;

TEST_CASE("A fixed limit counts attempts waiting and in service") {
  Scenario s = test::small_world();
  s.services[0].concurrency.limit = 2;
  s.clients[0].count = 4;
  s.clients[0].retry.max_attempts = 1;
  SECTION("one in service, one waits, two are turned away") {
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[0].rejected == 2);
    CHECK(count(r.clients[0], Outcome::kSuccess) == 2);
    CHECK(r.services[0].window.queue_max == 1);
  }
  SECTION("unlimited servers are bounded by it, too") {
    s.services[0].servers = ServiceSpec::kUnlimited;
    CHECK(simulate(s, 0).clients[0].rejected == 2);
  }
  SECTION("room is made by whatever leaves, and a rejection takes none") {
    s.clients[0].arrivals.process = ArrivalProcess::kClosed;
    s.clients[0].arrivals.think_time = Distribution::constant(ms(7));
    s.services[0].rejection.cost = ms(1);
    s.services[0].timeout = ms(150);
    test::set_timeout(s.clients[0], ms(120));
    s.services[0].abandoned = GENERATE(Abandoned::kServe, Abandoned::kDropAtDequeue,
                                       Abandoned::kRemove, Abandoned::kAbort);
    s.services[0].queue.discipline =
        GENERATE(Discipline::kFifo, Discipline::kProcessorSharing, Discipline::kCodel);
    s.services[0].queue.drop_expired = s.services[0].queue.discipline == Discipline::kFifo;
    const RunResult r = simulate(s, 0);
    // If a place got lost each time, nobody would be admitted at the end.
    const ServiceFlow& late = r.services[0].bins[90];
    CHECK(late.admitted >= 5);
    CHECK(late.in_system_ns > 0);
  }
}

TEST_CASE("aimd: one more while it is used, a share less when something goes wrong") {
  ConcurrencySpec spec;
  spec.control = ConcurrencyControl::kAimd;
  ConcurrencyLimit limit(spec);
  CHECK(limit.limit() == 20);
  limit.learn(ms(10), 9, true);
  CHECK(limit.limit() == 20);  // 9 of 20: the limit is not what holds it back
  limit.learn(ms(10), 10, true);
  CHECK(limit.limit() == 21);
  for (int i = 0; i < 300; ++i) limit.learn(ms(10), 200, true);
  CHECK(limit.limit() == 200);
  limit.learn(ms(10), 1, false);
  CHECK(limit.limit() == 180);
  limit.learn(ms(5001), 1, true);
  CHECK(limit.limit() == 162);
  limit.learn(ms(5000), 1, true);
  CHECK(limit.limit() == 162);
  limit.learn(ms(5001), 1, true);
  CHECK(limit.limit() == 145);  // whole numbers only: 145.8
  for (int i = 0; i < 50; ++i) limit.learn(ms(10), 1, false);
  CHECK(limit.limit() == 20);
}

TEST_CASE("gradient2: attempts that take no time leave the limit to grow by its headroom") {
  ConcurrencySpec spec;
  spec.control = ConcurrencyControl::kGradient2;
  ConcurrencyLimit limit(spec);
  for (int i = 0; i < 10; ++i) limit.learn(Duration::zero(), limit.limit(), true);
  CHECK(limit.limit() == 28);  // 0.2 x 4 each time
}

TEST_CASE("gradient2: the limit follows the ratio of long-term and present time") {
  ConcurrencySpec spec;
  spec.control = ConcurrencyControl::kGradient2;
  spec.min = 1;
  ConcurrencyLimit limit(spec);
  // Steady: 0.8 x 20 + 0.2 x (20 + 4) = 20.8, then 21.6, ...
  limit.learn(ms(100), 20, true);
  limit.learn(ms(100), 20, true);
  CHECK(limit.limit() == 21);
  limit.learn(ms(100), 20, true);
  CHECK(limit.limit() == 22);  // 22.4
  // The average of 100, 100, 100, 420 is 180: 1.5 x 180 / 420 = 0.642857, and
  // 0.8 x 22.4 + 0.2 x (0.642857 x 22.4 + 4) = 21.6.
  limit.learn(ms(420), 20, true);
  CHECK(limit.limit() == 21);
  // No more than half: the average is 5720 / 5 = 1144, and 0.8 x 21.6 + 0.2 x (10.8 + 4) = 20.24.
  limit.learn(ms(5000), 20, true);
  CHECK(limit.limit() == 20);
  // Little used: it stays, but the average learns: 5820 / 6 = 970 is more than twice 100, x 0.95.
  limit.learn(ms(100), 1, true);
  CHECK(limit.limit() == 20);
  // Back to normal, 1.5 x 921.5 / 100: all is well again, 20.24 + 0.8.
  limit.learn(ms(100), 20, true);
  CHECK(limit.limit() == 21);
}

TEST_CASE("gradient2 forgets the times of an overload sooner") {
  ConcurrencySpec spec;
  spec.control = ConcurrencyControl::kGradient2;
  spec.min = 1;
  spec.headroom = 0;
  spec.smoothing = 1;
  spec.long_window = 19;  // the newest sample weighs a tenth
  ConcurrencyLimit limit(spec);
  for (int i = 0; i < 10; ++i) limit.learn(ms(1000), 1, true);  // little used: the limit stays
  CHECK(limit.limit() == 20);
  // 910 is more than twice 100, so 864.5; then 788.05, so 748.6475.
  for (int i = 0; i < 2; ++i) limit.learn(ms(100), 1, true);
  CHECK(limit.limit() == 20);
  // 823.78 on average: 20 x 1.5 x 823.78 / 1500 = 16.48. Without that it would be 17.92.
  limit.learn(ms(1500), 20, true);
  CHECK(limit.limit() == 16);
}

TEST_CASE("gradient2: up to twice the present time the average is no overload's") {
  ConcurrencySpec spec;
  spec.control = ConcurrencyControl::kGradient2;
  spec.min = 1;
  spec.headroom = 0;
  spec.smoothing = 1;
  spec.long_window = 1;  // the newest sample is the average
  ConcurrencyLimit limit(spec);
  for (int i = 0; i < 11; ++i) limit.learn(ms(100), 1, true);
  limit.learn(ms(100), 20, true);  // 1.5 x 100 / 100
  CHECK(limit.limit() == 20);
}

TEST_CASE("gradient2 finds a limit under overload that keeps the time at the service short") {
  Scenario s = test::small_world();
  s.services[0].service_time = Distribution::exponential(0.01);
  s.services[0].servers = 10;
  s.services[0].concurrency.control = ConcurrencyControl::kGradient2;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 1500;  // of 1000 that it can serve
  s.clients[0].retry.max_attempts = 1;
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].service_latency.quantile(0.99) / 1e9 < 0.3);
  CHECK(test::total(r.services[0]).completions > 95'000);
  // Without, the queue is half a million attempts long at the end, a wait of 50 s.
  s.services[0].concurrency = {};
  CHECK(simulate(s, 0).clients[0].service_latency.quantile(0.99) / 1e9 > 40);
}

}  // namespace
}  // namespace retrysim
