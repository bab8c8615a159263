// Calls that go by their caller: its deadline, and whether they are made for a retry.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

using namespace retrysim;

namespace {

const std::string kChain = R"(name = "chain"
duration = "10s"
[service.api]
service_time = "10ms"
[service.api.calls.mid]
deadline = "caller"
retry_only_at = "first-attempt"
retry = { mode = "standard", max_attempts = 2 }
[service.mid]
service_time = "20ms"
[service.mid.calls.db]
deadline = "caller"
retry.mode = "none"
[service.db]
service_time = "1ms"
[client.web]
calls = "api"
arrivals = { process = "poisson", rate = 5 }
attempt_timeout = "1s"
retry.mode = "none"
)";

bool noted(const Edits& edits, const std::string& text) {
  for (const std::string& note : load(kChain, edits).notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("calls go by the deadline of their caller") {
  const LoadedScenario loaded = load(kChain);
  const Scenario& s = loaded.scenario;
  CHECK_FALSE(s.clients[0].timeouts.deadline_of_caller);
  CHECK(s.clients[1].timeouts.deadline_of_caller);
  CHECK(s.clients[1].timeouts.deadline == Duration::max());
  CHECK(s.clients[1].retry_only_at == RetryOnlyAt::kFirstAttempt);
  CHECK(s.clients[2].retry_only_at == RetryOnlyAt::kAnywhere);
  const LoadedScenario again = load(to_toml(loaded, false));
  CHECK(again.scenario.clients[1].timeouts.deadline_of_caller);
  const Scenario own = load(kChain, {"service.api.calls.mid.deadline=2"}).scenario;
  CHECK_FALSE(own.clients[1].timeouts.deadline_of_caller);
  CHECK(own.clients[1].timeouts.deadline == Duration::seconds(2));
}

TEST_CASE("clients outside have no caller") {
  CHECK_THAT(errors_of(kChain, {"client.web.deadline=caller"}),
             Catch::Contains("client.web.deadline"));
  CHECK_THAT(errors_of(kChain, {"client.web.retry_only_at=edge"}),
             Catch::Contains("unknown key \"client.web.retry_only_at\""));
  CHECK_THAT(errors_of(kChain, {"service.api.calls.mid.deadline=callers"}),
             Catch::Contains("or \"none\", or \"caller\""));
}

TEST_CASE("a deadline that comes from nobody is noted, or an error where messages are lost") {
  const std::string idle = "deadline = \"caller\" has no effect: no client of ";
  CHECK_FALSE(noted({}, "has no effect: no client of"));
  const Edits patient = {"client.web.attempt_timeout=none"};
  CHECK(noted(patient, "service.api.calls.mid." + idle + "api has"));
  CHECK(noted(patient, "service.mid.calls.db." + idle + "mid has"));
  const Edits lossy = {"network.request_loss=0.1"};
  CHECK(load(kChain, lossy).scenario.clients.size() == 3);
  const Edits both = {"network.request_loss=0.1", "client.web.attempt_timeout=none",
                      "client.web.deadline=none", "service.api.calls.mid.attempt_timeout=1"};
  CHECK_THAT(errors_of(kChain, both), Catch::Contains("client.web: a request that is lost"));
  CHECK_THAT(errors_of(kChain, {"service.db.overflow=drop", "service.db.queue.capacity=1",
                                "client.web.attempt_timeout=none"}),
             Catch::Contains("service.mid.calls.db: a request that is lost (service.db.overflow = "
                             "\"drop\") would never end where the client of mid waits for ever"));
  // Each attempt at mid ends, and so does what is called for it.
  CHECK(load(kChain, {"service.db.overflow=drop", "service.db.queue.capacity=1",
                      "client.web.attempt_timeout=none", "service.api.calls.mid.attempt_timeout=1"})
            .scenario.clients.size() == 3);
}

TEST_CASE("leaving retries to others is noted where there are none") {
  CHECK(noted({"service.mid.calls.db.retry_only_at=edge"},
              "service.mid.calls.db.retry_only_at has no effect"));
  CHECK_FALSE(noted({"service.api.calls.mid.retry_only_at=edge"}, "retry_only_at has no effect"));
}
