// Where keys, comments and tables stand in a scenario that is written.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/scenario_writer.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace retrysim::scenario {
namespace {

using Comments = ScenarioWriter::Comments;

void write_two(ScenarioWriter& writer) {
  writer.key("a", "1", "short");
  writer.key("longer", "\"text\"", "a comment that would not fit behind its value");
  writer.key("b", "2");
}

TEST_CASE("Comments stand behind their values", "[writer]") {
  ScenarioWriter writer({.columns = 30, .comments = Comments::kBehind});
  writer.comment("A sentence of several words, and more than one line.", "# ", "#   ");
  writer.table("client.web");
  write_two(writer);
  CHECK(writer.text() ==
        "# A sentence of several words,\n"
        "#   and more than one line.\n"
        "\n[client.web]\n"
        "a = 1  # short\n"
        "longer = \"text\"  # a comment that would not fit behind its value\n"
        "b = 2\n");
}

TEST_CASE("Values and comments of a table stand in columns", "[writer]") {
  ScenarioWriter writer({.columns = 30, .comments = Comments::kInTable});
  write_two(writer);
  writer.table("t");
  writer.key("c", "3", "another");
  CHECK(writer.text() ==
        "a      = 1  # short\n"
        "# a comment that would not fit\n"
        "#   behind its value\n"
        "longer = \"text\"\n"
        "b      = 2\n"
        "\n[t]\n"
        "c = 3  # another\n");
}

TEST_CASE("Comments stand in a column that was asked for", "[writer]") {
  ScenarioWriter writer({.columns = 30, .comments = Comments::kAt, .comments_at = 10});
  write_two(writer);
  CHECK(writer.text() ==
        "a = 1     # short\n"
        "# a comment that would not fit behind its value\n"
        "longer = \"text\"\n"
        "b = 2\n");
}

}  // namespace
}  // namespace retrysim::scenario
