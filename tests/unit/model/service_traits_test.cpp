// What an attempt has to go through at a service: what each key and each fault adds to it.
//
// SPDX-License-Identifier: MIT
#include "model/service/instance.hpp"

#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using model::Impairment;
using model::ServiceTraits;

ServiceSpec plain() { return test::small_world().services[0]; }

TEST_CASE("traits: a plain service asks for nothing") {
  const ServiceTraits t(plain());
  CHECK(t.always_succeeds);
  CHECK(!t.calls_others);
  CHECK(!t.screens_arrivals);
  CHECK(!t.loses_messages);
  CHECK(!t.obstructs_way);
  CHECK(!t.screens_queue);
  CHECK(!t.limits_concurrency);
  CHECK(!t.watches_attempts);
  CHECK(!t.takes_no_time);
  CHECK(!t.times_waits);
}

TEST_CASE("traits: models other than the queue are asked what comes of an attempt") {
  for (const ServiceModelKind model : {ServiceModelKind::kIndependent, ServiceModelKind::kOcc}) {
    ServiceSpec spec = plain();
    spec.model = model;
    CHECK(!ServiceTraits(spec).always_succeeds);
  }
}

TEST_CASE("traits: what is taken from the queue is looked at if some of it may not be served") {
  ServiceSpec spec = plain();
  spec.abandoned = Abandoned::kDropAtDequeue;
  CHECK(ServiceTraits(spec).screens_queue);
  spec.abandoned = Abandoned::kRemove;
  CHECK(!ServiceTraits(spec).screens_queue);
  spec.queue.drop_expired = true;
  CHECK(ServiceTraits(spec).screens_queue);
  spec = plain();
  spec.queue.discipline = Discipline::kCodel;
  CHECK(ServiceTraits(spec).screens_queue);
  spec.queue.discipline = Discipline::kLifo;
  CHECK(!ServiceTraits(spec).screens_queue);
  spec.queue.max_age = test::ms(10);
  CHECK(ServiceTraits(spec).screens_queue);
}

TEST_CASE("traits: attempts are watched where there is a limit on concurrency, or a timeout") {
  ServiceSpec spec = plain();
  spec.timeout = test::ms(10);
  CHECK(ServiceTraits(spec).watches_attempts);
  CHECK(!ServiceTraits(spec).limits_concurrency);
  spec = plain();
  spec.concurrency.limit = 3;
  CHECK(ServiceTraits(spec).watches_attempts);
  CHECK(ServiceTraits(spec).limits_concurrency);
  spec = plain();
  spec.concurrency.control = ConcurrencyControl::kAimd;
  CHECK(ServiceTraits(spec).limits_concurrency);
}

TEST_CASE("traits: a service takes no time if nothing can come between arrival and end") {
  ServiceSpec spec = plain();
  spec.service_time = Distribution::constant(Duration::zero());
  CHECK(ServiceTraits(spec).takes_no_time);
  spec.timeout = test::ms(10);
  CHECK(!ServiceTraits(spec).takes_no_time);
  spec.timeout = Duration::max();
  spec.queue.discipline = Discipline::kProcessorSharing;
  CHECK(!ServiceTraits(spec).takes_no_time);
}

TEST_CASE("traits: faults put errors and losses in the way of attempts, for as long as they last") {
  const ServiceSpec spec = plain();
  ServiceTraits t(spec);
  Impairment fault;
  fault.errors = {{0.5, std::uint16_t{3}}};
  t.follow(spec, fault);
  CHECK(t.screens_arrivals);
  CHECK(!t.loses_messages);
  fault = {};
  fault.response_loss = 0.1;
  t.follow(spec, fault);
  CHECK(!t.screens_arrivals);
  CHECK(t.loses_messages);
  CHECK(!t.obstructs_way);
  fault = {};
  fault.request_loss = 0.1;
  t.follow(spec, fault);
  CHECK(t.loses_messages);
  CHECK(t.obstructs_way);
  for (bool Impairment::*const wrong : {&Impairment::black_hole, &Impairment::unreachable}) {
    fault = {};
    fault.*wrong = true;
    t.follow(spec, fault);
    CHECK(!t.loses_messages);
    CHECK(t.obstructs_way);
  }
  t.follow(spec, {});
  CHECK(!t.obstructs_way);
}

TEST_CASE("traits: a throttle and a timed wait screen arrivals whatever the faults are") {
  ServiceSpec spec = plain();
  spec.throttle = {10, 3, ThrottleScope::kService, Duration::zero()};
  ServiceTraits throttled(spec);
  CHECK(throttled.screens_arrivals);
  throttled.follow(spec, {});
  CHECK(throttled.screens_arrivals);
  spec = plain();
  spec.wait_within = test::ms(5);
  const ServiceTraits timed(spec);
  CHECK(timed.times_waits);
  CHECK(timed.screens_arrivals);
}

}  // namespace
}  // namespace retrysim
