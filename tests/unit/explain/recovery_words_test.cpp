// How recovery times are told: a mean over recoveries at once and late ones describes neither.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "explain/rules.hpp"

namespace retrysim::explain {
namespace {

/// What is said of a group, behind a fault of 5 s, whose replications recovered after these times;
/// `gone` more never did.
std::string answer(const std::vector<double>& late_s, std::size_t at_once, std::size_t gone = 0,
                   std::size_t unknown = 0) {
  Scenario scenario;
  scenario.services.resize(1);
  scenario.clients.resize(1);
  GroupCase group{scenario, 0, scenario.clients[0], {&scenario.services[0]}};
  group.disturbances.kind = "fault";
  group.disturbances.count = 1;
  group.disturbances.first_start_s = 10;
  group.disturbances.last_end_s = 15;
  group.runs = at_once + late_s.size() + gone + unknown;
  group.total.requests = 4000;
  group.made.before = {1000, 1000, 1000, 10, ""};
  group.made.during = {1000, 100, 1000, 10, ""};
  group.made.recovering = {1000, 500, 1000, 10, ""};
  group.made.after = {1000, 1000, 1000, 10, ""};
  Recoveries& r = group.recoveries;
  r.watched_s = 100;
  r.back = at_once + late_s.size();
  r.gone = gone;
  r.unknown = unknown;
  r.late_s = late_s;
  for (const double t : late_s) r.mean_s += t / static_cast<double>(r.back);
  r.least_s = at_once > 0 || late_s.empty() ? 0 : late_s.front();
  r.most_s = late_s.empty() ? 0 : late_s.back();
  for (const Rule& rule : answer_rules()) {
    if (const auto found = rule.find(group)) return found->sentence.text();
  }
  return "";
}

TEST_CASE("Recoveries at once are counted, and of the others the median is told", "[verdicts]") {
  const std::string lost = "90 % of the requests made during the fault fail; it ";
  CHECK(answer({2, 4, 5}, 7) ==
        lost +
            "recovers at once in 7 of 10 runs; 4 s after the fault ends (median) in the other 3");
  CHECK(answer({3}, 9) ==
        lost + "recovers at once in 9 of 10 runs; 3 s after the fault ends in the other");
  // Longer than the fault lasted.
  CHECK(answer({60, 70}, 1) ==
        lost + "recovers 65 s after the fault ends (median); at once in 1 of 3 runs");
  CHECK(answer({2, 4}, 0) == lost + "recovers 3 s after the fault ends (2 s to 4 s in 2 runs)");
}

TEST_CASE("Where only some replications recover, the others are told, too", "[verdicts]") {
  CHECK(answer({}, 20, 0, 80) ==
        "recovers in only 20 of 100 runs, at once; in the other 80 it is still down when the run "
        "ends");
  CHECK(answer({2, 3, 9}, 0, 7) ==
        "recovers in only 3 of 10 runs, 3 s after the fault ends (median); in the other 7 it stays "
        "down");
  CHECK(
      answer({8}, 2, 7) ==
      "recovers in only 3 of 10 runs, at once or 8 s after the fault ends; in the other 7 it stays "
      "down");
  CHECK(answer({2, 4}, 0, 2) ==  // half of them are not few
        "recovers in 2 of 4 runs, 3 s after the fault ends (median); in the other 2 it stays down");
  CHECK(answer({}, 19, 1) == "recovers in 19 of 20 runs, at once; in the other it stays down");
}

TEST_CASE("A multiple that rounds to one keeps a decimal", "[verdicts]") {
  CHECK(times(1, number(1)).said().text == "1.0 times");
  CHECK(times(1.004, number(1.004)).said().text == "1.0 times");
  CHECK(times(0.96, number(0.96)).said().text == "0.96 times");
  CHECK(times(1.04, number(1.04)).said().text == "1.04 times");
  CHECK(times(0.94, number(0.94)).said().text == "0.94 times");
  CHECK(times(1.06, number(1.06)).said().text == "1.1 times");
  CHECK(times(2, number(2)).said().text == "2 times");
}

}  // namespace
}  // namespace retrysim::explain
