// The answer of a run in words: groups of which the same is to be said are said together.
//
// SPDX-License-Identifier: MIT
#include "report/run/text.hpp"

#include "sample_result.hpp"

#include <catch2/catch.hpp>

using namespace retrysim;
using namespace retrysim::report;

namespace {

/// The answer on up to four groups that call one service, from what is said of each: the answer,
/// then its causes.
std::string answer_on(const std::vector<std::vector<std::string>>& said) {
  LoadedScenario loaded = sample_scenario();
  loaded.scenario.clients.resize(said.size());
  const auto name_of = [](std::size_t c) { return std::string(1, "abcd"[c]); };
  for (std::size_t c = 0; c < said.size(); ++c) loaded.scenario.clients[c].name = name_of(c);
  RunResult run = sample_run(0, 2);
  run.clients.resize(said.size(), run.clients.front());
  const ResultSet set{loaded, "base", {run}};
  Evaluation evaluation(set);
  evaluation.verdicts.clear();
  for (std::size_t c = 0; c < said.size(); ++c) {
    for (const std::string& sentence : said[c]) {
      evaluation.verdicts.push_back({name_of(c), "rule", Severity::kBad, sentence, {}});
    }
  }
  return part_of_text(say_answer, evaluation);
}

}  // namespace

TEST_CASE("Groups with the same answer share a paragraph, and causes name their groups",
          "[answer]") {
  CHECK(answer_on({{"back at once", "the quota ran dry"},
                   {"never recovers", "retries took 2 times", "the queue is too long"},
                   {"never recovers", "the queue is too long", "retries took 3 times"},
                   {"never recovers", "retries took 2 times", "the queue is too long"}}) ==
        "a: back at once.\n"
        "  - the quota ran dry.\n"
        "b, c, d: never recovers.\n"
        "  - the queue is too long.\n"
        "  - b, d: retries took 2 times.\n"
        "  - c: retries took 3 times.\n");
}

TEST_CASE("What explains every group comes once, at the end, unless there is only one block",
          "[answer]") {
  CHECK(answer_on({{"back at once", "the load is too high"},
                   {"never recovers", "the load is too high"},
                   {"never recovers", "the load is too high", "the queue is too long"}}) ==
        "a: back at once.\n"
        "b, c: never recovers.\n"
        "  - c: the queue is too long.\n"
        "all of them:\n"
        "  - the load is too high.\n");
  CHECK(answer_on({{"never recovers", "the load is too high"},
                   {"never recovers", "the load is too high"}}) ==
        "a, b: never recovers.\n"
        "  - the load is too high.\n");
}
