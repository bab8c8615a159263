// A document, and what the terminal, CSV files and JSON make of it.
//
// SPDX-License-Identifier: MIT
#include "report/document/document.hpp"

#include "report/folder/output.hpp"
#include "scenario/text/result_names.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {
namespace {

struct Fruit {
  std::string name;
  std::size_t bad, all;
  std::optional<double> weight;
};

const std::vector<Fruit> kFruits = {{"apple", 1, 4, 0.25}, {"=fig", 0, 0, std::nullopt}};

CellTable fruits() {
  Columns<Fruit> t;
  t.files("name", {"fruit", Side::kLeft}, [](auto& f) { return f.name; });
  t.csv("kind", always("tree"));
  t.json("any", [](auto& f) { return f.all > 0; });
  t.files("bad low high", {"bad"}, [](auto& f) {
    return Shown{share(f.bad, f.all), share_text(share(f.bad, f.all))};
  });
  t.files("weight", {"weight", Side::kRight, 8}, [](auto& f) { return f.weight; });
  t.text({"how many", Side::kLeft}, [](auto& f) { return n_of(f.bad, f.all); });
  t.json("more", [](auto& f) {
    return f.all > 0 ? nlohmann::ordered_json{{"all", f.all}}
                     : nlohmann::ordered_json(nlohmann::ordered_json::value_t::discarded);
  });
  return {t, kFruits};
}

std::string text_of(const Document& d, std::size_t columns) {
  StringSink sink;
  d.write_text(sink, columns);
  return sink.text();
}

/// Things with a text, the last column.
TextTable sentences() {
  TextTable table;
  table.columns = {{"n"}, {"name", Side::kLeft}, {"", Side::kLeft}};
  table.rows = {{{"1", "a name", "one two three four"}}, {{"12", "another", ""}}};
  table.room = 10;
  return table;
}

TEST_CASE("A column has a name in each rendering, and a cell suits each of them") {
  StringSink csv;
  write_csv(csv, source_of("fruits", fruits()));
  CHECK(csv.text() ==
        "name,kind,bad,low,high,weight\n"
        "apple,tree,0.25,0.04558726080970055,0.6993581574175981,0.25\n"
        "'=fig,tree,,,,\n");
  const nlohmann::ordered_json json = rows_json(fruits());
  CHECK(json[0].dump() == R"({"name":"apple","any":true,"bad":0.25,"low":0.04558726080970055,)"
                          R"("high":0.6993581574175981,"weight":0.25,"more":{"all":4}})");
  CHECK(json[1].dump() ==
        R"({"name":"=fig","any":false,"bad":null,"low":null,"high":null,"weight":null})");
  CHECK(text_of(shown(fruits()), 80) ==
        "fruit                      bad    weight  how many\n"
        "apple  25 % (4.56 % to 69.9 %)      0.25  1 of 4\n"
        "=fig                                      0 of 0\n");
}

TEST_CASE("A table may show some of the rows, in another order") {
  TextTable table = shown(fruits(), {1});
  CHECK(table.rows.size() == 1);
  CHECK(table.rows[0].cells[0].text == "=fig");
}

TEST_CASE("The last column is broken into lines where it has room") {
  CHECK(text_of(sentences(), 24) ==
        " n  name\n"
        " 1  a name  one two\n"
        "            three four\n"
        "12  another\n");
}

TEST_CASE("Without room a column has lines of its own, above or below") {
  TextTable table = sentences();
  table.alone = 1;
  CHECK(text_of(table, 21) ==
        "name\n"
        " n\n"
        "a name\n"
        " 1  one two three\n"
        "    four\n"
        "another\n"
        "12\n");
  table.alone = 2;
  table.has_heading = false;
  CHECK(text_of(table, 18) ==
        "1  a name\n"
        "  one two three\n"
        "  four\n"
        "12  another\n");
}

TEST_CASE("Columns that do not fit stand in further tables, with the rows that say something") {
  TextTable table;
  table.fixed = 1;
  table.columns = {{"", Side::kLeft}, {"web"}, {"batch"}, {"all"}};
  table.rows = {{{"Load"}},
                {{"  requests", "10", "20", "30"}},
                {{"Retries"}},
                {{"  retries", TextCell("0", true), TextCell("0", true), "3"}}};
  CHECK(text_of(table, 22) ==
        "            web  batch\n"
        "Load\n"
        "  requests   10     20\n"
        "\n"
        "            all\n"
        "Load\n"
        "  requests   30\n"
        "Retries\n"
        "  retries     3\n");
}

TEST_CASE("Columns that are joined stand in the same table") {
  TextTable table;
  table.fixed = 1;
  table.columns = {{"", Side::kLeft}, {"all"}, {"web"}, {"points", Side::kRight, 0, true}};
  table.rows = {{{"now", "10", "20", "same"}}};
  CHECK(text_of(table, 22) == "     all  web  points\nnow   10   20    same\n");
  CHECK(text_of(table, 20) ==
        "     all\n"
        "now   10\n"
        "\n"
        "     web  points\n"
        "now   20    same\n");
}

TEST_CASE("Headings are stacked, rows are marked, and a text at the end of a row sticks out") {
  TextTable table;
  table.indent = 2;
  table.columns = {{"load"}, {"mean\nwait", Side::kLeft}, {"p99"}};
  table.rows = {{{"1", "2 s", "3 s"}, '*'}, {{"2", "no attempt succeeded", ""}}};
  CHECK(text_of(table, 80) ==
        "        mean\n"
        "  load  wait  p99\n"
        "*    1  2 s   3 s\n"
        "     2  no attempt succeeded\n");
}

TEST_CASE("A document is text in lines, and members of an object") {
  Document d;
  d.say("one two three")
      .say("")
      .gap()
      .lines("as it is\n")
      .say("x y", "- ")
      .show(shown(fruits(), {}));
  d.notes({}).notes({"four five"});
  CHECK(text_of(d, 9) ==
        "one two\n"
        "  three\n"
        "\n"
        "as it is\n"
        "- x y\n"
        "fruit  bad    weight  how many\n"
        "\n"
        "note: four\n"
        "  five\n");
  d.member("a", 1).streamed_member("b", [](JsonText& text) { text.text("c"); });
  StringSink json;
  d.write_json(json, "", {});
  CHECK(json.text().starts_with("{\n  \"a\": 1,\n  \"b\": \"c\",\n"));
}

TEST_CASE("Tables of a document are made when they are asked for") {
  Document d;
  int calls = 0;
  d.table(source_of("tip", fruits())).table({"map", {text_column("a")}, [&](TableBuilder& table) {
                                               ++calls;
                                               table.text("x").end_row();
                                             }});
  StringSink sink;
  d.write_file(sink, "map.csv");
  CHECK(sink.text() == "a\nx\n");
  CHECK(calls == 1);
  // Else an input of a scenario might have the name, and an earlier result would keep the file.
  CHECK_THROWS_AS(d.table(source_of("fruits", fruits())), std::logic_error);
}

TEST_CASE("The README lists every file that results have") {
  std::ifstream in(RETRYSIM_TEST_DATA "/../../../sim/report/README.md");
  const std::string readme((std::istreambuf_iterator<char>(in)), {});
  for (const std::string_view name : scenario::kResultFiles) {
    CAPTURE(name);
    CHECK(readme.find("`" + std::string(name) + "`") != std::string::npos);
  }
}

}  // namespace
}  // namespace retrysim::report
