// Facts and warnings of scenarios, worked out by hand.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <variant>

#include "prediction/chain/markov_chain.hpp"
#include "prediction/coverage.hpp"
#include "prediction/facts/service_load.hpp"
#include "scenario_of.hpp"

namespace retrysim {
namespace {

using test::scenario_of;

/// Two servers of 10 ms at 80 % load; a queue of two seconds; clients that wait one.
std::string service_and_client(const std::string& retry, const std::string& service = "") {
  return "name = \"facts\"\nduration = 100\n"
         "[service.api]\nservers = 2\nqueue = { capacity = 400 }\n"
         "service_time = { distribution = \"exponential\", mean = \"10ms\" }\n" +
         service +
         "[client.web]\ncount = 400\nattempt_timeout = 1\n"
         "arrivals = { process = \"poisson\", total_rate = 160 }\n" +
         retry;
}

double fact(const Facts& facts, const std::string& subject, const std::string& name) {
  for (const Figure& f : facts.figures) {
    if (f.subject == subject && f.name == name) return f.value;
  }
  FAIL("there is no " << subject << " " << name);
  return 0;
}

bool warns(const Facts& facts, const std::string& key, const std::string& figure) {
  return std::any_of(facts.warnings.begin(), facts.warnings.end(), [&](const Warning& w) {
    return w.keys.find(key) != std::string::npos && w.message.find(figure) != std::string::npos &&
           !w.remedy.empty();
  });
}

TEST_CASE("Facts of a service and its clients in standard mode") {
  const Facts facts =
      facts_of(scenario_of(service_and_client("retry = { mode = \"standard\" }\n")));
  CHECK(fact(facts, "service.api", "offered_load") == Approx(160));
  CHECK(fact(facts, "service.api", "utilization") == Approx(0.8));
  CHECK(fact(facts, "service.api", "utilization_at_last_attempt") == Approx(2.4));
  CHECK(fact(facts, "service.api", "full_queue_work") == Approx(2));
  // M/M/2: C = 0.7111, wait = C / (200 - 160).
  CHECK(fact(facts, "service.api", "queueing_time") == Approx(0.64 / 0.9 / 40).epsilon(1e-9));
  CHECK(fact(facts, "client.web", "request_time_worst") == Approx(3 + 1 + 2));
  CHECK(fact(facts, "client.web", "request_time_if_all_time_out") == Approx(3 + 0.5 + 1));
  CHECK(fact(facts, "client.web", "quota_critical_share") == Approx(0.320724347).epsilon(1e-8));
  CHECK(fact(facts, "client.web", "quota_critical_share_timeouts") ==
        Approx(0.2459962).epsilon(1e-6));
  CHECK(fact(facts, "client.web", "quota_retries_in_outage") == 50);
  CHECK(fact(facts, "client.web", "quota_retries_in_outage_all_clients") == 20'000);
  // Two retries of ten tokens for each of 0.4 requests a second.
  CHECK(fact(facts, "client.web", "quota_drain_rate") == Approx(8));
  CHECK(fact(facts, "client.web", "quota_time_to_dry") == Approx(62.5));
  CHECK(fact(facts, "client.web", "connections_if_all_time_out") == Approx(1.2));
  CHECK(warns(facts, "service.api.queue.capacity", "2 s of work"));
  CHECK(warns(facts, "client.web.retry.quota", "62.5 s"));
  CHECK_FALSE(warns(facts, "retry.max_attempts", "needs its last attempt"));  // the quota
}

/// The facts of a single service under Poisson arrivals of 10 a second, without retries.
Facts facts_of_service(const std::string& service) {
  return facts_of(scenario_of("name = \"one\"\nduration = 100\n[service.api]\n" + service +
                              "[client.web]\nretry = { mode = \"none\" }\n"
                              "arrivals = { process = \"poisson\", total_rate = 10 }\n"));
}

TEST_CASE("The share that waits at most so long follows from Erlang's formula") {
  const std::string exponential =
      "service_time = { distribution = \"exponential\", mean = \"100ms\" }\n"
      "wait_within = \"100ms\"\n";
  // One Erlang for two servers: C = 1/3. For four: C = 1/49.
  const Facts two = facts_of_service("servers = 2\n" + exponential);
  CHECK(fact(two, "service.api", "wait_within_share") ==
        Approx(1 - std::exp(-1.0) / 3).epsilon(1e-12));
  const Facts four = facts_of_service("servers = 4\n" + exponential);
  CHECK(fact(four, "service.api", "wait_within_share") ==
        Approx(1 - std::exp(-3.0) / 49).epsilon(1e-12));
  // Elsewhere nothing is known.
  const auto is_known = [](const std::string& service) {
    const Facts facts = facts_of_service(service);
    return std::ranges::any_of(facts.figures,
                               [](const Figure& f) { return f.name == "wait_within_share"; });
  };
  CHECK(is_known("servers = 2\n" + exponential));
  CHECK_FALSE(is_known("servers = 1\n" + exponential));  // its load is 1
  CHECK_FALSE(is_known("servers = 2\nqueue = { discipline = \"lifo\" }\n" + exponential));
  CHECK_FALSE(is_known("servers = 2\nservice_time = \"100ms\"\nwait_within = \"100ms\"\n"));
}

TEST_CASE("How long a full queue takes can be asked for alone") {
  const std::string queue = "service_time = \"50ms\"\nqueue = { capacity = 40 }\n";
  const auto with = [](const std::string& service, const std::string& arrivals) {
    return scenario_of("name = \"one\"\nduration = 100\n[service.api]\n" + service +
                       "[service.other]\nservice_time = 1\nqueue = { capacity = 1 }\n[client.web]\n"
                       "calls = \"api\"\nretry = { mode = \"none\" }\narrivals = { " +
                       arrivals + " }\n");
  };
  const Scenario two = with("servers = 2\n" + queue, "process = \"poisson\", rate = 10");
  CHECK(prediction::full_queue_time(two, 0) == Approx(1));
  CHECK(fact(facts_of(two), "service.api", "full_queue_work") ==
        prediction::full_queue_time(two, 0));
  CHECK(std::isinf(prediction::full_queue_time(two, 1)));  // nobody calls it
  const Scenario unlimited =
      with("servers = \"unlimited\"\nservice_time = 1\n", "process = \"poisson\", rate = 10");
  CHECK(std::isinf(prediction::full_queue_time(unlimited, 0)));
  // Clients that ask without a pause, of a service that takes no time.
  const Scenario no_pause = with("service_time = \"0s\"\nqueue = { capacity = 40 }\n",
                                 "process = \"closed\", think_time = \"0s\"");
  CHECK(std::isinf(prediction::full_queue_time(no_pause, 0)));
}

TEST_CASE("Waits follow from the spread of gamma service times") {
  // M/G/1 with cv^2 = 1 / shape: rho / (1 - rho) E[S] (1 + cv^2) / 2.
  const auto wait = [](const std::string& gamma) {
    return fact(facts_of_service("service_time = { distribution = \"gamma\", " + gamma + " }\n"),
                "service.api", "queueing_time");
  };
  CHECK(wait("mean = \"50ms\", shape = 0.5") == Approx(0.05 * 1.5).epsilon(1e-12));
  CHECK(wait("mean = \"50ms\", shape = 1") == Approx(0.05).epsilon(1e-12));
  CHECK(wait("shape = 4, scale = \"12.5ms\"") == Approx(0.05 * 0.625).epsilon(1e-12));
}

TEST_CASE("Waits behind many servers know more of the law than its variance") {
  struct Case {
    int servers;
    double rate;  // services take a second on average
    const char* law;
    double simulated;  // mean wait, s: ten runs of 20,000 s of this engine
    double within;     // of the formula, as a share
  };
  const auto wait = [](int servers, double rate, const std::string& law) {
    return scenario_of(
        fmt::format("name = \"w\"\nduration = 100\n[service.api]\nservers = {}\n"
                    "service_time = {{ distribution = {}, mean = \"1s\" }}\n"
                    "[client.web]\narrivals = {{ process = \"poisson\", total_rate = {} }}\n"
                    "retry = {{ mode = \"none\" }}\n",
                    servers, law, rate));
  };
  for (const Case& c : {Case{2, 1.4, "\"lognormal\", cv = 2", 2.327, 0.05},
                        Case{10, 7, "\"lognormal\", cv = 2", 0.1257, 0.12},
                        Case{10, 7, "\"lognormal\", cv = 4", 0.2828, 0.12},
                        Case{10, 9, "\"lognormal\", cv = 4", 4.279, 0.12},
                        Case{50, 45, "\"lognormal\", cv = 4", 0.3211, 0.2},
                        Case{4, 3.6, "\"pareto\", shape = 3.5", 1.208, 0.05},
                        Case{10, 7, "\"pareto\", shape = 3.5", 0.0460, 0.1}}) {
    CAPTURE(c.servers, c.rate, c.law);
    CHECK(fact(facts_of(wait(c.servers, c.rate, c.law)), "service.api", "queueing_time") ==
          Approx(c.simulated).epsilon(c.within));
  }
  // Without a third moment there is no figure, and the reason is said.
  const Scenario heavy = wait(10, 7, "\"pareto\", shape = 2.2");
  const Facts facts = facts_of(heavy);
  CHECK(std::ranges::none_of(facts.figures,
                             [](const Figure& f) { return f.name == "queueing_time"; }));
  CHECK(why_not(prediction::Theory::kWaits, heavy, 0).value_or("").find("third moment") !=
        std::string::npos);
}

TEST_CASE("Warnings name what is wrong, and nothing that is not") {
  const std::string plain =
      "retry = { mode = \"custom\", max_attempts = 3, delays = [0] }\nmax_connections = 1\n";
  const Facts facts = facts_of(scenario_of(service_and_client(plain)));
  CHECK(warns(facts, "client.web.retry.max_attempts", "2.4 times the capacity"));
  CHECK(warns(facts, "client.web.max_connections", "1.2 connections"));
  const Facts short_queue = facts_of(scenario_of(
      "name = \"short\"\nduration = 100\n[service.api]\nservers = 2\nqueue = { capacity = 50 }\n"
      "service_time = { distribution = \"exponential\", mean = \"10ms\" }\n"
      "[client.web]\ncount = 400\nattempt_timeout = 1\n"
      "arrivals = { process = \"poisson\", total_rate = 160 }\n"
      "retry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n"));
  CHECK(short_queue.warnings.empty());
  const Facts overloaded = facts_of(
      scenario_of("name = \"over\"\nduration = 100\n[service.api]\nservice_time = \"10ms\"\n"
                  "[client.web]\narrivals = { process = \"poisson\", total_rate = 150 }\n"
                  "retry = { mode = \"none\" }\n"));
  CHECK(warns(overloaded, "service.api.servers", "1.5 times the capacity"));
  const Facts throttled = facts_of(scenario_of(
      "name = \"throttled\"\nduration = 100\n[service.api]\nservers = \"unlimited\"\n"
      "service_time = \"10ms\"\n"
      "throttle = { rate = 100, burst = 10, retry_after = \"5s\" }\n"
      "[client.web]\ncount = 400\narrivals = { process = \"poisson\", total_rate = 150 }\n"
      "retry = { mode = \"adaptive\" }\n"));
  CHECK(warns(throttled, "service.api.throttle.rate", "66.7 %"));
  CHECK(warns(throttled, "client.web.count", "200 attempts a second"));
  CHECK(warns(throttled, "service.api.throttle.retry_after", "5 s"));
}

TEST_CASE("A scenario becomes the chain it stands for, or says which key is why not") {
  const std::string plain = "retry = { mode = \"custom\", max_attempts = 3, delays = [\"1s\"] }\n";
  Scenario scenario = scenario_of(service_and_client(plain));
  const ChainOrReason large = chain_of(scenario, 0);
  REQUIRE(std::holds_alternative<std::string>(large));
  CHECK(std::get<std::string>(large).find("states") != std::string::npos);
  scenario.services[0].queue.capacity = 50;
  const ChainOrReason chain = chain_of(scenario, 0);
  REQUIRE(std::holds_alternative<RetrialQueue>(chain));
  const auto& queue = std::get<RetrialQueue>(chain);
  CHECK(queue.arrival_rate == Approx(160));
  CHECK(queue.service_rate == Approx(100));
  CHECK(queue.servers == 2);
  CHECK(queue.timeout == Approx(1));
  CHECK(queue.backoff == Approx(1));
  CHECK(queue.attempts == 3);
  CHECK(queue.places == 52);
  const ChainOrReason quota =
      chain_of(scenario_of(service_and_client("retry = { mode = \"standard\" }\n")), 0);
  REQUIRE(std::holds_alternative<std::string>(quota));
  CHECK(std::get<std::string>(quota).find("client.web.retry.quota") == 0);
}

TEST_CASE("A scenario has a chain of one timeout, one group that retries and a bounded backoff") {
  const std::string retry = "retry = { mode = \"custom\", max_attempts = 3, delays = [\"1s\"] }\n";
  const std::string other =
      "[client.more]\narrivals = { process = \"poisson\", total_rate = 40 }\nattempt_timeout = ";
  const auto chain = [&](const std::string& more, std::uint32_t capacity = 50) {
    Scenario scenario = scenario_of(service_and_client(more));
    scenario.services[0].queue.capacity = capacity;
    return chain_of(scenario, 0);
  };
  const auto reason = [](const ChainOrReason& answer) {
    const auto* why = std::get_if<std::string>(&answer);
    return why == nullptr ? "" : *why;
  };
  const auto queue = [&](const ChainOrReason& answer) {
    INFO(reason(answer));
    REQUIRE(std::holds_alternative<RetrialQueue>(answer));
    return std::get<RetrialQueue>(answer);
  };
  CHECK(reason(chain(retry + other + "2\nretry = { mode = \"none\" }\n")) ==
        "client.more.attempt_timeout: the chain has one timeout for all");
  CHECK(reason(chain(retry + other + "1\n" + retry)) ==
        "client.more: the chain has one group that retries");
  CHECK(
      reason(chain(retry, 30'000)).find("service.api.queue.capacity: the chain would have more") ==
      0);
  CHECK(reason(chain(retry + "[network]\nlatency = \"500ms\"\n"))
            .find("client.web.attempt_timeout: more than a twentieth") == 0);
  // A fifth of the requests are those of clients that do not retry.
  const RetrialQueue both = queue(chain(retry + other + "1\nretry = { mode = \"none\" }\n"));
  CHECK(both.arrival_rate == Approx(200));
  CHECK(both.retrying_share == Approx(0.8));
  // Nobody retries.
  const RetrialQueue single = queue(chain("retry = { mode = \"none\" }\n"));
  CHECK(single.retrying_share == 0);
  CHECK(single.orbit == 1);
  // One client, without an end, with no more than ten retries at a time.
  Scenario scenario = scenario_of(
      service_and_client("retry = { mode = \"custom\", max_attempts = \"unlimited\", delays = "
                         "[\"1s\"], budget = { kind = \"active\", minimum = 10, share = 0 } }\n"));
  scenario.services[0].queue.capacity = 50;
  scenario.clients[0].count = 1;
  const RetrialQueue endless = queue(chain_of(scenario, 0));
  CHECK(endless.attempts == 1e9);
  CHECK(endless.orbit == 10);
}

}  // namespace
TEST_CASE("a closed loop is not overloaded: its requests wait for each other") {
  const Scenario scenario = scenario_of(
      "name = \"loop\"\nduration = 100\nwarmup = 10\n"
      "[service.api]\nservers = 3\nservice_time = { distribution = \"exponential\", mean = 0.01 }\n"
      "[client.web]\ncount = 40\nretry.mode = \"none\"\n"
      "arrivals = { process = \"closed\", think_time = 0.1 }\n");
  const Prediction p = predict(scenario);
  // 40 clients, one request every 110 ms each if none waits: 1.21 times what three servers can do.
  for (const char* name : {"offered_load", "utilization"}) {
    INFO(name);
    const Figure* f = p.find("facts", "service.api", name);
    REQUIRE(f != nullptr);
    CHECK(f->ignores.find("waiting") != std::string::npos);
  }
  CHECK(p.find("facts", "service.api", "utilization")->value == Approx(40 * 0.01 / 0.11 / 3));
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings.front().message.find("1.21 times the capacity") != std::string::npos);
  CHECK(p.warnings.front().message.find("overloaded") == std::string::npos);
  // The 10 requests in the system when the warm-up ends succeed later, and are none of the window.
  CHECK(p.find("fluid", "client.web", "success_rate")->value == 1);
}

TEST_CASE("Attempts without end are no infinite number in a sentence") {
  const Facts facts = facts_of(scenario_of(service_and_client(
      "retry = { mode = \"custom\", max_attempts = \"unlimited\", delays = [0] }\n")));
  bool found = false;
  for (const Warning& w : facts.warnings) {
    CHECK(w.message.find("inf ") == std::string::npos);
    found = found || w.message.find("the load grows without bound: a state") != std::string::npos;
  }
  CHECK(found);
}

TEST_CASE("A service that only the calls of others overload is warned of") {
  const auto warned = [](const std::string& servers) {
    return warns(
        facts_of(scenario_of("name = \"tree\"\nduration = 100\n"
                             "[service.front]\nservers = 60\nservice_time = \"5ms\"\n"
                             "[service.front.calls.db]\nretry = { mode = \"none\" }\n"
                             "[service.db]\nservers = " +
                             servers +
                             "\nservice_time = \"30ms\"\n"
                             "[client.web]\ncalls = \"front\"\nretry = { mode = \"none\" }\n"
                             "arrivals = { process = \"poisson\", total_rate = 500 }\n")),
        "service.front.calls.db", "1.5 times the capacity");
  };
  CHECK(warned("10"));
  CHECK_FALSE(warned("16"));
}

TEST_CASE("A timeout that is shorter than what is called may take is warned of, per call") {
  const auto warned = [](const std::string& timeout, const std::string& inner) {
    return facts_of(
        scenario_of("name = \"chain\"\nduration = 100\n"
                    "[service.front]\nservers = 60\nservice_time = \"5ms\"\n"
                    "[service.front.calls.api]\nattempt_timeout = \"" +
                    timeout +
                    "\"\nretry = { mode = \"none\" }\n"
                    "[service.api]\nservers = 60\nservice_time = \"5ms\"\n"
                    "[service.api.calls.db]\nattempt_timeout = 1\n" +
                    inner +
                    "[service.db]\nservers = 60\nservice_time = \"5ms\"\n"
                    "[client.web]\ncalls = \"front\"\nretry = { mode = \"none\" }\n"
                    "arrivals = { process = \"poisson\", total_rate = 10 }\n"));
  };
  // Three attempts of a second, two pauses of half a second, 5 ms of its own.
  const std::string thrice =
      "retry = { mode = \"custom\", max_attempts = 3, delays = [\"500ms\"] }\n";
  CHECK(warns(warned("2s", thrice), "service.front.calls.api.attempt_timeout", "4 s"));
  CHECK(warns(warned("2s", thrice), "service.api.calls.db.attempt_timeout",
              "db: 3 attempts of 1 s and up to 1 s of backoff"));
  CHECK_FALSE(warns(warned("4.1s", thrice), "service.front.calls.api.attempt_timeout", ""));
  CHECK_FALSE(warns(warned("2s", "retry = { mode = \"none\" }\n"),
                    "service.front.calls.api.attempt_timeout", ""));
}

/// A front that calls db and cache, and the warning of web's timeout of two seconds there.
std::string impatience(const std::string& db_call, const std::string& more = "",
                       const std::string& front = "") {
  const Facts facts =
      facts_of(scenario_of("name = \"chain\"\nduration = 100\n"
                           "[service.front]\nservers = 60\nservice_time = \"5ms\"\n" +
                           front + "[service.front.calls.db]\n" + db_call +
                           "[service.db]\nservers = 60\nservice_time = { distribution = "
                           "\"exponential\", mean = \"500ms\" }\n"
                           "[service.cache]\nservers = 60\nservice_time = \"5ms\"\n" +
                           more +
                           "[client.web]\ncalls = \"front\"\nattempt_timeout = 2\n"
                           "retry = { mode = \"none\" }\n"
                           "arrivals = { process = \"poisson\", total_rate = 10 }\n"));
  for (const Warning& w : facts.warnings) {
    if (w.keys.find("client.web.attempt_timeout") == 0) return w.message;
  }
  return "";
}

TEST_CASE("What a call may take: without a timeout, hedged, beside others, one of several") {
  const std::string once = "retry = { mode = \"none\" }\n";
  // One in a hundred takes more than 500 ms * ln 100 = 2.30 s.
  CHECK_THAT(impatience(once), Catch::Contains("may take 2.31 s there with its calls (db: no "
                                               "timeout, and one attempt in 100 takes more than "
                                               "2.3 s)"));
  CHECK(impatience("attempt_timeout = \"1.9s\"\n" + once).empty());
  // Three hedged attempts, the last one after 800 ms; not three times a second.
  const auto hedged = [](const std::string& timeout) {
    return "attempt_timeout = \"" + timeout +
           "\"\nretry = { mode = \"custom\", max_attempts = 3, delays = [0], hedging = { delay = "
           "\"400ms\" } }\n";
  };
  CHECK(impatience(hedged("1s")).empty());
  CHECK_THAT(impatience(hedged("1.3s")),
             Catch::Contains("2.1 s there with its calls (db: 3 attempts "
                             "of 1.3 s, the last one sent after 800 "
                             "ms)"));
  // A second beside a second and a half is a second and a half; one after the other it is more.
  const std::string second = "attempt_timeout = 1\n" + once;
  const std::string cache = "[service.front.calls.cache]\nattempt_timeout = \"1.5s\"\n" + once;
  CHECK_THAT(impatience(second, cache),
             Catch::Contains("2.5 s there") && Catch::Contains("; then cache: 1 attempt of 1.5 s"));
  CHECK(impatience(second, cache, "parallel_calls = true\n").empty());
  CHECK(impatience("one_of = \"either\"\n" + second,
                   "[service.front.calls.cache]\none_of = \"either\"\nattempt_timeout = "
                   "\"1.5s\"\n" +
                       once)
            .empty());
  // Nobody goes on if calls end with their caller.
  CHECK(impatience("deadline = \"caller\"\n" + once).empty());
  CHECK(impatience(once, "", "abandoned = \"abort\"\n").empty());
}

TEST_CASE("A hedged request takes as long as its last hedge") {
  const Facts facts = facts_of(scenario_of(
      service_and_client("retry = { mode = \"custom\", max_attempts = 3, delays = [0], hedging = { "
                         "delay = \"100ms\" } }\n")));
  CHECK(fact(facts, "client.web", "request_time_worst") == Approx(1.2));
  CHECK(fact(facts, "client.web", "request_time_if_all_time_out") == Approx(1.2));
  // 0.4 requests a second, whose attempts are under way for 1.2, 1.1 and 1 s.
  CHECK(fact(facts, "client.web", "connections_if_all_time_out") == Approx(0.4 * 3.3));
}

TEST_CASE("A send rate below what comes is warned of") {
  const auto with = [](const std::string& limit, const std::string& process = "poisson") {
    return facts_of(scenario_of(
        "name = \"rate\"\nduration = 100\n[service.api]\nservers = 20\nservice_time = "
        "\"10ms\"\n[client.web]\ncount = 10\narrivals = { process = \"" +
        process + "\", total_rate = 120 }\nretry = { mode = \"none\" }\nsend_rate = { " + limit +
        " }\n"));
  };
  const std::string key = "client.web.send_rate.rate";
  CHECK(warns(with("rate = 8, on_empty = \"wait\""), key,
              "12 requests a second of each client need a permit to be sent, and its send rate "
              "permits 8: they wait longer and longer"));
  // A third of twelve, in the long run.
  CHECK(warns(with("rate = 8, on_empty = \"fail\""), key, "33 % of them fail unsent"));
  CHECK(warns(with("rate = 8, on_empty = \"wait\", longest_wait = \"1s\""), key,
              "33 % of them fail unsent"));
  CHECK(!warns(with("rate = 12.1, on_empty = \"wait\""), key, "send rate"));
  // At the limit itself only chance makes them wait.
  CHECK(warns(with("rate = 12, on_empty = \"wait\""), key, "longer and longer"));
  CHECK(!warns(with("rate = 12, on_empty = \"wait\"", "constant"), key, "send rate"));
}

TEST_CASE("A herd beside an overload hides no warning of it") {
  const auto with = [](int rate) {
    return facts_of(scenario_of(
        "name = \"beside\"\nduration = 100\n[service.api]\nservers = 2\nservice_time = "
        "\"20ms\"\n[client.web]\narrivals = { process = \"poisson\", total_rate = " +
        std::to_string(rate) +
        " }\nretry = { mode = \"none\" }\n[client.batch]\ncount = 4\narrivals = { process = "
        "\"once\", start = 10 }\nretry = { mode = \"none\" }\n"));
  };
  CHECK(warns(with(120), "service.api.servers", "ask for 1.2 times the capacity"));
  CHECK(!warns(with(90), "service.api.servers", "capacity"));
}

TEST_CASE("What fails while all is well is warned of first: pools, servers, timeouts") {
  const auto first = [](const std::string& text) {
    const Facts facts = facts_of(scenario_of(text));
    return facts.warnings.empty() ? "" : facts.warnings.front().message;
  };
  // 0.4 requests a second that take 10 ms need no more than a connection; 160 of one client do.
  const auto pool = [](int count) {
    return "name = \"pool\"\nduration = 100\n[service.api]\nservers = 20\nservice_time = "
           "\"10ms\"\nqueue = { capacity = 4000 }\n[client.web]\ncount = " +
           std::to_string(count) +
           "\nattempt_timeout = 1\nmax_connections = 1\nretry = { mode = \"none\" }\n"
           "arrivals = { process = \"poisson\", total_rate = 160 }\n";
  };
  CHECK_THAT(first(pool(1)), Catch::Contains("keep 1.6 connections of each client busy, and it has "
                                             "1: attempts wait longer and longer"));
  CHECK_THAT(first(pool(2)), !Catch::Contains("longer and longer"));
  // All of the time of one connection, by chance and like a clock.
  const auto all = [&](const std::string& process) {
    std::string text = pool(1);
    text.replace(text.find("poisson"), 7, process);
    return text.replace(text.find("160 }"), 3, "100");
  };
  CHECK_THAT(first(all("poisson")), Catch::Contains("longer and longer"));
  CHECK_THAT(first(all("constant")), !Catch::Contains("longer and longer"));
  // A call that gives up before its service is done.
  const auto call = [](const std::string& timeout, const std::string& time) {
    return "name = \"call\"\nduration = 100\n[service.front]\nservers = 60\nservice_time = "
           "\"5ms\"\n[service.front.calls.db]\nattempt_timeout = \"" +
           timeout +
           "\"\nretry = { mode = \"none\" }\n[service.db]\nservers = 60\nservice_time = " + time +
           "\n[client.web]\ncalls = \"front\"\nretry = { mode = \"none\" }\n"
           "arrivals = { process = \"poisson\", total_rate = 10 }\n";
  };
  CHECK(first(call("20ms", "\"50ms\"")) ==
        "An attempt takes 50 ms without any waiting, and front gives up after 20 ms.");
  CHECK(first(call("60ms", "\"50ms\"")).find("without any waiting") == std::string::npos);
  // exp(-2) = 13.5 % take more than twice the mean.
  CHECK_THAT(first(call("100ms", "{ distribution = \"exponential\", mean = \"50ms\" }")),
             Catch::Contains("14 % of the attempts take longer than 100 ms"));
}

TEST_CASE("No queue of no places is advised") {
  const Facts facts = facts_of(scenario_of(
      "name = \"places\"\nduration = 100\n[service.api]\nservers = 2\nqueue.capacity = 10\n"
      "service_time = \"50ms\"\n[client.web]\ncount = 400\nattempt_timeout = \"55ms\"\n"
      "retry = { mode = \"none\" }\narrivals = { process = \"poisson\", total_rate = 20 }\n"));
  REQUIRE(warns(facts, "service.api.queue.capacity", "250 ms of work"));
  for (const Warning& w : facts.warnings) {
    CHECK(w.remedy.find("capacity = 0") == std::string::npos);
    if (w.keys.find("queue.capacity") != std::string::npos) {
      CHECK_THAT(w.remedy, Catch::Contains("attempt_timeout well above 55 ms"));
    }
  }
}

TEST_CASE("A queue that a throttle bounds is not said to have no bound") {
  const auto warned = [](const std::string& throttle, const std::string& more = "") {
    return warns(facts_of(scenario_of(
                     "name = \"bound\"\nduration = 100\n[service.api]\nservers = 2\n"
                     "service_time = \"10ms\"\n" +
                     throttle + more +
                     "[client.web]\ncount = 400\nattempt_timeout = 1\nretry = { mode = \"none\" }\n"
                     "arrivals = { process = \"poisson\", total_rate = 120 }\n")),
                 "service.api.queue.capacity", "The queue has no bound");
  };
  CHECK(warned(""));
  CHECK_FALSE(warned("throttle = { rate = 150, burst = 50 }\n"));
  CHECK(warned("throttle = { rate = 150, burst = 500 }\n"));  // 500 of 200/s together
  CHECK(warned("throttle = { rate = 250, burst = 50 }\n"));
  CHECK(warned("throttle = { rate = 150, burst = 50 }\n",
               "[fault.f]\nstart = 10\nduration = 20\ncapacity = 0.5\n"));
}

TEST_CASE("Hedging without a delay and a sick instance that is preferred are warned of") {
  const auto hedged = [](const std::string& delay) {
    return facts_of(scenario_of(service_and_client(
        "retry = { mode = \"custom\", max_attempts = 2, delays = [0], hedging = { delay = \"" +
        delay + "\" } }\n")));
  };
  CHECK(warns(hedged("0s"), "client.web.retry.hedging.delay", "doubles the load"));
  CHECK_FALSE(warns(hedged("20ms"), "client.web.retry.hedging.delay", ""));
  CHECK(warns(facts_of(scenario_of(service_and_client(
                  "max_connections = 1\nretry = { mode = \"custom\", max_attempts = 2, delays = "
                  "[0], hedging = { delay = 0 } }\n"))),
              "client.web.retry.hedging.delay", "as far as a client's only connection is free"));
  // A slow request stays slow, whoever works on it.
  const auto stays = [](const std::string& client, const std::string& service) {
    return facts_of(scenario_of(service_and_client(client, service)));
  };
  const std::string hedges =
      "retry = { mode = \"custom\", max_attempts = 2, delays = [0], hedging = { delay = \"20ms\" } "
      "}\n";
  const std::string key = "client.web.retry.hedging.delay, service.api.service_time_per";
  CHECK(warns(stays(hedges, "service_time_per = \"request\"\n"), key, "takes the same service"));
  CHECK(warns(stays(hedges, "service_time_per = \"request\"\nservice_time_repeats = 0.7\n"), key,
              "mostly the same"));
  CHECK_FALSE(warns(stays(hedges, "service_time_per = \"request\"\nservice_time_repeats = 0.3\n"),
                    key, ""));
  CHECK_FALSE(warns(stays(hedges, ""), key, ""));
  CHECK_FALSE(
      warns(stays("retry = { mode = \"none\" }\n", "service_time_per = \"request\"\n"), key, ""));
  const auto sick = [](const std::string& balancing, const std::string& fault) {
    return facts_of(scenario_of(
        service_and_client("retry = { mode = \"none\" }\n",
                           "instances = 5\nbalancing = \"" + balancing +
                               "\"\n[fault.f]\nservice = \"api\"\nstart = 10\nduration = 20\n"
                               "instance = 1\n" +
                               fault + "\n")));
  };
  const std::string errors = "errors = { internal = 1.0 }",
                    late = "errors = { internal = 1.0, at = 1.0 }";
  CHECK(warns(sick("least-connections", errors), "service.api.balancing",
              "one of the 5 instances answers with errors at once"));
  CHECK(warns(sick("least-connections", "unreachable = true"), "service.api.balancing",
              "one of the 5 instances refuses connections at once"));
  CHECK_FALSE(warns(sick("round-robin", errors), "service.api.balancing", ""));
  CHECK_FALSE(warns(sick("least-connections", late), "service.api.balancing", ""));
}

TEST_CASE("Random errors take no server, but their retries do") {
  const auto facts_with = [](const std::string& keys) {
    return facts_of(scenario_of(service_and_client(
        "retry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n", keys)));
  };
  const Facts half = facts_with("errors = { 500 = 0.5 }\n");
  CHECK(fact(half, "service.api", "utilization") == Approx(0.4));
  CHECK(fact(half, "service.api", "utilization_with_errors") == Approx(0.4 * 1.75));
  CHECK(fact(half, "service.api", "utilization_at_last_attempt") == Approx(1.2));
  // A tenth of 160 requests a second fails once, a hundredth twice.
  const Facts few = facts_with("errors = { 500 = 0.1 }\n");
  CHECK(fact(few, "service.api", "utilization_with_errors") == Approx(0.8 * 0.9 * 1.11));
}

TEST_CASE("First attempts that fill the capacity overload it, whatever the errors add") {
  // 200 requests a second of 10 ms for two servers.
  const auto facts_with = [&](const std::string& rate) {
    return facts_of(scenario_of(
        service_and_client("retry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n",
                           "errors = { 500 = 0.2, at = 1 }\n"),
        {"client.web.arrivals.total_rate=" + rate}));
  };
  const Facts at_capacity = facts_with("200");
  CHECK(fact(at_capacity, "service.api", "utilization") == Approx(1));
  CHECK(warns(at_capacity, "service.api.servers",
              "first attempts alone ask for all of the capacity"));
  CHECK(warns(facts_with("190"), "service.api.servers", "With the retries after random errors"));
}

TEST_CASE("Facts say that they leave out what services ask of each other") {
  const Scenario scenario = scenario_of(
      "name = \"tree\"\nduration = 100\n"
      "[service.front]\nservers = 20\nservice_time = \"20ms\"\n"
      "[service.front.calls.db]\nretry = { mode = \"none\" }\n"
      "[service.db]\nservers = 8\nservice_time = \"8ms\"\n"
      "[client.web]\ncalls = \"front\"\nretry = { mode = \"none\" }\n"
      "arrivals = { process = \"poisson\", total_rate = 600 }\n"
      "[client.admin]\ncalls = \"db\"\nretry = { mode = \"none\" }\n"
      "arrivals = { process = \"poisson\", total_rate = 1 }\n");
  const Facts facts = facts_of(scenario);
  const auto left_out = [&](const std::string& subject, const std::string& name) -> std::string {
    for (const Figure& f : facts.figures) {
      if (f.subject == subject && f.name == name) return f.ignores;
    }
    return "no such figure";
  };
  CHECK(left_out("service.front", "utilization") == "waiting at the services that it calls");
  CHECK(left_out("service.db", "utilization").empty());
  CHECK(left_out("client.web", "attempt_time") ==
        "waiting at the service; waiting at services that other services call");
  // A server of front is kept for 20 ms and the call of 8 ms.
  CHECK(fact(facts, "service.front", "utilization") == Approx(600 * 0.028 / 20));
  CHECK(fact(facts, "service.db", "offered_load") == Approx(601));
  CHECK(fact(facts, "service.db", "utilization") == Approx(601 * 0.008 / 8));
  CHECK(fact(facts, "client.web", "attempt_time") == Approx(0.028));
  CHECK(left_out("client.admin", "attempt_time") == "waiting at the service");
  const Prediction prediction = predict(scenario);
  // Fluid and chain of both; the warnings of front, the waits at db.
  REQUIRE(prediction.refusals.size() == 6);
  for (const Remark& r : prediction.refusals) {
    INFO(r.text);
    CHECK(r.text.find(".caller") == std::string::npos);
  }
  CHECK(prediction.refusals[0].text ==
        "No phase, goodput, recovery or tipping point for service.front: the fluid cannot model a "
        "service that calls others (service.front.calls)");
}

/// What is advised about these keys; empty if nothing is.
std::string remedy(const Facts& facts, const std::string& keys) {
  for (const Warning& w : facts.warnings) {
    if (w.keys.starts_with(keys)) return w.remedy;
  }
  return "";
}

bool has_digits(const std::string& text) {
  return text.find_first_of("0123456789") != std::string::npos;
}

TEST_CASE("A queue is too long if its last answer, there and back, comes too late") {
  // Clients wait 1 s. Two servers of 10 ms, 0.103 s each way: 1 - 0.206 - 0.01 = 0.784 s are left
  // for the queue, so 156.8 places of 5 ms each.
  const auto with_places = [](const std::string& places) {
    return facts_of(
        scenario_of("name = \"round-trip\"\nduration = 100\nnetwork = { latency = \"103ms\" }\n"
                    "[service.api]\nservers = 2\nservice_time = \"10ms\"\nqueue = { capacity = " +
                    places +
                    " }\n[client.web]\nattempt_timeout = 1\nretry = { mode = \"none\" }\n"
                    "arrivals = { process = \"poisson\", total_rate = 100 }\n"));
  };
  CHECK(remedy(with_places("156"), "service.api.queue.capacity").empty());
  for (const char* places : {"157", "170", "200"}) {  // 0.85 s is less than one way leaves
    INFO(places);
    CHECK_THAT(remedy(with_places(places), "service.api.queue.capacity"), Catch::Contains("156"));
  }
}

TEST_CASE("The places of a queue that are advised are those of each instance") {
  // Four instances of a server of 50 ms: 450 ms of the 500 are left, nine places each.
  const Facts facts = facts_of(
      scenario_of("name = \"instances\"\nduration = 100\n"
                  "[service.api]\nservers = 1\ninstances = 4\nservice_time = \"50ms\"\n"
                  "[client.web]\nattempt_timeout = \"500ms\"\nretry = { mode = \"none\" }\n"
                  "arrivals = { process = \"poisson\", total_rate = 60 }\n"));
  CHECK_THAT(remedy(facts, "service.api.queue.capacity"),
             Catch::Contains("capacity = 9 or less (of each instance)"));
}

TEST_CASE("As many attempts are advised as the service can carry at the load of all of them") {
  const auto advised = [](const std::string& rate) {
    return remedy(
        facts_of(scenario_of("name = \"attempts\"\nduration = 100\n[service.api]\nservers = 2\n"
                             "queue = { capacity = 400 }\nservice_time = \"10ms\"\n"
                             "[client.web]\nattempt_timeout = 1\n"
                             "retry = { mode = \"custom\", max_attempts = 9, delays = [0] }\n"
                             "arrivals = { process = \"poisson\", total_rate = " +
                             rate + " }\n")),
        "client.web.retry.max_attempts");
  };
  // Capacity 200/s. At exactly a half two attempts are as much as it can do, and so too much.
  REQUIRE_FALSE(advised("100").empty());
  CHECK_FALSE(has_digits(advised("100")));
  CHECK_THAT(advised("99"), Catch::Contains("2 attempts"));  // 1.98 a half: below
  CHECK_FALSE(has_digits(advised("101")));
  CHECK_THAT(advised("50"), Catch::Contains("3 attempts"));  // four fill it
  CHECK_THAT(advised("40"), Catch::Contains("4 attempts"));  // five do
  CHECK_THAT(advised("66"), Catch::Contains("3 attempts"));  // 0.99
}

TEST_CASE("At a whole load one server more than that carries it") {
  const auto advised = [](const std::string& rate) {
    return remedy(
        facts_of(scenario_of("name = \"servers\"\nduration = 100\n[service.api]\nservers = 2\n"
                             "service_time = \"10ms\"\n[client.web]\nretry = { mode = \"none\" }\n"
                             "arrivals = { process = \"poisson\", total_rate = " +
                             rate + " }\n")),
        "service.api.servers");
  };
  CHECK_THAT(advised("200"), Catch::Contains("3 servers"));  // 2 servers have no time to spare
  CHECK_THAT(advised("400"), Catch::Contains("5 servers"));
  CHECK_THAT(advised("399"), Catch::Contains("4 servers"));
  CHECK(advised("199").empty());
}

TEST_CASE("A mean wait is told where a queue cuts it short by little only") {
  // M/M/1 at 0.9: 0.09 s. The queue must hold five times that: 45 places of 10 ms.
  const auto is_told = [](const std::string& places) {
    const Facts facts = facts_of(scenario_of(
        "name = \"short\"\nduration = 100\n[service.api]\nqueue = { capacity = " + places +
        " }\nservice_time = { distribution = \"exponential\", mean = \"10ms\" }\n"
        "[client.web]\nretry = { mode = \"none\" }\n"
        "arrivals = { process = \"poisson\", total_rate = 90 }\n"));
    for (const Figure& f : facts.figures) {
      if (f.name != "queueing_time") continue;
      CHECK(f.value == Approx(0.09));
      return true;
    }
    return false;
  };
  CHECK_FALSE(is_told("10"));
  CHECK_FALSE(is_told("20"));
  CHECK_FALSE(is_told("44"));
  CHECK(is_told("46"));
  CHECK(is_told("1000"));
}

TEST_CASE("Of a quota's last tokens, too few for a retry, none is made") {
  const auto retries = [](const std::string& quota) {
    const Facts facts = facts_of(
        scenario_of("name = \"dry\"\nduration = 100\n[service.api]\nservice_time = \"10ms\"\n"
                    "[client.web]\ncount = 5\nattempt_timeout = 1\n"
                    "arrivals = { process = \"poisson\", total_rate = 50 }\n"
                    "[client.web.retry]\nmode = \"standard\"\nquota = { " +
                    quota + " }\n"));
    CHECK(fact(facts, "client.web", "quota_retries_in_outage_all_clients") ==
          5 * fact(facts, "client.web", "quota_retries_in_outage"));
    return fact(facts, "client.web", "quota_retries_in_outage");
  };
  CHECK(retries("capacity = 1015, timeout_cost = 10") == 101);
  CHECK(retries("capacity = 1020, timeout_cost = 10") == 102);
  CHECK(retries("capacity = 9, timeout_cost = 10") == 0);
}

/// A service that grants `throttle`, and 400 clients with 150 requests a second in all.
Facts throttled_facts(const std::string& throttle, const std::string& retry,
                      const std::string& count = "400") {
  return facts_of(scenario_of(
      "name = \"throttled\"\nduration = 100\n[service.api]\nservers = \"unlimited\"\n"
      "service_time = \"10ms\"\nthrottle = { " +
      throttle + " }\n[client.web]\ncount = " + count +
      "\narrivals = { process = \"poisson\", total_rate = 150 }\nretry = { " + retry + " }\n"));
}

TEST_CASE("The rate that a throttle needs is told as the key has it: of all, or of each client") {
  const auto advised = [](const std::string& throttle) {
    return remedy(throttled_facts(throttle, "mode = \"none\""), "service.api.throttle.rate");
  };
  CHECK_THAT(advised("rate = 100, burst = 1"), Catch::Contains(" 150 "));
  // 400 clients with 0.25 each are granted 100; it takes 0.375.
  CHECK_THAT(advised("rate = 0.25, burst = 1, scope = \"client\""), Catch::Contains(" 0.375 "));
  CHECK(advised("rate = 150, burst = 1").empty());  // exactly enough
  CHECK(fact(throttled_facts("rate = 0.25, burst = 1, scope = \"client\"", "mode = \"none\""),
             "service.api", "load_per_granted_rate") == Approx(1.5));
}

TEST_CASE("What a throttle's bucket has at first may pass, too") {
  // 150/s for 100 s; a bucket of 5000 is half of what does not pass.
  const auto warned = [](const std::string& throttle) {
    std::string text;
    for (const Warning& w : throttled_facts(throttle, "mode = \"none\"").warnings) {
      text += w.message;
    }
    return text;
  };
  CHECK_THAT(warned("rate = 50, burst = 5000"),
             Catch::Contains("a limit of 50/s, and 5000 more at first: ") &&
                 Catch::Contains("at most 66.7 % can succeed"));
  // 15,000 by chance are 15,000 ± 245.
  CHECK_THAT(warned("rate = 50, burst = 9700"), Catch::Contains("at most 98 % can succeed"));
  CHECK_THAT(warned("rate = 50, burst = 9990"),
             Catch::Contains("9990 more at first: the longer they come, the more of them are "
                             "refused."));
  CHECK(warned("rate = 50, burst = 10000").empty());
  CHECK(warned("rate = 50, burst = 9996").empty());  // "at most 100 %"
  CHECK_THAT(warned("rate = 50, window = \"1s\""),
             Catch::Contains("a limit of 50/s: ") && Catch::Contains("at most 33.3 %"));
}

TEST_CASE("A closed loop whose refusals take no time is warned of") {
  const auto warned = [](const std::string& service, const std::string& client,
                         const std::string& network = "") {
    const Facts facts = facts_of(scenario_of(
        "name = \"loop\"\nduration = 100\n" + network +
        "[service.api]\nservers = 4\nservice_time = \"20ms\"\n" + service +
        "[client.web]\ncount = 10\narrivals = { process = \"closed\"" + client + " }\n"));
    return warns(facts, "client.web.arrivals.think_time, service.api.reject_cost, network.latency",
                 "simulated time stands still");
  };
  const std::string no_retries = " }\nretry = { mode = \"none\"";
  const std::string throttle = "throttle = { rate = 50 }\n";
  CHECK(warned(throttle, no_retries));
  CHECK(warned("queue = { capacity = 5 }\n", no_retries));
  CHECK_FALSE(warned("queue = { capacity = 6 }\n", no_retries));  // has room for all ten
  CHECK_FALSE(warned("throttle = { rate = 500 }\n", no_retries));
  CHECK(warned(throttle,
               " }\nretry = { mode = \"custom\", max_attempts = 3, backoff = { base = \"0s\" }"));
  // Time passes at the client, at the service or on the way.
  CHECK_FALSE(warned(throttle, ", think_time = \"1ms\"" + no_retries));
  CHECK_FALSE(warned(throttle, " }\nretry = { mode = \"standard\""));
  CHECK_FALSE(warned(throttle + "reject_cost = \"1ms\"\n", no_retries));
  CHECK_FALSE(warned(throttle, no_retries, "network = { latency = \"1ms\" }\n"));
}

TEST_CASE("So many adaptive clients as their least rates allow are advised") {
  const auto advised = [](const std::string& count) {
    for (const Warning& w :
         throttled_facts("rate = 100, burst = 1", "mode = \"adaptive\"", count).warnings) {
      if (w.keys.find("client.web.count") != std::string::npos) return w.remedy;
    }
    return std::string();
  };
  // Half a request a second each.
  CHECK(advised("200").empty());
  CHECK_THAT(advised("201"), Catch::Contains("99 %"));  // 99.5
  CHECK_THAT(advised("300"), Catch::Contains("66 %"));
  CHECK_THAT(advised("400"), Catch::Contains("50 %"));
}

TEST_CASE("A quota that lasts a minute is advised, in whole tokens") {
  const auto advised = [](const std::string& total_rate, const std::string& capacity) {
    return remedy(facts_of(scenario_of(
                      "name = \"quota\"\nduration = 100\n[service.api]\nservers = 2\n"
                      "service_time = \"10ms\"\n[client.web]\ncount = 400\n"
                      "attempt_timeout = 1\narrivals = { process = \"poisson\", total_rate = " +
                      total_rate +
                      " }\n[client.web.retry]\nmode = \"standard\"\n"
                      "quota = { timeout_cost = 10, capacity = " +
                      capacity + " }\n")),
                  "client.web.retry.quota");
  };
  // Two retries of ten tokens for each of 0.4 requests a second: 480 tokens a minute.
  CHECK_THAT(advised("160", "500"), Catch::Contains("480"));
  CHECK_THAT(advised("160", "481"), Catch::Contains("480"));
  CHECK(advised("160", "480").empty());
  CHECK_THAT(advised("163.3", "500"), Catch::Contains("489"));  // 489.9 would be a little more
}

TEST_CASE("As many connections are advised as time-outs need, in whole ones") {
  const auto advised = [](const std::string& total_rate, const std::string& connections) {
    return remedy(facts_of(scenario_of(
                      "name = \"pool\"\nduration = 100\n[service.api]\nservers = 2\n"
                      "service_time = \"10ms\"\n[client.web]\ncount = 10\nattempt_timeout = 2\n"
                      "max_connections = " +
                      connections +
                      "\nretry = { mode = \"custom\", max_attempts = 3, delays = [0] }\n"
                      "arrivals = { process = \"poisson\", total_rate = " +
                      total_rate + " }\n")),
                  "client.web.max_connections");
  };
  // Rate x 3 attempts x 2 s.
  CHECK_THAT(advised("10", "5"), Catch::Contains(" 6,"));
  CHECK(advised("10", "6").empty());
  CHECK_THAT(advised("12", "7"), Catch::Contains(" 8,"));  // 7.2
  CHECK(advised("12", "8").empty());
}

TEST_CASE("What attempts do that find no place is said, and which limit it is") {
  // 50 requests a second of 1 s each.
  const auto facts = [](const std::string& limits) {
    return facts_of(scenario_of(
        "name = \"places\"\nduration = 100\n[service.api]\nservers = 100\nservice_time = "
        "\"1s\"\n[client.web]\narrivals = { process = \"poisson\", total_rate = 50 }\n"
        "retry = { mode = \"none\" }\n" +
        limits));
  };
  const std::string pool = "client.web.max_connections",
                    wall = "client.web.bulkhead.max_concurrent";
  CHECK(warns(facts("max_connections = 20\n"), pool, "longer and longer for one"));
  CHECK(warns(facts("max_connections = 20\nconnection_wait = \"0s\"\n"), pool,
              "and it has 20: others fail at once"));
  CHECK(warns(facts("max_connections = 20\nconnection_queue = 0\n"), pool, "fail at once"));
  CHECK(warns(facts("max_connections = 20\nconnection_wait = \"2s\"\nconnection_queue = 7\n"), pool,
              "others wait for one, 7 at most, for 2 s at most"));
  CHECK(warns(facts("bulkhead = { max_concurrent = 20 }\n"), wall,
              "50 places in the bulkhead of each client busy, and it has 20: others fail at once"));
  CHECK(warns(facts("bulkhead = { max_concurrent = 20, longest_wait = \"none\" }\n"), wall,
              "longer and longer"));
  // The smaller of both is the limit, and a bulkhead is there to refuse what piles up.
  const Facts walled = facts("max_connections = 100\nbulkhead = { max_concurrent = 60 }\n");
  CHECK_FALSE(warns(walled, pool, ""));
  CHECK_FALSE(warns(walled, wall, ""));
  CHECK_FALSE(warns(facts("max_connections = 60\nbulkhead = { max_concurrent = 80 }\n"), wall, ""));
  // Without a timeout no attempt times out.
  const Facts open = facts("max_connections = 60\n");
  CHECK(warns(open, pool, "While nothing is answered"));
  CHECK(remedy(open, pool) == "An attempt timeout.");
  CHECK(warns(facts("max_connections = 60\nattempt_timeout = \"3s\"\n"), pool,
              "While every attempt times out a client needs 150 connections and has 60: further "
              "attempts wait for one."));
}

TEST_CASE("A suggested delay is compared with the backoff after throttling") {
  const auto advised = [](const std::string& suggested, const std::string& rule) {
    const Facts facts = throttled_facts(
        "rate = 100, burst = 1, retry_after = \"" + suggested + "\"",
        "mode = \"custom\", max_attempts = 3, retry_after = \"" + rule +
            "\", backoff = { base = \"100ms\", throttle_base = \"3s\", jitter = \"none\" }");
    for (const Warning& w : facts.warnings) {
      if (w.keys.find("throttle.retry_after") != std::string::npos) return w.message + w.remedy;
    }
    return std::string();
  };
  CHECK_THAT(advised("2s", "minimum"), Catch::Contains("2 s") && Catch::Contains("3 s"));
  CHECK(advised("3s", "minimum").empty());
  CHECK(advised("5s", "minimum").empty());
  CHECK_THAT(advised("5s", "ignore"), Catch::Contains("5 s") && Catch::Contains("3 s"));
}

TEST_CASE("A timeout is too short below the time of an attempt, a deadline below the timeout") {
  const auto warnings = [](const std::string& timeout, const std::string& deadline) {
    const Facts facts = facts_of(scenario_of(
        "name = \"times\"\nduration = 100\nnetwork = { latency = \"20ms\" }\n"
        "[service.api]\nservers = 2\nservice_time = \"10ms\"\nqueue = { capacity = 0 }\n"
        "[client.web]\nattempt_timeout = \"" +
        timeout + "\"\ndeadline = \"" + deadline +
        "\"\nretry = { mode = \"custom\", max_attempts = 2, delays = [0] }\n"
        "arrivals = { process = \"poisson\", total_rate = 10 }\n"));
    return std::pair{remedy(facts, "client.web.attempt_timeout"),
                     remedy(facts, "client.web.deadline")};
  };
  // There, 10 ms, and back: 50 ms.
  CHECK(warnings("50ms", "10s").first.empty());
  CHECK_THAT(warnings("49ms", "10s").first, Catch::Contains("50 ms"));
  CHECK(warnings("60ms", "120ms").second.empty());
  CHECK_THAT(warnings("60ms", "59ms").second, Catch::Contains("59 ms"));
  CHECK(warnings("none", "59ms").second == "Use an attempt timeout below 59 ms.");
}

TEST_CASE("A deadline is too short for an attempt, or for all that may time out") {
  const auto warnings = [](const std::string& client, const std::string& service = "") {
    const Facts facts = facts_of(scenario_of(
        "name = \"deadline\"\nduration = 100\n"
        "[service.api]\nservers = 2\nservice_time = \"50ms\"\nqueue = { capacity = 0 }\n" +
        service + "[client.web]\n" + client +
        "arrivals = { process = \"poisson\", total_rate = 10 }\n"));
    std::string text;
    for (const Warning& w : facts.warnings) text += w.message + " " + w.remedy + "\n";
    return text;
  };
  const std::string three = "attempt_timeout = 1\nretry = { mode = \"custom\", max_attempts = 3, ";
  const std::string constant = three + "delays = [\"100ms\", \"200ms\"] }\n";
  // One attempt: 50 ms, whatever is tried again.
  CHECK_THAT(warnings("deadline = \"49ms\"\nretry.mode = \"none\"\n"),
             Catch::Contains("An attempt takes 50 ms without any waiting, and the client gives up "
                             "after 49 ms, the deadline. Use a deadline well above 50 ms."));
  CHECK(warnings("deadline = \"50ms\"\nretry.mode = \"none\"\n").empty());
  // All of them: 3 x 1 s + 0.3 s. The third begins at 2.3 s, the second at 1.1 s.
  CHECK(warnings(constant + "deadline = 3.3\n").empty());
  CHECK_THAT(
      warnings(constant + "deadline = 3.29\n"),
      Catch::Contains("3 attempts of 1 s and up to 300 ms of backoff may take 3.3 s, but the "
                      "deadline ends a request after 3.29 s") &&
          Catch::Contains("the last one may get less than its timeout"));
  CHECK_THAT(warnings(constant + "deadline = 2.3\n"), Catch::Contains("at most 2 are made"));
  CHECK_THAT(warnings(constant + "deadline = 1.1\n"),
             Catch::Contains("the first one is the only one that is made"));
  // With jitter the third may begin at 2 s.
  const std::string jitter = three + "backoff = { base = \"1s\", jitter = \"full\" } }\n";
  CHECK_THAT(warnings(jitter + "deadline = 2.1\n"), Catch::Contains("may get less"));
  CHECK_THAT(warnings(jitter + "deadline = 2\n"), Catch::Contains("at most 2 are made"));
  // The service's own limit.
  CHECK_THAT(warnings("retry.mode = \"none\"\n", "timeout = \"49ms\"\n"),
             Catch::Contains("api itself gives up after 49 ms"));
  CHECK(warnings("retry.mode = \"none\"\n", "timeout = \"50ms\"\n").empty());
}

TEST_CASE("A call between services may have too short a deadline, too") {
  const auto warnings = [](const std::string& deadline) {
    const Facts facts = facts_of(scenario_of(
        "name = \"calls\"\nduration = 100\n"
        "[service.front]\nservers = 50\nservice_time = \"5ms\"\ncalls.db = { deadline = " +
        deadline +
        ", attempt_timeout = \"500ms\", retry = { mode = \"custom\", max_attempts = 3, delays = "
        "[\"100ms\"] } }\n"
        "[service.db]\nservers = 10\nservice_time = \"50ms\"\n"
        "[client.web]\ncalls = \"front\"\nretry.mode = \"none\"\n"
        "arrivals = { process = \"poisson\", total_rate = 10 }\n"));
    return remedy(facts, "service.front.calls.db.deadline");
  };
  CHECK_THAT(warnings("\"49ms\""), Catch::Contains("above 50 ms"));
  CHECK_THAT(warnings("\"499ms\""), Catch::Contains("a deadline above 500 ms"));
  CHECK(warnings("\"1699ms\"") ==
        "service.front.calls.db.deadline above 1.7 s, or fewer or shorter attempts.");
  CHECK(warnings("\"1700ms\"").empty());
}

TEST_CASE("Times of requests end with the deadline, queues are those of all instances") {
  const Facts facts = facts_of(scenario_of(
      "name = \"worst\"\nduration = 100\n[service.api]\nservers = 2\nservice_time = \"50ms\"\n"
      "queue = { capacity = 40 }\ninstances = 3\n"
      "[client.web]\nattempt_timeout = 1\ndeadline = 2.5\n"
      "retry = { mode = \"custom\", max_attempts = 4, delays = [0] }\n"
      "arrivals = { process = \"poisson\", total_rate = 30 }\n"));
  CHECK(fact(facts, "client.web", "request_time_worst") == 2.5);
  CHECK(fact(facts, "client.web", "request_time_if_all_time_out") == 4);
  // 120 places of 50 ms for six servers.
  CHECK(fact(facts, "service.api", "full_queue_work") == Approx(1));
  CHECK(fact(facts, "service.api", "utilization") == Approx(0.25));
}

TEST_CASE("Times of requests include each of many retries once") {
  // Without jitter all delays are 2 s, however many there are.
  const auto check = [](int attempts) {
    const Facts facts = facts_of(scenario_of(
        service_and_client("deadline = \"none\"\nretry = { mode = \"custom\", max_attempts = " +
                           std::to_string(attempts) + ", delays = [2] }\n")));
    CAPTURE(attempts);
    const int expected = attempts + 2 * (attempts - 1);
    CHECK(fact(facts, "client.web", "request_time_worst") == Approx(expected).epsilon(1e-12));
    CHECK(fact(facts, "client.web", "request_time_if_all_time_out") ==
          Approx(expected).epsilon(1e-12));
  };
  for (const int attempts : {1, 2, 63, 64, 65, 66, 67, 101, 1000}) check(attempts);
}

TEST_CASE("A hold that is shorter than the pause of a client is warned of") {
  const auto message = [](const std::string& hold, bool fault) -> std::string {
    const Facts facts = facts_of(scenario_of(
        "recovery.hold = \"" + hold + "\"\n" +
        service_and_client("retry = { mode = \"custom\", max_attempts = 3, delays = [\"9s\"] }\n") +
        (fault ? "[fault.f]\nstart = 10\nduration = 5\nspeed = 0.5\n" : "")));
    for (const Warning& w : facts.warnings) {
      if (w.keys == "recovery.hold") return w.message + " " + w.remedy;
    }
    return "";
  };
  CHECK_THAT(message("9999ms", true),
             Catch::Contains("may wait 10 s (attempt timeout and backoff)") &&
                 Catch::Contains("recovery.hold = \"10s\" or more"));
  CHECK(message("10s", true).empty());
  CHECK(message("1s", false).empty());
}

TEST_CASE("A closed loop whose think time counts from the start asks once in the longer of both") {
  const auto load = [](const std::string& think, const std::string& more) {
    return fact(facts_of(scenario_of(
                    "name = \"loop\"\nduration = 100\n[service.api]\nservers = 100\n"
                    "service_time = \"10ms\"\n[client.web]\ncount = 40\nretry.mode = \"none\"\n"
                    "arrivals = { process = \"closed\", think_time = \"" +
                    think + "\"" + more + " }\n")),
                "service.api", "offered_load");
  };
  CHECK(load("90ms", "") == Approx(400));
  CHECK(load("90ms", ", think_from = \"start\"") == Approx(40 / 0.09));
  CHECK(load("10ms", ", think_from = \"start\"") == Approx(4000));
  CHECK(load("5ms", ", think_from = \"start\"") == Approx(4000));
  CHECK(load("90ms", ", concurrency = 3") == Approx(1200));
}

TEST_CASE("Times that read alike are not set against each other") {
  const Facts facts = facts_of(scenario_of(R"(
name = "callers"
duration = 100
[service.front]
servers = 20
service_time = "5ms"
[service.front.calls.db]
attempt_timeout = "2s"
retry = { mode = "none" }
[service.db]
servers = 20
service_time = "5ms"
[client.web]
calls = "front"
attempt_timeout = "2s"
arrivals = { process = "poisson", total_rate = 50 }
retry = { mode = "none" }
)"));
  CHECK(std::ranges::any_of(facts.warnings, [](const Warning& w) {
    return w.message.find("is given up after 2 s, but may take a little longer there") !=
           std::string::npos;
  }));
}

}  // namespace retrysim
