// The table of what theory covers: every key of scenarios is in it, and what it refuses is not
// given.
//
// SPDX-License-Identifier: MIT
#include "prediction/coverage.hpp"
#include "scenario_of.hpp"

#include <retrysim/prediction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>
#include <string>

#include "scenario/keys/keys.hpp"

namespace retrysim {
namespace {

using prediction::Theory;

/// Calls between services have the keys of client groups.
std::string known_as(const std::string& pattern) {
  const std::string calls = "service.*.calls.*.";
  return pattern.rfind(calls, 0) == 0 ? "client.*." + pattern.substr(calls.size()) : pattern;
}

std::set<std::string> all_keys() {
  std::set<std::string> keys;
  for (const scenario::KeyScope& scope : scenario::key_scopes()) {
    for (const scenario::KeyInfo& key : scope.keys) keys.insert(known_as(key_pattern(scope, key)));
  }
  return keys;
}

TEST_CASE("What theories say that they model is a key, or a table of keys") {
  const std::set<std::string> keys = all_keys();
  for (const prediction::Modelled& m : prediction::modelled()) {
    std::istringstream names{std::string(m.keys)};
    for (std::string name; names >> name;) {
      INFO(name);
      const bool is_table = name.ends_with(".*") && keys.count(name) == 0;
      const std::string table = name.substr(0, name.size() - 1);
      CHECK(std::ranges::any_of(keys, [&](const std::string& key) {
        return is_table ? key.rfind(table, 0) == 0 : key == name;
      }));
    }
    CHECK(m.parts != 0);
  }
}

TEST_CASE("Combinations that theories do not model say what they must") {
  for (const prediction::Combination& c : prediction::combinations()) {
    INFO(c.name);
    CHECK_FALSE(c.name.empty());
    CHECK_FALSE(c.text.empty());
    CHECK(c.parts != 0);
    CHECK((c.by_service == nullptr) != (c.by_client == nullptr));
  }
}

// A key that cannot be seen in a finished scenario cannot be refused. These name something, choose
// a preset, or become the value of another key.
TEST_CASE("Every other key can be seen in a finished scenario") {
  const std::set<std::string> unseen = {"precision_metrics",
                                        "service.*.like",
                                        "client.*.like",
                                        "fault.*.service",
                                        "client.*.calls",
                                        "client.*.operation.*.calls",
                                        "client.*.service",
                                        "client.*.arrivals.rate",
                                        "client.*.arrivals.total_rate",
                                        "client.*.arrivals.file",
                                        "client.*.arrivals.speed_up",
                                        "client.*.arrivals.scale",
                                        "client.*.arrivals.bucket",
                                        "client.*.arrivals.interpolate",
                                        "client.*.retry.from_environment",
                                        "client.*.retry.mode",
                                        "client.*.retry.revision",
                                        "client.*.retry.sdk",
                                        "client.*.retry.api",
                                        "client.*.retry.defect",
                                        "phase.*.end"};
  std::set<std::string> found;
  for (const scenario::KeyScope& scope : scenario::key_scopes()) {
    for (const scenario::KeyInfo& key : scope.keys) {
      if (key.access.in_use == nullptr) found.insert(known_as(key_pattern(scope, key)));
    }
  }
  CHECK(found == unseen);
}

Scenario load(const std::string& service, const std::string& client, const std::string& more = "") {
  return test::scenario_of(
      "name = \"coverage\"\nduration = 100\n" + more +
      "[service.api]\nservers = 10\nservice_time = { distribution = \"exponential\", mean = "
      "\"20ms\" }\nqueue.capacity = 700\n" +
      service +
      "[client.web]\ncount = 100\narrivals = { process = \"poisson\", total_rate = 300 }\n" +
      (client.find("attempt_timeout") == std::string::npos ? "attempt_timeout = 1\n" : "") +
      client +
      (client.find("retry") == std::string::npos
           ? "retry = { mode = \"custom\", max_attempts = 4, delays = [0] }\n"
           : ""));
}

TEST_CASE("The plain case has all of its predictions") {
  const Scenario plain = load("", "");
  for (std::size_t i = 0; i < prediction::kTheories; ++i) {
    INFO(prediction::kTheoryNames[i]);
    CHECK(prediction::why_not(static_cast<Theory>(i), plain, 0).value_or("") == "");
  }
  const Prediction p = predict(plain, {.chain = false});
  REQUIRE(p.find("fluid", "service.api", "phase"));
  CHECK(p.find("fluid", "service.api", "phase")->text == "vulnerable");
}

TEST_CASE("No phase is given where what is not modelled could change it") {
  const auto refuses = [](const Scenario& s, const std::string& key) {
    const auto why = why_no_balance(s, 0);
    INFO(key << ": " << why.value_or("nothing"));
    CHECK((why && why->rfind(key, 0) == 0));
    const Prediction p = predict(s, {.chain = false});
    for (const char* name : {"phase", "vulnerable_load", "tipping_load", "dead_load"}) {
      CHECK(p.find("fluid", "service.api", name) == nullptr);
    }
    CHECK(std::ranges::any_of(p.refusals, [&](const Remark& r) {
      return r.part == "fluid" && r.text.find(key) != std::string::npos;
    }));
  };
  refuses(load("abandoned = \"remove\"\n", ""), "service.api.abandoned");
  refuses(load("abandoned = \"drop-at-dequeue\"\n", ""), "service.api.abandoned");
  refuses(load("abandoned = \"abort\"\n", ""), "service.api.abandoned");
  refuses(load("queue.drop_expired = true\n", ""), "service.api.queue.drop_expired");
  refuses(load("", "deadline = \"2500ms\"\n"), "client.web.deadline");
  refuses(load("", "max_connections = 5\n"), "client.web.max_connections");
  refuses(load("slowdown = 0.01\n", ""), "service.api.slowdown");
  refuses(load("idempotency.window = 60\n", "mutating = 1\n"), "service.api.idempotency");
  refuses(load("", "mutating = 1\nreconcile_read = \"5ms\"\n"), "client.web.reconcile_read");
  refuses(load("", "attempt_timeout = { distribution = \"exponential\", mean = 1 }\n"),
          "client.web.attempt_timeout");
  refuses(load("", "attempt_timeout = \"40ms\"\n"), "client.web.attempt_timeout");
  refuses(load("throttle.rate = 100\n", "retry = { mode = \"adaptive\" }\n"),
          "client.web.retry.rate_limit");
  refuses(
      load("",
           "retry = { mode = \"custom\", max_attempts = 3, delays = [0], client_throttle.k = 2 }"
           "\n"),
      "client.web.retry.client_throttle");
  refuses(load("",
               "attempt_timeout = 1\nretry = { mode = \"custom\", max_attempts = 4 }\n"
               "[client.batch]\nattempt_timeout = 3\nretry = { mode = \"none\" }\n"
               "arrivals = { process = \"poisson\", total_rate = 10 }\n"),
          "client.batch.attempt_timeout");
}

TEST_CASE("A service with room for all attempts is safe, whatever its rules") {
  // 500 services a second, and `rate` requests of up to four attempts.
  const auto predicted = [](const std::string& service, const std::string& client, int rate,
                            const std::string& more = "") {
    return predict(test::scenario_of(fmt::format(
                       "name = \"idle\"\nduration = 100\n{}[service.api]\nservers = 10\n"
                       "service_time = {{ distribution = \"exponential\", mean = \"20ms\" }}\n{}"
                       "[client.web]\ncount = 100\nattempt_timeout = 1\n"
                       "arrivals = {{ process = \"poisson\", total_rate = {} }}\n"
                       "retry.mode = \"custom\"\nretry.max_attempts = 4\nretry.delays = [0]\n{}",
                       more, service, rate, client)),
                   {.chain = false});
  };
  struct Case {
    const char *service, *client;
  };
  for (const auto& [service, client] :
       {Case{"abandoned = \"remove\"\n", ""}, Case{"queue.discipline = \"lifo\"\n", ""},
        Case{"timeout = \"500ms\"\n", ""}, Case{"throttle = { rate = 450, window = \"2s\" }\n", ""},
        Case{"", "deadline = 2\n"}, Case{"", "unrepeatable = 0.3\n"},
        Case{"", "retry.retry_breaker.failure_share = 0.5\n"},
        Case{"", "retry.budget = { kind = \"window\", minimum = 1 }\n"},
        Case{"", "retry.hedging.delay = \"500ms\"\n"}}) {
    INFO(service << client);
    const Prediction safe = predicted(service, client, 100);
    REQUIRE(safe.find("fluid", "service.api", "phase"));
    CHECK(safe.find("fluid", "service.api", "phase")->text == "safe");
    REQUIRE(safe.find("fluid", "service.api", "worst_load"));
    CHECK(safe.find("fluid", "service.api", "worst_load")->value == Approx(0.8));
    CHECK(safe.find("fluid", "service.api", "load")->value == Approx(0.2));
    CHECK_FALSE(predicted(service, client, 130).find("fluid", "service.api", "phase"));
  }
  const auto says_nothing = [&](const std::string& service, const std::string& client) {
    INFO(service << client);
    CHECK_FALSE(predicted(service, client, 100).find("fluid", "service.api", "phase"));
  };
  says_nothing("instances = 2\n", "");  // each might get all
  says_nothing("throttle = { rate = 350, window = \"2s\" }\n", "");
  says_nothing("throttle = { rate = 3.5, burst = 5, scope = \"client\" }\nabandoned = \"remove\"\n",
               "");
  says_nothing("concurrency.limit = 7\nabandoned = \"remove\"\n", "");
  says_nothing("reject_cost = \"30ms\"\nqueue.capacity = 9\nabandoned = \"remove\"\n", "");
  says_nothing("abandoned = \"remove\"\n", "max_connections = 1\n");
}

TEST_CASE("A service at the end of a chain that has room for all attempts of all layers is safe") {
  const auto phase = [](int rate, const std::string& call, const std::string& arrivals = "") {
    const Prediction p = predict(
        test::scenario_of(fmt::format(
            "name = \"chain\"\nduration = 100\n[service.front]\nservers = 200\n"
            "service_time = \"5ms\"\n[service.front.calls.db]\nattempt_timeout = \"300ms\"\n{}"
            "[service.db]\nservers = 10\nservice_time = \"20ms\"\n[client.web]\n"
            "calls = \"front\"\ncount = 100\nattempt_timeout = 1\narrivals = {}\n"
            "retry.mode = \"custom\"\nretry.max_attempts = 2\nretry.delays = [0]\n",
            call,
            arrivals.empty() ? fmt::format("{{ process = \"poisson\", total_rate = {} }}", rate)
                             : arrivals)),
        {.chain = false});
    CHECK_FALSE(p.find("fluid", "service.front", "phase"));  // it waits for db
    const Figure* f = p.find("fluid", "service.db", "phase");
    return f != nullptr ? f->text : "";
  };
  const std::string thrice = "retry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n";
  // Two attempts of web, three calls in each: 80 * 6 * 20 ms of 10 servers.
  CHECK(phase(80, thrice) == "safe");
  CHECK(phase(85, thrice).empty());
  CHECK(phase(80, thrice + "count = 2\n").empty());
  CHECK(phase(40, thrice + "count = 2\n") == "safe");
  CHECK(phase(80, thrice + "cache.capacity = 10\n").empty());  // it may be cold
  CHECK(phase(80, thrice, "{ process = \"closed\", think_time = \"10s\" }").empty());
}

TEST_CASE("A phase that no number of retries changes is given, whatever limits them") {
  const auto phase = [](const std::string& service, const std::string& client, int rate) {
    const Prediction p =
        predict(test::scenario_of(fmt::format(
                    "name = \"any\"\nduration = 100\n[service.api]\nservers = 10\n"
                    "service_time = \"20ms\"\n{}[client.web]\ncount = 100\nattempt_timeout = 1\n"
                    "arrivals = {{ process = \"poisson\", total_rate = {} }}\n"
                    "retry.mode = \"custom\"\nretry.max_attempts = 4\nretry.delays = [0]\n{}",
                    service, rate, client)),
                {.chain = false});
    const Figure* f = p.find("fluid", "service.api", "phase");
    return f != nullptr ? f->text : "";
  };
  const std::string full = "queue.capacity = 100\n";
  for (const char* rule :
       {"unrepeatable = 0.3\n", "retry.budget = { kind = \"window\", minimum = 1 }\n",
        "retry.quota = { capacity = 20, cost = 5, scope = \"key\" }\n"}) {
    INFO(rule);
    CHECK(phase(full, rule, 300) == "safe");  // what is turned away costs nothing
    CHECK(phase(full, rule, 600) == "overloaded");
    CHECK(phase(full, rule, 1200) == "dead");
    CHECK(phase("", rule, 600) == "dead");
    CHECK(phase("", rule, 300) == "");  // dead if all are retried, safe if none
  }
  CHECK(phase(full, "retry.retry_breaker.failure_share = 0.5\n", 300) == "");
}

TEST_CASE("A queue that chance fills is doubted") {
  const auto doubted = [](int places, double rate) {
    const Scenario s = test::scenario_of(fmt::format(
        "name = \"short\"\nduration = 100\n[service.api]\nservers = 4\n"
        "service_time = {{ distribution = \"exponential\", mean = \"10ms\" }}\n"
        "queue.capacity = {}\n[client.web]\ncount = 100\nattempt_timeout = 1\n"
        "arrivals = {{ process = \"poisson\", total_rate = {} }}\nretry = {{ mode = \"none\" }}\n",
        places, rate));
    return std::ranges::any_of(doubts_of_fluid(s, 0), [](const std::string& doubt) {
      return doubt.find("which chance fills") != std::string::npos;
    });
  };
  CHECK(doubted(3, 360));  // 12 % are turned away
  CHECK_FALSE(doubted(3, 100));
  CHECK_FALSE(doubted(100, 360));
  CHECK(doubted(20, 400));
  CHECK_FALSE(doubted(100, 800));
}

TEST_CASE("Refusals that keep the servers busy make late what waits behind them") {
  // 600 services a second, of which a fault or a profile leaves 60 %. A full queue of 154 takes
  // 0.43 s then, and clients wait for 0.51 s. Up to 1,030 attempts a second come: to refuse two
  // thirds of them for 2 ms each takes a fifth of the servers, and the queue 0.53 s.
  const auto scenario = [](const std::string& service, int rate, const std::string& more = "") {
    return test::scenario_of(fmt::format(
        "name = \"refusals\"\nduration = 64\nwarmup = 0\ndrain = false\n[service.api]\n"
        "service_time = {{ distribution = \"erlang\", mean = \"20ms\", shape = 4 }}\n"
        "queue.capacity = 154\n{}\n[client.web]\ncount = 100\nattempt_timeout = \"513ms\"\n"
        "arrivals = {{ process = \"poisson\", total_rate = {} }}\n"
        "retry = {{ mode = \"custom\", max_attempts = 2, backoff = {{ base = \"100ms\", jitter = "
        "\"equal\" }} }}\n{}",
        service, rate, more));
  };
  const std::string outage = "[fault.outage]\nstart = 10\nduration = 8\ncapacity = 0\n";
  const auto success = [](const Scenario& s) {
    const FluidRun run = run_fluid(s, 0);
    return run.groups.at(0).successes / run.groups.at(0).requests;
  };
  const std::string slow = "servers = 12\nreject_cost = \"2ms\"\n";
  const std::string weak = "[fault.weak]\nstart = 15\nduration = 100\nspeed = 0.6\n";
  CHECK(success(scenario(slow, 515, weak)) < 0.35);  // those of the first 15 s
  CHECK(success(scenario("servers = 12\n", 515, weak)) > 0.6);
  CHECK(success(scenario(slow, 340, weak)) > 0.98);
  // 7 servers all the time: no phase by failures of one kind.
  const auto why = [&](const Scenario& s) { return why_no_balance(s, 0).value_or(""); };
  CHECK_THAT(why(scenario("servers = 7\nreject_cost = \"2ms\"\n", 515)),
             Catch::StartsWith("service.api.reject_cost"));
  CHECK(why(scenario("servers = 7\n", 515)).empty());
  CHECK(why(scenario("servers = 7\nreject_cost = \"2ms\"\noverflow = \"drop\"\n", 515)).empty());
  CHECK(why(scenario("servers = 7\nreject_cost = \"2ms\"\n", 170)).empty());
  // Refusals of a throttle: 100 services of 20 ms and up to 930 refusals of 10 ms a second.
  const std::string throttle = "throttle = { rate = 100, burst = 20 }\n";
  CHECK_THAT(why(scenario("servers = 7\nreject_cost = \"10ms\"\n" + throttle, 515)),
             Catch::StartsWith("service.api.reject_cost"));
  CHECK(why(scenario("servers = 12\nreject_cost = \"10ms\"\n" + throttle, 515)).empty());
  CHECK(success(scenario("servers = 7\nreject_cost = \"10ms\"\n" + throttle, 515)) < 0.1);
  CHECK(success(scenario("servers = 12\nreject_cost = \"10ms\"\n" + throttle, 515)) ==
        Approx(100.0 / 515).epsilon(0.03));
  // Those that came in an outage are refused when it is over, before anything else is served.
  const double late = 1 - success(scenario("servers = 12\nreject_cost = \"10ms\"\n", 300, outage));
  const double soon = 1 - success(scenario("servers = 12\n", 300, outage));
  CHECK(late > soon + 0.03);
}

TEST_CASE("What cannot bind is no reason to refuse") {
  const auto given = [](const Scenario& s) {
    INFO(why_no_balance(s, 0).value_or(""));
    CHECK_FALSE(why_no_balance(s, 0));
    CHECK_FALSE(why_no_fluid(s, 0));
  };
  given(load("", "deadline = 5\n"));
  given(load("", "attempt_timeout = 3\ndeadline = 1\nretry = { mode = \"none\" }\n"));
  given(load("", "max_connections = 100\n"));
  given(load("idempotency.window = 60\n", ""));          // nobody changes anything
  given(load("", "retry = { mode = \"adaptive\" }\n"));  // nothing wakes the limiter
  given(load("errors = { 500 = 0.1 }\n", ""));
  given(load("", "", "network.latency = \"10ms\"\n"));
  // What only concerns retries, where there are none.
  for (const char* rule :
       {"retry.budget = { kind = \"window\", minimum = 1 }\n", "unrepeatable = 0.5\n",
        "retry.quota = { capacity = 5, scope = \"key\" }\n",
        "mutating = 1\nreconcile_read = 0.01\n",
        "retry.quota = { capacity = 5, on_empty = \"wait\", refill_rate = 1 }\n"}) {
    INFO(rule);
    given(load("idempotency.window = 60\n",
               std::string("retry.mode = \"custom\"\nretry.max_attempts = 1\n") + rule));
  }
}

TEST_CASE("A timeout that no answer can meet is no matter of the service time") {
  const auto refused = [](const std::string& service_time, const std::string& latency) {
    const Scenario s = test::scenario_of(
        "name = \"late\"\nduration = 10\nnetwork.latency = \"" + latency +
        "\"\n[service.api]\nservers = 10\nservice_time = \"" + service_time +
        "\"\n[client.web]\ncount = 100\nattempt_timeout = 1\nretry = { mode = \"none\" }\n"
        "arrivals = { process = \"poisson\", total_rate = 100 }\n");
    const auto why = prediction::why_not(Theory::kBalance, s, 0).value_or("");
    return why.find("late at an idle service") != std::string::npos;
  };
  CHECK(refused("1ms", "600ms"));
  CHECK(refused("0s", "600ms"));
  CHECK_FALSE(refused("1ms", "400ms"));
  CHECK_FALSE(refused("0s", "400ms"));
}

TEST_CASE("A deadline is tight where attempts have less time than twenty services and the queue") {
  // Four attempts within five seconds: 1.25 s for each. A queue of 700 takes 1.4 s.
  const auto tight = [](const std::string& servers, const std::string& deadline) {
    const Scenario s = load("", "attempt_timeout = 3\ndeadline = " + deadline + "\n");
    Scenario with = s;
    if (servers == "unlimited") with.services[0].servers = ServiceSpec::kUnlimited;
    return prediction::why_not(Theory::kBalance, with, 0).value_or("").find("deadline") !=
           std::string::npos;
  };
  CHECK(tight("10", "5"));
  CHECK_FALSE(tight("10", "8"));  // 1.4 s in the queue, 20 x 20 ms in service
  CHECK_FALSE(tight("unlimited", "5"));
  CHECK(tight("unlimited", "1.5"));
}

TEST_CASE("A limiter sleeps unless its service may throttle, in a fault or at any time") {
  const auto wakes = [](const std::string& service, const std::string& more) {
    const Scenario s = load(service, "calls = \"api\"\nretry = { mode = \"adaptive\" }\n",
                            "[service.other]\nservice_time = \"1ms\"\n" + more);
    const auto why = prediction::why_not(Theory::kBalance, s, 1).value_or("");
    return why.find("the rate of a limiter depends on its history") != std::string::npos;
  };
  const auto fault = [](const std::string& service) {
    return "[fault.bad]\nservice = \"" + service +
           "\"\nstart = 5\nduration = 5\nerrors = { throttled = 0.5 }\n";
  };
  CHECK_FALSE(wakes("", ""));
  CHECK(wakes("throttle = { rate = 100 }\n", ""));
  CHECK(wakes("errors = { throttled = 0.1 }\n", ""));
  CHECK(wakes("", fault("api")));
  CHECK_FALSE(wakes("", fault("other")));
}

TEST_CASE("A budget counts as one that may run out from a third of its retries on") {
  const auto may_run_out = [](double minimum) {
    // Four retries a second of each client, if each request needs all three attempts.
    const Scenario s = test::scenario_of(
        fmt::format("name = \"budget\"\nduration = 10\n[service.api]\nservice_time = \"1ms\"\n"
                    "[client.web]\ncount = 100\nattempt_timeout = 1\n"
                    "arrivals = {{ process = \"poisson\", total_rate = 200 }}\n"
                    "retry = {{ mode = \"custom\", max_attempts = 3, delays = [0], "
                    "budget = {{ kind = \"window\", share = 0, minimum = {} }} }}\n",
                    minimum));
    const auto why = why_no_fluid(s, 0);
    CHECK(why.has_value() == (why.value_or("").find("retry.budget") != std::string::npos));
    return why.has_value();
  };
  CHECK(may_run_out(1));
  CHECK(may_run_out(11));
  CHECK_FALSE(may_run_out(13));
  CHECK_FALSE(may_run_out(23));
}

TEST_CASE("A key that a theory does not model is refused under its own name") {
  const auto refused = [](const std::string& service, const std::string& client) {
    const auto found = prediction::refusal(Theory::kRun, load(service, client), 0);
    return found ? sentence_of(*found, "goodput", "the fluid", "service.api") : "";
  };
  const std::string hedged =
      "retry = { mode = \"custom\", max_attempts = 2, delays = [0], hedging.delay = \"50ms\" }\n";
  CHECK(refused("", hedged) ==
        "No goodput for service.api: the fluid cannot model hedging "
        "(client.web.retry.hedging.delay)");
  CHECK(refused("model = \"occ\"\n", "") ==
        "No goodput for service.api: the fluid cannot model optimistic concurrency control "
        "(service.api.model)");
  CHECK(refused("", "") == "");
}

TEST_CASE("Random errors that take no server are no load of the fluid") {
  const auto with = [](const std::string& errors, const std::string& attempts) {
    return load(errors,
                "retry = { mode = \"custom\", max_attempts = " + attempts + ", delays = [0] }\n");
  };
  // Half of 600 attempts for 300 requests a second, of which the other half is served.
  const Scenario s = with("errors = { 500 = 0.5 }\n", "6");
  const FluidEquilibria e = fluid_equilibria(s, 0);
  CHECK(e.phase == FluidPhase::kVulnerable);
  CHECK(e.load == Approx(0.3));
  CHECK(e.tipping_load == Approx(0.3 / (0.3 * (1 - std::pow(0.5, 6)) / 0.5)));
  const FluidRun run = run_fluid(s, 0);
  CHECK(run.groups[0].goodput == Approx(300 * (1 - std::pow(0.5, 6))).epsilon(0.01));
  // Errors that nobody retries halve the load.
  CHECK(fluid_equilibria(with("errors = { 400 = 0.5 }\n", "3"), 0).vulnerable_load ==
        Approx(0.3 / (0.3 * (1 + 0.5 + 0.25))));
  // What never arrives is no load either.
  const Scenario lossy = load("", "", "network.request_loss = 0.2\n");
  CHECK(fluid_equilibria(lossy, 0).load == Approx(0.6 * 0.8));
}

/// A scenario with calls between services and much that theory does not model.
constexpr const char* kMuchUnmodelled = R"(
name = "much"
duration = 100
[service.front]
servers = 20
service_time = "10ms"
abandoned = "remove"
parallel_calls = true
[service.front.calls.db]
retry = { mode = "custom", max_attempts = 2, hedging = { delay = "50ms" } }
[service.front.calls.cache]
retry = { mode = "none" }
[service.db]
servers = 20
service_time = "5ms"
errors = { internal = 0.1, at = 0.5 }
[service.cache]
servers = 20
service_time = "1ms"
[fault.f]
service = "db"
start = 50
duration = 10
speed = 0.5
[client.web]
calls = "front"
count = 40
arrivals = { process = "closed", think_time = "1s" }
retry = { mode = "none" }
)";

TEST_CASE("Every feature in use that is not modelled is listed, with all of its places") {
  LoadResult loaded = load_scenario_text(kMuchUnmodelled, "much.toml", ".");
  REQUIRE(loaded.loaded);
  const Scenario& scenario = loaded.loaded->scenario;
  const std::vector<Unmodelled> listed = predict(scenario, {.chain = false}).unmodelled;
  const auto places = [&](std::string_view feature) -> std::vector<std::string> {
    for (const Unmodelled& u : listed) {
      if (u.feature == feature) return u.places;
    }
    return {};
  };
  using Places = std::vector<std::string>;
  CHECK(places("a service that calls others") == Places{"service.front.calls"});
  CHECK(places("calls between services") ==
        Places{"service.front.calls.db", "service.front.calls.cache"});
  CHECK(places("a closed loop") == Places{"client.web.arrivals.process"});
  CHECK(places("hedging") == Places{"service.front.calls.db.retry.hedging.delay"});
  CHECK(places("random errors after a share of the service time") ==
        Places{"service.db.errors.at"});
  CHECK(places("faults") == Places{"fault.f.start", "fault.f.duration", "fault.f.speed"});
  CHECK(places("autoscaling").empty());
  for (const Unmodelled& u : listed) CHECK_FALSE((u.left_out.empty() && u.no_figure.empty()));
}

TEST_CASE("What several parts say of one feature is told apart in the table") {
  const auto rows = prediction::coverage_table();
  const auto row = std::ranges::find(rows, "groups with different attempt timeouts",
                                     &prediction::CoverageRow::feature);
  REQUIRE(row != rows.end());
  CHECK(row->no_figure ==
        "balance: groups with different timeouts have no common balance; "
        "chain: the chain has one timeout for all");
}

}  // namespace
}  // namespace retrysim
