// Several instances of a service behind a balancer: which one an attempt goes to, what each has of
// its own, and what a fault of one of them does.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/model/small_world.hpp"

#include <retrysim/run.hpp>

#include <cmath>
#include <numeric>
#include <vector>

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// `requests` requests at the same instant, each by a client of its own, without retries.
Scenario at_once(std::uint32_t instances, std::uint32_t requests,
                 Balancing balancing = Balancing::kRoundRobin) {
  Scenario s = test::small_world();
  s.services[0].instances.count = instances;
  s.services[0].instances.balancing = balancing;
  s.clients[0].count = requests;
  s.clients[0].retry.max_attempts = 1;
  return s;
}

/// Poisson traffic for 100 s.
Scenario poisson(std::uint32_t instances, double rate, Balancing balancing) {
  Scenario s = at_once(instances, 1, balancing);
  s.services[0].service_time = Distribution::exponential(0.1);
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = rate;
  return s;
}

FaultSpec fault_of(std::uint32_t instance, std::int64_t start_ms = 0,
                   std::int64_t duration_ms = 1'000'000) {
  FaultSpec f;
  f.name = "sick";
  f.instance = instance;
  f.start = Time::zero() + ms(start_ms);
  f.duration = ms(duration_ms);
  return f;
}

std::vector<std::uint64_t> attempts(const RunResult& r) {
  std::vector<std::uint64_t> all;
  for (const InstanceResult& i : r.services[0].instances) all.push_back(i.attempts);
  return all;
}

std::uint64_t ended(const RunResult& r, std::size_t instance, AttemptResult result) {
  return r.services[0].instances[instance].results[static_cast<std::size_t>(result)];
}

constexpr Balancing kAllBalancing[] = {Balancing::kRoundRobin, Balancing::kRandom,
                                       Balancing::kLeastConnections, Balancing::kTwoChoices,
                                       Balancing::kPeakEwma};

TEST_CASE("A single instance is a service as ever, however it is balanced", "[instances]") {
  Scenario s = poisson(1, 8, Balancing::kRoundRobin);
  s.services[0].queue.discipline = Discipline::kRandom;
  const RunResult plain = simulate(s, 0);
  CHECK(plain.services[0].instances.empty());
  for (const Balancing balancing : kAllBalancing) {
    s.services[0].instances.balancing = balancing;
    s.services[0].instances.health_check.interval = Duration::seconds(1);
    CHECK(simulate(s, 0) == plain);
  }
}

TEST_CASE("Round-robin goes from one instance to the next", "[instances]") {
  CHECK(attempts(simulate(at_once(4, 102), 0)) == std::vector<std::uint64_t>{26, 26, 25, 25});
}

