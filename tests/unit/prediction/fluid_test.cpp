// The fluid against the values that theory gives for it.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/prediction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>

#include <cmath>
#include <stdexcept>
#include <string>
#include "scenario_of.hpp"
#include "unit/prediction/zombie_system.hpp"

namespace retrysim {
namespace {

using test::scenario_of;
using test::zombie_system;

TEST_CASE("The shortest outage that tips a queue of abandoned work") {
  struct Case {
    const char* id;
    double load;
    int attempts;
    double d50;
  };
  for (const Case& c :
       {Case{"P112", .6, 3, 1.3113}, Case{"P113", .65, 4, 1.225}, Case{"P114", .7, 3, 1.155},
        Case{"P115", .75, 2, 1.1069}, Case{"P116", .8, 3, 1.0588}}) {
    INFO(c.id);
    const auto points = fluid_tipping_points(
        scenario_of(zombie_system(c.load, c.attempts,
                                  "[fault.outage]\nstart = 5\nduration = 1\ncapacity = 0\n")),
        0);
    REQUIRE(points.size() == 1);
    CHECK(points[0].trigger == "fault.outage.duration");
    REQUIRE(points[0].found);
    CHECK(points[0].duration == Approx(c.d50).epsilon(0.003));
    CHECK(points[0].duration > 1 + (1 - c.load) * (1 - c.load) / c.load);
  }
}

TEST_CASE("The shortest surge that tips a queue of abandoned work") {
  struct Case {
    const char* id;
    double load;
    int attempts;
    double factor, d50;
  };
  for (const Case& c :
       {Case{"P117", .7, 3, 2, 2.655}, Case{"P118", .7, 3, 3, .985}, Case{"P119", .8, 3, 2, 1.725},
        Case{"P120", .6, 3, 3, 1.407}, Case{"P121", .8, 2, 2.5, 1.04}}) {
    INFO(c.id);
    const auto points = fluid_tipping_points(
        scenario_of(zombie_system(
            c.load, c.attempts,
            fmt::format("surge.peak = {{ start = 5, duration = 1, factor = {} }}\n", c.factor))),
        0);
    REQUIRE(points.size() == 1);
    CHECK(points[0].trigger == "client.web.surge.peak.duration");
    REQUIRE(points[0].found);
    CHECK(points[0].duration == Approx(c.d50).epsilon(0.005));
  }
}

TEST_CASE("A retry quota lets every outage pass, and work balance says when") {
  struct Case {
    const char* id;
    double load;
    int clients;
    double outage, recovery;
  };
  // Tokens for the first attempts of the recovery come back meanwhile, which the balance leaves
  // out.
  for (const Case& c : {Case{"P159", .7, 100, 2, 34.666667}, Case{"P160", .7, 20, 2, 8},
                        Case{"P161", .8, 20, 2, 13}, Case{"P162", .6, 50, 3, 14.5}}) {
    INFO(c.id);
    const Scenario scenario = scenario_of(fmt::format(
        "name = \"quota\"\nduration = 120\nwarmup = 2\nrecovery = {{ hold = \"8s\" }}\n"
        "[service.api]\nservice_time = {{ distribution = \"exponential\", mean = 0.002 }}\n"
        "[client.web]\ncount = {}\narrivals = {{ process = \"poisson\", total_rate = {} }}\n"
        "attempt_timeout = 1\n"
        "[client.web.retry]\nmode = \"custom\"\nmax_attempts = 3\ndelays = [0]\n"
        "quota = {{ capacity = 500, cost = 5, throttle_cost = 5, timeout_cost = 10, credit = 1, "
        "refund = \"last\" }}\n"
        "[fault.outage]\nstart = 10\nduration = {}\ncapacity = 0\n",
        c.clients, c.load * 500, c.outage));
    const FluidRun run = run_fluid(scenario, 0);
    CHECK_FALSE(run.down_at_end);
    REQUIRE(run.recovery);
    CHECK(*run.recovery == Approx(c.recovery).margin(std::max(2.5, 0.15 * c.recovery)));
    const FluidEquilibria e = fluid_equilibria(scenario, 0);
    CHECK(e.phase == FluidPhase::kSafe);
    CHECK(e.quota_saves);
  }
}

TEST_CASE("A backlog above the timeout drains with what three attempts leave of the capacity") {
  // P122: ten timeouts of work at a load of 0.2; a stop of the service makes the backlog.
  const Scenario scenario =
      scenario_of(zombie_system(0.2, 3, "[fault.stop]\nstart = 5\nduration = 17\ncapacity = 0\n"));
  const FluidRun run = run_fluid(scenario, 0, {.series_interval = 0.1});
  double above = 0, below = 0, from = 0, to = 0;
  for (const FluidSample& s : run.series) {
    if (s.time < 23) continue;
    if (s.backlog > 3) above = s.backlog, from = s.time;
    if (s.backlog > 2) below = s.backlog, to = s.time;
  }
  REQUIRE(to > from);
  CHECK((below - above) / (to - from) == Approx(-0.4).epsilon(0.02));
}

TEST_CASE("Where a constant load settles") {
  const FluidEquilibria e = fluid_equilibria(scenario_of(zombie_system(0.7, 3)), 0);
  CHECK(e.phase == FluidPhase::kVulnerable);
  CHECK(e.load == Approx(0.7));
  CHECK(e.vulnerable_load == Approx(1.0 / 3).epsilon(1e-6));
  CHECK(e.tipping_load == Approx(1).epsilon(1e-6));
  REQUIRE(e.states.size() == 3);
  CHECK(e.states[0].name == "healthy");
  CHECK(e.states[1].name == "tipping point");
  // 0.7 (1 + p + p^2) = 1
  CHECK(e.states[1].failure == Approx((-1 + std::sqrt(1 + 4 * 0.3 / 0.7)) / 2).epsilon(1e-6));
  CHECK(e.states[2].name == "dead");
  CHECK(e.states[2].load == Approx(2.1));
  CHECK(fluid_equilibria(scenario_of(zombie_system(0.3, 3)), 0).phase == FluidPhase::kSafe);
  CHECK(fluid_equilibria(scenario_of(zombie_system(1.1, 1)), 0).phase == FluidPhase::kDead);
}

TEST_CASE("A short queue turns away for nothing, and one equilibrium remains") {
  // P105: p = (1 - 1 / 1.2)^(1/3), whatever the backoff.
  const Scenario scenario = scenario_of(
      "name = \"reject\"\nduration = 200\nwarmup = 100\n"
      "[service.api]\nservice_time = { distribution = \"exponential\", mean = 0.001 }\n"
      "queue = { capacity = 100 }\n"
      "[client.web]\narrivals = { process = \"poisson\", total_rate = 1200 }\n"
      "attempt_timeout = 1\nretry = { mode = \"custom\", max_attempts = 3, "
      "backoff = { base = \"500ms\", cap = \"2s\", jitter = \"full\" } }\n");
  const double p = std::cbrt(1 - 1 / 1.2);
  const FluidEquilibria e = fluid_equilibria(scenario, 0);
  REQUIRE(e.states.size() == 1);
  CHECK(e.states[0].failure == Approx(p).epsilon(1e-6));
  CHECK(e.states[0].stable);
  const FluidRun run = run_fluid(scenario, 0);
  REQUIRE(run.groups.size() == 1);
  CHECK(run.groups[0].goodput == Approx(1000).epsilon(0.005));
  CHECK(run.groups[0].attempt_rate / 1200 == Approx(1 + p + p * p).epsilon(0.005));
}

TEST_CASE(
    "Short of capacity a service is overloaded while half of the requests succeed, then dead") {
  const auto settled = [](const std::string& service, double rate, const std::string& more = "",
                          int attempts = 1) {
    const Scenario scenario = scenario_of(fmt::format(
        "name = \"short\"\nduration = 200\nwarmup = 100\n{}"
        "[service.api]\nservers = 10\nservice_time = 0.01\n{}"
        "[client.web]\ncount = 100\narrivals = {{ process = \"poisson\", total_rate = {} }}\n"
        "attempt_timeout = 1\nretry = {{ mode = \"custom\", max_attempts = {}, delays = [0.5] "
        "}}\n",
        more, service, rate, attempts));
    FluidEquilibria e = fluid_equilibria(scenario, 0);
    // The run settles where the balance says.
    const FluidGroup g = run_fluid(scenario, 0).groups.at(0);
    CHECK(g.successes / g.requests == Approx(e.success).margin(0.01));
    return e;
  };
  const std::string throttle = "throttle = { rate = 200, burst = 20 }\n";
  const FluidEquilibria most = settled(throttle, 250), few = settled(throttle, 500);
  CHECK(most.phase == FluidPhase::kOverloaded);
  CHECK(most.success == Approx(0.8));
  CHECK(few.phase == FluidPhase::kDead);
  CHECK(few.success == Approx(0.4));
  // Four attempts for each request, a third of whose answers are lost.
  const FluidEquilibria retried = settled(throttle, 150, "network.response_loss = 0.3\n", 4);
  CHECK(retried.phase == FluidPhase::kOverloaded);
  CHECK(retried.success > 0.85);
  CHECK(retried.success < 1);
  // A full queue turns away for nothing; one that drops what would be late serves for nobody else.
  for (const char* queue : {"queue = { capacity = 100 }\n", "queue.drop_expired = true\n"}) {
    CHECK(settled(queue, 1250).phase == FluidPhase::kOverloaded);
    CHECK(settled(queue, 1250).success == Approx(0.8));
    CHECK(settled(queue, 2500).phase == FluidPhase::kDead);
  }
  // Behind a long queue every answer is late, also at a load of 1.
  for (const double rate : {1000.0, 1250.0}) {
    const FluidEquilibria late = fluid_equilibria(
        scenario_of(fmt::format("name = \"late\"\nduration = 200\n[service.api]\nservers = 10\n"
                                "service_time = 0.01\n[client.web]\nattempt_timeout = 1\n"
                                "arrivals = {{ process = \"poisson\", total_rate = {} }}\n"
                                "retry = {{ mode = \"none\" }}\n",
                                rate)),
        0);
    CHECK(late.phase == FluidPhase::kDead);
    CHECK(late.success == 0);
  }
}

TEST_CASE("A service that was down before the fault does not recover from it") {
  // Long before the fault every answer is late.
  const Scenario scenario = scenario_of(
      "name = \"down\"\nduration = 200\nwarmup = 50\n[service.api]\nservice_time = 0.005\n"
      "[client.web]\narrivals = { process = \"poisson\", total_rate = 250 }\n"
      "attempt_timeout = 2\nretry = { mode = \"none\" }\n"
      "[fault.f]\nstart = 100\nduration = 5\ncapacity = 0\n");
  const FluidRun run = run_fluid(scenario, 0);
  CHECK(run.down_at_end);
  CHECK_FALSE(run.recovery);
}

TEST_CASE("What collapses after the hold has not recovered") {
  // At a load of 1.02 the backlog that makes answers late comes after 100 s, fault or not.
  const Scenario scenario = scenario_of(
      "name = \"later\"\nduration = 400\nrecovery.hold = \"10s\"\n[service.api]\n"
      "service_time = 0.005\n[client.web]\nattempt_timeout = 2\nretry = { mode = \"none\" }\n"
      "arrivals = { process = \"poisson\", total_rate = 204 }\n"
      "[fault.f]\nstart = 20\nduration = 0.5\ncapacity = 0\n");
  const FluidRun run = run_fluid(scenario, 0);
  CHECK(run.down_at_end);
  CHECK_FALSE(run.recovery);
}

TEST_CASE("Closed loops whose clients are stuck have not recovered") {
  // With a timeout longer than the run a client whose request is lost waits to its end.
  const auto after = [](const char* client, const char* fault) {
    return run_fluid(
        scenario_of(fmt::format("name = \"stuck\"\nduration = 200\nwarmup = 10\n[service.api]\n"
                                "servers = 10\nservice_time = 0.02\n[client.web]\ncount = 50\n"
                                "arrivals = {{ process = \"closed\", think_time = \"100ms\" }}\n"
                                "retry = {{ mode = \"none\" }}\n{}"
                                "[fault.f]\nstart = 60\nduration = 10\n{}",
                                client, fault)),
        0);
  };
  const FluidRun all = after("attempt_timeout = 1000\n", "black_hole = true\n");
  CHECK_FALSE(all.recovery);
  CHECK(all.down_at_end);
  // Some ask on as before, but they are fewer.
  const FluidRun some = after("attempt_timeout = 1000\n", "request_loss = 0.02\n");
  CHECK(some.groups.at(0).goodput > 20);
  CHECK_FALSE(some.recovery);
  const FluidRun none = after("attempt_timeout = 1\n", "black_hole = true\n");
  REQUIRE(none.recovery);
  CHECK(*none.recovery < 2);
  CHECK_FALSE(none.down_at_end);
}

TEST_CASE("Flows that jitter spreads out keep their mass") {
  for (const char* jitter : {"none", "full", "equal", "additive", "decorrelated"}) {
    INFO(jitter);
    const Scenario scenario = scenario_of(
        fmt::format("name = \"half\"\nduration = 100\n"
                    "[service.api]\nmodel = \"independent\"\nservice_time = 0\n"
                    "errors = {{ internal = 0.5 }}\n"
                    "[client.web]\narrivals = {{ process = \"poisson\", total_rate = 100 }}\n"
                    "attempt_timeout = 1\nretry = {{ mode = \"custom\", max_attempts = 4, "
                    "backoff = {{ base = \"100ms\", cap = \"1s\", jitter = \"{}\" }} }}\n",
                    jitter));
    const FluidGroup g = run_fluid(scenario, 0).groups.at(0);
    CHECK(g.attempts / g.requests == Approx(1.875).epsilon(1e-6));
    CHECK(g.successes / g.requests == Approx(0.9375).epsilon(1e-6));
  }
}

TEST_CASE("A service's own answers count for what they are") {
  const auto attempts = [](const std::string& service) {
    const FluidGroup g =
        run_fluid(scenario_of(
                      "name = \"x\"\nduration = 2\n[service.api]\nservice_time = 0.01\n" + service +
                      "[client.web]\narrivals = { process = \"poisson\", total_rate = 200 }\n"
                      "attempt_timeout = 1\nretry = { mode = \"standard\" }\n"),
                  0)
            .groups.at(0);
    return g.attempts / g.requests;
  };
  const std::string queue = "queue.capacity = 10\n", throttle = "throttle = { rate = 50 }\n";
  const double usual = attempts(queue);
  CHECK(usual > 1.01);
  CHECK(attempts(queue + "answers.overflow = \"503:Busy\"\n") == usual);
  CHECK(attempts(queue + "answers.overflow = \"503:Busy+not-retryable\"\n") ==
        Approx(1).epsilon(1e-6));
  CHECK(attempts(queue + "answers.overflow = \"400:ThrottlingException\"\n") ==
        attempts(queue + "overflow = \"throttled\"\n"));
  CHECK(attempts(throttle) > 1.01);
  CHECK(attempts(throttle + "answers.throttled = \"429\"\n") == Approx(1).epsilon(1e-6));
  CHECK(attempts(throttle + "answers.throttled = \"429+throttling\"\n") == attempts(throttle));
}

/// One group of ten clients; 100 services a second.
FluidGroup flows(const std::string& service, const std::string& client,
                 const std::string& more = "") {
  return run_fluid(
             scenario_of("name = \"x\"\nduration = 100\n[service.api]\nservice_time = 0.01\n" +
                         service + "[client.web]\ncount = 10\nattempt_timeout = 1\n" + client +
                         "retry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n" + more),
             0)
      .groups.at(0);
}

std::string poisson(double rate) {
  return fmt::format("arrivals = {{ process = \"poisson\", total_rate = {} }}\n", rate);
}

TEST_CASE("A bucket for each client lets as much through as one of the same size for all") {
  const std::string calls = poisson(80);
  const FluidGroup all = flows("throttle = { rate = 50, burst = 20 }\n", calls),
                   each = flows("throttle = { rate = 5, burst = 2, scope = \"client\" }\n", calls);
  CHECK(all.throttled > 1000);
  CHECK(each.throttled == Approx(all.throttled).epsilon(1e-9));
  CHECK(each.successes == Approx(all.successes).epsilon(1e-9));
  CHECK(all.successes == Approx(50 * 100 + 20).epsilon(0.01));
}

TEST_CASE("Errors of a service with a queue are answered before it, and cost nothing") {
  // 150 attempts a second at 100 served: only half of them need a service.
  const FluidGroup g = flows("errors = { internal = 0.4, throttled = 0.1 }\n", poisson(150 / 1.75));
  CHECK(g.attempts / g.requests == Approx(1.75).epsilon(1e-6));
  CHECK(g.successes / g.requests == Approx(0.875).epsilon(1e-6));
  CHECK(g.errors / g.attempts == Approx(0.4).epsilon(1e-6));
  CHECK(g.throttled / g.attempts == Approx(0.1).epsilon(1e-6));
}

TEST_CASE("A queue that drops what is too late serves at its capacity, whatever the load") {
  const std::string calls = poisson(200);
  CHECK(flows("", calls).goodput < 20);  // it only serves what nobody waits for
  CHECK(flows("queue.drop_expired = true\n", calls).goodput == Approx(100).epsilon(0.03));
}

TEST_CASE("What drains slowly recovers, however long the trigger was") {
  // Without retries an outage of x leaves 0.97 x of work, which drains at 0.03 s a second: after 32
  // times the outage, long beyond the 80 timeouts for which the search first looks.
  for (const double load : {0.8, 0.9, 0.97}) {
    const auto points = fluid_tipping_points(
        scenario_of(
            zombie_system(load, 1, "[fault.outage]\nstart = 5\nduration = 20\ncapacity = 0\n")),
        0, 20);
    REQUIRE(points.size() == 1);
    CHECK_FALSE(points[0].down_without);
    CHECK_FALSE(points[0].found);
  }
  // At load 1.02 nothing drains.
  const auto over =
      fluid_tipping_points(scenario_of(zombie_system(
                               1.02, 1, "[fault.outage]\nstart = 5\nduration = 2\ncapacity = 0\n")),
                           0);
  CHECK((over.at(0).down_without || over.at(0).found));
  // The trigger's own length is tried, even if it is longer than fifty timeouts.
  const auto longer =
      fluid_tipping_points(scenario_of(zombie_system(
                               0.5, 1, "[fault.outage]\nstart = 5\nduration = 70\ncapacity = 0\n")),
                           0);
  CHECK(longer.at(0).duration == Approx(70));
}

TEST_CASE("Answers of a throttle, a full queue and an error may be lost") {
  const std::string loss = "[network]\nresponse_loss = 0.3\n";
  const auto once = [&](const std::string& service, double rate) {
    return run_fluid(scenario_of("name = \"x\"\nduration = 100\n" + loss +
                                 "[service.api]\nservice_time = 0.01\n" + service +
                                 "[client.web]\ncount = 10\nattempt_timeout = 1\n" + poisson(rate) +
                                 "retry = { mode = \"none\" }\n"),
                     0)
        .groups.at(0);
  };
  // 70 of 100 pass; of all answers 30 % are lost.
  const FluidGroup throttled = once("throttle = { rate = 35, burst = 1 }\n", 50);
  CHECK(throttled.throttled / throttled.attempts == Approx(0.3 * 0.7).epsilon(0.01));
  CHECK(throttled.timeouts / throttled.attempts == Approx(0.3).epsilon(0.01));
  CHECK(throttled.successes / throttled.attempts == Approx(0.7 * 0.7).epsilon(0.01));
  const FluidGroup full = once("queue.capacity = 5\n", 200);
  CHECK(full.rejected / full.attempts == Approx(0.5 * 0.7).epsilon(0.03));
  CHECK(full.timeouts / full.attempts == Approx(0.3).epsilon(0.03));
}

TEST_CASE("The limiter of adaptive mode sleeps until something is throttled") {
  // botocore's begins with a rate of one a second, which holds only once it has been throttled.
  const FluidGroup g =
      run_fluid(scenario_of("name = \"x\"\nduration = 100\n[service.api]\nservers = 10\n"
                            "service_time = 0.02\n[client.web]\ncount = 200\n"
                            "attempt_timeout = 0.5\nretry = { mode = \"adaptive\" }\n" +
                            poisson(400)),
                0)
          .groups.at(0);
  CHECK(g.successes / g.requests == Approx(1).epsilon(1e-3));
  CHECK(g.attempts / g.requests == Approx(1).epsilon(1e-3));
}

TEST_CASE("A queue that turns away by age has room for the work of that time") {
  const std::string age = "queue.max_age = \"200ms\"\n", room = "queue.capacity = 20\n";
  const std::string loss = "retry = { mode = \"none\" }\n";
  const FluidGroup old = flows(age, poisson(160)), full = flows(room, poisson(160));
  CHECK(old.goodput == Approx(100).epsilon(0.01));
  CHECK(old.successes == Approx(full.successes).epsilon(0.01));
  // At half speed there is room for half the work, and the wait is the same.
  const std::string slow = "[fault.slow]\nstart = 0\nduration = 200\nspeed = 0.5\n";
  CHECK(flows(age, poisson(160), slow).goodput == Approx(50).epsilon(0.01));
  // Whoever waits shorter than that is late, as if there were no bound.
  CHECK(flows("queue.max_age = \"3s\"\n", poisson(160)).goodput < 20);
}

TEST_CASE("A deadline ends the only attempt of a request as a timeout does") {
  const auto group = [](const std::string& limits) {
    return run_fluid(scenario_of("name = \"x\"\nduration = 100\n[service.api]\n"
                                 "service_time = 0.01\n[client.web]\ncount = 10\n" +
                                 limits + "retry = { mode = \"none\" }\n" + poisson(120)),
                     0)
        .groups.at(0);
  };
  const FluidGroup deadline = group("attempt_timeout = 5\ndeadline = 1\n");
  const FluidGroup timeout = group("attempt_timeout = 1\n");
  CHECK(deadline.successes == Approx(timeout.successes).epsilon(1e-9));
  CHECK(deadline.successes < 0.2 * deadline.requests);
  CHECK(group("deadline = 1\n").successes == Approx(timeout.successes).epsilon(1e-9));
}

TEST_CASE("The rate of attempts is of those that arrive, as in simulations") {
  const std::string calls = poisson(20);
  const FluidGroup lossy = flows("", calls, "[network]\nrequest_loss = 0.25\n");
  CHECK(lossy.attempts / lossy.requests == Approx(1 + 0.25 + 0.25 * 0.25).epsilon(0.01));
  CHECK(lossy.attempt_rate == Approx(0.75 * 20 * (1 + 0.25 + 0.25 * 0.25)).epsilon(0.02));
  const FluidGroup cut =
      flows("", calls, "[fault.cut]\nstart = 50\nduration = 50\nunreachable = true\n");
  CHECK(cut.attempt_rate == Approx(10).epsilon(0.01));
}

TEST_CASE("Who cannot be reached is asked as often as attempts are allowed") {
  const FluidGroup g =
      flows("", poisson(20), "[fault.cut]\nstart = 0\nduration = 200\nunreachable = true\n");
  CHECK(g.successes == 0);
  CHECK(g.attempts / g.requests == Approx(3).epsilon(1e-6));
}

TEST_CASE("What the fluid does not model it refuses, with the key") {
  const auto why = [](const std::string& service, const std::string& client) {
    return why_no_fluid(
        scenario_of("name = \"x\"\nduration = 1\n[service.api]\nservice_time = 0.01\n" + service +
                    "[client.web]\narrivals = { process = \"poisson\", total_rate = 1 }\n" +
                    (client.empty() ? "retry = { mode = \"none\" }\n" : client)),
        0);
  };
  CHECK_FALSE(why("", ""));
  REQUIRE(why("queue = { discipline = \"lifo\" }\n", ""));
  CHECK(why("queue = { discipline = \"lifo\" }\n", "")->find("service.api.queue.discipline") == 0);
  REQUIRE(why("", "retry = { mode = \"custom\", sdk = \"retry-breaker\" }\n"));
  CHECK(why("", "retry = { mode = \"custom\", sdk = \"retry-breaker\" }\n")
            ->find("client.web.retry.retry_breaker") == 0);
  const auto refuses = [&](const std::string& service, const std::string& client,
                           const std::string& key) {
    const auto reason = why(service, client);
    INFO(key << ": " << reason.value_or("nothing"));
    CHECK((reason && reason->find(key) == 0));
  };
  CHECK_FALSE(why("throttle = { rate = 5 }\n", ""));
  refuses("throttle = { rate = 5, scope = \"key\" }\n", "", "service.api.throttle.scope");
  refuses("throttle = { rate = 5, scope = \"operation\" }\n", "", "service.api.throttle.scope");
  refuses("throttle = { rate = 5, window = \"1s\" }\n", "", "service.api.throttle.window");
  refuses("throttle = { rate = 5, key = { 1 = { rate = 2 } } }\n", "",
          "service.api.throttle.key.1.rate:");
  refuses("answers.limit = \"429\"\nconcurrency.limit = 5\n", "", "service.api.answers.limit");
  refuses("answers.overflow = \"429+retry-after=2s\"\n", "", "service.api.answers.overflow");
  CHECK_FALSE(why("answers.overflow = \"429\"\n", ""));
  refuses("", "unrepeatable = 0.5\nretry = { mode = \"standard\" }\n", "client.web.unrepeatable");
  refuses("", "retry = { mode = \"standard\", retryer = \"all\" }\n", "client.web.retry.retryer");
  refuses("", "retry = { mode = \"standard\", quota = { scope = \"key\" } }\n",
          "client.web.retry.quota.scope");
  refuses("", "retry = { mode = \"adaptive\", rate_limit = { scope = \"group\" } }\n",
          "client.web.retry.rate_limit.scope");
  refuses("[service.db]\nservice_time = 0.01\n",
          "calls = [\"db\", \"api\"]\nretry = { mode = \"none\" }\n", "client.web.calls");
  CHECK_THROWS_AS(
      run_fluid(scenario_of("name = \"x\"\nduration = 1\n[service.api]\nservice_time = 0.01\n"
                            "queue = { discipline = \"lifo\" }\n[client.web]\n"
                            "arrivals = { process = \"poisson\", total_rate = 1 }\n"
                            "retry = { mode = \"none\" }\n"),
                0),
      std::domain_error);
}

TEST_CASE("The fluid ends when it is asked to stop") {
  const Scenario scenario =
      scenario_of(zombie_system(0.7, 3, "[fault.outage]\nstart = 5\nduration = 1\ncapacity = 0\n"));
  std::atomic<bool> stop{true};
  const StopScope scope(&stop);
  CHECK_THROWS_AS(run_fluid(scenario, 0), Interrupted);
  CHECK_THROWS_AS(fluid_tipping_points(scenario, 0), Interrupted);
  stop = false;
  CHECK_NOTHROW(run_fluid(scenario, 0));
}

}  // namespace
}  // namespace retrysim
