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
