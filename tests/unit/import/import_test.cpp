// The import as a program that links the library sees it: text in, keys, remarks and places out.
//
// SPDX-License-Identifier: MIT
#include <retrysim/import.hpp>
#include <retrysim/scenario.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {
namespace {

constexpr const char* kEnvoy =
    "routes:\n"
    "- match: {prefix: /}\n"
    "  route: {cluster: pay, retry_policy: {retry_on: 5xx, num_retries: 3, retry_priority: {}}}\n";

std::string value_of(const ImportedPolicy& policy, std::string_view path) {
  const auto found = std::ranges::find(policy.keys, path, &ImportedKey::path);
  return found == policy.keys.end() ? "" : found->value;
}

TEST_CASE("A configuration becomes keys with their sources", "[import]") {
  const ImportedConfiguration imported = import_configuration("envoy", kEnvoy, "envoy.yaml");
  REQUIRE(imported.policies.size() == 1);
  const ImportedPolicy& policy = imported.policies.front();
  CHECK(policy.name == "pay");
  CHECK(policy.from == "routes[0].route.retry_policy");
  CHECK(value_of(policy, "retry.max_retries") == "3");
  CHECK(value_of(policy, "deadline") == "\"15s\"");
  const auto remark = [&](std::string_view field) {
    const auto found = std::ranges::find(imported.remarks, field, &ImportRemark::field);
    REQUIRE(found != imported.remarks.end());
    return *found;
  };
  CHECK(remark("routes[0].match").is_unrelated);
  CHECK_FALSE(remark("routes[0].route.retry_policy.retry_priority").is_unrelated);
}

TEST_CASE("Unrelated fields are counted unless they are asked for", "[import]") {
  const ImportedConfiguration imported = import_configuration("envoy", kEnvoy, "envoy.yaml");
  CHECK(to_toml(imported, {}).find("routes[0].match") == std::string::npos);
  CHECK(to_toml(imported, {}).find("#   1 field is not about retries\n") != std::string::npos);
  ImportText all;
  all.lists_unrelated = true;
  CHECK(to_toml(imported, all).find("routes[0].match: is not about retries") != std::string::npos);
}

TEST_CASE("Circuit breakers of Resilience4j and Polly become those of the client", "[import]") {
  const ImportedConfiguration spring = import_configuration("resilience4j", R"(
resilience4j:
  circuitbreaker:
    configs:
      default: {slidingWindowSize: 40, minimumNumberOfCalls: 10}
    instances:
      pay:
        failureRateThreshold: 30
        waitDurationInOpenState: 10s
        permittedNumberOfCallsInHalfOpenState: 4
        enableExponentialBackoff: true
      stock: {slidingWindowType: TIME_BASED, slidingWindowSize: 20}
  retry:
    instances:
      pay: {maxAttempts: 4}
)",
                                                            "application.yml");
  REQUIRE(spring.policies.size() == 2);
  const ImportedPolicy& pay = spring.policies[0];
  CHECK(pay.name == "pay");
  CHECK(value_of(pay, "retry.max_attempts") == "4");
  CHECK(value_of(pay, "breaker.preset") == "\"resilience4j\"");
  CHECK(value_of(pay, "breaker.window_calls") == "40");
  CHECK(value_of(pay, "breaker.min_calls") == "10");
  CHECK(value_of(pay, "breaker.failure_share") == "0.3");
  CHECK(value_of(pay, "breaker.open") == "\"10s\"");
  CHECK(value_of(pay, "breaker.open_factor") == "1.5");
  CHECK(value_of(pay, "breaker.probes") == "4");
  const ImportedPolicy& stock = spring.policies[1];
  CHECK(stock.name == "stock");
  CHECK(value_of(stock, "retry.max_attempts") == "1");
  CHECK(value_of(stock, "breaker.preset") == "\"resilience4j-time\"");
  CHECK(value_of(stock, "breaker.window") == "\"20s\"");

