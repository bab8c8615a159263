// Instances that a balancer leaves out because of their answers: outlier detection and failure
// accrual by themselves, fed with verdicts; then both in whole runs.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "model/network/ejection.hpp"
#include "unit/model/small_world.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace retrysim {
namespace {

using model::FailureAccrual;
using model::OutlierDetection;
using HostVerdict = model::Verdict;
using test::count;
using test::ms;

Time at_s(double seconds) { return Time::zero() + Duration::from_seconds(seconds); }

EjectionSpec envoy() {
  EjectionSpec e;
  e.interval = Duration::seconds(10);
  return e;
}

void fail(OutlierDetection& d, std::size_t host, int times, Time now,
          HostVerdict verdict = HostVerdict::kFailure) {
  for (int i = 0; i < times; ++i) d.heard(host, verdict, now);
}

std::size_t out(const OutlierDetection& d, std::size_t hosts) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < hosts; ++i) sum += d.is_out(i);
  return sum;
}

TEST_CASE("The defaults of outlier detection are Envoy's", "[ejection]") {
  const EjectionSpec e;
  CHECK_FALSE(e.enabled());
  CHECK(e.consecutive_5xx == 5);
  CHECK(e.consecutive_gateway_failure == EjectionSpec::kNever);
  CHECK(e.base_ejection_time == Duration::seconds(30));
  CHECK(e.max_ejection_time == Duration::seconds(300));
  CHECK(e.max_ejection_percent == 10);
  CHECK_FALSE(e.always_eject_one_host);
  CHECK(e.success_rate_minimum_hosts == 5);
  CHECK(e.success_rate_request_volume == 100);
  CHECK(e.success_rate_stdev_factor == 1900);
  CHECK(e.failure_percentage_minimum_hosts == 5);
  CHECK(e.failure_percentage_request_volume == 50);
}

TEST_CASE("Five failures in a row eject a host, unless a success comes in between", "[ejection]") {
  const EjectionSpec spec = envoy();
  OutlierDetection d(spec, 10);
  fail(d, 3, 4, at_s(1));
  d.heard(3, HostVerdict::kGood, at_s(1));
  d.heard(3, HostVerdict::kNothing, at_s(1));
  fail(d, 3, 4, at_s(2));
  CHECK(out(d, 10) == 0);
  CHECK(d.heard(3, HostVerdict::kGatewayFailure, at_s(2)));
  CHECK(d.is_out(3));
}

TEST_CASE("Gateway failures have a limit of their own", "[ejection]") {
  EjectionSpec spec = envoy();
  spec.consecutive_gateway_failure = 3;
  OutlierDetection d(spec, 10);
  fail(d, 0, 2, at_s(1), HostVerdict::kGatewayFailure);
  fail(d, 0, 1, at_s(1), HostVerdict::kFailure);  // is none, and begins the count anew
  fail(d, 1, 3, at_s(1), HostVerdict::kGatewayFailure);
  CHECK_FALSE(d.is_out(0));
  CHECK(d.is_out(1));
}

TEST_CASE("No more hosts are ejected than the percentage allows", "[ejection]") {
  EjectionSpec spec = envoy();
  const auto ejected = [&](std::size_t hosts) {
    OutlierDetection d(spec, hosts);
    for (std::size_t i = 0; i < hosts; ++i) fail(d, i, 5, at_s(1));
    CHECK(d.most_out() == out(d, hosts));
    return out(d, hosts);
  };
  CHECK(ejected(9) == 0);
  CHECK(ejected(10) == 1);
  CHECK(ejected(30) == 3);
  spec.always_eject_one_host = true;
  CHECK(ejected(9) == 1);
  CHECK(ejected(20) == 2);
  spec.max_ejection_percent = 100;
  CHECK(ejected(7) == 7);
}

