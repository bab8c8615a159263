// What a service answers to attempts that it does not serve, and what the SDKs make of it.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <catch2/catch.hpp>

#include "model/run/state.hpp"
#include "unit/model/small_world.hpp"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace retrysim::model {
namespace {

using test::count;
using test::ms;

constexpr ErrorTraits kThrottlingFlag{.throttling = true};
constexpr ErrorTraits kFinal{.retry_safety = RetrySafety::kNo};

ServiceAnswer answer(int status, const char* code, const ErrorTraits& traits = {}) {
  return {{status, code, traits}, {}};
}

/// Two clients at the same instant, one server, no queue: the second is refused.
Scenario refused_world() {
  Scenario s = test::small_world();
  s.services[0].queue.capacity = 0;
  s.clients[0].count = 2;
  s.clients[0].retry.max_attempts = 1;
  return s;
}

void use_preset(Scenario& s, const char* sdk, const char* mode, const char* revision) {
  const Preset* preset = find_preset(mode, revision, sdk, "default");
  REQUIRE(preset != nullptr);
  s.clients[0].retry = preset->rules;
}

ClientResult result_of(const Scenario& s) { return simulate(s, 0).clients[0]; }

std::string text_of(const Response& r) {
  return std::to_string(r.status) + ":" + r.code + (r.traits.throttling ? "+throttling" : "");
}

TEST_CASE("The usual answers, and own ones") {
  ServiceSpec spec;
  spec.timeout = ms(1);
  spec.model = ServiceModelKind::kOcc;
  const auto texts = [&] {
    Answers all;
    const Answers::OfService a = all.add_service(spec);
    return std::vector<std::string>{text_of(all[a.throttled]),
                                    text_of(all[a.refused(Refusal::kQueueFull)]),
                                    text_of(all[a.refused(Refusal::kLimit)]),
                                    text_of(all[a.refused(Refusal::kShed)]),
                                    text_of(all[a.timeout]),
                                    text_of(all[a.call_failed]),
                                    text_of(all[a.conflict])};
  };
  const std::string unavailable = "503:ServiceUnavailable", throttling = "400:ThrottlingException",
                    timeout = "504:GatewayTimeout", conflict = "503:TransactionConflictException";
  using Texts = std::vector<std::string>;
  CHECK(texts() ==
        Texts{throttling, unavailable, unavailable, unavailable, timeout, unavailable, conflict});
  spec.rejection.overflow = Overflow::kThrottled;
  CHECK(texts() ==
        Texts{throttling, throttling, throttling, throttling, timeout, unavailable, conflict});
  // What is refused like throttled attempts gets their own answer, too.
  spec.answers.throttled = answer(429, "Slow", kThrottlingFlag);
  const std::string slow = "429:Slow+throttling";
  CHECK(texts() == Texts{slow, slow, slow, slow, timeout, unavailable, conflict});
  spec.answers.overflow = answer(500, "Full");
  CHECK(texts() == Texts{slow, "500:Full", "500:Full", "500:Full", timeout, unavailable, conflict});
  spec.answers.limit = answer(500, "Limit");
  spec.answers.shed = answer(500, "Shed");
  spec.answers.timeout = answer(500, "Late");
  spec.answers.call_failed = answer(500, "Call");
  spec.answers.conflict = answer(500, "Conflict");
  CHECK(texts() ==
        Texts{slow, "500:Full", "500:Limit", "500:Shed", "500:Late", "500:Call", "500:Conflict"});
}

TEST_CASE("A delay is suggested by the answer, or by the throttle") {
  ServiceSpec spec;
  CHECK_FALSE(answers_of(spec).throttled.retry_after);
  spec.throttle.retry_after = ms(700);
  CHECK(answers_of(spec).throttled.retry_after == ms(700));
  CHECK_FALSE(answers_of(spec).overflow.retry_after);
  spec.answers.throttled = answer(429, "");
  CHECK(answers_of(spec).throttled.retry_after == ms(700));
  spec.answers.throttled->retry_after = Duration::zero();  // "at once" is a suggestion
  CHECK(answers_of(spec).throttled.retry_after == Duration::zero());
}

TEST_CASE("What a full queue answers is throttling if its flag, or the client's table, says so") {
  Scenario s = refused_world();
  CHECK(count(result_of(s), AttemptResult::kError) == 1);
  CHECK(result_of(s).rejected == 1);
  s.services[0].answers.overflow = answer(503, "Busy", kThrottlingFlag);
  CHECK(count(result_of(s), AttemptResult::kThrottled) == 1);
  CHECK(result_of(s).rejected == 0);
  // To Go v1 any 503 is throttling.
  s.services[0].answers.overflow = answer(503, "Busy");
  CHECK(result_of(s).rejected == 1);
  use_preset(s, "go-v1", "legacy", "");
  CHECK(result_of(s).rejected == 0);
}

TEST_CASE("A final answer of a full queue ends the request, unless the fault is the server's") {
  Scenario s = refused_world();
  s.services[0].answers.overflow = answer(503, "Busy", kFinal);
  for (const auto& [sdk, mode, revision] :
       {std::tuple("botocore", "standard", "2.0"), std::tuple("js-v3", "standard", "2.1"),
        std::tuple("go-v2", "adaptive", "2.0"), std::tuple("rust", "standard", "2.1"),
        std::tuple("java-v2", "legacy", ""), std::tuple("ruby", "legacy", "")}) {
    CAPTURE(sdk, mode, revision);
    use_preset(s, sdk, mode, revision);
    CHECK(count(result_of(s), Outcome::kNotRetryable) == 1);
  }
  use_preset(s, "", "standard", "smithy");
  CHECK(count(result_of(s), Outcome::kNotRetryable) == 0);
  CHECK(count(result_of(s), Outcome::kSuccess) == 2);
  s.services[0].answers.overflow->error.traits.fault = Fault::kClient;
  CHECK(count(result_of(s), Outcome::kNotRetryable) == 1);
}

TEST_CASE("A retryable flag makes SDKs repeat what they would take for final") {
  Scenario s = refused_world();
  s.services[0].service_time = Distribution::constant(ms(1));  // done before the first retry
  s.services[0].answers.overflow = answer(400, "Busy");
  for (const auto& [sdk, mode, revision] :
       {std::tuple("botocore", "standard", "2.0"), std::tuple("js-v3", "standard", "2.1"),
        std::tuple("cpp", "standard", "2.0"), std::tuple("dotnet", "standard", "2.0")}) {
    CAPTURE(sdk, mode, revision);
    use_preset(s, sdk, mode, revision);
    s.services[0].answers.overflow->error.traits = {};
    CHECK(count(result_of(s), Outcome::kNotRetryable) == 1);
    s.services[0].answers.overflow->error.traits.retry_safety = RetrySafety::kYes;
    CHECK(count(result_of(s), Outcome::kNotRetryable) == 0);
    CHECK(count(result_of(s), Outcome::kSuccess) == 2);
  }
}

TEST_CASE("Who waits for as long as a full queue suggests") {
  Scenario s = refused_world();
  s.services[0].answers.overflow = {{503, "Busy"}, ms(3000)};
  // The time that the refused request takes beyond its service.
  const auto delay = [&](const char* sdk, const char* mode, const char* revision) {
    use_preset(s, sdk, mode, revision);
    const ClientResult r = result_of(s);
    CHECK(count(r, Outcome::kSuccess) == 2);
    return Duration::nanoseconds(static_cast<std::int64_t>(r.latency_m.sum_ns)) - ms(200);
  };
  CHECK(delay("botocore", "standard", "2.0") < ms(1000));  // ignores it
  CHECK(delay("botocore", "standard", "2.1") == ms(3000));
  CHECK(delay("js-v3", "standard", "2.0") == ms(3000));
  CHECK(delay("rust", "standard", "2.0") == ms(3000));
  CHECK(delay("java-v2", "standard", "2.0") == ms(3000));
  CHECK(delay("ruby", "standard", "2.0") < ms(1000));
}

TEST_CASE("The limit, shed attempts and the service's timeout have answers of their own") {
  Scenario s = refused_world();
  s.services[0].answers.limit = answer(503, "Limit", kThrottlingFlag);
  CHECK(count(result_of(s), AttemptResult::kThrottled) == 0);
  s.services[0].concurrency.limit = 1;
  CHECK(count(result_of(s), AttemptResult::kThrottled) == 1);

  s = test::small_world();
  s.clients[0].count = 100;
  s.clients[0].retry.max_attempts = 1;
  s.services[0].queue.discipline = Discipline::kCodel;
  const std::uint64_t shed = count(result_of(s), AttemptResult::kError);
  CHECK(shed > 0);
  s.services[0].answers.shed = answer(503, "Shed", kThrottlingFlag);
  CHECK(count(result_of(s), AttemptResult::kThrottled) == shed);

  s = test::small_world();
  s.services[0].timeout = ms(50);
  CHECK(count(result_of(s), AttemptResult::kError) == 3);
  s.services[0].answers.timeout = answer(504, "Late", kFinal);
  CHECK(count(result_of(s), AttemptResult::kError) == 1);
}

}  // namespace
}  // namespace retrysim::model