  const auto polly = [](const std::string& breaker) {
    return import_configuration("polly",
                                "{\"Http\": {\"Retry\": {\"MaxRetryAttempts\": 5}" + breaker + "}}",
                                "appsettings.json")
        .policies.at(0);
  };
  CHECK(value_of(polly(""), "breaker.preset") == "");
  const ImportedPolicy own = polly(
      ", \"CircuitBreaker\": {\"FailureRatio\": 0.5, "
      "\"BreakDuration\": \"00:00:15\"}");
  CHECK(value_of(own, "breaker.preset") == "\"polly\"");
  CHECK(value_of(own, "breaker.failure_share") == "0.5");
  CHECK(value_of(own, "breaker.open") == "\"15s\"");
  // The standard handler always has one.
  CHECK(value_of(polly(", \"AttemptTimeout\": {\"Timeout\": \"00:00:05\"}"), "breaker.preset") ==
        "\"polly\"");
}

TEST_CASE("Mistakes have their place", "[import]") {
  const auto place_of = [](std::string_view kind, const std::string& text) {
    try {
      (void)import_configuration(kind, text, "x");
    } catch (const BadConfiguration& bad) {
      return std::to_string(bad.diagnostic().line) + ":" + std::to_string(bad.diagnostic().column) +
             " " + bad.diagnostic().message;
    }
    return std::string();
  };
  CHECK(place_of("envoy", "{retry_on: 5xx,\n num_retries: many}") ==
        "2:15 num_retries = \"many\" is wrong; expected a number from 0 to 4294967295");
  CHECK(place_of("envoy", "a: 1\na: 2\n") == "2:1 a is given twice; leave one of them");
  CHECK(place_of("aws", "[default]\nretry_mode = fast\n") ==
        "2:0 retry_mode = fast is wrong; expected one of legacy, standard, adaptive");
  CHECK(place_of("grpc", "a: 1") ==
        "0:0 no retry configuration found; expected a service config: methodConfig with a "
        "retryPolicy or hedgingPolicy");
  CHECK_THROWS_AS(import_configuration("nothing", "", "x"), std::invalid_argument);
}

TEST_CASE("Texts that end within the mark of their encoding are mistakes of the file", "[import]") {
  constexpr std::string_view kBytes("\0\xFE\xFF\xEF\xBB\xBF:", 7);
  std::vector<std::string> texts = {""};
  for (std::size_t t = 0; t < texts.size(); ++t) {
    if (texts[t].size() < 4) {
      for (const char byte : kBytes) texts.push_back(texts[t] + byte);
    }
    CAPTURE(texts[t]);
    CHECK_THROWS_AS(import_configuration("envoy", texts[t], "x"), BadConfiguration);
  }
}

TEST_CASE("The kind is told from the text", "[import]") {
  CHECK(import_kind_of(kEnvoy, "x") == "envoy");
  CHECK(import_kind_of("kind: VirtualService\nspec: {http: [{route: []}]}", "x") == "istio");
  CHECK(import_kind_of("[profile a]\nretry_mode = standard\n", "x") == "aws");
  CHECK(import_kind_of("resilience4j.retry.instances.a.maxAttempts=2\n", "x") == "resilience4j");
  CHECK_THROWS_AS(import_kind_of("a: 1", "x"), BadConfiguration);
}

TEST_CASE("A policy in a scenario leaves the rest as it was written", "[import]") {
  ImportedPolicy policy;
  policy.name = "pay";
  policy.keys = {{"deadline", "\"3s\"", "timeout"}, {"retry.mode", "\"none\"", "rules"}};
  const std::string scenario =
      "name = \"a\"  # kept\n"
      "[client.web]  # the shop\n"
      "# goes with its key\n"
      "deadline = \"9s\"\n"
      "count = 2\n"
      "\n"
      "[client.web.retry]\n"
      "mode = \"standard\"\n"
      "[client.web.retry.backoff]\n"
      "base = \"1s\"\n"
      "\n"
      "[service.api]\n";
  const std::string joined =
      "name = \"a\"  # kept\n"
      "[client.web]  # the shop\n"
      "count = 2\n"
      "deadline = \"3s\"  # timeout\n"
      "\n"
      "[client.web.retry]\n"
      "# Retries of x.\n"
      "mode = \"none\"  # rules\n"
      "\n"
      "[service.api]\n";
  CHECK(with_policy(scenario, "web", policy, "x") == joined);
  CHECK(with_policy(joined, "web", policy, "x") == joined);  // again, it changes nothing
  CHECK(with_policy("[service.api]\n", "new", policy, "x") ==
        "[service.api]\n\n[client.new]\ndeadline = \"3s\"  # timeout\n"
        "\n[client.new.retry]\n# Retries of x.\nmode = \"none\"  # rules\n");
}