TEST_CASE("Ejections last longer from one to the next, up to a limit, and are forgotten slowly",
          "[ejection]") {
  EjectionSpec spec = envoy();
  spec.base_ejection_time = Duration::seconds(25);
  spec.max_ejection_time = Duration::seconds(60);
  OutlierDetection d(spec, 10);
  // How many looks pass until the host is back.
  double now = 0;
  const auto looks_until_back = [&] {
    fail(d, 0, 5, at_s(now));
    int looks = 0;
    for (; d.is_out(0); ++looks) d.look(at_s(now += 10));
    return looks;
  };
  CHECK(looks_until_back() == 3);  // 25 s
  CHECK(looks_until_back() == 5);  // 50 s
  CHECK(looks_until_back() == 6);  // 60 s instead of 75 s
  CHECK(looks_until_back() == 6);
  // The multiplier stays at 4, beyond the longest time; three looks without an ejection make it 1.
  for (int i = 0; i < 3; ++i) d.look(at_s(now += 10));
  CHECK(looks_until_back() == 5);
}

TEST_CASE("A host that comes back begins without failures", "[ejection]") {
  const EjectionSpec spec = envoy();
  OutlierDetection d(spec, 10);
  fail(d, 0, 5, at_s(0));
  fail(d, 0, 100, at_s(1));  // in a panic attempts still go there
  d.look(at_s(30));
  CHECK_FALSE(d.is_out(0));
  fail(d, 0, 4, at_s(31));
  CHECK_FALSE(d.is_out(0));
  fail(d, 0, 1, at_s(31));
  CHECK(d.is_out(0));
  CHECK(d.passed_check(0, at_s(32)));  // an active check ends it
  CHECK_FALSE(d.is_out(0));
}

TEST_CASE("A success rate far below the others' ejects at a look", "[ejection]") {
  EjectionSpec spec = envoy();
  spec.consecutive_5xx = EjectionSpec::kNever;
  spec.max_ejection_percent = 50;
  spec.success_rate_request_volume = 100;
  // Success rates of Envoy's own example: 50, 100, 100, 100, 100 have the mean 90 and the standard
  // deviation 20, so the limit is 52.
  const auto ejected = [&](int failures_of_first, std::size_t hosts, int volume) {
    OutlierDetection d(spec, hosts);
    for (std::size_t h = 0; h < hosts; ++h) {
      const int failures = h == 0 ? failures_of_first : 0;
      fail(d, h, failures, at_s(1));
      fail(d, h, volume - failures, at_s(1), HostVerdict::kGood);
    }
    d.look(at_s(10));
    return d.is_out(0);
  };
  CHECK(ejected(50, 5, 100));
  CHECK_FALSE(ejected(50, 5, 99));   // too few attempts
  CHECK_FALSE(ejected(50, 4, 100));  // too few hosts
  spec.success_rate_stdev_factor = 2100;
  CHECK_FALSE(ejected(50, 5, 100));  // the limit is 48
  spec.success_rate_stdev_factor = 0;
  CHECK_FALSE(ejected(100, 5, 100));
  spec.failure_percentage_threshold = 85;
  CHECK(ejected(85, 5, 100));
  CHECK_FALSE(ejected(84, 5, 100));
  CHECK(ejected(43, 5, 50));
  CHECK_FALSE(ejected(49, 5, 49));
  spec.failure_percentage_threshold = 1;
  CHECK(ejected(1, 5, 100));
}

