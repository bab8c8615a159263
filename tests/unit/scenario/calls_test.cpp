// The keys of services that call others.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

using namespace retrysim;

namespace {

const std::string kTiers = R"(name = "tiers"
duration = "10s"
[service.api]
service_time = "10ms"
[service.api.calls.db]
attempt_timeout = "500ms"
retry = { mode = "standard", max_attempts = 2 }
[service.api.calls.cache]
retry.mode = "none"
[service.db]
service_time = "20ms"
[service.cache]
service_time = "1ms"
[client.web]
calls = "api"
arrivals = { process = "poisson", rate = 5 }
retry.mode = "none"
)";

}  // namespace

TEST_CASE("calls are client groups of their own, in the order written") {
  const Scenario s = load(kTiers).scenario;
  REQUIRE(s.clients.size() == 3);
  CHECK(s.clients[0].name == "web");
  CHECK(s.clients[1].name == "api.db");
  REQUIRE(s.calls.size() == 2);
  CHECK(s.calls[0].caller == 0);
  CHECK(s.calls[0].client == 1);
  CHECK(s.calls[1].client == 2);
  CHECK(s.clients[1].makes_calls());
  CHECK(!s.clients[0].makes_calls());
  CHECK(s.clients[1].service == 1);
  CHECK(s.clients[1].timeouts.has_attempt);
  CHECK(s.clients[1].retry.max_attempts == 2);
  CHECK(s.clients[2].name == "api.cache");
  CHECK(s.clients[2].service == 2);
  CHECK(!s.services[0].parallel_calls);
  CHECK(load(kTiers, {"service.api.parallel_calls=true"}).scenario.services[0].parallel_calls);
  const Edits change = {"service.*.calls.*.retry.mode=legacy"};
  CHECK(load(kTiers, change).scenario.clients[2].retry.mode == RetryMode::kLegacy);
}

TEST_CASE("a resolved scenario with calls is one itself") {
  const LoadedScenario loaded = load(kTiers);
  const LoadedScenario again = load(to_toml(loaded, false));
  REQUIRE(again.scenario.clients.size() == 3);
  CHECK(again.scenario.clients[1].name == "api.db");
  CHECK(again.scenario.clients[2].name == "api.cache");
  CHECK(to_toml(again, false) == to_toml(loaded, false));
}

TEST_CASE("an expectation may be about a call") {
  const Edits expect = {"expect.few={metric='amplification', client='api.db', at_most=2}"};
  CHECK(load(kTiers, expect).scenario.expectations[0].client == "api.db");
  CHECK_THAT(errors_of(kTiers, {"expect.few={metric='amplification', client='api.bd', at_most=2}"}),
             Catch::Contains("there is no such client; did you mean \"api.db\"?"));
}

TEST_CASE("wrong calls are reported with their place") {
  CHECK_THAT(errors_of(kTiers + "[service.api.calls.bd]\nretry.mode = \"none\"\n"),
             Catch::Contains("service.api.calls.bd: there is no such service to call; did you mean "
                             "\"db\"?"));
  CHECK_THAT(
      errors_of(kTiers + "[service.db.calls.api]\nretry.mode = \"none\"\n"),
      Catch::Contains("services call each other in a circle: api -> db -> api; one call must "
                      "go"));
  CHECK_THAT(errors_of(kTiers + "[service.db.calls.db]\nretry.mode = \"none\"\n"),
             Catch::Contains("services call each other in a circle: db -> db"));
  CHECK_THAT(errors_of(kTiers, {"service.api.calls.db.arrivals.rate=3"}),
             Catch::Contains("unknown key \"service.api.calls.db.arrivals"));
  CHECK_THAT(errors_of(kTiers + "[service.db.calls.cache]\nattempt_timeout = 1\n"),
             Catch::Contains("service.db.calls.cache.retry.mode is missing"));
  CHECK_THAT(errors_of(kTiers, {"service.api.model=occ"}),
             Catch::Contains("service.api.calls does not apply to model = \"occ\""));
  CHECK_THAT(errors_of(kTiers, {"network.request_loss=0.1", "client.web.deadline=1"}),
             Catch::Contains("service.api.calls.cache: a request that is lost"));
}

