// From scenario text to the `Scenario`: where every key goes, defaults, presets, edits, `like`, and
// the way back to text.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include "loading.hpp"

#include <algorithm>

using namespace retrysim;

namespace {

const std::string kEverything = R"(
name         = "everything"
description  = "Every key with a value of its own"
duration     = "600s"
warmup       = "30s"
drain        = false
drain_limit  = "100s"
seed         = 7
replications = 3
interval     = "2s"
recovery     = { share = 0.9, hold = "20s", window = "5s" }
[network]
latency       = { distribution = "exponential", mean = "1ms" }
request_loss  = 0.01
response_loss = 0.02
[service.db]
service_time = "5ms"
servers      = "unlimited"
[service.api]
model        = "queue"
servers      = 10
service_time = { distribution = "exponential", mean = "10ms" }
queue        = { discipline = "fifo", capacity = 1000 }
overflow     = "throttled"
abandoned    = "drop-at-dequeue"
throttle     = { rate = 2000, burst = 50, scope = "client", retry_after = "1500ms" }
errors       = { throttled = 0.03, internal = 0.01, "429" = 0.1, "503:SlowDown" = 0.2 }
[fault.dip]
service = "api"
start = "60s"
duration = "30s"
capacity = 0.3
speed = 0.5
errors = { internal = 0.2 }
latency = "7ms"
unreachable = true
[client.web]
calls       = "api"
count       = 1000
arrivals    = { process = "constant", total_rate = 800, phase = "aligned" }
attempt_timeout = { distribution = "uniform", min = "1s", max = "2s" }
deadline    = "30s"
[client.web.surge.noon]
start = "100s"
duration = "10s"
factor = 5
[client.web.retry]
mode         = "standard"
revision     = "2.1"
sdk          = "botocore"
api          = "dynamodb"
max_attempts = 9
backoff.base = "2s"
backoff.throttle_base = "3s"
backoff.factor = 1.5
backoff.cap = "50s"
backoff.jitter = "equal"
backoff.throttle_jitter = "none"
backoff.first_exponent = 1
backoff.jitter_before_cap = true
quota.capacity = 100
quota.initial = 50
quota.cost = 1
quota.throttle_cost = 2
quota.timeout_cost = 3
quota.credit = 4
quota.refund = "credit"
quota.scope = "group"
retry_after  = "add"
[expect.recovers]
metric = "recovery_s"
client = "web"
at_most = 30
at_least = 1.5
)";

const ResolvedKey& key(const LoadedScenario& loaded, const std::string& path) {
  const auto at = std::find_if(loaded.keys.begin(), loaded.keys.end(),
                               [&](const ResolvedKey& k) { return k.path == path; });
  INFO(path);
  REQUIRE(at != loaded.keys.end());
  return *at;
}

TEST_CASE("max_retries stands for max_attempts") {
  const auto attempts = [](const std::string& retry) {
    return load(kSmall, {"client.web.retry=" + retry}).scenario.clients[0].retry.max_attempts;
  };
  CHECK(attempts("{mode='standard', max_retries=0}") == 1);
  CHECK(attempts("{mode='legacy', sdk='guidance', max_retries=7}") == 8);
  CHECK(attempts("{mode='custom', max_retries='unlimited'}") == RetryRules::kUnlimited);
  CHECK_THAT(
      errors_of(kSmall, {"client.web.retry={mode='standard', max_retries=1, max_attempts=3}"}),
      Catch::Contains("max_attempts does not apply here; keep either it or"));
}

TEST_CASE("retry settings that would never end, or fit no memory, are refused") {
  const auto with = [](const std::string& keys) {
    return errors_of(kSmall, {"client.web.retry={mode='standard', " + keys + "}"});
  };
  CHECK_THAT(with("quota={on_empty='wait'}"), Catch::Contains("would wait forever"));
  CHECK(with("quota={on_empty='wait', refill_rate=1}") == "");
  CHECK_THAT(with("quota={capacity=5, threshold=5}"), Catch::Contains("is never exceeded"));
  CHECK_THAT(errors_of(kSmall, {"client.web.retry={mode='standard', client_throttle={k=2, "
                                "window_calls=1000000}}",
                                "client.web.count=1000"}),
             Catch::Contains("calls to remember"));
}

}  // namespace

