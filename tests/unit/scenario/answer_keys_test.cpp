// Scenario keys of what a service answers that does not serve, and of limits of single operations
// and keys: values, defaults and mistakes.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "scenario/resolve/services.hpp"
#include "unit/scenario/loading.hpp"

namespace retrysim {
namespace {

using Catch::Contains;

const Edits kOperations = {"client.web.operation.get.share=3", "client.web.operation.put.share=1",
                           "service.api.throttle={rate=100, burst=20, window='2s'}"};

Edits and_also(Edits edits, const Edits& more) {
  edits.insert(edits.end(), more.begin(), more.end());
  return edits;
}

ThrottleSpec throttle_of(const Edits& more) {
  return load(kSmall, and_also(kOperations, more)).scenario.services[0].throttle;
}

std::string mistakes(const Edits& more) { return errors_of(kSmall, and_also(kOperations, more)); }

TEST_CASE("limits of operations") {
  CHECK_FALSE(throttle_of({}).has_limits());
  const ThrottleSpec t = throttle_of({"service.api.throttle.operation.put.rate=7",
                                      "service.api.throttle.operation.get={rate=30, burst=40, "
                                      "window='none'}"});
  REQUIRE(t.operations.size() == 2);
  CHECK(t.operations[0].name == "put");
  CHECK(t.operations[0].rate == 7);
  CHECK(t.operations[0].burst == 20);  // as the others
  CHECK(t.operations[0].window == Duration::seconds(2));
  CHECK(t.operations[1].burst == 40);
  CHECK(t.operations[1].window == Duration::zero());
  CHECK(t.rate == 100);
  CHECK(throttle_of({"service.api.throttle.operation.put.rate=unlimited"}).operations[0].rate == 0);
  const LoadedScenario loaded =
      load(kSmall, and_also(kOperations, {"service.api.throttle.operation.put.rate=7"}));
  CHECK(value_of(loaded, "service.api.throttle.operation.put.window") == "\"2s\"");
  // What is written back means the same.
  CHECK(load(to_toml(loaded, false)).scenario.services[0].throttle.operations[0].rate == 7);
  CHECK_THAT(mistakes({"service.api.throttle.operation.putt.rate=7"}),
             Contains("service.api.throttle.operation.putt: no client has such an operation; "
                      "did you mean \"put\"?"));
  CHECK_THAT(mistakes({"service.api.throttle.operation.put.burst=7"}),
             Contains("service.api.throttle.operation.put.rate is missing"));
  CHECK_THAT(mistakes({"service.api.throttle.operation.put.rat=7"}), Contains("\"rate\""));
  CHECK_THAT(mistakes({"service.api.throttle.operation.put.rate=0.1"}),
             Contains("service.api.throttle.operation.put lets 0.2 attempts pass in a window"));
  CHECK_THAT(
      mistakes({"service.api.throttle.rate=unlimited", "service.api.throttle.burst=1",
                "service.api.throttle.window=none", "service.api.throttle.operation.put.rate=7"}),
      Contains("it needs service.api.throttle.rate other than unlimited"));
  CHECK_THAT(errors_of(kSmall, {"service.api.throttle={rate=1, operation={put={rate=7}}}"}),
             Contains("expected the name of a [client.*.operation.*]"));
}

TEST_CASE("limits of keys") {
  const Edits keys = {"client.web.keys.count=10", "service.api.throttle.key.3.rate=7"};
  const ThrottleSpec t = throttle_of(keys);
  REQUIRE(t.keys.size() == 1);
  CHECK(t.keys[0].name == "3");
  CHECK(t.keys[0].rate == 7);
  for (const std::string name : {"11", "0", "03", "hot", "99999999999"}) {
    CAPTURE(name);
    CHECK_THAT(
        mistakes({"client.web.keys.count=10", "service.api.throttle.key." + name + ".rate=7"}),
        Contains("service.api.throttle.key." + name +
                 ": there is no such key; expected a number from 1 to 10"));
  }
  CHECK_THAT(mistakes(and_also(keys, {"service.api.throttle.operation.put.rate=7"})),
             Contains("has limits for operations and for keys; expected only one of them"));
  // Keys that a limit concerns are not kept for nothing.
  const auto notes = [](const Edits& edits) {
    std::string all;
    for (const std::string& note : load(kSmall, and_also(kOperations, edits)).notes) all += note;
    return all;
  };
  CHECK_THAT(notes({"client.web.keys.count=10"}), Contains("client.web.keys has no effect"));
  CHECK(notes(keys).empty());
}

TEST_CASE("answers of a service's own") {
  const auto answers = [](const Edits& edits) {
    return load(kSmall, edits).scenario.services[0].answers;
  };
  CHECK_FALSE(answers({}).overflow);
  const OwnAnswers own = answers(
      {"service.api.answers.overflow=503:SlowDown+throttling+maybe-retryable+retry-after=1500ms",
       "service.api.answers.call_failed=429"});
  REQUIRE(own.overflow);
  CHECK(own.overflow->error.status == 503);
  CHECK(own.overflow->error.code == "SlowDown");
  CHECK(own.overflow->error.traits ==
        ErrorTraits{.retry_safety = RetrySafety::kMaybe, .throttling = true});
  CHECK(own.overflow->retry_after == Duration::milliseconds(1500));
  REQUIRE(own.call_failed);
  CHECK(own.call_failed->error.code.empty());
  CHECK_FALSE(own.call_failed->retry_after);
  CHECK(answers({"service.api.timeout=1s", "service.api.answers.timeout=500:Late"}).timeout);
  CHECK(answers({"service.api.throttle.rate=5", "service.api.answers.throttled=503:SlowDown"})
            .throttled);
  CHECK(answers({"service.api.queue.discipline=codel", "service.api.answers.shed=500"}).shed);
  CHECK(answers({"service.api.queue.max_age=1s", "service.api.answers.shed=500"}).shed);
  const LoadedScenario idle = load(kSmall, {"service.api.answers.shed=500"});
  REQUIRE(idle.notes.size() == 1);
  CHECK_THAT(idle.notes[0], Contains("service.api.answers.shed has no effect"));
  CHECK(
      load(kSmall, {"service.api.queue.max_age=1s", "service.api.answers.shed=500"}).notes.empty());
  CHECK(answers({"service.api.concurrency.limit=5", "service.api.answers.limit=500"}).limit);
  CHECK(answers({"service.api.model=occ", "service.api.answers.conflict=409"}).conflict);
}

TEST_CASE("mistakes in answers") {
  const auto wrong = [](const std::string& text) {
    return errors_of(kSmall, {"service.api.answers.overflow='" + text + "'"});
  };
  for (const char* text : {"", "200", "600", "busy", "503:", "+throttling", "503:a b"}) {
    CAPTURE(text);
    CHECK_THAT(wrong(text), Contains("expected a status from 400 to 599"));
  }
  CHECK_THAT(wrong("503+throtling"),
             Contains("unknown addition \"throtling\"; did you mean \"throttling\"?"));
  CHECK_THAT(wrong("503+often"), Contains("known are: retryable, not-retryable"));
  CHECK_THAT(wrong("503+"), Contains("unknown addition \"\""));
  for (const char* delay : {"5", "1500us", "soon", "", "-1s"}) {
    CAPTURE(delay);
    CHECK_THAT(wrong("503+retry-after=" + std::string(delay)),
               Contains("expected a whole number of milliseconds with a unit"));
  }
  CHECK_THAT(errors_of(kSmall, {"service.api.overflow=drop", "service.api.answers.overflow=503"}),
             Contains("service.api.answers.overflow does not apply here"));
  CHECK_THAT(errors_of(kSmall, {"service.api.answers.throttled=503"}),
             Contains("it needs service.api.throttle.rate other than unlimited"));
  CHECK_THAT(errors_of(kSmall, {"service.api.answers.full=503"}), Contains("answers.full"));
  CHECK_THAT(errors_of(kSmall, {"service.api.throttle={rate=1, retry_after='2s'}",
                                "service.api.answers.throttled=503+retry-after=1s"}),
             Contains("both suggest a delay; expected one of them"));
}

}  // namespace
}  // namespace retrysim