TEST_CASE("A policy replaces all limits of its client, in whatever spelling", "[import]") {
  ImportedPolicy policy;
  policy.name = "pay";
  policy.keys = {{"breaker.preset", "\"polly\"", "b"},
                 {"bulkhead.max_concurrent", "4", "c"},
                 {"retry.mode", "\"none\"", "r"}};
  const std::string head =
      "[service.api]\n"
      "[client.web]\n"
      "count = 2  # two\n";
  const std::string tail =
      "\n"
      "[client.web.surge.x]\n"
      "factor = 2  # twice\n"
      "[client.other]\n"
      "breaker.preset = \"hystrix\"\n";
  const auto joined = [&](const std::string& keys) {
    return head + keys + "\n[client.web.retry]\n# Retries of x.\n" + "mode = \"none\"  # r\n" +
           tail;
  };
  const std::string with = joined(
      "breaker.preset = \"polly\"  # b\n"
      "bulkhead.max_concurrent = 4  # c\n");
  const char* spellings[] = {
      "breaker.preset = \"custom\"\nbreaker.open = \"9s\"\nbulkhead.queue = 3\n"
      "send_rate.rate = 7\n",
      "breaker = { preset = \"custom\", open = \"9s\" }\nbulkhead = {\n  queue = 3 }\n"
      "send_rate = { rate = 7 }\nretry = { mode = \"standard\" }\n",
      "\n[client.web.breaker]\n# of the library\npreset = \"custom\"\n\n[client.web.bulkhead]\n"
      "queue = 3\n[client.web.retry]\nmode = \"standard\"\n[client.web.retry.backoff]\n"
      "base = \"1s\"\n[client.web.send_rate]\nrate = 7\n",
      "\n[client.\"web\" . breaker]\npreset = \"custom\"\n"};
  for (const char* spelling : spellings) {
    CAPTURE(spelling);
    CHECK(with_policy(head + spelling + tail, "web", policy, "x") == with);
  }
  CHECK(with_policy(with, "web", policy, "x") == with);
  // What the new policy does not say is not left behind.
  policy.keys = {{"retry.mode", "\"none\"", "r"}};
  CHECK(with_policy(with, "web", policy, "x") == joined(""));
  // Connections are the user's own, unless the policy says anything of them.
  const std::string pool = "max_connections = 7\nconnection_wait = \"1s\"\n";
  CHECK(with_policy(head + pool + tail, "web", policy, "x") == joined(pool));
  policy.keys = {{"max_connections", "9", "m"}, {"retry.mode", "\"none\"", "r"}};
  CHECK(with_policy(head + pool + tail, "web", policy, "x") ==
        joined("max_connections = 9  # m\n"));
}

