// What a result says about how sure it is.
//
// SPDX-License-Identifier: MIT
#include "report/run/text.hpp"

#include "report/run/files.hpp"
#include "sample_result.hpp"

#include <nlohmann/json.hpp>

#include <catch2/catch.hpp>

#include <algorithm>

using namespace retrysim;
using namespace retrysim::report;

namespace {

bool has_note(const std::vector<std::string>& notes, const std::string& text) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

nlohmann::ordered_json certainty_json(const Evaluation& e) {
  nlohmann::ordered_json json;
  add_certainty(json, e);
  return json;
}

/// Twelve replications, four of which have no success at all.
ResultSet with_two_modes(const LoadedScenario& scenario) {
  ResultSet set{scenario, "base", {}};
  for (std::uint32_t r = 0; r < 12; ++r) {
    RunResult run = sample_run(r, 0);
    if (r % 3 == 0) {
      for (ClientResult& c : run.clients) c.window.successes = 0;
      for (ClientBin& bin : run.all_bins) bin.flow.successes = 0;
    }
    set.runs.own().push_back(run);
  }
  return set;
}

}  // namespace

TEST_CASE("several replications are what intervals rest on, and nothing else needs saying") {
  const LoadedScenario scenario = sample_scenario();
  const ResultSet set{scenario, "base", {sample_run(0, 0), sample_run(1, 0)}};
  const Evaluation e(set);
  CHECK(interval_line(e) == "Means over replications ± half the 95 % interval.");
  CHECK(certainty_notes(e).empty());
  CHECK(part_of_text(show_modes, e).empty());
  const auto json = certainty_json(e);
  CHECK(json["intervals"] == "replications");
  CHECK(json["warmup"].is_null());
  CHECK(json["precision"].is_null());
  CHECK(json["modes"].is_null());
}

TEST_CASE("a single replication without intervals says why") {
  const LoadedScenario scenario = sample_scenario();
  const ResultSet set{scenario, "base", {sample_run(0, 0)}};  // two bins
  const Evaluation e(set);
  CHECK(interval_line(e).empty());
  REQUIRE(certainty_notes(e).size() == 1);
  CHECK(certainty_notes(e)[0] ==
        "one replication: there are no intervals, so effects cannot be told from chance, and there "
        "are no batch means because the run has fewer than 30 bins");
  CHECK(certainty_json(e)["intervals"].is_null());
}

TEST_CASE("a warm-up that was found, and a target that was missed, are reported") {
  const LoadedScenario scenario = sample_scenario();
  ResultSet set{scenario, "base", {sample_run(0, 0), sample_run(1, 0)}};
  set.warmup = FoundWarmup{Duration::milliseconds(500), 0.25, "goodput of web", 10};
  set.precision = PrecisionReport{
      0.02,
      false,
      {{"goodput", 0.01, true}, {"latency_mean", 0.034, false}, {"recovery_s", {}, true}}};
  const Evaluation e(set);
  const auto notes = certainty_notes(e);
  CHECK(has_note(
      notes,
      "leaves out the first 0.5 s (25 % of the run), which is where MSER-5 truncates goodput of "
      "web in the average of 10 pilot runs"));
  CHECK(has_note(notes,
                 "target not met: precision 0.02 asks for half-widths of at most 1.96 %, but after "
                 "2 replications (max_replications): latency_mean 3.4 %"));
  const auto json = certainty_json(e);
  CHECK(json["warmup"]["removed_s"] == 0.5);
  CHECK(json["warmup"]["removed_share"] == 0.25);
  CHECK(json["precision"]["met"] == false);
  CHECK(json["precision"]["metrics"][1]["relative_half_width"] == 0.034);
  CHECK(json["precision"]["metrics"][2]["relative_half_width"].is_null());
}

TEST_CASE("a warm-up of nothing is said in words") {
  const LoadedScenario scenario = sample_scenario();
  ResultSet set{scenario, "base", {sample_run(0, 0), sample_run(1, 0)}};
  set.warmup = FoundWarmup{Duration::zero(), 0, "goodput of web", 1};
  const Evaluation e(set);
  CHECK(has_note(certainty_notes(e),
                 "leaves out nothing (0 % of the run): MSER-5 finds no warm-up in "
                 "the average of 1 pilot run"));
}

TEST_CASE("two modes have a table, a warning, and their place in result.json") {
  const LoadedScenario scenario = sample_scenario();
  const ResultSet set = with_two_modes(scenario);
  const Evaluation e(set);
  REQUIRE(e.bistability);
  const std::string table = part_of_text(show_modes, e);
  CHECK(table.find("4 of 12") != std::string::npos);
  CHECK(table.find("33 % (14 to 61)") != std::string::npos);
  CHECK(table.find("15 /s") != std::string::npos);  // 30 successes in 2 s
  CHECK(has_note(certainty_notes(e), "two modes: goodput is about 0 /s or about 15 /s"));
  StringSink sink;
  run_document(e).write_text(sink, kNarrowColumns);
  CHECK(sink.text().find(table) != std::string::npos);
  const auto json = certainty_json(e)["modes"];
  CHECK(json["between"] == "replications");
  CHECK(json["modes"][0]["replications"] == std::vector<int>{0, 3, 6, 9});
  CHECK(json["modes"][1]["share"].get<double>() == Approx(2.0 / 3));
  CHECK(json["modes"][1]["means"][0]["metric"] == "goodput");
  CHECK(json["modes"][1]["means"][0]["mean"] == 15.0);
}
