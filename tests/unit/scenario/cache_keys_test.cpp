// The keys of caches in front of calls.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

using namespace retrysim;

namespace {

const std::string kCached = R"(name = "cached"
duration = "10s"
[service.api]
service_time = "10ms"
[service.api.calls.db]
retry.mode = "none"
cache = { capacity = 100, policy = "fifo", ttl = "30s" }
[service.db]
service_time = "20ms"
[client.web]
calls = "api"
arrivals = { process = "poisson", rate = 5 }
keys.count = 1000
retry.mode = "none"
)";

bool cache_noted(const Edits& edits, const std::string& text) {
  for (const std::string& note : load(kCached, edits).notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a call may have a cache before it") {
  const LoadedScenario loaded = load(kCached);
  for (const CacheSpec& cache :
       {loaded.scenario.calls[0].cache, load(to_toml(loaded, false)).scenario.calls[0].cache}) {
    CHECK(cache.keeps_answers());
    CHECK(cache.capacity == 100);
    CHECK(cache.policy == CachePolicy::kFifo);
    CHECK(cache.ttl == Duration::seconds(30));
    CHECK(cache.hit == 0);
  }
  const Edits unlimited = {"service.api.calls.db.cache.capacity=unlimited"};
  CHECK(load(kCached, unlimited).scenario.calls[0].cache.capacity == CacheSpec::kUnlimited);
}

TEST_CASE("a cache hits by chance or by what it keeps: the keys of one exclude the other") {
  CHECK_THAT(errors_of(kCached, {"service.api.calls.db.cache_hit=0.5"}),
             Catch::Contains("service.api.calls.db.cache_hit"));
  const std::string none = "service.api.calls.db.cache.capacity=none";
  CHECK_THAT(errors_of(kCached, {none}), Catch::Contains("service.api.calls.db.cache."));
  CHECK_THAT(errors_of(kCached, {"service.api.calls.db.cache.capacity=0"}),
             Catch::Contains("service.api.calls.db.cache.capacity"));
  const Edits chance = {"service.api.calls.db.cache={capacity=\"none\"}",
                        "service.api.calls.db.cache_hit=0.5"};
  CHECK(load(kCached, chance).scenario.calls[0].cache.hit == 0.5);
}

TEST_CASE("keys are of use where a cache goes by them, and a cache where there are several") {
  CHECK_FALSE(cache_noted({}, "keys has no effect"));
  CHECK_FALSE(cache_noted({}, "cache holds one answer"));
  CHECK(cache_noted({"client.web.keys.count=1"},
                    "service.api.calls.db.cache holds one answer, which is that to every attempt"));
  CHECK(cache_noted({"service.api.calls.db.cache={capacity=\"none\"}"},
                    "client.web.keys has no effect"));
}
