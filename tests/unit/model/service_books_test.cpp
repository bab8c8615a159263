// Whatever is combined with whatever: every attempt leaves the service, and the run's own checks
// (requests, attempts, latencies add up) hold.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::ms;

/// A service at 1.5 times its capacity in which everything goes wrong now and then.
Scenario troubled(Discipline discipline, Abandoned abandoned, int variant) {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(30);
  s.network.latency = variant % 2 == 0 ? Distribution::exponential(0.002) : Distribution();
  s.network.request_loss = s.network.response_loss = 0.01;
  ServiceSpec& service = s.services[0];
  service.model = variant % 3 == 0 ? ServiceModelKind::kOcc : ServiceModelKind::kQueue;
  service.servers = 3;
  service.service_time = Distribution::exponential(0.02);
  service.queue.discipline = discipline;
  service.abandoned = abandoned;
  service.queue.capacity = 30;
  service.slowdown.per_attempt = 0.05;
  service.queue.drop_expired = variant % 2 == 1;
  if (variant % 3 == 1) service.queue.max_age = ms(60);
  if (variant != 2) service.queue.when_full = WhenFull::kEvictLowest;
  if (variant != 3) service.concurrency.partitions = {{"high", 9, 0.6}, {"low", 0, 0.1, 0.8}};
  service.rejection.cost = variant < 3 ? ms(1) : Duration::zero();
  service.rejection.overflow = variant % 4 == 0 ? Overflow::kDrop : Overflow::kThrottled;
  service.timeout = variant % 2 == 0 ? ms(150) : Duration::max();
  service.throttle = {200, 20, ThrottleScope::kService, ms(10)};
  service.concurrency.control =
      variant % 2 == 0 ? ConcurrencyControl::kGradient2 : ConcurrencyControl::kAimd;
  service.concurrency.slow = ms(80);
  service.concurrency.min = 2;
  service.errors = {{{500, "InternalError"}, 0.02}};
  if (variant > 2) {
    service.autoscaling.target = 0.6;
    service.autoscaling.max = 40;
    service.autoscaling.interval = service.autoscaling.delay = Duration::seconds(2);
    service.autoscaling.cooldown = Duration::seconds(3);
  }
  service.profile = CapacityProfile{{Time::zero(), Time::zero() + ms(9000)}, {1, 2.5}};
  FaultSpec f;
  f.start = Time::zero() + Duration::seconds(5);
  f.duration = Duration::seconds(2);
  f.capacity = 0.4;
  f.speed = 0.7;
  f.cold_restart = true;
  f.response_loss = 0.3;
  s.faults = {f};
  f.start = Time::zero() + Duration::seconds(6);
  f.latency = ms(20);
  s.faults.push_back(f);
  ClientSpec& c = s.clients[0];
  c.count = 4400;
  c.arrivals.process = ArrivalProcess::kOnce;
  c.arrivals.spread = Duration::seconds(20);
  c.retry.backoff.base = ms(50);
  c.timeouts.deadline = Duration::seconds(2);
  test::set_timeout(c, ms(120));
  s.clients.push_back(c);
  s.clients[1].name = "drawn";
  s.clients[1].priority = 9;
  s.clients[1].retry_priority = 4;
  s.clients[1].timeouts.attempt = Distribution::exponential(0.2);
  s.clients[1].count = 600;
  return s;
}

TEST_CASE("Whatever happens at a service, it is empty when all is over") {
  const Discipline discipline =
      GENERATE(Discipline::kFifo, Discipline::kLifo, Discipline::kAdaptiveLifo, Discipline::kRandom,
               Discipline::kPriority, Discipline::kProcessorSharing, Discipline::kCodel);
  const Abandoned abandoned =
      GENERATE(Abandoned::kServe, Abandoned::kDropAtDequeue, Abandoned::kRemove, Abandoned::kAbort);
#ifdef NDEBUG
  constexpr int kStep = 1;
#else
  constexpr int kStep = 3;  // slow builds look for other things, in each variant often enough
#endif
  const int first = (static_cast<int>(discipline) + static_cast<int>(abandoned)) % kStep;
  for (int variant = first; variant < 6; variant += kStep) {
    INFO("discipline " << static_cast<int>(discipline) << ", abandoned "
                       << static_cast<int>(abandoned) << ", variant " << variant);
    Scenario s = troubled(discipline, abandoned, variant);
    const RunResult r = simulate(s, 0);
    CHECK(r.services[0].bins[28].in_system_ns == 0);
    CHECK(r.services[0].bins[28].queue_max == 0);
    CHECK(r.clients[0].executed > 300);
    CHECK(test::count(r.clients[0], Outcome::kUnfinished) == 0);
    CHECK(simulate(s, 0).events == r.events);
    const double in_window = r.services[0].window.busy_ns;
    CHECK(r.services[0].wasted_after_give_up_ns <= in_window * (1 + 1e-9));
  }
}

TEST_CASE("The books are in order whenever a run is cut off") {
  const Discipline discipline =
      GENERATE(Discipline::kFifo, Discipline::kLifo, Discipline::kAdaptiveLifo, Discipline::kRandom,
               Discipline::kPriority, Discipline::kProcessorSharing, Discipline::kCodel);
  for (int variant = 0; variant < 6; ++variant) {
    INFO("discipline " << static_cast<int>(discipline) << ", variant " << variant);
    Scenario s = troubled(discipline, Abandoned::kServe, variant);
    s.drain = false;
    s.duration = ms(1500 + 1700 * variant);
    const RunResult r = simulate(s, 0);  // throws if they are not
    CHECK(r.ended <= Time::zero() + s.duration);
    CHECK(r.services[0].unused + r.services[0].failed <= r.services[0].window.completions);
    CHECK(r.clients[0].refused > 0);
  }
}

}  // namespace
}  // namespace retrysim