TEST_CASE("A client group without a table of its own keeps its spelling", "[import]") {
  ImportedPolicy policy;
  policy.name = "pay";
  policy.keys = {{"breaker.preset", "\"polly\"", "b"}, {"retry.mode", "\"none\"", "r"}};
  const auto check = [&](const std::string& before, const std::string& after) {
    CHECK(with_policy(before, "web", policy, "x") == after);
    CHECK(with_policy(after, "web", policy, "x") == after);
  };
  check(
      "client.web.count = 2  # two\n"
      "client.web.breaker.open = \"1s\"\n"
      "[service.api]\n",
      "client.web.count = 2  # two\n"
      "client.web.breaker.preset = \"polly\"  # b\n"
      "# Retries of x.\n"
      "client.web.retry.mode = \"none\"  # r\n"
      "\n"
      "[service.api]\n");
  check(
      "[client]\n"
      "web = { note = \"a, }\\\"\", delays = [1, 2], retry = { mode = \"x\" }, count = 2 } # two\n"
      "other.count = 3\n",
      "[client]\n"
      "web.note = \"a, }\\\"\"\n"
      "web.delays = [1, 2]\n"
      "web.count = 2 # two\n"
      "web.breaker.preset = \"polly\"  # b\n"
      "# Retries of x.\n"
      "web.retry.mode = \"none\"  # r\n"
      "other.count = 3\n");
}

TEST_CASE("The order of Spring's aspects is that of retries and breaker", "[import]") {
  const auto order = [](const std::string& retry, const std::string& breaker) {
    const ImportedConfiguration read = import_configuration(
        "resilience4j",
        "resilience4j:\n  retry: {" + retry + "instances: {pay: {maxAttempts: 3}}}\n" +
            "  circuitbreaker: {" + breaker + "instances: {pay: {slidingWindowSize: 10}}}\n",
        "application.yml");
    REQUIRE(read.policies.size() == 1);
    CHECK(read.remarks.empty());
    return value_of(read.policies.front(), "breaker.order");
  };
  CHECK(order("", "") == "");
  CHECK(order("retryAspectOrder: 2, ", "circuitBreakerAspectOrder: 1, ") == "\"breaker-outside\"");
  CHECK(order("retry-aspect-order: 1, ", "circuit-breaker-aspect-order: 2, ") ==
        "\"retry-outside\"");
  CHECK(order("retryAspectOrder: 5, ", "circuitBreakerAspectOrder: 5, ") == "\"retry-outside\"");
  // The defaults are the last places: what is given is before them.
  CHECK(order("", "circuitBreakerAspectOrder: 5, ") == "\"breaker-outside\"");
  CHECK(order("retryAspectOrder: 5, ", "") == "\"retry-outside\"");
  CHECK(order("retryAspectOrder: 2147483647, ", "") == "\"breaker-outside\"");
}

TEST_CASE("Limits of Resilience4j without a retry are groups, thread pools too", "[import]") {
  const ImportedConfiguration read = import_configuration("resilience4j", R"(
resilience4j:
  bulkhead.instances.desk: {maxConcurrentCalls: 3, maxWaitDuration: 1s}
  ratelimiter.instances.door: {limitForPeriod: 100, limitRefreshPeriod: 1m}
  thread-pool-bulkhead:
    configs.default: {queueCapacity: 7}
    instances:
      even: {maxThreadPoolSize: 4, coreThreadPoolSize: 4, queueCapacity: 2}
      grows: {maxThreadPoolSize: 5, coreThreadPoolSize: 2}
      open: {coreThreadPoolSize: 2}
      none: {keepAliveDuration: 1s}
)",
                                                          "application.yml");
  std::string names;
  for (const ImportedPolicy& p : read.policies) {
    names += p.name + " ";
    CHECK(value_of(p, "retry.max_attempts") == "1");
  }
  CHECK(names == "desk even grows open none door ");
  CHECK(value_of(read.policies[0], "bulkhead.max_concurrent") == "3");
  CHECK(value_of(read.policies[5], "send_rate.burst") == "100");
  const auto pool = [&](std::size_t i) {
    return value_of(read.policies[i], "bulkhead.max_concurrent") + " " +
           value_of(read.policies[i], "bulkhead.queue") + " " +
           value_of(read.policies[i], "bulkhead.longest_wait");
  };
  CHECK(pool(1) == "4 2 \"none\"");
  CHECK(pool(2) == "5 7 \"none\"");
  CHECK(pool(3) == "2 7 \"none\"");
  CHECK(pool(4) == "  ");
  std::string remarks;
  for (const ImportRemark& r : read.remarks) {
    remarks += r.field.substr(r.field.find("instances.") + 10) + ": " + r.why + "\n";
  }
  CHECK(
      remarks ==
      "grows.maxThreadPoolSize in part: a pool begins threads beyond coreThreadPoolSize only when "
      "its queue is full\n"
      "open.coreThreadPoolSize in part: a full queue lets the pool grow to the number of "
      "processors\n"
      "none: has a thread for each processor: write bulkhead.max_concurrent\n"
      "door.limitRefreshPeriod in part: permits come evenly, not all when a period begins\n");
}