TEST_CASE("Failure accrual: a penalty, then one attempt that decides", "[ejection]") {
  AccrualSpec spec;
  spec.max_failures = 2;
  spec.max_penalty = Duration::seconds(3);
  spec.jitter_ratio = 0.5;
  FailureAccrual a(spec, 1);
  CHECK_FALSE(a.heard(0, HostVerdict::kFailure, true));
  CHECK_FALSE(a.heard(0, HostVerdict::kGood, true));
  CHECK_FALSE(a.heard(0, HostVerdict::kFailure, true));
  CHECK(a.heard(0, HostVerdict::kGatewayFailure, true));
  CHECK(a.is_out(0));
  CHECK(a.penalty(0, 0) == Duration::seconds(1));
  CHECK(a.penalty(0, 0.5) == ms(1250));
  CHECK_FALSE(a.heard(0, HostVerdict::kGood, true));  // too late to be listened to
  CHECK(a.is_out(0));
  a.penalty_over(0);
  CHECK_FALSE(a.is_out(0));
  CHECK(a.sent(0));
  CHECK(a.is_out(0));
  CHECK_FALSE(a.sent(0));
  // The attempt that was to decide is given up: another one may.
  CHECK_FALSE(a.heard(0, HostVerdict::kNothing, false));
  CHECK(a.heard(0, HostVerdict::kNothing, true));
  CHECK_FALSE(a.is_out(0));
  CHECK(a.sent(0));
  CHECK(a.heard(0, HostVerdict::kFailure, true));
  CHECK(a.penalty(0, 0) == Duration::seconds(2));
  CHECK(a.penalty(0, 1) == Duration::seconds(3));
  a.penalty_over(0);
  CHECK(a.sent(0));
  CHECK(a.heard(0, HostVerdict::kFailure, true));
  CHECK(a.penalty(0, 0) == Duration::seconds(3));  // instead of 4
  a.penalty_over(0);
  CHECK(a.sent(0));
  CHECK(a.heard(0, HostVerdict::kGood, true));
  CHECK_FALSE(a.is_out(0));
  a.heard(0, HostVerdict::kFailure, true);
  CHECK(a.heard(0, HostVerdict::kFailure, true));
  CHECK(a.penalty(0, 0) == Duration::seconds(1));
  CHECK(a.penalties(0) == 4);
}

TEST_CASE("Finagle's penalties are 5, 5 to 10, 10 to 20, 20 to 40 s and so on", "[ejection]") {
  // Backoff.equalJittered(5.seconds, 300.seconds): the first is `start` itself, the k-th after it
  // start x 2^(k-1) and a random part of as much.
  AccrualSpec spec;
  spec.max_failures = 1;
  spec.min_penalty = Duration::seconds(5);
  spec.max_penalty = Duration::seconds(300);
  spec.penalties = Penalties::kEqualJittered;
  FailureAccrual a(spec, 1);
  const double expected[][2] = {{5, 5},    {5, 10},    {10, 20},   {20, 40},  {40, 80},
                                {80, 160}, {160, 300}, {300, 300}, {300, 300}};
  for (const auto& [least, most] : expected) {
    CHECK(a.heard(0, HostVerdict::kFailure, true));
    CHECK(a.penalty(0, 0).in_seconds() == least);
    CHECK(a.penalty(0, 1).in_seconds() == most);
    a.penalty_over(0);
    CHECK(a.sent(0));
  }
  CHECK(a.heard(0, HostVerdict::kGood, true));  // the next series begins anew
  CHECK(a.heard(0, HostVerdict::kFailure, true));
  CHECK(a.penalty(0, 1) == Duration::seconds(5));
}

