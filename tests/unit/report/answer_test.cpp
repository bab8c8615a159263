// What several client groups have in common is said once.
//
// SPDX-License-Identifier: MIT
#include "report/run/answer.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retrysim::report {
namespace {

std::vector<std::string> sentences(const std::vector<Saying>& sayings) {
  std::vector<std::string> all;
  for (const Saying& s : sayings) all.push_back(s.sentence);
  return all;
}

using Names = std::vector<std::string>;

TEST_CASE("groups with the same answer are one block", "[report][answer]") {
  const std::vector<Statement> statements = {
      {"web", "bad", "fails"},     {"web", "info", "few retry"}, {"web", "bad", "too many"},
      {"batch", "bad", "fails"},   {"batch", "bad", "too many"}, {"cron", "good", "all is well"},
      {"cron", "bad", "too many"},
  };
  const Answer answer = grouped(statements);
  REQUIRE(answer.blocks.size() == 2);
  CHECK(answer.blocks[0].answer.sentence == "fails");
  CHECK(answer.blocks[0].answer.severity == "bad");
  CHECK(answer.blocks[0].answer.clients == Names{"web", "batch"});
  // What holds for all groups of all blocks stands apart; what only one has names it.
  CHECK(sentences(answer.blocks[0].causes) == Names{"few retry"});
  CHECK(answer.blocks[0].causes[0].clients == Names{"web"});
  CHECK(answer.blocks[1].answer.clients == Names{"cron"});
  CHECK(answer.blocks[1].causes.empty());
  REQUIRE(sentences(answer.common) == Names{"too many"});
  CHECK(answer.common[0].clients == Names{"web", "batch", "cron"});
}

TEST_CASE("causes of more groups come first, and a lone block has no common ones",
          "[report][answer]") {
  const std::vector<Statement> statements = {{"a", "bad", "fails"},
                                             {"a", "info", "one"},
                                             {"a", "info", "both"},
                                             {"b", "bad", "fails"},
                                             {"b", "info", "both"}};
  const Answer answer = grouped(statements);
  REQUIRE(answer.blocks.size() == 1);
  CHECK(sentences(answer.blocks[0].causes) == Names{"both", "one"});
  CHECK(answer.common.empty());
}

TEST_CASE("what is said of all groups together comes first", "[report][answer]") {
  const std::vector<Statement> statements = {{"all", "bad", "the store is the cause"},
                                             {"web", "bad", "fails"}};
  const Answer answer = grouped(statements);
  CHECK(sentences(answer.first) == Names{"the store is the cause"});
  REQUIRE(answer.blocks.size() == 1);
  CHECK(answer.blocks[0].answer.clients == Names{"web"});
  // Alone, "all" is a group like others.
  const Answer alone = grouped(std::vector<Statement>{{"all", "info", "fine"}});
  CHECK(alone.first.empty());
  REQUIRE(alone.blocks.size() == 1);
  CHECK(grouped({}).blocks.empty());
}

TEST_CASE("an answer as JSON", "[report][answer]") {
  const std::vector<Statement> statements = {{"web", "bad", "fails"}, {"web", "info", "why"}};
  CHECK(json_of(grouped(statements)).dump() ==
        R"({"first":[],"blocks":[{"severity":"bad","sentence":"fails","clients":["web"],)"
        R"("causes":[{"severity":"info","sentence":"why","clients":["web"]}]}],"common":[]})");
}

}  // namespace
}  // namespace retrysim::report
