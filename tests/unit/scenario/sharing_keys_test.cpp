// Scenario keys of throttles by key and in windows, shared retryers, several services, bodies that
// cannot be sent again and modelled errors: values, defaults, mistakes and notes.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "unit/scenario/loading.hpp"

#include <algorithm>

namespace retrysim {
namespace {

const Edits kTwoServices = {"service.db={service_time='1ms'}", "client.web.calls=db",
                            "client.app={like='web', calls='api'}"};

Edits with(Edits edits, const Edits& more) {
  edits.insert(edits.end(), more.begin(), more.end());
  return edits;
}

bool notes_contain(const Edits& edits, const std::string& text) {
  const LoadedScenario loaded = load(kSmall, edits);
  return std::any_of(loaded.notes.begin(), loaded.notes.end(),
                     [&](const std::string& n) { return n.find(text) != std::string::npos; });
}

TEST_CASE("throttles by operation and key, and in windows") {
  const auto throttle = [](const std::string& keys) {
    return load(kSmall, {"service.api.throttle={" + keys + "}"}).scenario.services[0].throttle;
  };
  CHECK(throttle("rate=5").scope == ThrottleScope::kService);
  CHECK(throttle("rate=5").window == Duration::zero());
  CHECK(throttle("rate=5, scope='operation'").scope == ThrottleScope::kOperation);
  CHECK(throttle("rate=5, scope='key'").scope == ThrottleScope::kKey);
  CHECK(throttle("rate=5, window='1min'").window == Duration::seconds(60));
  CHECK(throttle("rate=5, window='1min'").window_limit() == 300);
  CHECK_THAT(errors_of(kSmall, {"service.api.throttle={rate=0.5, window='1s'}"}),
             Catch::Contains("service.api.throttle lets 0.5 attempts pass in a window of 1s"));
  CHECK_THAT(errors_of(kSmall, {"service.api.throttle={window='1s'}"}),
             Catch::Contains("service.api.throttle.window does not apply here"));
}

TEST_CASE("keys and their popularity") {
  const auto keys = [](const std::string& text) {
    return load(kSmall, {"client.web.keys={" + text + "}"}).scenario.clients[0].keys;
  };
  CHECK(load(kSmall).scenario.clients[0].keys.count == 1);
  CHECK(keys("count=7").popularity == Popularity::kUniform);
  CHECK(keys("count=7, popularity='zipf'").exponent == 1);
  CHECK(keys("count=7, popularity='zipf', exponent=0.8").exponent == 0.8);
  CHECK(keys("count=7, popularity='hot', hot_share=0.4").hot_share == 0.4);
  CHECK_THAT(errors_of(kSmall, {"client.web.keys={count=7, popularity='hot'}"}),
             Catch::Contains("client.web.keys.hot_share is missing"));
  CHECK_THAT(errors_of(kSmall, {"client.web.keys={popularity='zipf'}"}),
             Catch::Contains("it needs client.web.keys.count other than 1"));
  const Edits by_key = {"service.api.throttle={rate=5, scope='key'}"};
  CHECK(notes_contain(by_key, "client.web has no keys"));
  CHECK_FALSE(notes_contain(with(by_key, {"client.web.keys.count=7"}), "keys"));
  CHECK(notes_contain({"client.web.keys.count=7"}, "client.web.keys has no effect"));
}

TEST_CASE("a client group that calls several services") {
  const auto client = [](const Edits& more) {
    return load(kSmall, with(kTwoServices, more)).scenario.clients[0];
  };
  CHECK(client({}).more_services.empty());
  const ClientSpec both = client({"client.web.calls=['db', 'api', 'db']"});
  CHECK(both.service == 1);
  CHECK(both.more_services == std::vector<std::size_t>{0, 1});
  CHECK(share_of_calls(both, 1) == Approx(2.0 / 3));
  const ClientSpec by_operation =
      client({"client.web.operation={read={share=3}, write={share=1, calls='api'}}"});
  CHECK(share_of_calls(by_operation, 0) == 0.25);
  CHECK(share_of_calls(by_operation, 1) == 0.75);
  const auto errors = [](const Edits& more) { return errors_of(kSmall, with(kTwoServices, more)); };
  CHECK_THAT(errors({"client.web.calls=['db', 'ap']"}),
             Catch::Contains("client.web.calls = \"ap\": there is no such service"));
  CHECK_THAT(errors({"client.web.calls=[]"}), Catch::Contains("a list such as [\"a\", \"b\"]"));
  CHECK_THAT(errors({"client.web.calls=['db', 7]"}), Catch::Contains("client.web.calls"));
  CHECK_THAT(errors({"client.web.operation.x={share=1, calls='no'}"}),
             Catch::Contains("client.web.operation.x.calls = \"no\": there is no such service"));
  CHECK_THAT(errors({"client.web.calls=['db', 'api']", "service.db.price=2"}),
             Catch::Contains("which have different prices"));
  CHECK_THAT(errors({"client.web.calls=['db', 'api']", "service.api.queue.capacity=1",
                     "service.api.overflow=drop"}),
             Catch::Contains("expected an attempt_timeout or a deadline"));
}

TEST_CASE("a resolved scenario reads back as it is") {
  const LoadedScenario loaded =
      load(kSmall, with(kTwoServices, {"client.web.calls=['db', 'api']",
                                       "service.db.errors={'400:Busy+retryable+throttling'=0.5}"}));
  CHECK(value_of(loaded, "client.web.calls") == "[\"db\", \"api\"]");
  const RandomError& busy = loaded.scenario.services[1].errors.at(0);
  CHECK(busy.answer.status == 400);
  CHECK(busy.answer.code == "Busy");
  CHECK(busy.answer.traits == ErrorTraits{.retry_safety = RetrySafety::kYes, .throttling = true});
  CHECK_THAT(errors_of(kSmall, {"service.api.errors={'400:Busy+sometimes'=0.5}"}),
             Catch::Contains("400:Busy+sometimes"));
}

TEST_CASE("timeouts and connections as the SDK has them") {
  const Edits as_the_sdk = {"client.web.retry.mode=standard", "client.web.attempt_timeout=sdk",
                            "client.web.connect_timeout=sdk", "client.web.max_connections=sdk"};
  const auto client = [&](const Edits& more) {
    return load(kSmall, with(as_the_sdk, more)).scenario.clients[0];
  };
  CHECK(client({}).timeouts.attempt.constant_value() == Duration::seconds(60));
  CHECK(client({}).max_connections == 10);
  const ClientSpec ruby = client({"client.web.retry.sdk=ruby"});
  CHECK(ruby.timeouts.connect == Duration::seconds(15));
  CHECK(ruby.max_connections == ClientSpec::kUnlimited);
  CHECK_FALSE(client({"client.web.retry.sdk=js-v3"}).timeouts.has_attempt);
  CHECK(client({"client.web.retry.sdk=aws-cli"}).max_connections == 10);
  // What the mode does not depend on: a comparison may vary the mode alone.
  CHECK(client({"client.web.retry={mode='none', sdk='cpp'}"}).max_connections == 25);
  const LoadedScenario loaded = load(kSmall, as_the_sdk);
  CHECK(value_of(loaded, "client.web.attempt_timeout") == "\"60s\"");
  CHECK(value_of(loaded, "client.web.max_connections") == "10");
  CHECK_THAT(
      errors_of(kSmall, with(as_the_sdk, {"client.web.retry={mode='legacy', sdk='guidance'}"})),
      Catch::Contains("client.web.attempt_timeout = \"sdk\": the defaults of \"guidance\" are not "
                      "known; known are those of botocore, java-v1"));
  CHECK_THAT(errors_of(kSmall, with(as_the_sdk, {"client.web.retry.mode=custom"})),
             Catch::Contains("there is no retry.sdk"));
  CHECK_THAT(errors_of(kSmall, {"client.web.deadline=sdk"}),
             Catch::Contains("client.web.deadline"));
}

TEST_CASE("shared retryers") {
  const Edits standard = {"client.web.retry.mode=standard"};
  const Edits shared = with(standard, with(kTwoServices, {"client.*.retry.retryer=process"}));
  CHECK(load(kSmall, shared).scenario.clients[1].retryer == "process");
  CHECK(load(kSmall).scenario.clients[0].retryer.empty());
  for (const char* unseen : {" ", "\\t", "a\\u0001"}) {
    CHECK_THAT(errors_of(kSmall, with(standard, {"client.web.retry.retryer=\"" +
                                                 std::string(unseen) + "\""})),
               Catch::Contains("not only blanks and without control characters"));
  }
  CHECK(load(kSmall, with(standard, {"client.web.retry.retryer=none"}))
            .scenario.clients[0]
            .retryer.empty());
  CHECK_THAT(errors_of(kSmall, with(shared, {"client.app.retry.quota.cost=3"})),
             Catch::Contains("client.app and client.web share retryer \"process\", but not the "
                             "rules of retry.quota; expected the same for both"));
  CHECK(notes_contain(with(standard, {"client.web.retry.retryer=process"}),
                      "no other group names it"));
  CHECK_FALSE(notes_contain(shared, "no other group names it"));
}

TEST_CASE("scopes of retry state") {
  const auto rules = [](const Edits& edits) {
    return load(kSmall, edits).scenario.clients[0].retry;
  };
  const Edits adaptive = {"client.web.retry.mode=adaptive"};
  CHECK(rules(adaptive).rate_limit.scope == RetryScope::kClient);
  CHECK(rules(with(adaptive, {"client.web.retry.rate_limit.scope=key"})).rate_limit.scope ==
        RetryScope::kKey);
  CHECK(rules(with(adaptive, {"client.web.retry.quota.scope=service"})).quota.scope ==
        RetryScope::kService);
  CHECK_THAT(
      errors_of(kSmall, {"client.web.retry.mode=standard", "client.web.retry.quota.scope=key",
                         "client.web.count=1000000", "client.web.keys.count=1000"}),
      Catch::Contains("more than a hundred million states"));
  CHECK(load(kSmall, {"client.web.unrepeatable=0.25"}).scenario.clients[0].unrepeatable == 0.25);
}

}  // namespace
}  // namespace retrysim