TEST_CASE("How long Resilience4j's breaker stays open follows its rules", "[import]") {
  const auto read = [](const std::string& settings) {
    return import_configuration(
        "resilience4j", "resilience4j.circuitbreaker.instances.a: {" + settings + "}", "x.yml");
  };
  const auto opens = [&](const std::string& settings) {
    const ImportedConfiguration all = read(settings);
    const ImportedPolicy& p = all.policies.at(0);
    std::string text = value_of(p, "breaker.open") + " " + value_of(p, "breaker.open_factor") +
                       " " + value_of(p, "breaker.open_cap");
    for (const ImportRemark& r : all.remarks) text += "; " + r.why;
    return text;
  };
  CHECK(opens("waitDurationInOpenState: 5s, enableExponentialBackoff: true, "
              "exponentialBackoffMultiplier: 3, exponentialMaxWaitDurationInOpenState: 20s") ==
        "\"5s\" 3 \"20s\"");
  CHECK(opens("waitDurationInOpenState: 5s, enableExponentialBackoff: true, "
              "exponentialMaxWaitDurationInOpenState: 20s") ==
        "\"5s\" 1.5 ; Resilience4j needs exponentialBackoffMultiplier for it");
  CHECK(opens("waitDurationInOpenState: 5s, exponentialMaxWaitDurationInOpenState: 20s") ==
        "\"5s\"  ; enableExponentialBackoff is off");
  CHECK(opens("enableExponentialBackoff: true, exponentialBackoffMultiplier: 3") ==
        "  ; Resilience4j reads it only beside waitDurationInOpenState"
        "; Resilience4j reads it only beside waitDurationInOpenState");
  CHECK(opens("waitDurationInOpenState: 0") == "  ; Resilience4j reads it only above zero");
  CHECK(
      opens("waitDurationInOpenState: 5s, enableRandomizedWait: true, randomizedWaitFactor: 0.2") ==
      "\"5s\"  ; the breaker stays open for the mean of what is drawn there");
  CHECK_THROWS_WITH(read("waitDurationInOpenState: 5s, enableExponentialBackoff: true,\n"
                         " enableRandomizedWait: true"),
                    Catch::Contains("x.yml:2:24: error: ") &&
                        Catch::Contains("refuses it together with enableExponentialBackoff"));
}

TEST_CASE("Overridden values of a configuration are none that have no counterpart", "[import]") {
  const ImportedConfiguration read = import_configuration("resilience4j", R"(
resilience4j:
  circuitbreaker:
    configs.shared: {slidingWindowSize: 100, waitDurationInOpenState: 1s, ignoreExceptions: [a.B]}
    instances:
      a: {baseConfig: shared, slidingWindowSize: 20, waitDurationInOpenState: 9s}
      b: {baseConfig: shared, slidingWindowSize: 30, waitDurationInOpenState: 2s,
          ignoreExceptions: [c.D]}
)",
                                                          "application.yml");
  CHECK(value_of(read.policies.at(0), "breaker.window_calls") == "20");
  REQUIRE(read.remarks.size() == 2);
  CHECK(read.remarks[0].field == "resilience4j.circuitbreaker.configs.shared.ignoreExceptions");
  CHECK(read.remarks[1].field == "resilience4j.circuitbreaker.instances.b.ignoreExceptions");
}