TEST_CASE("top-level keys reach the scenario") {
  const Scenario s = load(kEverything).scenario;
  CHECK(s.name == "everything");
  CHECK(s.description == "Every key with a value of its own");
  CHECK(s.duration == Duration::seconds(600));
  CHECK(s.warmup == Duration::seconds(30));
  CHECK_FALSE(s.drain);
  CHECK(s.drain_limit == Duration::seconds(100));
  CHECK(s.seed == 7);
  CHECK(s.replications == 3);
  CHECK(s.interval == Duration::seconds(2));
  CHECK(s.recovery.share == 0.9);
  CHECK(s.recovery.hold == Duration::seconds(20));
  CHECK(s.recovery.window == Duration::seconds(5));
  CHECK(s.network.latency.mean_seconds() == 0.001);
  CHECK(s.network.request_loss == 0.01);
  CHECK(s.network.response_loss == 0.02);
}

TEST_CASE("the hold is as long as a client may wait before it tries again, and at least 30 s") {
  const auto hold = [](const std::string& client, const std::vector<std::string>& edits = {}) {
    const LoadResult result = load_scenario_text(
        "name = \"hold\"\nduration = \"10min\"\n[service.api]\nservice_time = \"10ms\"\n"
        "[client.web]\narrivals = { process = \"poisson\", rate = 1 }\n" +
            client,
        "hold.toml", ".", edits);
    REQUIRE(result.loaded);
    const Duration given = result.loaded->scenario.recovery.hold;
    for (const ResolvedKey& key : result.loaded->keys) {
      if (key.path != "recovery.hold") continue;
      // What is printed loads back to the same scenario.
      const LoadResult again = load_scenario_text(
          "name = \"hold\"\nduration = \"10min\"\n[service.api]\nservice_time = \"10ms\"\n"
          "[client.web]\narrivals = { process = \"poisson\", rate = 1 }\n" +
              client,
          "hold.toml", ".", {"recovery.hold=" + key.toml});
      REQUIRE(again.loaded);
      CHECK(again.loaded->scenario.recovery.hold == given);
    }
    return given.in_seconds();
  };
  const std::string custom = "retry = { mode = \"custom\", max_attempts = ";
  const std::string formula = ", backoff = { base = \"1s\", cap = ";
  CHECK(hold("attempt_timeout = \"1s\"\n" + custom + "3, delays = [\"5s\"] }\n") == 30);
  CHECK(hold("attempt_timeout = \"50s\"\n" + custom + "3, delays = [\"5s\", \"9s\"] }\n") == 59);
  CHECK(hold("attempt_timeout = \"50s\"\nretry = { mode = \"none\" }\n") == 50);
  CHECK(hold("attempt_timeout = \"20s\"\n" + custom + "8" + formula + "\"40s\" } }\n") == 60);
  // Without a cap: of the 10th attempt 256 s, which is 2^8, and never more than 300 s.
  CHECK(hold(custom + "99" + formula + "\"none\" } }\n") == 256);
  CHECK(hold(custom + "\"unlimited\"" + formula + "\"none\", factor = 9 } }\n") == 300);
  CHECK(hold(custom + "7" + formula + "\"none\" } }\n") == 32);
  // What is given stays.
  const std::string slow = "attempt_timeout = \"50s\"\nretry = { mode = \"none\" }\n";
  CHECK(hold(slow, {"recovery.hold=7s"}) == 7);
  CHECK(hold(slow, {"recovery.hold=30s"}) == 30);
}