/// Poisson traffic of 200 requests a second for 100 s to `instances` hosts, the first of which
/// fails at once.
Scenario one_sick(std::uint32_t instances, Balancing balancing) {
  Scenario s = test::small_world();
  ServiceSpec& service = s.services[0];
  service.instances.count = instances;
  service.instances.balancing = balancing;
  service.servers = ServiceSpec::kUnlimited;
  service.service_time = Distribution::constant(ms(20));
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 200;
  s.clients[0].retry.max_attempts = 1;
  FaultSpec f;
  f.name = "sick";
  f.instance = 1;
  f.start = Time::zero();
  f.duration = Duration::seconds(100'000);
  f.errors = {{{500, "InternalError"}, 1.0}};
  s.faults = {f};
  return s;
}

double share_of_first(const RunResult& r) {
  double sum = 0;
  for (const InstanceResult& i : r.services[0].instances) sum += static_cast<double>(i.attempts);
  return static_cast<double>(r.services[0].instances[0].attempts) / sum;
}

std::vector<std::uint64_t> attempts_by_host(const RunResult& r) {
  std::vector<std::uint64_t> all;
  for (const InstanceResult& i : r.services[0].instances) all.push_back(i.attempts);
  return all;
}

double success_rate(const RunResult& r) {
  const ClientResult& c = r.clients[0];
  return static_cast<double>(count(c, Outcome::kSuccess)) / static_cast<double>(c.requests);
}

TEST_CASE(
    "A host that fails fast attracts what least-connections sends, and ejection or avoided hosts "
    "cure it",
    "[ejection]") {
  Scenario s = one_sick(10, Balancing::kLeastConnections);
  // The nine sound hosts can have up to twenty attempts under way, and the sick one never has any:
  // it gets whatever comes while each of the others has one.
  s.clients[0].arrivals.rate = 1000;
  CHECK(share_of_first(simulate(s, 0)) > 0.4);
  s.clients[0].arrivals.rate = 200;
  s.services[0].instances.ties = Ties::kFirst;
  // The first one of the idle ones is the sick one: nothing gets past it.
  CHECK(share_of_first(simulate(s, 0)) == 1);
  CHECK(success_rate(simulate(s, 0)) == 0);
  SECTION("ejection") {
    s.services[0].instances.ejection.interval = Duration::seconds(10);
    const RunResult r = simulate(s, 0);
    CHECK(share_of_first(r) < 0.01);
    CHECK(r.services[0].instances[0].ejections == 2);  // at 0 s for 30 s, at 40 s for 60 s
    CHECK(r.services[0].instances[0].out_ns > 99e9);
    CHECK(r.services[0].instances[0].out_ns == r.services[0].instances[0].ejected_ns);
  }
  SECTION("failure accrual") {
    s.services[0].instances.accrual.max_failures = 7;
    const RunResult r = simulate(s, 0);
    CHECK(share_of_first(r) < 0.01);
    // Penalties of 1, 2, 4, 8, 16, 32 s, and up to half of that more.
    CHECK(r.services[0].instances[0].ejections >= 6);
    CHECK(r.services[0].instances[0].ejections <= 7);
  }
  SECTION("avoided hosts") {
    s.clients[0].retry.max_attempts = 2;
    s.clients[0].retry.avoid_hosts = 1;
    CHECK(success_rate(simulate(s, 0)) == 1);
    s.clients[0].retry.avoid_hosts = 0;
    CHECK(success_rate(simulate(s, 0)) == 0);
  }
}

TEST_CASE("A retry that avoids hosts meets the sick one again only by so many draws", "[hosts]") {
  // Random balancing over n = 4 hosts, one of them sick, one retry: a request fails if all of
  // 2 + tries draws name the sick one. Among about 20,000 requests the share has a standard
  // deviation of at most 0.0018; chance of a false alarm with another seed: below 1e-8.
  Scenario s = one_sick(4, Balancing::kRandom);
  s.clients[0].retry.max_attempts = 2;
  for (const std::uint32_t tries : {0u, 1u, 3u}) {
    s.clients[0].retry.avoid_hosts = tries;
    const double expected = 1 - std::pow(0.25, 2 + tries);
    CHECK(success_rate(simulate(s, 0)) == Approx(expected).margin(0.0105));
  }
  s.clients[0].retry.avoid_hosts = RetryRules::kUnlimited;
  for (const Balancing b :
       {Balancing::kRoundRobin, Balancing::kRandom, Balancing::kLeastConnections,
        Balancing::kTwoChoices, Balancing::kPeakEwma}) {
    s.services[0].instances.balancing = b;
    CHECK(success_rate(simulate(s, 0)) == 1);
  }
}

TEST_CASE("Avoided hosts are visited once each while there are new ones", "[hosts]") {
  // All are sick: four attempts of each request go to four hosts, and a fifth to any of them.
  Scenario s = one_sick(4, Balancing::kRandom);
  s.faults[0].instance = FaultSpec::kAllInstances;
  s.clients[0].arrivals.process = ArrivalProcess::kOnce;
  s.clients[0].count = 100;
  s.clients[0].retry.avoid_hosts = RetryRules::kUnlimited;
  s.clients[0].retry.max_attempts = 4;
  CHECK(attempts_by_host(simulate(s, 0)) == std::vector<std::uint64_t>(4, 100));
  s.clients[0].retry.max_attempts = 5;
  const auto five = attempts_by_host(simulate(s, 0));
  CHECK(std::accumulate(five.begin(), five.end(), std::uint64_t{0}) == 500);
}

TEST_CASE("Hedges avoid the hosts of the attempts beside them", "[hosts]") {
  Scenario s = one_sick(2, Balancing::kRandom);
  s.faults[0].errors.clear();
  s.faults[0].speed = 0;  // it never answers
  s.clients[0].retry.hedging = {true, ms(1)};
  s.clients[0].retry.max_attempts = 2;
  s.clients[0].retry.avoid_hosts = RetryRules::kUnlimited;
  CHECK(success_rate(simulate(s, 0)) == 1);
  s.clients[0].retry.avoid_hosts = 0;
  CHECK(success_rate(simulate(s, 0)) < 0.8);
}

TEST_CASE("Below the panic threshold attempts go to ejected hosts, too", "[ejection]") {
  Scenario s = one_sick(4, Balancing::kRoundRobin);
  s.faults[0].instances = 3;
  InstancesSpec& instances = s.services[0].instances;
  instances.ejection.interval = Duration::seconds(10);
  instances.ejection.max_ejection_percent = 100;
  const RunResult calm = simulate(s, 0);
  CHECK(success_rate(calm) > 0.99);
  instances.panic_threshold = 0.25;  // one of four is not below it
  CHECK(simulate(s, 0) == calm);
  instances.panic_threshold = 0.5;
  CHECK(success_rate(simulate(s, 0)) == Approx(0.25).margin(0.01));
}

TEST_CASE("Nobody panics while the instances in rotation are enough with Envoy's factor",
          "[ejection]") {
  InstancesSpec spec;
  spec.panic_threshold = 1;
  CHECK_FALSE(spec.panics(5, 7));  // 140 x 5 / 7 = 100
  CHECK(spec.panics(4, 6));        // 93.3
  CHECK(spec.panics(71, 100));     // 99.4 is 99 in whole percent
  CHECK_FALSE(spec.panics(72, 100));
  CHECK_FALSE(spec.panics(143, 200));  // 100.1
  CHECK(spec.panics(714, 1000));       // 99.96 is 99
  spec.panic_threshold = 0.5;
  CHECK_FALSE(spec.panics(4, 8));
  CHECK(spec.panics(3, 8));
  spec.panic_threshold = 0.9;
  spec.panic_overprovisioning = 1;
  CHECK(spec.panics(8, 10));
  CHECK_FALSE(spec.panics(9, 10));
  // Eight of ten hosts are in rotation: 112 %.
  Scenario s = one_sick(10, Balancing::kRoundRobin);
  s.faults[0].instances = 2;
  InstancesSpec& instances = s.services[0].instances;
  instances.ejection.interval = Duration::seconds(10);
  instances.ejection.max_ejection_percent = 100;
  instances.panic_threshold = 0.9;
  CHECK(success_rate(simulate(s, 0)) > 0.99);
  instances.panic_overprovisioning = 1;
  CHECK(success_rate(simulate(s, 0)) == Approx(0.8).margin(0.01));
}

TEST_CASE("Each client ejects for itself, and knows its own attempts only", "[hosts]") {
  Scenario s = one_sick(4, Balancing::kRoundRobin);
  InstancesSpec& instances = s.services[0].instances;
  s.clients[0].count = 10;
  s.clients[0].arrivals.rate = 20;
  instances.ejection.interval = Duration::seconds(1000);
  instances.ejection.base_ejection_time = instances.ejection.max_ejection_time =
      Duration::seconds(5000);
  instances.ejection.max_ejection_percent = 25;
  instances.balancer = BalancerScope::kClient;
  const RunResult r = simulate(s, 0);
  // Five failures of each client.
  CHECK(r.services[0].instances[0].attempts == 50);
  CHECK(r.services[0].instances[0].ejections == 10);
  SECTION("a subset") {
    instances.subset = 1;
    instances.ejection = {};
    const RunResult one = simulate(s, 0);
    // A client knows the sick host or it does not: its requests all fail or all succeed.
    const std::uint64_t sick = one.services[0].instances[0].attempts;
    CHECK(count(one.clients[0], AttemptResult::kError) == sick);
    CHECK(success_rate(one) > 0);
    instances.subset = 4;
    const RunResult all = simulate(s, 0);
    instances.subset = 1000;
    CHECK(simulate(s, 0) == all);
  }
}

TEST_CASE("Ties by turns are round-robin while nothing is under way", "[hosts]") {
  Scenario s = one_sick(4, Balancing::kLeastConnections);
  s.faults.clear();
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.aligned = true;
  s.clients[0].arrivals.rate = 10;
  s.services[0].instances.ties = Ties::kTurns;
  CHECK(attempts_by_host(simulate(s, 0)) == std::vector<std::uint64_t>(4, 250));
  s.services[0].instances.ties = Ties::kFirst;
  CHECK(share_of_first(simulate(s, 0)) == 1);
}

TEST_CASE("Peak EWMA leaves a slow host alone", "[hosts]") {
  Scenario s = one_sick(4, Balancing::kPeakEwma);
  s.faults[0].errors.clear();
  s.faults[0].speed = 0.1;
  // A pair without the slow host is drawn half of the time, and of a pair with it the other one is
  // chosen nearly always.
  CHECK(share_of_first(simulate(s, 0)) < 0.05);
  s.services[0].instances.balancing = Balancing::kRandom;
  CHECK(share_of_first(simulate(s, 0)) == Approx(0.25).margin(0.02));
}

TEST_CASE("In random runs no balancer ever ejects more than it may", "[ejection]") {
  // The books of each run look at the most that any balancer had ejected at once.
  for (std::uint32_t run = 0; run < 20; ++run) {
    Scenario s = one_sick(10, Balancing::kRandom);
    s.duration = Duration::seconds(20);
    s.faults[0].instance = FaultSpec::kAllInstances;
    s.faults[0].errors = {{{503, "ServiceUnavailable"}, 0.6}};
    EjectionSpec& e = s.services[0].instances.ejection;
    e.interval = ms(100 + 37 * run);
    e.base_ejection_time = ms(50 * (run + 1));
    e.max_ejection_percent = 5.0 * run;
    e.always_eject_one_host = run % 2 == 0;
    e.success_rate_request_volume = 5;
    e.success_rate_stdev_factor = 500;
    if (run % 3 == 0) s.services[0].instances.balancer = BalancerScope::kClient;
    const RunResult r = simulate(s, run);
    double ejected_ns = 0;
    for (const InstanceResult& i : r.services[0].instances) ejected_ns += i.ejected_ns;
    CHECK(ejected_ns <= 20e9 * std::max(1.0, e.max_ejection_percent / 10) * (1 + 1e-9));
    CHECK((ejected_ns > 0) == (e.most_of(10) > 0));
  }
}

TEST_CASE("The peak EWMA of tower begins with a latency, that of Finagle with none", "[hosts]") {
  // Two hosts, one of 1 s and one of 100 ms, five attempts at intervals of 200 ms. Finagle: each
  // host gets one of the first two; the slow one, which has not answered yet, is then avoided.
  Scenario s = test::small_world();
  s.duration = ms(900);
  s.services[0].servers = 100;
  s.services[0].instances.count = 2;
  s.services[0].instances.balancing = Balancing::kPeakEwma;
  FaultSpec slow;
  slow.name = "slow";
  slow.start = Time::zero();
  slow.duration = Duration::seconds(100);
  slow.speed = 0.1;
  slow.instance = 1;
  s.faults.push_back(slow);
  s.clients[0].arrivals.process = ArrivalProcess::kConstant;
  s.clients[0].arrivals.rate = 5;
  s.clients[0].arrivals.aligned = true;
  CHECK(attempts_by_host(simulate(s, 0)) == std::vector<std::uint64_t>{1, 4});
  // tower: the fast one, once known, costs 100 ms; the slow one 30, 60, 90 and 120 ms, as long as
  // it has none, one, two and three under way, all of them a little less as time passes.
  s.services[0].instances.first_latency = ms(30);
  CHECK(attempts_by_host(simulate(s, 0)) == std::vector<std::uint64_t>{3, 2});
}

}  // namespace
}  // namespace retrysim