TEST_CASE("Numbers with underscores are numbers to Spring where YAML has no quotes", "[import]") {
  const auto attempts = [](const std::string& text, const std::string& file) {
    const ImportedConfiguration read = import_configuration(
        "resilience4j", "resilience4j.retry.instances.a.maxAttempts" + text, file);
    return value_of(read.policies.at(0), "retry.max_attempts");
  };
  CHECK(attempts(": 10_000", "x.yml") == "10000");
  CHECK_THROWS_AS(attempts(": '10_000'", "x.yml"), BadConfiguration);
  CHECK_THROWS_AS(attempts(": a_1", "x.yml"), BadConfiguration);
  CHECK_THROWS_AS(attempts("=10_000", "x.properties"), BadConfiguration);
}

TEST_CASE("Hystrix's pools grow only where its queue can be full", "[import]") {
  const auto policy = [](const std::string& text) {
    return import_configuration("hystrix", "hystrix: {" + text + "}", "x.yml").policies.at(0);
  };
  const auto pool = [&](const std::string& queue) {
    const ImportedPolicy p = policy(
        "command.a: {}, threadpool.a: {coreSize: 30, maximumSize: 50, "
        "allowMaximumSizeToDivergeFromCoreSize: true, " +
        queue + "}");
    return value_of(p, "bulkhead.max_concurrent") + " " + value_of(p, "bulkhead.queue");
  };
  CHECK(pool("maxQueueSize: 100, queueSizeRejectionThreshold: 80") == "30 80");
  CHECK(pool("maxQueueSize: 100, queueSizeRejectionThreshold: 100") == "30 100");
  CHECK(pool("maxQueueSize: 100") == "30 5");
  CHECK(pool("maxQueueSize: 100, queueSizeRejectionThreshold: 101") == "50 100");
  CHECK(pool("maxQueueSize: -1") == "50 ");
  const auto preset = [&](const std::string& breaker) {
    return value_of(policy("command: {" + breaker + "}"), "breaker.preset");
  };
  CHECK(preset("a.circuitBreaker.forceClosed: true") == "\"none\"");
  CHECK(preset("default.circuitBreaker.forceClosed: true, a: {}") == "\"none\"");
  CHECK(preset("a.circuitBreaker.forceClosed: false") == "\"hystrix\"");
  CHECK(import_configuration("hystrix",
                             "hystrix.command.a.circuitBreaker: {enabled: false, forceOpen: true, "
                             "requestVolumeThreshold: 9}",
                             "x.yml")
            .remarks.at(0)
            .why == "the command has no breaker");
  CHECK(preset("a.circuitBreaker: {forceOpen: true, forceClosed: true}") == "\"hystrix\"");
  const ImportedConfiguration open =
      import_configuration("hystrix", "hystrix.command.a.circuitBreaker.forceOpen: true", "x.yml");
  REQUIRE(open.remarks.size() == 1);
  CHECK(open.remarks[0].why == "every call would be refused: no breaker here is held open");
}

TEST_CASE("Zeros of Istio's connection pools are not set", "[import]") {
  const ImportedPolicy p = import_configuration("istio", R"(
kind: DestinationRule
spec:
  host: d
  trafficPolicy:
    connectionPool:
      tcp: {maxConnections: 0, connectTimeout: 1s}
      http: {http1MaxPendingRequests: 0, http2MaxRequests: 0, maxRetries: 0}
)",
                                                "x.yaml")
                               .policies.at(0);
  CHECK(value_of(p, "retry.budget.kind") == "\"none\"");
  CHECK(value_of(p, "connect_timeout") == "\"1s\"");
  for (const char* key : {"max_connections", "connection_queue", "bulkhead.max_concurrent"}) {
    CHECK(value_of(p, key) == "");
  }
}

