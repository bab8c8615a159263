// Which calls a service makes, when a call of several requests is decided, and what a failure does.
// Laws of chance are checked with fixed seeds and margins of five standard errors: with another
// seed each would fail once in 1.7 million times.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/model/small_world.hpp"

namespace retrysim {
namespace {

using test::count;
using test::ms;

/// Service "api", which takes no time itself, and `requests` requests that arrive together.
Scenario caller_world(std::uint32_t requests) {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(Duration::zero());
  s.clients[0].count = requests;
  s.clients[0].retry.max_attempts = 1;
  return s;
}

/// A call of the first service to a new one that has servers for all, without retries.
CallSpec& add_branch(Scenario& s, const std::string& name, const Distribution& time) {
  ServiceSpec service;
  service.name = name;
  service.servers = ServiceSpec::kUnlimited;
  service.service_time = time;
  s.services.push_back(service);
  ClientSpec client;
  client.name = "api." + name;
  client.service = s.services.size() - 1;
  client.retry.max_attempts = 1;
  test::add_call(s, 0, client);
  return s.calls.back();
}
CallSpec& add_branch(Scenario& s, const std::string& name, std::int64_t time_ms = 10) {
  return add_branch(s, name, Distribution::constant(ms(time_ms)));
}

void let_all_fail(ServiceSpec& service, double probability = 1) {
  service.errors = {{{500, "InternalError"}, probability}};
}

double mean_latency_s(const RunResult& r) {
  const DurationMoments& m = r.clients[0].latency_m;
  return static_cast<double>(m.sum_ns) / static_cast<double>(m.count) / 1e9;
}
std::int64_t total_ms(const RunResult& r) {
  return static_cast<std::int64_t>(r.clients[0].latency_m.sum_ns / 1'000'000);
}

/// Whether a count fits a probability, by five standard errors.
bool fits(std::uint64_t counted, double n, double p) {
  return std::abs(static_cast<double>(counted) - n * p) <= 5 * std::sqrt(n * p * (1 - p));
}

TEST_CASE("The k-th of n exponential requests decides a call") {
  struct Case {
    std::uint32_t n, k;
  };
  const Case c = GENERATE(Case{2, 2}, Case{8, 8}, Case{8, 1}, Case{3, 2}, Case{20, 15});
  constexpr double kMean = 0.01;
  constexpr std::uint32_t kRequests = 10'000;
  Scenario s = caller_world(kRequests);
  CallSpec& call = add_branch(s, "db", Distribution::exponential(kMean));
  call.count = c.n;
  if (c.k < c.n) call.need = c.k;
  // The k-th of n: mean (H(n) - H(n - k)) times that of one, for k = n H(n).
  double mean = 0, variance = 0;
  for (std::uint32_t i = c.n - c.k + 1; i <= c.n; ++i) {
    mean += kMean / i;
    variance += kMean * kMean / i / i;
  }
  const RunResult r = simulate(s, 0);
  CHECK(mean_latency_s(r) == Approx(mean).margin(5 * std::sqrt(variance / kRequests)));
  CHECK(r.clients[1].requests == std::uint64_t{kRequests} * c.n);
  CHECK(count(r.clients[1], Outcome::kSuccess) == r.clients[1].requests);  // those after it, too
}

TEST_CASE("A quorum survives the failures that it can do without") {
  Scenario s = caller_world(10'000);
  CallSpec& call = add_branch(s, "db");
  call.count = 3;
  call.need = 2;
  constexpr double p = 0.2;
  let_all_fail(s.services[1], p);
  const RunResult r = simulate(s, 0);
  CHECK(fits(count(r.clients[0], AttemptResult::kError), 10'000, 3 * p * p * (1 - p) + p * p * p));
  CHECK(r.clients[0].degraded == 0);
}

TEST_CASE("A share of the requests makes a call, and one of several alternatives is made") {
  constexpr std::uint32_t kRequests = 10'000;
  Scenario s = caller_world(kRequests);
  SECTION("shares") {
    add_branch(s, "db").share = 0.3;
    add_branch(s, "cache").share = 0.5;
    const RunResult r = simulate(s, 0);
    CHECK(fits(r.clients[1].requests, kRequests, 0.3));
    CHECK(fits(r.clients[2].requests, kRequests, 0.5));
    // Chosen independently, one after the other: 10 ms for each.
    CHECK(mean_latency_s(r) == Approx(0.008).margin(5 * 0.01 * std::sqrt(0.46 / kRequests)));
  }
  SECTION("alternatives") {
    const std::vector<double> weights = {1, 2, 5};
    for (std::size_t i = 0; i < 3; ++i) {
      CallSpec& call = add_branch(s, "shard" + std::to_string(i));
      call.one_of = "shards";
      call.share = weights[i];
    }
    const RunResult r = simulate(s, 0);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(fits(r.clients[i + 1].requests, kRequests, weights[i] / 8));
      all += r.clients[i + 1].requests;
    }
    CHECK(all == kRequests);
    CHECK(total_ms(r) == 10 * kRequests);
  }
  SECTION("numbers of requests") {
    add_branch(s, "db").random_count = Distribution::uniform(0.5, 3.5);
    const double variance = 2.0 / 3;  // of 1, 2 or 3
    CHECK(std::abs(static_cast<double>(simulate(s, 0).clients[1].requests) - 2.0 * kRequests) <=
          5 * std::sqrt(variance * kRequests));
  }
}

TEST_CASE("A request makes the same choice in all attempts, whatever the retry policy") {
  Scenario s = caller_world(1000);
  CallSpec& first = add_branch(s, "db");
  CallSpec* call = &first;
  SECTION("a share") { call->share = 0.4; }
  SECTION("alternatives") {
    call->one_of = "way";
    call = &add_branch(s, "cache");
    call->one_of = "way";
  }
  SECTION("a drawn number") { call->random_count = Distribution::uniform(0, 1); }
  let_all_fail(s.services[1]);
  const RunResult once = simulate(s, 0);
  s.clients[0].retry.max_attempts = 3;
  const RunResult thrice = simulate(s, 0);
  const std::uint64_t failed = count(once.clients[0], Outcome::kMaxAttemptsExceeded);
  CHECK(failed > 100);
  CHECK(failed < 900);
  CHECK(once.clients[1].requests == failed);
  CHECK(thrice.clients[1].requests == 3 * failed);
  CHECK(once.clients[0].successes_per_client == thrice.clients[0].successes_per_client);
}

TEST_CASE("A failed call may be ignored, or another one is made instead") {
  Scenario s = caller_world(1000);
  SECTION("ignored") {
    add_branch(s, "db").on_failure = CallFailure::kIgnore;
    let_all_fail(s.services[1], 0.3);
    const RunResult r = simulate(s, 0);
    CHECK(count(r.clients[0], Outcome::kSuccess) == 1000);
    CHECK(r.clients[0].degraded == count(r.clients[1], Outcome::kMaxAttemptsExceeded));
    CHECK(fits(r.clients[0].degraded, 1000, 0.3));
    CHECK(test::metric("degraded_share", s, r) ==
          static_cast<double>(r.clients[0].degraded) / 1000);
  }
  SECTION("a fallback") {
    CallSpec& call = add_branch(s, "db");
    call.on_failure = CallFailure::kFallback;
    call.fallback = "api.cache";
    add_branch(s, "cache", 30);
    let_all_fail(s.services[1], 0.3);
    const RunResult r = simulate(s, 0);
    const std::uint64_t failed = count(r.clients[1], Outcome::kMaxAttemptsExceeded);
    CHECK(fits(failed, 1000, 0.3));
    CHECK(r.clients[2].requests == failed);
    CHECK(r.clients[0].degraded == failed);
    CHECK(count(r.clients[0], Outcome::kSuccess) == 1000);
    let_all_fail(s.services[2]);
    const RunResult without = simulate(s, 0);
    CHECK(without.clients[0].degraded == 0);
    CHECK(count(without.clients[0], AttemptResult::kError) == failed);
  }
  SECTION("a fallback for some requests only") {
    CallSpec& call = add_branch(s, "db");
    call.on_failure = CallFailure::kFallback;
    call.fallback = "api.cache";
    add_branch(s, "cache").share = 0.5;
    let_all_fail(s.services[1]);
    const RunResult r = simulate(s, 0);
    CHECK(fits(r.clients[2].requests, 1000, 0.5));
    CHECK(r.clients[0].degraded == r.clients[2].requests);
    CHECK(count(r.clients[0], Outcome::kSuccess) == r.clients[2].requests);
  }
  SECTION("one fallback of two calls is made for each") {
    s.services[0].parallel_calls = true;
    for (const std::string name : {"db", "disk"}) {
      CallSpec& call = add_branch(s, name);
      call.on_failure = CallFailure::kFallback;
      call.fallback = "api.cache";
      let_all_fail(s.services.back());
    }
    add_branch(s, "cache");
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[3].requests == 2000);
    CHECK(r.clients[0].degraded == 1000);
  }
}

TEST_CASE("Groups whose calls may not fail have no degraded answers") {
  Scenario s = caller_world(10);
  add_branch(s, "db");
  const RunResult r = simulate(s, 0);
  CHECK_FALSE(metric_value(*find_metric("degraded_share"), s, r, std::nullopt).has_value());
}

TEST_CASE("Stages come one after the other, a decided call does not wait for the rest") {
  Scenario s = caller_world(1);
  SECTION("the calls of a stage are made together") {
    add_branch(s, "late", 20).stage = 7;
    add_branch(s, "db", 50).stage = 2;
    add_branch(s, "cache", 30).stage = 2;
    CHECK(total_ms(simulate(s, 0)) == 70);
  }
  SECTION("a stage without calls is skipped") {
    add_branch(s, "db", 50).share = 0;
    add_branch(s, "cache", 30);
    add_branch(s, "late", 20).share = 0;
    CHECK(total_ms(simulate(s, 0)) == 30);
  }
  SECTION("and so are all, without a trace") {
    s.services[0].service_time = Distribution::constant(ms(5));
    const RunResult none = simulate(s, 0, {.fingerprint = true});
    add_branch(s, "db").share = 0;
    add_branch(s, "cache").operations = {"none"};
    add_branch(s, "disk").count = 0;
    const RunResult r = simulate(s, 0, {.fingerprint = true});
    CHECK(r.fingerprint == none.fingerprint);
    CHECK(r.events == none.events);
    CHECK(total_ms(r) == 5);
  }
  SECTION("after a failure no further stage is begun") {
    add_branch(s, "db");
    let_all_fail(s.services[1]);
    add_branch(s, "cache");
    const RunResult r = simulate(s, 0);
    CHECK(r.clients[2].requests == 0);
    CHECK(count(r.clients[0], AttemptResult::kError) == 1);
  }
  SECTION("late requests of a call do not count for the next stage") {
    CallSpec& call = add_branch(s, "db", Distribution::empirical({0.01, 0.02}, {1, 1}));
    call.count = 20;
    call.need = 1;
    s.services[1].model = ServiceModelKind::kQueue;
    add_branch(s, "cache", 100);
    const RunResult r = simulate(s, 0);
    CHECK(total_ms(r) == 110);
    CHECK(r.clients[1].requests == 20);
  }
}

TEST_CASE("A callee may see what its caller sees") {
  Scenario s = caller_world(1000);
  s.clients[0].operations = {{"get", 1, 1, {}}, {"put", 1, 4, {}}};
  CallSpec& call = add_branch(s, "db");
  SECTION("the operation's work") {
    call.callers_operation = true;
    const RunResult r = simulate(s, 0);
    // Half of the calls take 40 ms instead of 10.
    CHECK(mean_latency_s(r) == Approx(0.025).margin(5 * 0.015 / std::sqrt(1000)));
  }
  SECTION("the operation, for a throttle") {
    call.callers_operation = GENERATE(false, true);
    ThrottleSpec& throttle = s.services[1].throttle;
    throttle.rate = 1e9;
    throttle.burst = 1e9;
    throttle.operations = {{"put", 1e-9, 1, {}}};
    const RunResult r = simulate(s, 0);
    const std::uint64_t throttled = count(r.clients[1], AttemptResult::kThrottled);
    if (call.callers_operation) {
      CHECK(fits(throttled + 1, 1000, 0.5));
    } else {
      CHECK(throttled == 0);
    }
  }
  SECTION("and calls may be made for some operations only") {
    call.operations = {"put"};
    CHECK(fits(simulate(s, 0).clients[1].requests, 1000, 0.5));
  }
  SECTION("the key") {
    call.callers_key = true;
    s.clients[0].keys.count = 4;
    ThrottleSpec& throttle = s.services[1].throttle;
    throttle.rate = 1e-9;
    throttle.burst = 1;
    throttle.scope = ThrottleScope::kKey;
    CHECK(count(simulate(s, 0).clients[1], Outcome::kSuccess) == 4);
  }
  SECTION("the priority") {
    s.clients[0].operations.clear();
    ClientSpec low = s.clients[0];
    s.clients[0].priority = 1;
    low.name = "low";
    low.count = s.clients[0].count = 100;
    s.clients.push_back(low);
    call.callers_priority = true;
    s.services[1].servers = 1;
    s.services[1].queue.discipline = Discipline::kPriority;
    const RunResult r = simulate(s, 0);
    const auto longest = [&](std::size_t g) { return r.clients[g].latency_m.sum_ns; };
    CHECK(longest(0) < longest(2) / 2);
  }
}

TEST_CASE("Calls that contradict their rules are refused") {
  Scenario s = caller_world(1);
  add_branch(s, "db");
  add_branch(s, "cache");
  CallSpec& a = s.calls[0];
  CallSpec& b = s.calls[1];
  SECTION("more needed than sent") { a.need = 2; }
  SECTION("too many copies") { a.count = CallSpec::kMaxCopies + 1; }
  SECTION("a share above 1") { a.share = 1.5; }
  SECTION("alternatives in different stages") {
    a.one_of = b.one_of = "x";
    a.stage = 1;
    b.stage = 2;
  }
  SECTION("no such fallback") {
    a.on_failure = CallFailure::kFallback;
    a.fallback = "api.none";
  }
  SECTION("fallbacks in a circle") {
    a.on_failure = b.on_failure = CallFailure::kFallback;
    a.fallback = "api.cache";
    b.fallback = "api.db";
  }
  CHECK_THROWS_AS(simulate(s, 0), std::invalid_argument);
}

}  // namespace
}  // namespace retrysim
