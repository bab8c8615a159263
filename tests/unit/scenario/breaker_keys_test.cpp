// Keys of circuit breakers, and the old name of the breaker that stops retries.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "loading.hpp"

#include <algorithm>

using namespace retrysim;

namespace {

BreakerRules breaker_of(const std::string& table) {
  return load(kSmall, {"client.web.breaker=" + table}).scenario.clients[0].breaker;
}

bool has_note(const LoadedScenario& loaded, const std::string& text) {
  return std::ranges::any_of(
      loaded.notes, [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a breaker begins with those of a library, and takes what is written", "[breaker]") {
  CHECK_FALSE(load(kSmall).scenario.clients[0].breaker.in_use());
  CHECK(breaker_of("{preset='polly'}") == find_breaker_preset("polly")->rules);
  const BreakerRules b = breaker_of(
      "{preset='resilience4j', window_calls=20, open='5s', open_factor=2, open_cap='1min', "
      "probes=3, failures=['timeout'], ignored=['not-retryable'], order='breaker-outside', "
      "scope='group', retry_refused=false}");
  CHECK(b.window_calls == 20);
  CHECK(b.open == Duration::seconds(5));
  CHECK(b.open_cap == Duration::seconds(60));
  CHECK(b.failures == ErrorClasses{ResponseClass::kTimeout});
  CHECK(b.ignored == ErrorClasses{ResponseClass::kNotRetryable});
  CHECK(b.order == BreakerOrder::kBreakerOutside);
  CHECK(b.scope == BreakerScope::kGroup);
  CHECK_FALSE(b.retry_refused);
  CHECK(b.failure_share == 0.5);
  // A time in the place of a number of calls.
  CHECK(breaker_of("{preset='resilience4j', window='30s'}").window_calls == 0);
}

TEST_CASE("a table that names no library describes a breaker of its own", "[breaker]") {
  const BreakerRules b = breaker_of("{failure_share=0.2}");
  CHECK(b.in_use());
  CHECK(b.failure_share == 0.2);
  CHECK(value_of(load(kSmall, {"client.web.breaker={consecutive=3}"}),
                 "client.web.breaker.preset") == "\"custom\"");
  CHECK(breaker_of("{consecutive=3, failure_share='none'}").failure_share == 0);
}

TEST_CASE("calls between services have breakers, too", "[breaker]") {
  const LoadedScenario loaded =
      load(kSmall, {"service.db.service_time=1ms", "client.web.calls=api",
                    "service.api.calls.db={retry={mode='none'}, breaker={preset='hystrix'}}"});
  CHECK(loaded.scenario.clients[1].breaker.min_calls == 20);
}

TEST_CASE("what makes no sense for a breaker is refused", "[breaker]") {
  const auto errors = [](const std::string& table) {
    return errors_of(kSmall, {"client.web.breaker=" + table});
  };
  CHECK_THAT(errors("{failures=['timeouts']}"), Catch::Contains("there are no errors called"));
  CHECK_THAT(errors("{failure_share='none'}"), Catch::Contains("nothing opens it"));
  CHECK_THAT(errors("{preset='opossum', window_calls=5}"), Catch::Contains("window_calls"));
  CHECK_THAT(errors("{preset='hystrx'}"), Catch::Contains("hystrix"));
  CHECK_THAT(errors("{close_after=5}"), Catch::Contains("close_after"));
  CHECK_THAT(errors("{scope='host', order='breaker-outside'}"), Catch::Contains("several hosts"));
  CHECK_THAT(errors_of(kSmall, {"client.web.breaker={preset='polly'}",
                                "client.web.retry={mode='custom', sdk='tenacity'}"}),
             Catch::Contains("for ever"));
  CHECK(has_note(load(kSmall, {"client.web.breaker={preset='none', open='5s'}"}),
                 "client.web.breaker.open has no effect"));
}

// A configuration may be like that, and what it does can be simulated: the breaker stays closed.
TEST_CASE("a breaker that ignores all its failures is noted, unless slow calls open it",
          "[breaker]") {
  const auto loaded = [](const std::string& more) {
    return load(kSmall, {"client.web.breaker={failures=['timeout'], " + more + "}"});
  };
  constexpr const char* kNote =
      "client.web.breaker never opens: no error in breaker.failures is not in "
      "breaker.ignored, too";
  CHECK(has_note(loaded("ignored=['timeout', 'throttling']"), kNote));
  CHECK_FALSE(has_note(loaded("ignored=['throttling']"), "never opens"));
  CHECK_FALSE(
      has_note(loaded("ignored=['timeout'], slow_share=0.5, slow_call='1s'"), "never opens"));
}

TEST_CASE("a breaker's errors are checked where there is one, too, and may be none", "[breaker]") {
  CHECK_THAT(errors_of(kSmall, {"client.web.breaker={failures='foo'}"}),
             Catch::Contains("there are no errors called \"foo\""));
  const LoadedScenario of_sentinel =
      load(kSmall, {"client.web.breaker={preset='sentinel', failure_share='none', failures='none', "
                    "slow_share=0.5, slow_call='1s'}"});
  const BreakerRules& b = of_sentinel.scenario.clients[0].breaker;
  CHECK_FALSE(b.has_failures());
  CHECK(b.judges_slow_calls());
  CHECK_FALSE(has_note(of_sentinel, "never opens"));
  CHECK(has_note(load(kSmall, {"client.web.breaker={failures='none'}"}), "never opens"));
}

TEST_CASE("what opens nothing, or has no effect, is noted", "[breaker]") {
  const auto notes = [](const std::string& table, const std::string& note) {
    return has_note(load(kSmall, {"client.web.breaker=" + table}), "client.web.breaker." + note);
  };
  CHECK(notes("{failure_share=1.0, opens='above'}", "failure_share opens nothing"));
  CHECK_FALSE(notes("{failure_share=1.0}", "failure_share"));
  CHECK(notes("{slow_share=0.5}", "slow_share opens nothing without breaker.slow_call"));
  CHECK(notes("{slow_call='1s'}", "slow_call has no effect without breaker.slow_share"));
  CHECK_FALSE(notes("{slow_share=0.5, slow_call='1s'}", "slow_"));
  CHECK(notes("{window_calls=20, slices=5}", "slices has no effect on a window of calls"));
  CHECK_FALSE(notes("{window='20s', slices=5}", "slices"));
  CHECK(notes("{open='5s', open_cap='2s'}", "open_cap is shorter than breaker.open"));
  CHECK_FALSE(notes("{open='5s', open_factor=2, open_cap='20s'}", "open_cap"));
}

TEST_CASE("the breaker that stops retries is read by its old name", "[breaker]") {
  const Edits old = {"client.web.retry={mode='custom', breaker={failure_share=0.3, open='2s'}}"};
  const LoadedScenario loaded = load(kSmall, old);
  const RetryBreakerRules& b = loaded.scenario.clients[0].retry.retry_breaker;
  CHECK(b.enabled);
  CHECK(b.failure_share == 0.3);
  CHECK(has_note(loaded, "client.web.retry.breaker is called client.web.retry.retry_breaker now"));
  CHECK(value_of(loaded, "client.web.retry.retry_breaker.open") == "\"2s\"");
  CHECK_FALSE(loaded.scenario.clients[0].breaker.in_use());
  // In an edit, too, whatever the file calls it.
  const Edits edited = {"client.web.retry={mode='custom', retry_breaker={failure_share=0.3}}",
                        "client.web.retry.breaker.open=7s"};
  const LoadedScenario by_edit = load(kSmall, edited);
  CHECK(by_edit.scenario.clients[0].retry.retry_breaker.open == Duration::seconds(7));
  CHECK(has_note(by_edit, "is called client.web.retry.retry_breaker now"));
  // And the preset.
  const LoadedScenario preset =
      load(kSmall, {"client.web.retry={mode='custom', sdk='circuit-breaker'}"});
  CHECK(preset.scenario.clients[0].retry.retry_breaker.enabled);
}
