// The lines of a tipping curve, and its text.
//
// SPDX-License-Identifier: MIT
#include "report/tip.hpp"

#include "report/folder/output.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace retrysim::report {
namespace {

TipPlan plan_of(const std::vector<std::string>& varying) {
  TipPlan plan;
  plan.base.scenario.name = "s";
  plan.trigger = parse_trigger("fault.outage.duration=1s:2s");
  plan.search = {1, 2, 0.01, false};
  plan.variations = parse_variations(varying).variations;
  for (const Variant& v : grid(plan.variations)) plan.cases.push_back({v.name, v.values, {}});
  return plan;
}

TipPoint point_of(const TipCase& one, TippingOutcome outcome, double d50) {
  TipPoint p{one.name, one.keys, {}};
  p.found.search = {1, 2, 0.01, false};
  p.found.point.outcome = outcome;
  p.found.point.thresholds.resize(8);
  for (const double value : {1.0, 2.0}) {
    TippingProbe& probe = p.found.point.probes.emplace_back();
    probe.value = value;
    const bool tips = outcome == TippingOutcome::kTipsAtFirst ||
                      (outcome == TippingOutcome::kFound && value == 2);
    probe.responses.assign(8, tips ? TippingResponse::kTips : TippingResponse::kRecovers);
    probe.metastable = tips ? 8 : 0;
  }
  if (outcome == TippingOutcome::kFound) {
    p.found.point.d50 = TippingBracket{d50, d50};
    p.found.point.rank = 1;
    p.found.point.ci_first = d50 - 0.1;
    p.found.point.ci_last = d50 + 0.1;
  }
  return p;
}

TEST_CASE("A curve has a line for each combination of the keys beside its axis") {
  const TipPlan plan =
      plan_of({"client.*.retry.mode=legacy,standard", "client.web.arrivals.total_rate=300,100,200",
               "service.api.servers=1,2"});
  const TipCurve curve(plan);
  CHECK(curve.axis == "client.web.arrivals.total_rate");
  CHECK(curve.unit == "1/s");
  REQUIRE(curve.lines.size() == 4);
  CHECK(curve.lines[1].name == "mode=legacy servers=2");
  for (const CurveLine& line : curve.lines) {
    REQUIRE(line.points.size() == 3);
    double before = 0;
    for (const CurvePoint& p : line.points) {
      CHECK(p.x > before);
      before = *p.x;
      // The case is the one of this line: its name begins and ends like the line's.
      const std::string& name = plan.cases[p.number].name;
      CHECK(name == line.name.substr(0, line.name.find(' ')) + " total_rate=" + p.label +
                        line.name.substr(line.name.find(' ')));
    }
  }
}

TEST_CASE("A curve of durations is in seconds, and one of words has no axis") {
  const TipCurve durations(plan_of({"client.web.attempt_timeout=500ms,2s"}));
  CHECK(durations.unit == "s");
  REQUIRE(durations.lines.size() == 1);
  CHECK(durations.lines[0].name.empty());
  CHECK(durations.lines[0].points[0].x == 0.5);
  const TipCurve words(plan_of({"client.web.retry.mode=legacy,standard"}));
  CHECK(words.axis.empty());
  REQUIRE(words.lines.size() == 1);
  CHECK(words.lines[0].points[1].label == "mode=standard");
}

TEST_CASE("The text of a curve begins with what became of each line") {
  const TipPlan plan = plan_of({"client.web.arrivals.total_rate=100,200,300,400"});
  const std::vector<TipPoint> points = {point_of(plan.cases[0], TippingOutcome::kRecoversAtLast, 0),
                                        point_of(plan.cases[1], TippingOutcome::kFound, 1.75),
                                        point_of(plan.cases[2], TippingOutcome::kFound, 1.25),
                                        point_of(plan.cases[3], TippingOutcome::kTipsAtFirst, 0)};
  StringSink sink;
  curve_document(plan, points).write_text(sink, kNarrowColumns);
  CHECK(sink.text() ==
        "s: tipping point of fault.outage.duration between 1 s and 2 s against\n"
        "  client.web.arrivals.total_rate, 8 replications at each value, seed 1\n"
        "\n"
        "D50 falls from 1.75 s at 200 /s to 1.25 s at 300 /s; no tipping point up to 2 s\n"
        "  (most recover) at 100 /s; already tips at 1 s (half or more do not recover) at\n"
        "  400 /s.\n"
        "\n"
        "  total_rate (1/s)  D50 (s)  95 % interval           metastable\n"
        "               100        -  never tips: 8 of 8 recover at 2 s\n"
        "               200     1.75  1.65 to 1.85 (bracket)  8 of 8\n"
        "               300     1.25  1.15 to 1.35 (bracket)  8 of 8\n"
        "               400        -  always tips: 8 of 8 do not recover at 1 s\n");
}

}  // namespace
}  // namespace retrysim::report
