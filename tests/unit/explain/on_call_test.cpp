// What someone on call needs to read: which share is meant, when the answers came, which of several
// faults did it. Each case follows from a law, and was told otherwise once.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>
#include <retrysim/simulation.hpp>

#include "scenario_of.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

namespace retrysim {
namespace {

/// What is said of a group, a sentence on each line.
std::string told_of(std::string_view group, const std::string& text) {
  const Scenario scenario = test::scenario_of(text);
  std::string told;
  for (const Verdict& v : verdicts(scenario, run_replications(scenario))) {
    if (v.client == group) told += v.sentence + "\n";
  }
  return told;
}

auto tells(const std::string& words) { return Catch::Contains(words); }

}  // namespace

TEST_CASE("Requests that the end of the run cuts off are told from those that fail") {
  // Two servers of 100 ms serve 20 of 40 requests/s, and half of the rest wait when a run of 5 s
  // ends: what counts as a share of all requests is another figure.
  const auto shop = [](const std::string& drain) {
    return "name = \"cut\"\nduration = \"5s\"\ndrain = " + drain + R"(
[service.api]
servers = 2
service_time = "100ms"
[client.web]
arrivals = { process = "constant", total_rate = 40 }
attempt_timeout = "1s"
retry = { mode = "none" }
)";
  };
  CHECK_THAT(told_of("web", shop("false")), tells("of the finished requests fail"));
  CHECK_THAT(told_of("web", shop("true")), tells("of the requests fail"));
}

TEST_CASE("A throttle is named whatever it answers, with what it refuses in the time of trouble") {
  const auto throttled = [](const std::string& answer, const std::string& more) {
    return R"(
name = "throttled"
duration = "60s"
[service.api]
servers = "unlimited"
service_time = "1ms"
throttle = { rate = 100, burst = 100 }
)" + answer +
           R"(
[client.web]
arrivals = { process = "constant", total_rate = 90 }
retry = { mode = "none" }
)" + more;
  };
  const std::string own = "answers = { throttled = \"503:Overloaded\" }\n";
  const std::string always = "[client.more]\nlike = \"web\"\n";  // 180/s for 100
  CHECK_THAT(told_of("web", throttled("", always)), tells("refuses 44 % of those that reach it"));
  CHECK_THAT(told_of("web", throttled(own, always)), tells("refuses 44 % of those that reach it"));
  // Four times the load for 10 of 60 s: of 360/s it refuses 260, but for 100 more that the bucket
  // holds. Of those of the whole run that would be half.
  const std::string surge =
      "[client.web.surge.s]\nstart = \"20s\"\nduration = \"10s\"\nfactor = 4\n";
  CHECK_THAT(told_of("web", throttled("", surge)),
             tells("refuses 69 % of those that reach it in that time"));
}

TEST_CASE("Errors of a service without a queue are why requests fail") {
  const auto leaf = [](const std::string& share) {
    return "name = \"leaf\"\nduration = \"50s\"\n[service.leaf]\nmodel = \"independent\"\n"
           "service_time = \"10ms\"\nerrors = { internal = " +
           share +
           " }\n[client.web]\narrivals = { process = \"constant\", total_rate = 100 }\n"
           "retry = { mode = \"none\" }\n";
  };
  CHECK_THAT(told_of("web", leaf("1.0")), tells("the service answers 100 % of the attempts with"));
  CHECK_THAT(told_of("web", leaf("0.001")), !tells("with errors"));
}

TEST_CASE("What retries did for a herd is said once, and how long it took") {
  // Connections are refused for 60 s; all come at the start and are back after it.
  const std::string told = told_of("web", R"(
name = "herd"
duration = "120s"
[service.api]
servers = "unlimited"
service_time = "10ms"
[client.web]
count = 200
arrivals = { process = "once", start = "1s" }
retry = { mode = "custom", max_attempts = 20, delays = ["10s"] }
[fault.f]
start = "0s"
duration = "60s"
unreachable = true
)");
  CHECK_THAT(told, tells("succeed, after 60 s on average"));
  CHECK_THAT(told, tells("retries spread the herd") && !tells("retries helped"));
}

TEST_CASE("A group that goes first but is turned away at the door is not said to be served first") {
  const auto shop = [](const std::string& limit) {
    return "name = \"classes\"\nduration = \"30s\"\n[service.api]\nservice_time = \"10ms\"\n"
           "queue = { discipline = \"priority\", drop_expired = true }\n" +
           limit + R"(
[client.first]
calls = "api"
priority = 1
arrivals = { process = "constant", total_rate = 50 }
attempt_timeout = "200ms"
retry = { mode = "none" }
[client.last]
like = "first"
priority = 0
arrivals = { process = "constant", total_rate = 150 }
)";
  };
  const std::string served = "this one is served before others";
  CHECK_THAT(told_of("first", shop("")), tells(served));
  const std::string refused = told_of("first", shop("concurrency = { limit = 20 }\n"));
  CHECK_THAT(refused, !tells(served) && tells("overload without any retry"));
}

TEST_CASE("Stuck clients of some runs are told as their mean") {
  const auto hosts = [](const std::string& replications) {
    return "name = \"hosts\"\nduration = \"300s\"\ndrain = false\nreplications = " + replications +
           R"(
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "300ms" }
[client.host]
count = 100
arrivals = { process = "closed", think_time = { distribution = "exponential", mean = "10s" } }
attempt_timeout = "3s"
retry = { mode = "custom", max_attempts = "unlimited", delays = [0] }
[fault.break]
start = "60s"
duration = "20s"
black_hole = true
)";
  };
  const std::string ten = told_of("host", hosts("10"));  // some recover, others do not
  REQUIRE_THAT(ten, tells("runs"));
  CHECK_THAT(ten, tells("when the run ends, on average "));
}