namespace {

const std::string kGraph = R"(name = "graph"
duration = "10s"
[service.api]
service_time = "10ms"
[service.api.calls.read]
service = "db"
operation = "get"
count = 3
need = 2
retry.mode = "none"
[service.api.calls.write]
service = "db"
operation = ["put", "delete"]
stage = 1
callee_operation = "caller"
callee_key = "caller"
priority = "caller"
on_failure = "fallback"
fallback = "cache"
retry.mode = "none"
[service.api.calls.cache]
share = 0.5
retry.mode = "none"
[service.api.calls.search]
service = "cache"
one_of = "index"
share = 3
count = { distribution = "uniform", min = 1, max = 4 }
on_failure = "ignore"
retry.mode = "none"
[service.api.calls.scan]
service = "db"
one_of = "index"
retry.mode = "none"
[service.db]
service_time = "20ms"
[service.cache]
service_time = "1ms"
[client.web]
calls = "api"
arrivals = { process = "poisson", rate = 5 }
retry.mode = "none"
[client.web.operation.get]
share = 1
[client.web.operation.put]
share = 1
[client.web.operation.delete]
share = 1
)";

}  // namespace

TEST_CASE("a graph of calls has what was written") {
  const Scenario s = load(kGraph).scenario;
  REQUIRE(s.calls.size() == 5);
  CHECK(s.clients[1].name == "api.read");
  CHECK(s.clients[1].service == 1);
  CHECK(s.calls[0].operations == std::vector<std::string>{"get"});
  CHECK(s.calls[0].count == 3);
  CHECK(s.calls[0].need == 2);
  CHECK(s.calls[0].stage == 0);
  CHECK(s.calls[1].stage == 1);
  CHECK(s.calls[1].callers_operation);
  CHECK(s.calls[1].callers_key);
  CHECK(s.calls[1].callers_priority);
  CHECK(s.calls[1].fallback == "api.cache");
  CHECK(s.calls[1].need == CallSpec::kAll);
  CHECK(s.calls[2].share == 0.5);
  CHECK(s.calls[3].one_of == "index");
  CHECK(s.calls[3].share == 3);
  CHECK(s.calls[3].random_count.has_value());
  CHECK(s.calls[3].on_failure == CallFailure::kIgnore);
  const LoadedScenario again = load(to_toml(load(kGraph), false));
  CHECK(to_toml(again, false) == to_toml(load(kGraph), false));
}

TEST_CASE("wrong graphs of calls are reported with their place") {
  const auto error = [](const Edits& edits) { return errors_of(kGraph, edits); };
  CHECK_THAT(error({"service.api.calls.read.service=bd"}),
             Catch::Contains("service.api.calls.read.service = \"bd\": there is no such service to "
                             "call; did you mean \"db\"?"));
  CHECK_THAT(error({"service.api.calls.read.need=4"}),
             Catch::Contains("service.api.calls.read.need = 4 is more than count = 3"));
  CHECK_THAT(error({"service.api.calls.cache.share=1.5"}),
             Catch::Contains("service.api.calls.cache.share = 1.5 is above 1; expected a share"));
  CHECK_THAT(error({"service.api.calls.scan.share=0"}),
             Catch::Contains("an alternative of one_of has a weight above 0"));
  CHECK_THAT(error({"service.api.calls.write.fallback=cach"}),
             Catch::Contains("service.api.calls.write.fallback = \"cach\": service.api has no such "
                             "call; did you mean \"cache\"?"));
  CHECK_THAT(error({"service.api.calls.cache.on_failure=fallback",
                    "service.api.calls.cache.fallback=write"}),
             Catch::Contains("calls fall back on each other in a circle: write -> cache -> write"));
  CHECK_THAT(error({"service.api.calls.cache.stage=2"}),
             Catch::Contains("service.api.calls.cache.stage does not apply to a fallback"));
  CHECK_THAT(error({"service.api.calls.scan.stage=2"}),
             Catch::Contains("service.api.calls.scan.stage: the alternatives search and scan of "
                             "one_of = \"index\" must be in one stage, but are in the stages 4 "
                             "and 2"));
  CHECK_THAT(error({"service.api.calls.read.operation=got"}),
             Catch::Contains("service.api.calls.read.operation = \"got\": no request at "
                             "service.api has that operation; did you mean \"get\"?"));
  CHECK_THAT(
      error({"service.api.calls.read.count=0.5"}),
      Catch::Contains("service.api.calls.read.count = 0.5 is wrong; expected a whole number"));
  CHECK_THAT(error({"service.api.calls.read.fallback=cache"}),
             Catch::Contains("service.api.calls.read.fallback does not apply here"));
  CHECK_THAT(errors_of(kGraph + "[service.db.calls.back]\nservice = \"api\"\n" +
                       "retry.mode = \"none\"\n"),
             Catch::Contains("services call each other in a circle: api -> db -> api"));
}
