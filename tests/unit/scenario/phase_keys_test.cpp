// [phase.NAME]: stretches of time that the user names.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

using namespace retrysim;

namespace {

std::string with_phase(const std::string& phase) {
  return R"(name = "demo"
duration = "100s"
warmup = "10s"
[service.api]
service_time = "10ms"
[client.web]
arrivals = { process = "poisson", rate = 5 }
retry.mode = "none"
[phase.peak]
)" + phase;
}

}  // namespace

TEST_CASE("a phase has a start and an end or a duration") {
  const Scenario by_end = load(with_phase("start = \"20s\"\nend = \"50s\"\n")).scenario;
  REQUIRE(by_end.phases.size() == 1);
  CHECK(by_end.phases[0].name == "peak");
  CHECK(by_end.phases[0].start == Time::zero() + Duration::seconds(20));
  CHECK(by_end.phases[0].duration == Duration::seconds(30));
  const Scenario by_duration = load(with_phase("start = \"20s\"\nduration = \"30s\"\n")).scenario;
  CHECK(by_duration.phases[0].duration == Duration::seconds(30));
  const Scenario from_start = load(with_phase("end = \"40s\"\n")).scenario;
  CHECK(from_start.phases[0].start == Time::zero());
}

TEST_CASE("the resolved scenario has the same phases") {
  for (const char* phase : {"start = \"20s\"\nend = \"50s\"\n", "duration = \"30s\"\n"}) {
    const LoadedScenario once = load(with_phase(phase));
    const Scenario again = load(to_toml(once, false)).scenario;
    REQUIRE(again.phases.size() == 1);
    CHECK(again.phases[0].start == once.scenario.phases[0].start);
    CHECK(again.phases[0].duration == once.scenario.phases[0].duration);
  }
}

TEST_CASE("a phase without an end, with two or before its start is a mistake") {
  using Catch::Contains;
  CHECK_THAT(errors_of(with_phase("start = \"20s\"\n")),
             Contains("phase.peak.end") && Contains("duration"));
  CHECK_THAT(errors_of(with_phase("end = \"20s\"\nduration = \"5s\"\n")),
             Contains("phase.peak.end"));
  CHECK_THAT(errors_of(with_phase("start = \"20s\"\nend = \"20s\"\n")),
             Contains("end = 20s is not after the start of 20s"));
  CHECK_THAT(errors_of(with_phase("duration = \"0s\"\n")), Contains("phase.peak.duration"));
}

TEST_CASE("a phase after the last request is noted") {
  const LoadedScenario late = load(with_phase("start = \"100s\"\nend = \"150s\"\n"));
  REQUIRE(late.notes.size() == 1);
  CHECK_THAT(late.notes[0], Catch::Contains("phase.peak starts at 100s"));
}
