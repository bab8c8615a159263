// Keys of what clients hold back by themselves, of lists of errors and of backoff laws: values,
// defaults and mistakes.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "unit/scenario/loading.hpp"

namespace retrysim::own_limit_keys {
namespace {

ClientSpec client(const Edits& edits) { return load(kSmall, edits).scenario.clients[0]; }

const Edits kCustomMode = {"client.web.retry.mode=custom", "client.web.retry.max_attempts=5"};

Edits custom(const Edits& more) {
  Edits all = kCustomMode;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_CASE("waits for connections have limits") {
  const ClientSpec c = client({"client.web.max_connections=8", "client.web.connection_wait=10s",
                               "client.web.connection_queue=100"});
  CHECK(c.connection_wait == Duration::seconds(10));
  CHECK(c.connection_queue == 100);
  const ClientSpec plain = client({"client.web.max_connections=8"});
  CHECK(plain.connection_wait == Duration::max());
  CHECK(plain.connection_queue == ClientSpec::kUnlimited);
  CHECK_THAT(errors_of(kSmall, {"client.web.connection_wait=10s"}),
             Catch::Contains("client.web.connection_wait does not apply here"));
}

TEST_CASE("who takes an SDK's pool takes its wait, unless it is given") {
  const Edits java = {"client.web.max_connections=sdk", "client.web.retry.mode=standard",
                      "client.web.retry.sdk=java-v2"};
  CHECK(client(java).connection_wait == Duration::seconds(10));
  Edits own = java;
  own.push_back("client.web.connection_wait=none");
  CHECK(client(own).connection_wait == Duration::max());
  Edits other = java;
  other[2] = "client.web.retry.sdk=botocore";
  CHECK(client(other).connection_wait == Duration::max());
  // As many connections as are needed: there is nothing to wait for, and no key that says so.
  other[2] = "client.web.retry.sdk=ruby";
  const LoadedScenario rust = load(kSmall, other);
  CHECK(rust.scenario.clients[0].max_connections == ClientSpec::kUnlimited);
  CHECK(value_of(rust, "client.web.connection_wait").empty());
}

TEST_CASE("bulkheads") {
  const ClientSpec c =
      client({"client.web.bulkhead={max_concurrent=25, longest_wait='1s', queue=3}"});
  CHECK(c.bulkhead.max_concurrent == 25);
  CHECK(c.bulkhead.longest_wait == Duration::seconds(1));
  CHECK(c.bulkhead.queue == 3);
  CHECK(client({"client.web.bulkhead.max_concurrent=25"}).bulkhead.longest_wait == Duration());
  CHECK_FALSE(client({}).bulkhead.in_use());
}

TEST_CASE("a queue in which nobody waits is noted") {
  const auto notes = [](const std::string& edit, const std::string& key) {
    return std::ranges::any_of(load(kSmall, {edit}).notes, [&](const std::string& note) {
      return note.starts_with("client.web." + key + " has no effect");
    });
  };
  CHECK(notes("client.web.bulkhead={max_concurrent=2, queue=5}", "bulkhead.queue"));
  CHECK_FALSE(notes("client.web.bulkhead={max_concurrent=2, queue=5, longest_wait='1s'}", ""));
  CHECK_FALSE(notes("client.web.bulkhead={max_concurrent=2}", ""));
  CHECK_FALSE(notes("client.web.bulkhead={max_concurrent=2, queue=0}", ""));  // nobody should
  const Edits pool = {"client.web.max_connections=2", "client.web.connection_queue=5"};
  CHECK_FALSE(std::ranges::any_of(load(kSmall, pool).notes, [](const std::string& note) {
    return note.find("connection_queue") != std::string::npos;
  }));
  Edits idle = pool;
  idle.push_back("client.web.connection_wait=0s");
  CHECK(std::ranges::any_of(load(kSmall, idle).notes, [](const std::string& note) {
    return note.starts_with("client.web.connection_queue has no effect");
  }));
}

TEST_CASE("limits on the send rate") {
  const ClientSpec c = client({"client.web.send_rate={rate=5, burst=10, longest_wait='2s'}"});
  CHECK(c.send_rate.rate == 5);
  CHECK(c.send_rate.burst == 10);
  CHECK(c.send_rate.on_empty == SendRateOnEmpty::kWait);
  CHECK(c.send_rate.longest_wait == Duration::seconds(2));
  CHECK(client({"client.web.send_rate={rate=5, on_empty='fail'}"}).send_rate.on_empty ==
        SendRateOnEmpty::kFail);
  CHECK_FALSE(client({}).send_rate.in_use());
  CHECK_THAT(errors_of(kSmall, {"client.web.send_rate={rate=5, burst=0.5}"}),
             Catch::Contains("send_rate.burst"));
}

TEST_CASE("lists of errors") {
  const RetryRules r = client(custom({"client.web.retry.on=['5xx', 'timeout', '429']",
                                      "client.web.retry.not_on=['501']",
                                      "client.web.retry.base_after=['429=5s', 'timeout=0s']"}))
                           .retry;
  REQUIRE(r.errors.on.size() == 3);
  CHECK(r.errors.on[0] == *parse_error_pattern("5xx"));
  CHECK(r.errors.not_on == std::vector{*parse_error_pattern("501")});
  REQUIRE(r.errors.bases.size() == 2);
  CHECK(r.errors.bases[0] == ErrorBase{*parse_error_pattern("429"), Duration::seconds(5)});
  CHECK(client(custom({"client.web.retry.on='throttled'"})).retry.errors.on.size() == 1);
  CHECK_THAT(errors_of(kSmall, custom({"client.web.retry.on=['slow']"})),
             Catch::Contains("client.web.retry.on = \"slow\" is wrong; expected a status"));
  CHECK_THAT(errors_of(kSmall, custom({"client.web.retry.base_after=['429']"})),
             Catch::Contains("an error and a time, such as \"429=5s\""));
}

TEST_CASE("operations may not be retried after some errors") {
  const ClientSpec c = client(custom({"client.web.operation.get.share=3",
                                      "client.web.operation.put={share=1, retry_not_on=['5xx']}"}));
  CHECK(c.operations[0].not_retried_on.empty());
  CHECK(c.operations[1].not_retried_on == std::vector{*parse_error_pattern("5xx")});
}

TEST_CASE("how far suggested delays are obeyed") {
  const RetryRules r =
      client(custom({"client.web.retry.retry_after=minimum", "client.web.retry.retry_after_max=60s",
                     "client.web.retry.retry_after_over=fail",
                     "client.web.retry.retry_after_jitter=0.1"}))
          .retry;
  CHECK(r.retry_after_max == Duration::seconds(60));
  CHECK(r.retry_after_over == RetryAfterOver::kFail);
  CHECK(r.retry_after_jitter == 0.1);
  const LoadedScenario plain = load(kSmall, custom({"client.web.retry.retry_after=minimum"}));
  CHECK(value_of(plain, "client.web.retry.retry_after_max") == "\"none\"");
  CHECK(plain.scenario.clients[0].retry.suggestion_limit() == Duration::max());
  CHECK_THAT(errors_of(kSmall, custom({"client.web.retry.retry_after=minimum",
                                       "client.web.retry.retry_after_max=cap"})),
             Catch::Contains("goes with retry_after = replace or minimum-capped"));
}

TEST_CASE("backoff laws") {
  const BackoffRules b =
      client(custom({"client.web.retry.backoff={base='100ms', growth='polynomial', power=1.5, "
                     "jitter='plus-width', jitter_width='20ms'}"}))
          .retry.backoff;
  CHECK(b.growth == Growth::kPolynomial);
  CHECK(b.power == 1.5);
  CHECK(b.jitter == Jitter::kPlusWidth);
  CHECK(b.jitter_width == Duration::milliseconds(20));
  const BackoffRules d =
      client(custom({"client.web.retry.delays=['1s', '2s']", "client.web.retry.delays_then=grow",
                     "client.web.retry.delays_cap=60s"}))
          .retry.backoff;
  CHECK(d.delays_then == DelaysThen::kGrow);
  CHECK(d.delays_factor == 2);
  CHECK(d.delays_cap == Duration::seconds(60));
  CHECK_THAT(errors_of(kSmall, custom({"client.web.retry.backoff.power=3"})),
             Catch::Contains("retry.backoff.growth = polynomial"));
}

TEST_CASE("service times that stay with a request") {
  const auto service = [](const Edits& edits) { return load(kSmall, edits).scenario.services[0]; };
  CHECK(service({}).service_time_per == ServiceTimePer::kAttempt);
  const ServiceSpec s =
      service({"service.api.service_time_per=request", "service.api.service_time_repeats=0.5"});
  CHECK(s.service_time_per == ServiceTimePer::kRequest);
  CHECK(s.service_time_repeats == 0.5);
  CHECK_THAT(errors_of(kSmall, {"service.api.service_time_repeats=0.5"}),
             Catch::Contains("service_time_per = request"));
}

}  // namespace
}  // namespace retrysim::own_limit_keys