TEST_CASE("A port of Istio takes the pool of its host, but not the budget", "[import]") {
  const ImportedConfiguration read = import_configuration("istio", R"(
kind: DestinationRule
spec:
  host: d
  trafficPolicy:
    connectionPool: {http: {http2MaxRequests: 9}}
    retryBudget: {percent: 25}
    portLevelSettings:
    - {port: {number: 80}, connectionPool: {http: {http2MaxRequests: 7, maxRetries: 1}}}
  subsets:
  - {name: v1, trafficPolicy: {connectionPool: {http: {http2MaxRequests: 5}}}}
---
kind: VirtualService
spec:
  http:
  - route: [{destination: {host: d, port: {number: 80}}}]
  - route: [{destination: {host: d, port: {number: 80}, subset: v1}}]
)",
                                                          "x.yaml");
  REQUIRE(read.policies.size() == 2);
  CHECK(value_of(read.policies[0], "bulkhead.max_concurrent") == "7");
  CHECK(value_of(read.policies[0], "retry.budget.share") == "0.25");
  CHECK(value_of(read.policies[1], "bulkhead.max_concurrent") == "5");
  const auto overridden = std::ranges::find(
      read.remarks, "document 1.spec.trafficPolicy.connectionPool", &ImportRemark::field);
  REQUIRE(overridden != read.remarks.end());
  CHECK(overridden->why == "that of the subset or port counts in its place");
}

TEST_CASE("Polly's limiters, and what it refuses", "[import]") {
  const auto read = [](const std::string& beside) {
    return import_configuration(
               "polly", "{\"A\": {\"Retry\": {\"MaxRetryAttempts\": 2}, " + beside + "}}", "x.json")
        .policies.at(0);
  };
  const ImportedPolicy calls =
      read(R"("ConcurrencyLimiter": {"PermitLimit": 10, "QueueLimit": 4})");
  CHECK(value_of(calls, "bulkhead.max_concurrent") == "10");
  CHECK(value_of(calls, "bulkhead.queue") == "4");
  CHECK(value_of(read(R"("RateLimiter": {"PermitLimit": 9})"), "bulkhead.max_concurrent") == "9");
  CHECK(value_of(read(R"("RateLimiter": {})"), "bulkhead.max_concurrent") == "1000");
  const ImportedPolicy rate =
      read(R"("RateLimiter": {"PermitLimit": 5, "Window": "00:00:01", "QueueLimit": 2})");
  CHECK(value_of(rate, "bulkhead.max_concurrent") == "");
  CHECK(value_of(rate, "send_rate.rate") == "5");
  CHECK(value_of(rate, "send_rate.burst") == "5");
  CHECK(value_of(rate, "send_rate.longest_wait") == "\"400ms\"");
  const ImportedPolicy tokens = read(R"("RateLimiter": {"TokenLimit": 5})");
  CHECK(value_of(tokens, "bulkhead.max_concurrent") == "");
  const auto refused = [](const std::string& text) {
    try {
      (void)import_configuration("polly", text, "x.json");
    } catch (const BadConfiguration& bad) {
      return std::to_string(bad.diagnostic().line) + ":" + std::to_string(bad.diagnostic().column) +
             " " + bad.diagnostic().message;
    }
    return std::string();
  };
  CHECK(refused("{\"Retry\": {\"MaxRetryAttempts\": 0}}") ==
        "1:32 Retry.MaxRetryAttempts = \"0\" is wrong; Polly expects at least 1");
  const std::string breaker = "{\"Retry\": {\"MaxRetryAttempts\": 2}, \"CircuitBreaker\":\n {";
  CHECK(refused(breaker + "\"MinimumThroughput\": 1}}") ==
        "2:24 CircuitBreaker.MinimumThroughput = \"1\" is wrong; Polly expects at least 2");
  CHECK(
      refused(breaker + "\"SamplingDuration\": \"00:00:00.1\"}}") ==
      "2:23 CircuitBreaker.SamplingDuration = \"00:00:00.1\" is wrong; Polly expects at least 500 "
      "ms");
}

TEST_CASE("A group's name does not begin with a hyphen, whatever the file calls it", "[import]") {
  CHECK(import_configuration("polly", R"({"-A-": {"Retry": {"MaxRetryAttempts": 2}}})", "x.json")
            .policies.at(0)
            .name == "A");
}

