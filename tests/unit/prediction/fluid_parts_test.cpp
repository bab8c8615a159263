// The parts that the fluid is put together from, each on its own: delays, buckets, limiters,
// thinking clients, and what becomes of a scenario's errors and triggers.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "prediction/fluid/clients.hpp"
#include "prediction/fluid/run.hpp"
#include "prediction/fluid/service.hpp"
#include "prediction/fluid/system.hpp"
#include "scenario_of.hpp"

namespace retrysim {
namespace {

using prediction::BucketLaw;
using prediction::Flow;
using prediction::FluidBin;
using prediction::FluidClients;
using prediction::LimiterFleet;
using prediction::ThinkingClients;
using test::scenario_of;

TEST_CASE("A flow gives back what was put in, when it is due") {
  using Rates = std::vector<double>;
  const auto taken = [](Flow flow, std::size_t bins) {
    Rates rates;
    for (std::size_t i = 0; i < bins; ++i) rates.push_back(flow.take());
    return rates;
  };
  Flow flow(20);
  flow.put(2.25, 8);  // a quarter of a bin later than two
  CHECK(taken(flow, 5) == Rates{0, 6, 2, 0, 0});
  flow.put(0.2, 5);  // at least one bin passes
  CHECK(taken(flow, 4) == Rates{5, 6, 2, 0});
  Flow spread(20);
  spread.spread(2, 4, 6);
  CHECK(taken(spread, 5) == Rates{0, 3, 3, 0, 0});
  Flow between(20);
  between.spread(1.5, 3.5, 4);
  CHECK(taken(between, 5) == Rates{1, 2, 1, 0, 0});
  Flow narrow(20);
  narrow.spread(2, 2.5, 8);  // less than a bin: as if at its middle
  CHECK(taken(narrow, 4) == Rates{0, 6, 2, 0});
  Flow late(20);
  late.put(1000, 1);
  for (const double rate : taken(late, 2000)) CHECK(rate == 0);
}

QuotaRules bucket(int capacity, int initial) {
  QuotaRules rules;
  rules.enabled = true;
  rules.capacity = capacity;
  rules.initial = initial;
  rules.cost = 5;
  rules.credit = 1;
  rules.refund = Refund::kLast;
  return rules;
}

TEST_CASE("A bucket that a group shares has a level, which retries lower and successes raise") {
  QuotaRules rules = bucket(20, 10);
  rules.scope = RetryScope::kGroup;
  BucketLaw law(rules, 100);
  CHECK(law.granted(5) == 1);
  law.ask(5, 1);
  CHECK(law.granted(5) == 1);  // exactly enough
  law.ask(5, 0.5);
  CHECK(law.granted(5) == 0);
  CHECK(law.granted(2) == 1);
  law.succeed_first(2);  // 2.5 + 2
  CHECK(law.granted(5) == 0);
  law.succeed_later(5, 0.5);
  CHECK(law.granted(7) == 1);
  CHECK(law.granted(7.5) == 0);
  law.succeed_later(5, 100);  // full
  CHECK(law.granted(20) == 1);
  CHECK(law.granted(20.5) == 0);
  rules.partial = true;
  BucketLaw partial(rules, 100);
  CHECK(partial.granted(15) == 1);  // it takes what there is
}

/// The share of 200 clients that may retry after each has asked `times` times on average.
double granted_after(const QuotaRules& rules, double cost, double times) {
  constexpr double kClients = 200;
  BucketLaw law(rules, kClients);
  for (int i = 0; i < static_cast<int>(100 * times); ++i) {
    law.ask(cost, kClients / 100);
    law.advance(0.01);
  }
  return law.granted(cost);
}

TEST_CASE("Buckets of many clients run dry one by one, as independent askers make them") {
  // Two retries are in a bucket of ten: Poisson's law of how many clients asked twice.
  CHECK(granted_after(bucket(10, 10), 5, 0) == 1);
  for (const double times : {0.5, 1.0, 2.0, 4.0}) {
    CAPTURE(times);
    const double fewer_than_two = std::exp(-times) * (1 + times);
    CHECK(granted_after(bucket(10, 10), 5, times) == Approx(fewer_than_two).margin(0.02));
  }
  CHECK(granted_after(bucket(10, 4), 5, 1) == 0);
  // A price that takes what there is needs a single token, and leaves none.
  QuotaRules partial = bucket(10, 1);
  partial.partial = true;
  CHECK(granted_after(partial, 5, 0) == 1);
  CHECK(granted_after(partial, 5, 1) == Approx(std::exp(-1)).margin(0.02));
}

TEST_CASE("Successes fill the buckets of clients again") {
  BucketLaw law(bucket(10, 0), 10);
  CHECK(law.granted(5) == 0);
  for (int i = 0; i < 2000; ++i) {  // twenty credits for each: far more than five
    law.succeed_first(0.1);
    law.advance(0.01);
  }
  CHECK(law.granted(5) == Approx(1).margin(1e-4));
  CHECK(law.granted(11) == 0);
}

TEST_CASE("A fleet of limiters sends what is wanted until it is throttled, then less") {
  constexpr double kStep = 0.05;
  SendRateRules rules;
  rules.enabled = true;
  LimiterFleet fleet(rules, 50, 2);
  const auto send = [&](double throttled, double patience) {
    std::vector<double> rates = {200, 50};  // of 50 clients, per second
    const double refused = fleet.send(kStep, throttled, patience, rates);
    return std::vector{rates[0], rates[1], refused};
  };
  for (int i = 0; i < 200; ++i) {
    const std::vector<double> sent = send(0, 0);
    CHECK(sent[0] == Approx(200));
    CHECK(sent[1] == Approx(50));
    CHECK(sent[2] == 0);
  }
  // Nobody waits, so that every attempt is either sent or refused. Half of them are throttled, one
  // by one: first some clients wake up, then all of them send less.
  double sum = 0, refused = 0;
  for (int i = 0; i < 1200; ++i) {
    const std::vector<double> sent = send(0.5, 0);
    CHECK(sent[0] + sent[1] + sent[2] == Approx(250));
    if (i >= 600) sum += sent[0] + sent[1];
    refused += sent[2];
  }
  CHECK(sum / 600 < 150);
  CHECK(sum / 600 > 50 * rules.min_rate);
  CHECK(refused > 0);
  // Throttled no more, they find their way back.
  for (int i = 0; i < 2400; ++i) send(0, 0);
  CHECK(send(0, 0)[2] < 1);
}

/// Requests per second of ten clients that think for two seconds, after requests of half a second.
double thinking_rate(const FluidClients& clients) {
  constexpr double kStep = 0.01, kRequest = 0.5;
  ThinkingClients thinking(clients, 1000);
  double rate = 0;
  for (std::size_t k = 0; k < 10'000; ++k) {
    rate = thinking.wake({.number = k, .step = kStep});
    thinking.end(0, rate, 0, kRequest, kStep);
  }
  CHECK(thinking.wake({.number = 10'000, .step = kStep, .is_over = true}) == 0);
  return rate;
}

TEST_CASE("A closed loop begins as many requests as its pauses allow") {
  FluidClients clients;
  clients.slots = 10;
  clients.think_mean = 2;
  clients.think_is_exponential = true;
  CHECK(thinking_rate(clients) == Approx(10 / 2.5).epsilon(0.01));
  // Counted from the start: whoever thinks longer than the request takes goes on for as long.
  clients.think_from_start = true;
  CHECK(thinking_rate(clients) == Approx(10 / (0.5 + 2 * std::exp(-0.25))).epsilon(0.01));
  clients.think_is_exponential = false;
  clients.think = {{.low = 1, .high = 3}};
  CHECK(thinking_rate(clients) == Approx(10 / 2.0).epsilon(0.01));
  clients.think_from_start = false;
  CHECK(thinking_rate(clients) == Approx(10 / 2.5).epsilon(0.01));
  clients.think = {{.low = 0, .high = 0.8}};  // some have thought enough when the request ends
  clients.think_from_start = true;
  CHECK(thinking_rate(clients) == Approx(10 / (0.5 + 0.3 * 0.3 / 1.6)).epsilon(0.01));
}

TEST_CASE("A closed loop of any pause asks as often as it can") {
  for (const char* think : {"{ distribution = \"exponential\", mean = \"1s\" }", "\"1s\"",
                            "{ distribution = \"uniform\", min = \"0.5s\", max = \"1.5s\" }",
                            "{ distribution = \"erlang\", mean = \"1s\", shape = 4 }"}) {
    INFO(think);
    const FluidRun run =
        run_fluid(scenario_of(fmt::format("name = \"loop\"\nduration = 60\nwarmup = 20\n"
                                          "[service.api]\nservice_time = \"10ms\"\nservers = 10\n"
                                          "[client.web]\ncount = 100\nattempt_timeout = 1\n"
                                          "arrivals = {{ process = \"closed\", think_time = {} }}\n"
                                          "retry = {{ mode = \"none\" }}\n",
                                          think)),
                  0);
    CHECK(run.groups.at(0).offered == Approx(100 / 1.01).epsilon(0.01));
    CHECK(run.groups.at(0).goodput == Approx(100 / 1.01).epsilon(0.01));
  }
}

// --- What a scenario becomes ---------------------------------------------------------------------

std::string world(const std::string& service, const std::string& more = "") {
  return "name = \"parts\"\nduration = 40\n"
         "[service.api]\nservice_time = \"10ms\"\nservers = 2\n" +
         service +
         "[service.db]\nservice_time = \"5ms\"\n"
         "[client.web]\ncount = 100\narrivals = { process = \"poisson\", total_rate = 100 }\n"
         "calls = \"api\"\nattempt_timeout = 1\nretry = { mode = \"standard\" }\n" +
         more;
}

TEST_CASE("Errors of the service and of its faults are independent of each other") {
  const prediction::FluidSystem system = prediction::fluid_system(
      scenario_of(world("errors = { 500 = 0.1, throttled = 0.2, invalid = 0.3 }\n",
                        "[fault.bad]\nservice = \"api\"\nstart = 10\nduration = 5\n"
                        "errors = { 503 = 0.5, throttled = 0.25 }\n")),
      0);
  REQUIRE(system.stretches.size() == 3);
  const prediction::ErrorShares& usual = system.stretches[0].errors.at(0);
  CHECK(usual.error == Approx(0.4));
  CHECK(usual.throttling == Approx(0.2));
  CHECK(usual.error_retryable == Approx(0.25));  // 0.1 of 0.4
  // Of the 0.4 without an error of the service, the fault spoils three quarters.
  const prediction::ErrorShares& bad = system.stretches[1].errors.at(0);
  CHECK(bad.error == Approx(0.4 + 0.2));
  CHECK(bad.throttling == Approx(0.2 + 0.1));
  CHECK(bad.error_retryable == Approx((0.1 + 0.2) / 0.6));
  const prediction::ErrorShares& after = system.stretches[2].errors.at(0);
  CHECK(after.error == Approx(0.4));
}

TEST_CASE("The room of a queue is the work of its attempts, however few they are") {
  for (const char* rate : {"100", "0.5"}) {
    const Scenario scenario = scenario_of(world("queue = { capacity = 30 }\n",
                                                "operation.light = { share = 1, work = 0.5 }\n"
                                                "operation.heavy = { share = 1, work = 7.5 }\n"),
                                          {fmt::format("client.web.arrivals.total_rate={}", rate)});
    // Thirty attempts of 40 ms for two servers.
    CHECK(prediction::fluid_system(scenario, 0).room == Approx(0.6));
  }
}

TEST_CASE("A service that slows down holds as many attempts as its timeout allows") {
  // At 10 ms (1 + 0.01 Q) an attempt takes the timeout of 1 s when Q = 9900 are in service, which
  // is as many per second. Half of that fills it where a share p of the attempts fails, with
  // 0.5 (1 + p + p^2) = 1.
  const std::string slowed =
      "name = \"slowed\"\nduration = 20\n"
      "[service.api]\nservice_time = \"10ms\"\nservers = \"unlimited\"\nslowdown = 0.01\n"
      "[client.web]\ncount = 100\narrivals = { process = \"poisson\", total_rate = 4950 }\n"
      "retry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n";
  const FluidEquilibria e = fluid_equilibria(scenario_of(slowed + "attempt_timeout = 1\n"), 0);
  CHECK(e.phase == FluidPhase::kVulnerable);
  CHECK(e.load == Approx(0.5));
  CHECK(e.vulnerable_load == Approx(1.0 / 3));
  CHECK(e.tipping_load == Approx(1));
  REQUIRE(e.states.size() == 3);
  CHECK(e.states[1].failure == Approx((std::sqrt(5) - 1) / 2).epsilon(1e-6));
  CHECK(e.states[2].load == Approx(1.5));
  // Whoever waits for ever is never late, and finds no capacity that could be too small.
  CHECK(fluid_equilibria(scenario_of(slowed), 0).load == 0);
}

TEST_CASE("A run of the fluid counts the requests of all of its time") {
  const FluidRun run = run_fluid(scenario_of(world("")), 0);
  CHECK(run.groups.at(0).requests == Approx(4000).epsilon(1e-6));
}

TEST_CASE("Chance is as large as the services of a timeout are few") {
  CHECK(fluid_uncertainty(scenario_of(world("")), 0) == Approx(1 / std::sqrt(200.0)));
  // Without a queue a service gets slower by itself: at 10 ms (1 + 0.01 Q) an attempt that is under
  // way for 0.2 s takes the timeout of 1 s when Q = 7900 are in service, 7900 / 0.8 per second.
  const Scenario slowed = scenario_of(
      "network.latency = \"100ms\"\nname = \"parts\"\nduration = 40\n"
      "[service.api]\nservice_time = \"10ms\"\nservers = \"unlimited\"\nslowdown = 0.01\n"
      "[client.web]\ncount = 100\narrivals = { process = \"poisson\", total_rate = 100 }\n"
      "attempt_timeout = 1\nretry = { mode = \"none\" }\n");
  CHECK(fluid_uncertainty(slowed, 0) == Approx(1 / std::sqrt(7900 / 0.8)));
}

TEST_CASE("A recovery is said to be blurred by chance where its window sees few requests") {
  const auto said = [](const std::string& rate) -> std::string {
    const Prediction p = predict(
        scenario_of("name = \"few\"\nduration = 40\nrecovery = { window = \"1s\", share = 0.9 }\n"
                    "[service.api]\nservice_time = \"1ms\"\n"
                    "[client.web]\ncount = 100\nattempt_timeout = 1\n"
                    "arrivals = { process = \"poisson\", total_rate = " +
                    rate +
                    " }\nretry = { mode = \"none\" }\n"
                    "[fault.outage]\nstart = 5\nduration = 1\ncapacity = 0\n"),
        {.chain = false});
    const Figure* recovery = p.find("fluid", "service.api", "recovery");
    REQUIRE(recovery != nullptr);
    return recovery->ignores;
  };
  // A tenth may be missing; chance moves 25 requests by a fifth, and 400 by a twentieth.
  CHECK_THAT(said("25"), Catch::Contains("there are 25 requests, a number that chance moves by "
                                         "20 %, where recovery.share allows 10 %"));
  CHECK_THAT(said("400"), !Catch::Contains("lapses by chance"));
}

TEST_CASE("Even less than one request has a share that succeeds") {
  const Prediction p =
      predict(scenario_of(world(""), {"client.web.arrivals.total_rate=0.01"}), {.chain = false});
  const Figure* share = p.find("fluid", "client.web", "success_rate");
  REQUIRE(share != nullptr);
  CHECK(share->value == Approx(1));
}

/// A fault of each service, and a surge of the clients of each.
Scenario much_disturbed() {
  return scenario_of(world(
      "",
      "surge.rush = { start = 10, duration = 5, factor = 2 }\n"
      "[client.other]\ncalls = \"db\"\narrivals = { process = \"poisson\", total_rate = 10 }\n"
      "attempt_timeout = 1\nretry = { mode = \"none\" }\n"
      "surge.peak = { start = 20, duration = 5, factor = 2 }\n"
      "[fault.here]\nservice = \"api\"\nstart = 5\nduration = 1\ncapacity = 0\n"
      "[fault.there]\nservice = \"db\"\nstart = 5\nduration = 1\ncapacity = 0\n"));
}

TEST_CASE("A calm scenario has none of its service's triggers, and those of others") {
  const Scenario scenario = much_disturbed();
  CHECK(prediction::has_disturbance(scenario, 0));
  const Scenario calm = prediction::calm_scenario(scenario, 0);
  CHECK_FALSE(prediction::has_disturbance(calm, 0));
  CHECK(prediction::has_disturbance(calm, 1));
  REQUIRE(calm.faults.size() == 1);
  CHECK(calm.faults[0].name == "there");
  CHECK(calm.clients[0].arrivals.surges.empty());
  CHECK(calm.clients[1].arrivals.surges.size() == 1);
}

TEST_CASE("A push is an outage, or a surge where no server could be missing") {
  const Scenario pushed =
      prediction::with_outage(prediction::calm_scenario(much_disturbed(), 0), 0, 3);
  REQUIRE(pushed.faults.size() == 2);
  const FaultSpec& outage = pushed.faults.back();
  CHECK(outage.service == 0);
  CHECK(outage.capacity == 0);
  CHECK(outage.start == Time::zero() + Duration::seconds(10));  // ten timeouts
  CHECK(outage.duration == Duration::seconds(3));
  CHECK(pushed.clients[0].arrivals.surges.empty());
  Scenario unlimited = prediction::calm_scenario(much_disturbed(), 0);
  unlimited.services[0].servers = ServiceSpec::kUnlimited;
  unlimited = prediction::with_outage(unlimited, 0, 3);
  CHECK(unlimited.faults.size() == 1);
  REQUIRE(unlimited.clients[0].arrivals.surges.size() == 1);
  const SurgeSpec& surge = unlimited.clients[0].arrivals.surges[0];
  CHECK(surge.start == Time::zero() + Duration::seconds(10));
  CHECK(surge.duration == Duration::seconds(3));
  CHECK(surge.factor > 1);
  CHECK(unlimited.clients[1].arrivals.surges.size() == 1);  // its own
}

TEST_CASE("Whether it ends down is known early, and is what a whole run comes to") {
  // Work that is served although nobody waits for it: at a load of 0.7 with three attempts an
  // outage of 1.155 s tips it. With 0.9 s it recovers, slowly.
  std::size_t down = 0;
  for (const char* queue : {"\"unlimited\"", "4000"}) {
    for (const double duration : {0.1, 0.9, 1.1, 1.3, 2.0}) {
      CAPTURE(queue, duration);
      const Scenario scenario = scenario_of(fmt::format(
          "name = \"ends\"\nduration = 90\n"
          "[service.api]\nservice_time = {{ distribution = \"exponential\", mean = \"1ms\" }}\n"
          "queue = {{ capacity = {} }}\n"
          "[client.web]\ncount = 100\narrivals = {{ process = \"poisson\", total_rate = 700 }}\n"
          "attempt_timeout = 1\nretry = {{ mode = \"custom\", max_attempts = 3, delays = [0] }}\n"
          "[fault.outage]\nstart = 5\nduration = {}\ncapacity = 0\n",
          queue, duration));
      const prediction::FluidSystem system = prediction::fluid_system(scenario, 0);
      const double step = prediction::fluid_step(system, 100);
      const bool ends = prediction::ending_of(scenario, system, step) != prediction::Ending::kUp;
      CHECK(ends == run_fluid(scenario, 0, {.steps_per_timeout = 100}).down_at_end);
      CHECK(ends == (duration > 1.155));
      down += ends ? 1 : 0;
    }
  }
  CHECK(down == 4);
}

TEST_CASE("A confirmation looks at the last quarter after the last trigger") {
  Scenario scenario = much_disturbed();
  const auto confirmed = [&](MapQuestion question, double duration) {
    return scenario_of_confirmation(scenario, 0, question, duration);
  };
  const Scenario whole = confirmed(MapQuestion::kScenario, 95);
  CHECK(whole.duration == Duration::seconds(95));
  CHECK(whole.warmup.in_seconds() == Approx(95 - 0.25 * (95 - 15)));  // the surge ends at 15 s
  CHECK_FALSE(whole.drain);
  CHECK(confirmed(MapQuestion::kCalm, 80).warmup.in_seconds() == Approx(60));
}

}  // namespace
}  // namespace retrysim