TEST_CASE("Where next to nothing comes back during a fault, answers come late") {
  // 30 s without servers, and clients without a timeout: the requests of that time are answered
  // after it. At a quarter of the speed a quarter of them are answered meanwhile.
  const auto waiting = [](const std::string& fault) {
    return R"(
name = "waiting"
duration = "200s"
[service.api]
servers = 10
service_time = "10ms"
[client.web]
arrivals = { process = "poisson", total_rate = 100 }
retry = { mode = "none" }
[fault.f]
start = "50s"
duration = "30s"
)" + fault;
  };
  CHECK_THAT(told_of("web", waiting("capacity = 0\n")),
             Catch::StartsWith("answers come late: requests made during the fault succeed as often "
                               "as before, but most of them when it is over; they take "));
  CHECK_THAT(told_of("web", waiting("latency = \"50ms\"\n")), Catch::StartsWith("only slower"));
  const std::string twice = told_of(
      "web",
      waiting("capacity = 0\n[fault.g]\nstart = \"120s\"\nduration = \"30s\"\ncapacity = 0\n"));
  CHECK_THAT(twice, tells("most of them while no fault or surge is on"));
}

TEST_CASE("A deadline is a time that callers wait, too") {
  const std::string text = R"(
name = "late"
duration = "100s"
[service.slow]
servers = "unlimited"
service_time = "10s"
[service.other]
servers = "unlimited"
service_time = "10ms"
[client.web]
calls = "slow"
arrivals = { process = "constant", rate = 1 }
deadline = "3s"
retry = { mode = "none" }
[client.both]
calls = ["slow", "other"]
arrivals = { process = "constant", rate = 0.001 }
retry = { mode = "none" }
)";
  CHECK_THAT(told_of("all", text),
             Catch::StartsWith("slow takes longer than its callers wait: web fails"));
}

namespace {

/// A shared database and a search; two groups whose operations take one way each.
std::string shared(const std::string& faults) {
  return R"(
name = "shared"
duration = "200s"
[service.front]
servers = 500
service_time = "5ms"
[service.front.calls.cart]
operation = "buy"
attempt_timeout = "1s"
retry = { mode = "none" }
[service.front.calls.search]
operation = "look"
attempt_timeout = "1s"
retry = { mode = "none" }
[service.cart]
servers = 300
service_time = "10ms"
[service.cart.calls.db]
attempt_timeout = "500ms"
retry = { mode = "none" }
[service.search]
servers = 300
service_time = "10ms"
[service.search.calls.db]
attempt_timeout = "500ms"
retry = { mode = "none" }
[service.db]
servers = 10
service_time = { distribution = "exponential", mean = "15ms" }
[client.shop]
calls = "front"
arrivals = { process = "poisson", total_rate = 150 }
attempt_timeout = "3s"
retry = { mode = "none" }
[client.shop.operation.buy]
share = 1
[client.browse]
like = "shop"
[client.browse.operation.look]
share = 1
)" + faults;
}

}  // namespace

TEST_CASE("Of two faults that overlap each is named for the groups that it reaches") {
  const std::string both = shared(
      "[fault.slow]\nservice = \"db\"\nstart = \"60s\"\nduration = \"60s\"\nspeed = 0.2\n"
      "[fault.bad]\nservice = \"search\"\nstart = \"90s\"\nduration = \"60s\"\n"
      "errors = { internal = 0.6 }\n");
  const std::string first = told_of("all", both);
  CHECK_THAT(first, tells("db is out of capacity during slow: shop fails"));
  CHECK_THAT(first, tells(", and search answers with errors during bad: browse fails"));
  CHECK_THAT(first, !tells("no single service"));
  // Those who buy do not come by the search.
  CHECK_THAT(told_of("shop", both), !tells("search answers"));
  CHECK_THAT(told_of("browse", both), tells("search answers up to 60 % of its attempts") ||
                                          tells("search answers 60 % of its attempts"));
}

TEST_CASE("A host that refuses attracts attempts while another fault has its own time") {
  const std::string told = told_of("web", R"(
name = "hosts"
duration = "150s"
[service.api]
instances = 4
servers = 5
service_time = { distribution = "exponential", mean = "20ms" }
balancing = "least-connections"
[client.web]
arrivals = { process = "poisson", total_rate = 600 }
attempt_timeout = "500ms"
retry = { mode = "none" }
[fault.one]
instance = 1
start = "40s"
duration = "20s"
speed = 0.5
[fault.two]
instance = 2
start = "50s"
duration = "50s"
unreachable = true
)");
  CHECK_THAT(told, tells("of the attempts during the faults, retries included, go to it"));
}

TEST_CASE("Retries of calls that fail at once are no load on the servers of the caller") {
  // 150 clients ask ten times a second each while the database refuses; an attempt at the front
  // takes 5 ms then, not 55.
  const std::string told = told_of("web", R"(
name = "loop"
duration = "200s"
[service.front]
servers = 50
service_time = "5ms"
[service.front.calls.db]
attempt_timeout = "1s"
retry = { mode = "none" }
[service.db]
servers = 20
service_time = { distribution = "exponential", mean = "50ms" }
[client.web]
calls = "front"
count = 150
arrivals = { process = "closed", think_time = { distribution = "exponential", mean = "1s" } }
attempt_timeout = "4s"
retry = { mode = "custom", max_attempts = "unlimited", delays = ["100ms"] }
[fault.f]
service = "db"
start = "100s"
duration = "30s"
unreachable = true
)");
  CHECK_THAT(told, !tells("retries alone needed"));
  CHECK_THAT(told, Catch::StartsWith("answers come late"));
}

}  // namespace retrysim
