// What goes into a page: numbers, texts, tables.
//
// SPDX-License-Identifier: MIT
#include "report/page/page.hpp"
#include "report/folder/manifest.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace retrysim::report {
namespace {

std::string compact_text(double value, int digits) {
  std::string out;
  append_compact(out, value, digits);
  return out;
}

TEST_CASE("Numbers of a page are short and read back") {
  REQUIRE(compact_text(0.0, 4) == "0");
  REQUIRE(compact_text(-0.0, 4) == "0");
  REQUIRE(compact_text(12.0, 4) == "12");
  REQUIRE(compact_text(12345.678, 4) == "12350");
  REQUIRE(compact_text(0.123456, 4) == "0.1235");
  REQUIRE(compact_text(1.5e-7, 4) == "1.5e-07");
  REQUIRE(compact_text(1e22, 4) == "1e+22");
  REQUIRE(nlohmann::json::parse(compact_text(1e22, 4)) == 1e22);
}

TEST_CASE("No text ends the element that it is in") {
  const std::string text = "</script><img src=x onerror=alert(1)><!--";
  const std::string inside = json_text(text);
  REQUIRE(inside.find('<') == std::string::npos);
  REQUIRE(nlohmann::json::parse(inside) == text);
  REQUIRE(json_for_script({{"</x>", text}}).find('<') == std::string::npos);
  REQUIRE(nlohmann::json::parse(json_text("\xFF")) == "\xEF\xBF\xBD");
}

TEST_CASE("A table is read as it was written") {
  const ResultTable table =
      read_csv("table.csv", "name,value,code\nplain,1.5,007\n\"a, \"\"b\"\"\nc\",,1e3\n,-2000,2\n");
  REQUIRE(table.rows() == 3);
  const Column &name = table["name"], &value = table["value"], &code = table["code"];
  CHECK(text_at(name, 0) == "plain");
  CHECK(table.number(value, 0) == 1.5);
  CHECK(text_at(name, 1) == "a, \"b\"\nc");
  CHECK(!table.number(value, 1));
  CHECK(text_at(name, 2).empty());
  CHECK(table.number(value, 2) == -2000.0);
  // A column of numbers holds them as such, unless that would change how they are written.
  CHECK(value.type() == ColumnType::kReal);
  CHECK(code.type() == ColumnType::kText);
  CHECK(text_at(code, 0) == "007");
  CHECK(table.number(code, 1) == 1000.0);
}

TEST_CASE("Cells of a table are what its file would have") {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  TableBuilder builder({text_column("a"),
                        real_column("b", ""),
                        integer_column("c", ""),
                        {"d", "", ColumnType::kTruth}});
  builder.text("x, y").real(0.1).integer(7).truth(true).end_row();
  builder.text("12").real(-0.0).missing().truth(false).end_row();
  builder.missing().real(kInfinite).integer(8).missing().end_row();
  const ResultTable computed("t.csv", builder.finish());
  StringSink sink;
  TableBuilder copied({text_column("a"),
                       real_column("b", ""),
                       integer_column("c", ""),
                       {"d", "", ColumnType::kTruth}});
  TableSource source{"t", {}, [](TableBuilder&) {}};
  for (const Column& column : computed.columns()) source.columns.push_back(column.info());
  source.fill = [&](TableBuilder& table) {
    table.text("x, y").real(0.1).integer(7).truth(true).end_row();
    table.text("12").real(-0.0).missing().truth(false).end_row();
    table.missing().real(kInfinite).integer(8).missing().end_row();
  };
  write_csv(sink, source, [&](const Table& batch) { copied.add_rows(batch); });
  const ResultTable read = read_csv("t.csv", sink.text());
  const ResultTable kept("t.csv", copied.finish());
  REQUIRE(read.rows() == 3);
  for (std::size_t row = 0; row < 3; ++row) {
    for (const Column& column : computed.columns()) {
      CAPTURE(row, column.name());
      CHECK(text_at(column, row) == text_at(read[column.name()], row));
      CHECK(number_at(column, row) == number_at(read[column.name()], row));
      CHECK(text_at(column, row) == text_at(kept[column.name()], row));
    }
  }
}

TEST_CASE("Damage in a table is reported with its line") {
  const auto message = [&](const std::string& content) -> std::string {
    try {
      const ResultTable table = read_csv("table.csv", content);
      for (std::size_t row = 0; row < table.rows(); ++row) table.number(table["value"], row);
      (void)table["value"];
    } catch (const DamagedResult& e) {
      const std::string text = e.what();
      return text.substr(text.find(".csv: ") + 6);
    }
    return "";
  };
  REQUIRE(message("value\n1\n").empty());
  REQUIRE(message("") == "is damaged: line 0: the header is missing");
  REQUIRE(message("other\n1\n") == "has no column value");
  REQUIRE(message("value\n1\nx\n") == "is damaged: row 2: 'x' in column value is not a number");
  REQUIRE(message("value,b\n1,2\n1\n") == "is damaged: line 3: has 1 cells instead of 2");
  REQUIRE(message("value\n1\n2") == "is damaged: line 3: the line has no end");
  REQUIRE(message("value\n\"1\n2\n") == "is damaged: line 2: a quote is not closed");
}

TEST_CASE("The engine of a page is taken from pages of this version only") {
  const test::TemporaryFolder folder;
  const std::string head = std::string(kEnginePageHead) +
                           "<meta name=\"generator\" content=\"retrysim " RETRYSIM_VERSION "\">\n";
  const std::string element = "<script type=\"text/plain\" id=\"engine\">";
  const auto engine_in = [&](const std::string& text) {
    return engine_of_page(folder.write("page.html", text));
  };
  REQUIRE(engine_in(head + element + "H4sIAAA=</script>") == "H4sIAAA=");
  const auto fault_of_page = [&](const std::string& text) -> std::string {
    try {
      engine_in(text);
    } catch (const DamagedResult& e) {
      return e.what();
    }
    return "";
  };
  using Catch::EndsWith;
  REQUIRE_THAT(fault_of_page(""), EndsWith("scripts/page makes a page that has one"));
  REQUIRE_THAT(fault_of_page(head), EndsWith("scripts/page makes a page that has one"));
  REQUIRE_THAT(fault_of_page(kPageHead + head + element + "H4sIAAA=</script>"),
               EndsWith("scripts/page makes a page that has one"));
  REQUIRE_THAT(fault_of_page(kEnginePageHead + element + "H4sIAAA=</script>"),
               EndsWith("call scripts/page again"));
  for (const char* rest : {"", "H4sI", "H4sI<img src=x></script>", "</script>"}) {
    REQUIRE_THAT(fault_of_page(head + element + rest), EndsWith("its engine is cut off"));
  }
}

}  // namespace
}  // namespace retrysim::report