TEST_CASE("service and fault keys reach the scenario, in the order of the file") {
  const Scenario s = load(kEverything).scenario;
  REQUIRE(s.services.size() == 2);
  CHECK(s.services[0].name == "db");
  CHECK(s.services[0].servers == ServiceSpec::kUnlimited);
  CHECK(s.services[0].queue.capacity == ServiceSpec::kUnlimited);
  const ServiceSpec& api = s.services[1];
  CHECK(api.name == "api");
  CHECK(api.servers == 10);
  CHECK(api.service_time.kind() == Distribution::Kind::kExponential);
  CHECK(api.queue.capacity == 1000);
  CHECK(api.rejection.overflow == Overflow::kThrottled);
  CHECK(api.abandoned == Abandoned::kDropAtDequeue);
  CHECK(api.throttle.rate == 2000);
  CHECK(api.throttle.burst == 50);
  CHECK(api.throttle.scope == ThrottleScope::kClient);
  CHECK(api.throttle.retry_after == Duration::milliseconds(1500));
  REQUIRE(s.faults.size() == 1);
  const FaultSpec& dip = s.faults[0];
  CHECK(dip.name == "dip");
  CHECK(dip.service == 1);
  CHECK(dip.start.count() == 60'000'000'000);
  CHECK(dip.duration == Duration::seconds(30));
  CHECK(dip.capacity == 0.3);
  CHECK(dip.speed == 0.5);
  REQUIRE(dip.errors.size() == 1);
  CHECK(dip.errors[0].probability == 0.2);
  CHECK(dip.latency == Duration::milliseconds(7));
  CHECK(dip.unreachable);
}

TEST_CASE("error answers: the named ones first, then the others as written") {
  std::string text;
  const Scenario everything = load(kEverything).scenario;
  for (const RandomError& e : everything.services[1].errors) {
    text += std::to_string(e.answer.status) + ":" + e.answer.code + "=" +
            std::to_string(e.probability).substr(0, 4) + " ";
  }
  CHECK(text == "500:InternalError=0.01 400:ThrottlingException=0.03 429:=0.10 503:SlowDown=0.20 ");
  const Scenario s = load(kSmall, {"service.api.errors={unavailable=0.1, invalid=0.2}"}).scenario;
  REQUIRE(s.services[0].errors.size() == 2);
  CHECK(s.services[0].errors[0].answer.status == 503);
  CHECK(s.services[0].errors[0].answer.code == "ServiceUnavailable");
  CHECK(s.services[0].errors[1].answer.status == 400);
  CHECK(s.services[0].errors[1].answer.code == "ValidationException");
}

TEST_CASE("client keys reach the scenario") {
  const Scenario s = load(kEverything).scenario;
  REQUIRE(s.clients.size() == 1);
  const ClientSpec& web = s.clients[0];
  CHECK(web.name == "web");
  CHECK(web.service == 1);
  CHECK(web.count == 1000);
  CHECK(web.arrivals.process == ArrivalProcess::kConstant);
  CHECK(web.arrivals.rate == 0.8);  // total_rate / count
  CHECK(web.arrivals.aligned);
  REQUIRE(web.arrivals.surges.size() == 1);
  CHECK(web.arrivals.surges[0].name == "noon");
  CHECK(web.arrivals.surges[0].start.count() == 100'000'000'000);
  CHECK(web.arrivals.surges[0].duration == Duration::seconds(10));
  CHECK(web.arrivals.surges[0].factor == 5);
  CHECK(web.timeouts.has_attempt);
  CHECK(web.timeouts.attempt.mean_seconds() == Approx(1.5));
  CHECK(web.timeouts.deadline == Duration::seconds(30));
  REQUIRE(s.expectations.size() == 1);
  CHECK(s.expectations[0].name == "recovers");
  CHECK(s.expectations[0].metric == "recovery_s");
  CHECK(s.expectations[0].client == "web");
  CHECK(s.expectations[0].at_most == 30);
  CHECK(s.expectations[0].at_least == 1.5);
}

TEST_CASE("retry keys override the preset, each just itself") {
  const RetryRules r = load(kEverything).scenario.clients[0].retry;
  CHECK(r.mode == RetryMode::kStandard);
  CHECK(r.api == "dynamodb");
  CHECK(r.max_attempts == 9);
  CHECK(r.backoff.base == Duration::seconds(2));
  CHECK(r.backoff.throttle_base == Duration::seconds(3));
  CHECK(r.backoff.factor == 1.5);
  CHECK(r.backoff.cap == Duration::seconds(50));
  CHECK(r.backoff.jitter == Jitter::kEqual);
  CHECK(r.backoff.throttle_jitter == Jitter::kNone);
  CHECK(r.backoff.first_exponent == 1);
  CHECK(r.backoff.jitter_before_cap);
  CHECK(r.quota.enabled);
  CHECK(r.quota.capacity == 100);
  CHECK(r.quota.initial == 50);
  CHECK(r.quota.cost == 1);
  CHECK(r.quota.throttle_cost == 2);
  CHECK(r.quota.timeout_cost == 3);
  CHECK(r.quota.credit == 4);
  CHECK(r.quota.refund == Refund::kCredit);
  CHECK(r.quota.scope == RetryScope::kGroup);
  CHECK(r.retry_after == RetryAfter::kAdd);
}

TEST_CASE("without other keys a mode gives exactly its preset") {
  const RetryRules r = load(kSmall, {"client.web.retry.mode=adaptive"}).scenario.clients[0].retry;
  const RetryRules& preset = find_preset("adaptive", "2.0", "botocore", "default")->rules;
  CHECK(r.mode == preset.mode);
  CHECK(r.max_attempts == preset.max_attempts);
  CHECK(r.backoff.base == preset.backoff.base);
  CHECK(r.backoff.cap == preset.backoff.cap);
  CHECK(r.quota.capacity == preset.quota.capacity);
  CHECK(r.quota.timeout_cost == preset.quota.timeout_cost);
  CHECK(r.rate_limit.enabled);
  const RetryRules java =
      load(kSmall, {"client.web.retry={mode='legacy', sdk='java-v1'}"}).scenario.clients[0].retry;
  CHECK(java.errors.classifier == Classifier::kJavaV1);
  CHECK(java.backoff.quantum == Duration::milliseconds(1));  // no key: the preset's all the same
}

TEST_CASE("jitter also applies after throttling errors, unless that has its own") {
  const auto backoff = [](const std::string& keys) {
    return load(kSmall, {"client.web.retry={mode='legacy', sdk='java-v1', backoff={" + keys + "}}"})
        .scenario.clients[0]
        .retry.backoff;
  };
  CHECK(backoff("").throttle_jitter == Jitter::kEqual);
  CHECK(backoff("jitter='none'").throttle_jitter == Jitter::kNone);
  CHECK(backoff("throttle_jitter='full', jitter='none'").throttle_jitter == Jitter::kFull);
  CHECK(backoff("throttle_jitter='none'").jitter == Jitter::kFull);
}

TEST_CASE("in mode custom one base serves all errors, in the others each key is its own") {
  const auto throttle_base = [](const std::string& retry) {
    return load(kSmall, {"client.web.retry={" + retry + "}"})
        .scenario.clients[0]
        .retry.backoff.throttle_base;
  };
  CHECK(throttle_base("mode='custom', backoff={base='30ms'}") == Duration::milliseconds(30));
  CHECK(throttle_base("mode='custom', backoff={throttle_base='2s', base='30ms'}") ==
        Duration::seconds(2));
  CHECK(throttle_base("mode='standard', backoff={base='30ms'}") == Duration::seconds(1));
}

TEST_CASE("the initial quota follows the capacity") {
  const auto quota = [](const std::string& retry) {
    return load(kSmall, {"client.web.retry={" + retry + "}"}).scenario.clients[0].retry.quota;
  };
  CHECK(quota("mode='standard', quota={capacity=40}").initial == 40);
  CHECK(quota("mode='standard', quota={capacity=40}").cost == 5);
  CHECK(quota("mode='standard', quota={initial=40}").capacity == 500);
  CHECK_FALSE(quota("mode='standard', quota={capacity='unlimited'}").enabled);
  // A mode without a quota takes the prices of the standard one.
  const QuotaRules added = quota("mode='legacy', quota={capacity=40, cost=1}");
  CHECK(added.enabled);
  CHECK(added.initial == 40);
  CHECK(added.cost == 1);
  CHECK(added.timeout_cost == 10);
  CHECK(added.refund == Refund::kLast);
}

TEST_CASE("custom mode takes delays and a probability") {
  const RetryRules r =
      load(kSmall, {"client.web.retry={mode='custom', max_attempts='unlimited', probability=0.25, "
                    "delays=['1s', {distribution='exponential', mean='2s'}]}"})
          .scenario.clients[0]
          .retry;
  CHECK(r.max_attempts == RetryRules::kUnlimited);
  CHECK(r.probability == 0.25);
  REQUIRE(r.backoff.delays.size() == 2);
  CHECK(r.backoff.delays[0].constant_value() == Duration::seconds(1));
  CHECK(r.backoff.delays[1].mean_seconds() == 2);
}

TEST_CASE("mode none ignores other retry keys and says so") {
  const LoadedScenario loaded =
      load(kEverything, {"client.web.retry.mode=none", "client.web.retry.max_attempts=4"});
  CHECK(loaded.scenario.clients[0].retry.max_attempts == 1);
  CHECK_FALSE(loaded.scenario.clients[0].retry.quota.enabled);
  CHECK(std::find(loaded.notes.begin(), loaded.notes.end(),
                  "client.web.retry.max_attempts has no effect: client.web.retry.mode is "
                  "\"none\"") != loaded.notes.end());
  CHECK(value_of(loaded, "client.web.retry.max_attempts") == "");
}

TEST_CASE("arrival processes") {
  const auto arrivals = [](const std::string& keys) {
    return load(kSmall, {"client.web.arrivals={" + keys + "}"}).scenario.clients[0].arrivals;
  };
  const ArrivalSpec once = arrivals("process='once', start='2s', spread='500ms'");
  CHECK(once.process == ArrivalProcess::kOnce);
  CHECK(once.start.count() == 2'000'000'000);
  CHECK(once.spread == Duration::milliseconds(500));
  const ArrivalSpec closed = arrivals("process='closed', concurrency=3, think_time='1s'");
  CHECK(closed.process == ArrivalProcess::kClosed);
  CHECK(closed.concurrency == 3);
  CHECK(closed.think_time.constant_value() == Duration::seconds(1));
  CHECK_FALSE(closed.think_from_start);
  CHECK(arrivals("process='closed', think_time='1s', think_from='start'").think_from_start);
  CHECK(arrivals("process='poisson', rate=2").rate == 2);
  CHECK_FALSE(arrivals("process='constant', rate=2").aligned);
}

TEST_CASE("every value has an origin") {
  const LoadedScenario loaded = load(kEverything, {"client.web.count=2000",
                                                   "client.web.retry={mode='standard', "
                                                   "quota={capacity=7}}"});
  CHECK(key(loaded, "duration").origin == Origin::kScenario);
  CHECK(key(loaded, "duration").origin_detail == "demo.toml:4");
  CHECK(key(loaded, "service.db.overflow").origin == Origin::kDefault);
  CHECK(key(loaded, "client.web.count").origin == Origin::kSet);
  CHECK(key(loaded, "client.web.count").origin_detail == "--set");
  CHECK(key(loaded, "client.web.retry.max_attempts").origin == Origin::kPreset);
  CHECK(key(loaded, "client.web.retry.max_attempts").origin_detail == "standard 2.0 botocore");
  CHECK(key(loaded, "client.web.retry.quota.initial").origin == Origin::kDefault);
  CHECK(key(loaded, "client.web.retry.quota.initial").toml == "7");
}

TEST_CASE("edits: any key, bare words, tables and stars") {
  const LoadedScenario loaded =
      load(kSmall, {"client.web.retry.mode=standard", "client.more={like='web', count=3}",
                    "client.*.retry.backoff.jitter=equal", "fault.f={start='1s', duration='2s'}",
                    "service.api.service_time={distribution='exponential', mean='20ms'}",
                    "service.api.service_time.mean=30ms", "service.api.errors.\"503:SlowDown\"=0.1",
                    "description='a = b'", "seed=2", "seed=3"});
  const Scenario& s = loaded.scenario;
  REQUIRE(s.clients.size() == 2);
  CHECK(s.clients[0].retry.backoff.jitter == Jitter::kEqual);
  CHECK(s.clients[1].retry.backoff.jitter == Jitter::kEqual);
  CHECK(s.clients[1].count == 3);
  CHECK(s.faults.size() == 1);
  CHECK(s.services[0].service_time.mean_seconds() == 0.03);
  CHECK(s.services[0].errors.size() == 1);
  CHECK(s.description == "a = b");
  CHECK(s.seed == 3);  // in the order given
}

TEST_CASE("edits that cannot be") {
  const auto error = [](const std::string& edit) { return errors_of(kSmall, {edit}); };
  CHECK_THAT(error("duration"), Catch::Contains("is not an edit; expected PATH=VALUE"));
  CHECK_THAT(error("=5"), Catch::Contains("is not a path"));
  CHECK_THAT(error("client.web.count="), Catch::Contains("no value"));
  CHECK_THAT(error("client.web.count=[1"), Catch::Contains("is not a TOML value"));
  CHECK_THAT(error("fault.*.speed=0.5"), Catch::Contains("\"fault.*.speed\" matches nothing"));
  CHECK_THAT(error("client.web.surge.*.factor=2"), Catch::Contains("matches nothing"));
  CHECK_THAT(error("*.web.count=2"), Catch::Contains("\"*\" cannot stand for a name"));
  CHECK_THAT(error("client.web.count.x=2"),
             Catch::Contains("client.web.count has nothing below it"));
  CHECK_THAT(error("service.api.service_time.men=2"), Catch::Contains("did you mean \"mean\"?"));
  CHECK_THAT(error("service.api.service_time.mean=2"), Catch::Contains("goes through text"));
  CHECK_THAT(error("client.wbe.count=2"),
             Catch::Contains("there is no client \"wbe\"; did you mean \"web\"?"));
  CHECK_THAT(error("name=a\nseed=3"), Catch::Contains("is not a TOML value"));
}

TEST_CASE("like: a deep merge in which another process, distribution or mode replaces the table") {
  const std::string text = kSmall + R"(count = 10
[client.batch]
like = "web"
arrivals = { rate = 7 }
[client.loop]
like = "batch"
count = 4
arrivals = { process = "closed" }
retry = { mode = "standard", max_attempts = 5 }
[client.last]
like = "loop"
retry = { max_attempts = 6 }
)";
  const Scenario s = load(text).scenario;
  REQUIRE(s.clients.size() == 4);
  CHECK(s.clients[1].count == 10);
  CHECK(s.clients[1].arrivals.process == ArrivalProcess::kPoisson);
  CHECK(s.clients[1].arrivals.rate == 7);
  CHECK(s.clients[2].arrivals.process == ArrivalProcess::kClosed);  // the rate is gone, no error
  CHECK(s.clients[2].count == 4);
  CHECK(s.clients[3].retry.mode == RetryMode::kStandard);
  CHECK(s.clients[3].retry.max_attempts == 6);
  CHECK(s.clients[3].arrivals.process == ArrivalProcess::kClosed);
}

TEST_CASE("like comes after edits, also for services") {
  const Scenario s = load(kSmall + "calls = \"api\"\n[service.db]\nlike = \"api\"\nservers = 4\n",
                          {"service.api.queue.capacity=9", "service.db.service_time=3ms"})
                         .scenario;
  CHECK(s.services[1].queue.capacity == 9);
  CHECK(s.services[1].servers == 4);
  CHECK(s.services[1].service_time.mean_seconds() == 0.003);
  CHECK(s.services[0].service_time.mean_seconds() == 0.01);
}

TEST_CASE("like in a circle, or of nobody, is one error each") {
  CHECK(errors_of(kSmall + "[client.a]\nlike = \"b\"\n[client.b]\nlike = \"a\"\n") ==
        "demo.toml:11:8: error: like goes in a circle: a -> b -> a; one must stand alone\n"
        "like = \"a\"\n"
        "       ^\n");
  CHECK(errors_of(kSmall + "[client.a]\nlike = \"wbe\"\n[client.b]\nlike = \"a\"\n") ==
        "demo.toml:9:8: error: like = \"wbe\": there is no such client; did you mean \"web\"?\n"
        "like = \"wbe\"\n"
        "       ^\n");
  CHECK_THAT(errors_of(kSmall + "like = \"web\"\n"), Catch::Contains("web -> web"));
  CHECK_THAT(errors_of(kSmall + "like = [1]\n"), Catch::Contains("like is a list; expected"));
}

TEST_CASE("a chain of thousands of groups resolves") {
  std::string text = kSmall;
  for (int i = 0; i < 3000; ++i) {
    text += "[client.g" + std::to_string(i) + "]\nlike = \"" +
            (i == 2999 ? std::string("web") : "g" + std::to_string(i + 1)) + "\"\n";
  }
  CHECK(load(text).scenario.clients.back().arrivals.rate == 5);
}

TEST_CASE("the resolved scenario as text loads back to the same scenario") {
  const std::vector<std::pair<std::string, Edits>> cases = {
      {kEverything, {}},
      {kSmall, {}},
      {kSmall, {"client.web.retry.mode=adaptive", "client.web.retry.revision=2.1"}},
      {kSmall, {"client.web.retry={mode='legacy', sdk='java-v1'}"}},
      {kSmall, {"client.web.retry.mode=legacy", "client.web.arrivals={process='closed'}"}},
      {kSmall, {"client.web.retry={mode='legacy', quota={capacity=9}}"}},
      {kSmall, {"client.web.retry={mode='standard', quota={capacity='unlimited'}}"}},
      {kSmall, {"client.web.retry={mode='custom', probability=0.1, delays=[1, '2ms']}"}},
      {kSmall, {"description='a \"quoted\" # text'", "duration=0.1", "interval=1e-3"}},
  };
  for (const auto& [text, edits] : cases) {
    const LoadedScenario first = load(text, edits);
    const std::string plain = to_toml(first, false);
    INFO(plain);
    const LoadedScenario second = load(plain);
    CHECK(to_toml(second, false) == plain);
    CHECK(to_toml(load(to_toml(first, true)), false) == plain);  // comments change nothing
    const RetryRules& a = first.scenario.clients[0].retry;
    const RetryRules& b = second.scenario.clients[0].retry;
    CHECK(a.mode == b.mode);
    CHECK(a.errors.classifier == b.errors.classifier);
    CHECK(a.api == b.api);
    CHECK(a.max_attempts == b.max_attempts);
    CHECK(a.rate_limit.enabled == b.rate_limit.enabled);
    CHECK(a.backoff.quantum == b.backoff.quantum);
    CHECK(a.backoff.throttle_jitter == b.backoff.throttle_jitter);
    CHECK(a.backoff.cap == b.backoff.cap);
    CHECK(a.backoff.delays.size() == b.backoff.delays.size());
    CHECK(a.quota.enabled == b.quota.enabled);
    CHECK(a.quota.initial == b.quota.initial);
    CHECK(a.quota.timeout_cost == b.quota.timeout_cost);
    CHECK(first.scenario.duration == second.scenario.duration);
    CHECK(first.scenario.description == second.scenario.description);
    CHECK(first.scenario.services.size() == second.scenario.services.size());
    CHECK(first.scenario.services.back().errors.size() ==
          second.scenario.services.back().errors.size());
  }
}

TEST_CASE("every preset survives the way through text") {
  for (const Preset& preset : presets()) {
    std::string retry = "mode='" + std::string(preset.mode) + "'";
    if (!preset.revision.empty()) retry += ", revision='" + std::string(preset.revision) + "'";
    if (!preset.sdk.empty()) retry += ", sdk='" + std::string(preset.sdk) + "'";
    if (preset.api != "default") retry += ", api='" + std::string(preset.api) + "'";
    INFO(retry);
    const LoadedScenario first = load(kSmall, {"client.web.retry={" + retry + "}"});
    const LoadedScenario second = load(to_toml(first, false));
    CHECK(to_toml(second, false) == to_toml(first, false));
    for (const RetryRules& r :
         {first.scenario.clients[0].retry, second.scenario.clients[0].retry}) {
      CHECK(r.max_attempts == preset.rules.max_attempts);
      CHECK(r.backoff.base == preset.rules.backoff.base);
      CHECK(r.backoff.jitter == preset.rules.backoff.jitter);
      CHECK(r.backoff.throttle_jitter == preset.rules.backoff.throttle_jitter);
      CHECK(r.quota.enabled == preset.rules.quota.enabled);
      CHECK(r.quota.cost == preset.rules.quota.cost);
      CHECK(r.quota.refund == preset.rules.quota.refund);
      CHECK(r.retry_after == preset.rules.retry_after);
    }
  }
}

TEST_CASE("the resolved text with origins") {
  const std::string text = to_toml(load(kSmall, {"seed=5"}), true);
  CHECK_THAT(text, Catch::StartsWith("name = \"small\"                                    # "
                                     "demo.toml:1\n"));
  CHECK_THAT(text,
             Catch::Contains("\nseed = 5                                          # --set\n"));
  CHECK_THAT(text,
             Catch::Contains("\n[service.api]\nmodel = \"queue\"                                   "
                             "# default\n"));
}

TEST_CASE("an origin that has no room behind its value stands above it") {
  const std::string edit = "description='what happens while a third of all servers is away'";
  const auto lines = [&](std::size_t columns) {
    const std::string text = to_toml(load(kSmall, {edit}), true, columns);
    const std::size_t at = text.find('\n') + 1;
    return text.substr(at, text.find("duration =") - at);
  };
  const std::string value = "description = \"what happens while a third of all servers is away\"";
  CHECK(lines(79) == value + " # --set\n");
  CHECK(lines(70) == "# --set\n" + value + "\n");
}

TEST_CASE("long origins move all of them to the left") {
  const LoadResult found = load_scenario_text(kSmall, "a-rather-long-name-of-a-scenario.toml", {});
  REQUIRE(found.loaded);
  const std::string name = "# a-rather-long-name-of-a-scenario.toml:1\n";  // 41 columns
  CHECK_THAT(to_toml(*found.loaded, true, 80),
             Catch::StartsWith("name = \"small\"" + std::string(25, ' ') + name));
  CHECK_THAT(to_toml(*found.loaded, true, 120),
             Catch::StartsWith("name = \"small\"" + std::string(36, ' ') + name));
}