TEST_CASE("Feign retries what has no answer", "[import]") {
  const ImportedConfiguration read = import_configuration(
      "spring-cloud",
      "spring.cloud.openfeign.client.config.a: {retryer: feign.Retryer.Default, readTimeout: 100}",
      "x.yml");
  CHECK(value_of(read.policies.at(0), "retry.on") == "[\"timeout\", \"connection\"]");
  CHECK(value_of(read.policies.at(0), "retry.backoff.base") == "\"150ms\"");
  REQUIRE(read.remarks.size() == 1);
  CHECK(read.remarks[0].field == "spring.cloud.openfeign.client.config.a.retryer in part");
}

TEST_CASE("A route of the Gateway has the breaker that its filter names", "[import]") {
  const auto read = [](const std::string& filters, const std::string& more = "") {
    return import_configuration("spring-cloud",
                                "spring.cloud.gateway:\n"
                                "  routes: [{id: r1, filters: [" +
                                    filters + "]}]\n" +
                                    "resilience4j.circuitbreaker.instances:\n"
                                    "  xCB: {slidingWindowSize: 20}\n"
                                    "  own: {slidingWindowSize: 30}\n" +
                                    more,
                                "x.yml");
  };
  const std::string breaker = "{name: CircuitBreaker, args: {name: xCB, statusCodes: [500]}}";
  const ImportedConfiguration outside = read(breaker + ", Retry=3");
  REQUIRE(outside.policies.size() == 2);
  const ImportedPolicy& p = outside.policies[0];
  CHECK(value_of(p, "breaker.window_calls") == "20");
  CHECK(value_of(p, "breaker.order") == "\"breaker-outside\"");
  CHECK(value_of(p, "deadline") == "\"1s\"");
  CHECK(outside.policies[1].name == "own");
  CHECK(value_of(outside.policies[1], "breaker.window_calls") == "30");
  const ImportedPolicy inside =
      read("Retry=3, " + breaker, "resilience4j.timelimiter.instances.xCB.timeoutDuration: 4s\n")
          .policies.at(0);
  CHECK(value_of(inside, "breaker.order") == "\"retry-outside\"");
  CHECK(value_of(inside, "attempt_timeout") == "\"4s\"");
  CHECK(value_of(inside, "deadline") == "");
  const ImportedPolicy alone = read("CircuitBreaker=unknown").policies.at(0);
  CHECK(value_of(alone, "retry.max_attempts") == "1");
  CHECK(value_of(alone, "breaker.preset") == "\"resilience4j\"");
  CHECK(value_of(alone, "breaker.window_calls") == "");
  // A file with routes is read as one of Spring Cloud.
  CHECK(import_kind_of("spring.cloud.gateway.routes: [{id: a, filters: [Retry=2]}]\n"
                       "resilience4j.retry.instances.a.maxAttempts: 2\n",
                       "x.yml") == "spring-cloud");
  CHECK(import_kind_of("resilience4j.retry.instances.a: {ignoreExceptions: [feign.A]}\n", "x") ==
        "resilience4j");
}

TEST_CASE("A map of something else is no policy of defaults", "[import]") {
  const auto refusal = [](const char* kind, const char* text) -> std::string {
    try {
      import_configuration(kind, text, "x.yaml");
    } catch (const BadConfiguration& e) {
      return e.what();
    }
    return "";
  };
  for (const char* kind : {"tenacity", "urllib3", "finagle", "tower", "client-go"}) {
    INFO(kind);
    CHECK_THAT(refusal(kind, "{\"foo\": 1}"), Catch::Contains("no retry configuration found"));
  }
  // How it is written in Python, which is none of the parameters.
  CHECK_THAT(refusal("tenacity", "stop: stop_after_attempt(5)\nwait: wait_fixed(2)\n"),
             Catch::Contains("no retry configuration found"));
  CHECK_THAT(refusal("client-go", "duration: 10ms\n"), Catch::Contains("steps is missing"));
  CHECK(refusal("tenacity", "stop_after_attempt: 5\nfoo: 1\n").empty());
  CHECK(refusal("tenacity", "wait_exponential: { max: 10 }\n").empty());
}

}  // namespace
}  // namespace retrysim