TEST_CASE("Random balancing takes each instance equally often", "[instances]") {
  const Scenario s = poisson(4, 1000, Balancing::kRandom);
  // 25,000 each of about 100,000; six standard deviations are 822. Chance of a false alarm with
  // another seed: below 1e-8.
  for (const std::uint64_t n : attempts(simulate(s, 0))) {
    CHECK(static_cast<double>(n) == Approx(25'000).margin(1500));
  }
}

TEST_CASE("Least connections fills all instances evenly, and breaks ties at random",
          "[instances]") {
  CHECK(attempts(simulate(at_once(4, 100, Balancing::kLeastConnections), 0)) ==
        std::vector<std::uint64_t>(4, 25));
  // A single request meets four idle instances: each of them in some replication. That one of them
  // is missed in 100 replications has a chance of 1e-12.
  std::vector<std::uint64_t> sums(4);
  const Scenario one = at_once(4, 1, Balancing::kLeastConnections);
  for (std::uint32_t run = 0; run < 100; ++run) {
    const auto here = attempts(simulate(one, run));
    for (std::size_t i = 0; i < 4; ++i) sums[i] += here[i];
  }
  CHECK(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) == 100);
  CHECK(std::ranges::min(sums) > 0);
}

TEST_CASE("Two choices is never worse than one attempt ahead where there are only two",
          "[instances]") {
  CHECK(attempts(simulate(at_once(2, 100, Balancing::kTwoChoices), 0)) ==
        std::vector<std::uint64_t>(2, 50));
}

TEST_CASE("Each instance has servers and a queue of its own", "[instances]") {
  Scenario s = at_once(2, 6);
  CHECK(simulate(s, 0).last_request_end == Time::zero() + ms(300));
  s.services[0].queue.capacity = 1;  // one is served and one waits, at each
  const RunResult full = simulate(s, 0);
  CHECK(count(full.clients[0], Outcome::kSuccess) == 4);
  CHECK(full.services[0].nominal_servers == 2);
  // An instance that stands still keeps its queue, while the other one has nothing to do.
  s.services[0].queue.capacity = ServiceSpec::kUnlimited;
  s.faults = {fault_of(1, 0, 10'000)};
  s.faults[0].speed = 0;
  const RunResult stuck = simulate(s, 0);
  CHECK(stuck.last_request_end == Time::zero() + ms(10'300));
  CHECK(stuck.services[0].instances[0].queue_max == 2);
  CHECK(stuck.services[0].instances[0].busy_ns == Approx(10.3e9));
  CHECK(stuck.services[0].instances[1].busy_ns == Approx(0.3e9));
}

TEST_CASE("The limit on concurrency is that of an instance, the throttle that of the service",
          "[instances]") {
  Scenario s = at_once(3, 30);
  s.services[0].concurrency.limit = 4;
  CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 12);
  s.services[0].concurrency.limit = ServiceSpec::kUnlimited;
  s.services[0].throttle = {.rate = 1e-9, .burst = 7, .retry_after = {}};
  const RunResult throttled = simulate(s, 0);
  CHECK(count(throttled.clients[0], Outcome::kSuccess) == 7);
  CHECK(test::total(throttled.services[0]).throttled == 23);
}

TEST_CASE("A fault may concern some instances only", "[instances]") {
  Scenario s = at_once(5, 50);
  s.faults = {fault_of(2)};
  s.faults[0].instances = 3;
  SECTION("errors") {
    s.faults[0].errors = {{{500, "InternalError"}, 1.0}};
    const RunResult r = simulate(s, 0);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(ended(r, i, AttemptResult::kError) == (i >= 1 && i <= 3 ? 10 : 0));
    }
  }
  SECTION("unreachable") {
    s.faults[0].unreachable = true;
    const RunResult r = simulate(s, 0);
    CHECK(ended(r, 0, AttemptResult::kSuccess) == 10);
    CHECK(ended(r, 2, AttemptResult::kError) == 10);
    CHECK(r.services[0].window.arrivals == 20);
  }
  SECTION("capacity") {
    s.faults[0].capacity = 0;
    s.faults[0].duration = ms(5000);
    const RunResult r = simulate(s, 0);
    CHECK(r.last_request_end == Time::zero() + ms(6000));
    CHECK(r.services[0].window.servers_ns == Approx(5 * 100e9 - 3 * 5e9));
  }
  SECTION("speed") {
    s.faults[0].speed = 0.5;
    CHECK(simulate(s, 0).services[0].window.busy_ns == Approx(2 * 1e9 + 3 * 2e9));
  }
  SECTION("loss of messages") {
    s.faults[0].response_loss = 1;
    test::set_timeout(s.clients[0], ms(3000));
    const RunResult r = simulate(s, 0);
    CHECK(ended(r, 1, AttemptResult::kTimeout) == 10);
    CHECK(ended(r, 4, AttemptResult::kSuccess) == 10);
    CHECK(r.clients[0].executed == 50);
  }
}

TEST_CASE("A crash loses the queue of one instance", "[instances]") {
  Scenario s = at_once(2, 10);
  s.faults = {fault_of(2, 250, 1)};
  s.faults[0].cold_restart = true;
  const RunResult r = simulate(s, 0);
  // Two of the five have been served by then.
  CHECK(ended(r, 0, AttemptResult::kSuccess) == 5);
  CHECK(ended(r, 1, AttemptResult::kSuccess) == 2);
  CHECK(ended(r, 1, AttemptResult::kError) == 3);
}

TEST_CASE("The crash of an instance leaves the service's throttle as it is", "[instances]") {
  Scenario s = at_once(2, 1);
  s.services[0].throttle = {.rate = 1e-9, .burst = 3, .retry_after = {}};
  s.clients[0].arrivals.process = ArrivalProcess::kTrace;
  for (int i = 0; i < 10; ++i) s.clients[0].arrivals.rows.push_back(Time::zero() + ms(1000 * i));
  s.faults = {fault_of(1, 1500, 1)};
  s.faults[0].cold_restart = true;
  CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 3);
  s.faults[0].instance = FaultSpec::kAllInstances;  // the bucket is full again at 1.5 s
  CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 5);
}

TEST_CASE("A retry chooses anew", "[instances]") {
  // One of ten instances fails; three attempts chosen at random all meet it with a chance of 1e-3.
  Scenario s = poisson(10, 2000, Balancing::kRandom);
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(ms(1));
  s.faults = {fault_of(7)};
  s.faults[0].errors = {{{500, "InternalError"}, 1.0}};
  s.clients[0].retry.max_attempts = 3;
  const RunResult r = simulate(s, 0);
  // Of 200,000 requests 200 fail and each makes 1.11 attempts: six standard deviations are 85 and
  // 0.0048. Chance of a false alarm with another seed: below 1e-8.
  const auto requests = static_cast<double>(r.clients[0].requests);
  const auto failures = static_cast<double>(count(r.clients[0], Outcome::kMaxAttemptsExceeded));
  CHECK(failures == Approx(requests * 1e-3).margin(85));
  CHECK(static_cast<double>(r.clients[0].attempts) / requests == Approx(1.11).margin(0.0048));
  // By turns the next instance is another one.
  s.services[0].instances.balancing = Balancing::kRoundRobin;
  CHECK(count(simulate(s, 0).clients[0], Outcome::kMaxAttemptsExceeded) == 0);
}

TEST_CASE("An instance that fails at once attracts what is balanced by connections",
          "[instances]") {
  Scenario s = at_once(10, 200, Balancing::kLeastConnections);
  s.faults = {fault_of(4)};
  s.faults[0].errors = {{{503, "ServiceUnavailable"}, 1.0}};
  const RunResult r = simulate(s, 0);
  // It never has anything under way: once the others have one attempt each, all go there.
  CHECK(count(r.clients[0], Outcome::kSuccess) == 9);
  CHECK(attempts(r)[3] == 191);
  s.services[0].instances.balancing = Balancing::kRoundRobin;
  CHECK(count(simulate(s, 0).clients[0], Outcome::kSuccess) == 180);
}

TEST_CASE("What a client has given up is not under way any more", "[instances]") {
  // Client 1 gives up at 1 s what instance 1 or 2 still works on. At 2 s both count as idle.
  Scenario s = at_once(2, 1, Balancing::kLeastConnections);
  s.services[0].service_time = Distribution::constant(ms(60'000));
  s.clients[0].arrivals.process = ArrivalProcess::kTrace;
  s.clients[0].arrivals.rows = {Time::zero(), Time::zero() + ms(2000)};
  test::set_timeout(s.clients[0], ms(1000));
  bool same = false, other = false;
  for (std::uint32_t run = 0; run < 40; ++run) {  // each with a chance of 1/2
    const auto here = attempts(simulate(s, run));
    (here[0] == 1 ? other : same) = true;
  }
  CHECK(same);
  CHECK(other);
}

TEST_CASE("Black hole: a new connection times out, an attempt on an old one gets no answer",
          "[instances]") {
  Scenario s = at_once(1, 1);
  s.network.connect = Distribution::constant(ms(5));
  s.clients[0].timeouts.connect = ms(40);
  s.clients[0].arrivals.process = ArrivalProcess::kTrace;
  s.clients[0].arrivals.rows = {Time::zero(), Time::zero() + ms(10'000)};
  test::set_timeout(s.clients[0], ms(1000));
  s.faults = {fault_of(FaultSpec::kAllInstances, 5000)};
  s.faults[0].black_hole = true;
  const RunResult old = simulate(s, 0);
  CHECK(count(old.clients[0], AttemptResult::kTimeout) == 1);
  CHECK(old.clients[0].latency_m.sum_ns == (105 + 1000) * 1'000'000);
  CHECK(old.clients[0].lost == 1);
  s.faults[0].start = Time::zero();
  const RunResult fresh = simulate(s, 0);
  CHECK(count(fresh.clients[0], AttemptResult::kTimeout) == 2);
  CHECK(fresh.clients[0].latency_m.sum_ns == 2 * 40 * 1'000'000);
  CHECK(fresh.services[0].window.arrivals == 0);
}

TEST_CASE("Tokens are remembered by the service, whichever instance had the effect",
          "[instances]") {
  Scenario s = at_once(2, 10);
  s.services[0].idempotency.window = Duration::seconds(1000);
  s.services[0].idempotency.in_progress = InProgress::kExecute;
  s.clients[0].side_effects.mutating = 1;
  s.clients[0].retry.max_attempts = 2;
  s.faults = {fault_of(1)};
  s.faults[0].response_loss = 1;
  test::set_timeout(s.clients[0], ms(5000));
  const RunResult r = simulate(s, 0);
  CHECK(r.clients[0].executed == 10);
  CHECK(r.clients[0].duplicated == 0);
  CHECK(r.clients[0].replays == 5);
}

TEST_CASE("Each instance that calls a service is a client of its own", "[instances]") {
  Scenario s = at_once(3, 300);
  s.services[0].servers = 100;
  ServiceSpec db = s.services[0];
  db.name = "db";
  db.instances.count = 1;
  db.errors = {{{500, "InternalError"}, 1.0}};
  s.services.push_back(db);
  ClientSpec call = s.clients[0];
  call.name = "api.db";
  call.service = 1;
  call.count = 3;
  call.retry.quota.enabled = true;
  call.retry.quota.capacity = call.retry.quota.initial = 10;
  call.retry.quota.cost = 5;
  call.retry.max_attempts = 2;
  test::add_call(s, 0, call);
  // A hundred calls of each instance share one bucket for two retries.
  CHECK(simulate(s, 0).clients[1].attempts == 306);
  s.clients[1].count = 1;
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

TEST_CASE("Servers that hedges set free at several instances all go on", "[instances]") {
  Scenario s = at_once(2, 8);
  s.services[0].abandoned = Abandoned::kAbort;
  s.services[0].service_time = Distribution::constant(ms(1000));
  s.clients[0].timeouts.deadline = ms(1500);
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.hedging.enabled = true;
  s.clients[0].retry.hedging.delay = ms(10);
  const RunResult r = simulate(s, 0);
  // Two are served by 1 s. The deadline frees both servers, and nobody waits any more.
  CHECK(count(r.clients[0], Outcome::kSuccess) == 2);
  CHECK(r.last_request_end == Time::zero() + ms(1500));
}

TEST_CASE("The books balance for all kinds of balancing, queues and abandoned work",
          "[instances]") {
  for (const Balancing balancing : kAllBalancing) {
    for (const Discipline discipline : {Discipline::kFifo, Discipline::kProcessorSharing,
                                        Discipline::kCodel, Discipline::kRandom}) {
      for (const Abandoned abandoned : {Abandoned::kServe, Abandoned::kAbort}) {
        Scenario s = poisson(3, 40, balancing);
        s.duration = Duration::seconds(20);
        s.warmup = Duration::seconds(5);
        s.network.latency = Distribution::exponential(0.005);
        s.services[0].queue.discipline = discipline;
        s.services[0].abandoned = abandoned;
        s.services[0].queue.capacity = 20;
        s.services[0].timeout = ms(2000);
        s.services[0].rejection.cost = ms(1);
        s.services[0].instances.health_check = {.interval = ms(500), .timeout = ms(300)};
        s.clients[0].retry.max_attempts = 3;
        test::set_timeout(s.clients[0], ms(300));
        s.faults = {fault_of(2, 6000, 5000), fault_of(1, 8000, 4000)};
        s.faults[0].cold_restart = true;
        s.faults[0].speed = 0.1;
        s.faults[1].unreachable = true;
        const RunResult r = simulate(s, 0);  // which checks them
        CHECK(r.services[0].instances.size() == 3);
        CHECK(r.services[0].window.completions > 0);
      }
    }
  }
}

TEST_CASE("What makes no sense with several instances is refused", "[instances]") {
  Scenario s = at_once(2, 1);
  s.services[0].autoscaling.target = 0.5;
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
  s.services[0].autoscaling.target = 0;
  s.services[0].model = ServiceModelKind::kOcc;
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
  s.services[0].model = ServiceModelKind::kQueue;
  s.services[0].instances.count = 0;
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

TEST_CASE("The order of services in the scenario changes nothing", "[instances]") {
  Scenario s = poisson(3, 20, Balancing::kTwoChoices);
  s.services[0].instances.health_check = {.interval = ms(700), .timeout = ms(100)};
  s.services.push_back(s.services[0]);
  s.services[1].name = "zoo";
  s.clients.push_back(s.clients[0]);
  s.clients[1].name = "xyz";
  s.clients[1].service = 1;
  const RunResult one = simulate(s, 0, {.fingerprint = true});
  std::swap(s.services[0], s.services[1]);
  std::swap(s.clients[0].service, s.clients[1].service);
  const RunResult other = simulate(s, 0, {.fingerprint = true});
  CHECK(one.fingerprint == other.fingerprint);
  CHECK(one.clients == other.clients);
  CHECK(one.services[0] == other.services[1]);
}

TEST_CASE("The estimate of a run's memory and events knows instances", "[instances]") {
  Scenario s = poisson(1, 8, Balancing::kRandom);
  const RunNeeds single = needs_of(s);
  s.services[0].instances.count = 1000;
  s.services[0].instances.health_check.interval = Duration::seconds(1);
  const RunNeeds many = needs_of(s);
  CHECK(total_bytes(many.clients) > total_bytes(single.clients) + 1000 * sizeof(InstanceResult));
  CHECK(many.events - single.events == Approx(2 * 1000 * 100));
}

TEST_CASE("A group that calls two services meets the instances of each", "[instances]") {
  Scenario s = at_once(3, 600, Balancing::kLeastConnections);
  s.clients[0].retry.max_attempts = 3;
  s.services.push_back(s.services[0]);
  s.services[1].name = "other";
  s.services[1].instances.count = 1;
  s.clients[0].more_services = {1};
  FaultSpec sick = fault_of(2);
  sick.errors = {{{500, "InternalError"}, 1.0}};
  s.faults = {sick};
  const RunResult r = simulate(s, 0);  // throws if the books are not in order
  const std::vector<std::uint64_t> sent = attempts(r);
  REQUIRE(sent.size() == 3);
  CHECK(r.services[1].instances.empty());
  CHECK(std::accumulate(sent.begin(), sent.end(), std::uint64_t{0}) +
            r.services[1].window.arrivals ==
        r.clients[0].attempts);
  CHECK(ended(r, 1, AttemptResult::kError) == sent[1]);  // the second is the sick one
  CHECK(ended(r, 0, AttemptResult::kError) + ended(r, 2, AttemptResult::kError) == 0);
  // With the single service first, too: what is balanced does not depend on their order.
  std::swap(s.services[0], s.services[1]);
  s.faults[0].service = 1;
  const RunResult swapped = simulate(s, 0);
  CHECK(swapped.services[1].instances.size() == 3);
  CHECK(swapped.services[0].instances.empty());
}

}  // namespace
}  // namespace retrysim
