// What the sentences on a size claim of a curve whose values differ by no more than chance does.
//
// SPDX-License-Identifier: MIT
#include "report/size.hpp"

#include "scenario_of.hpp"

#include <catch2/catch.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace retrysim;

namespace {

/// The last sentence on a flat curve without an answer.
std::string said_of(const std::vector<SizeProbe>& probes) {
  SizePlan plan;
  plan.base.scenario = test::scenario_of(R"(
name = "flat"
duration = "5s"
[service.api]
service_time = "20ms"
[client.web]
arrivals = { process = "poisson", total_rate = 50 }
retry = { mode = "none" }
)");
  plan.key = parse_trigger("client.web.arrivals.total_rate=10:300");
  plan.grid = {10, 100, 300};
  plan.is_disturbed = true;
  SizeStudy study;
  study.answer.outcome = SizeOutcome::kOpen;
  study.answer.is_flat = true;
  study.answer.probes = probes;
  study.reasons.resize(probes.size());
  return report::size_sentences(plan, study).back();
}

}  // namespace

TEST_CASE("Few runs do not tell whether anything depends on the key") {
  CHECK(said_of({{0, 3, 9, 0.07, 0.7}, {1, 1, 5, 0.005, 0.72}, {2, 0, 5, 0, 0.53}}) ==
        "The runs are too few to tell whether it depends on the offered load: 0 % to 33.3 % of "
        "them are good with the values tried, which may be chance.");
}

TEST_CASE("Many runs with the same share show that hardly anything does") {
  CHECK(said_of(
            {{0, 800, 1000, 0.77, 0.83}, {1, 810, 1000, 0.78, 0.84}, {2, 790, 1000, 0.76, 0.82}}) ==
        "It hardly depends on the offered load: 79 % to 81 % of runs are good whatever it is.");
}
