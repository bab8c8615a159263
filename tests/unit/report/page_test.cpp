// What goes into a page: numbers, texts, tables.
//
// SPDX-License-Identifier: MIT
#include "report/page/page.hpp"
#include "report/folder/manifest.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

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
  const test::TemporaryFolder folder;
  CsvReader csv(folder.write("table.csv", "name,value\nplain,1.5\n\"a, \"\"b\"\"\nc\",\n,-2e3\n"));
  const std::size_t name = csv.column("name"), value = csv.column("value");
  REQUIRE(csv.next());
  REQUIRE(csv.text(name) == "plain");
  REQUIRE(csv.number(value) == 1.5);
  REQUIRE(csv.next());
  REQUIRE(csv.text(name) == "a, \"b\"\nc");
  REQUIRE(!csv.number(value));
  REQUIRE(csv.next());
  REQUIRE(csv.text(name).empty());
  REQUIRE(csv.number(value) == -2000.0);
  REQUIRE(!csv.next());
}

TEST_CASE("Damage in a table is reported with its line") {
  const test::TemporaryFolder folder;
  const auto message = [&](const std::string& content) -> std::string {
    try {
      CsvReader csv(folder.write("table.csv", content));
      while (csv.next()) csv.number(csv.column("value"));
    } catch (const DamagedResult& e) {
      const std::string text = e.what();
      return text.substr(text.find(".csv: ") + 6);
    }
    return "";
  };
  REQUIRE(message("value\n1\n").empty());
  REQUIRE(message("") == "is damaged: line 0: the header is missing");
  REQUIRE(message("other\n1\n") == "has no column value");
  REQUIRE(message("value\n1\nx\n") == "is damaged: line 3: 'x' in column value is not a number");
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
