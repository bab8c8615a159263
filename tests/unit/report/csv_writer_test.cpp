// Numbers and cells of CSV files.
//
// SPDX-License-Identifier: MIT
#include "report/document/csv_writer.hpp"

#include <catch2/catch.hpp>

#include "report/document/table_builder.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

using namespace retrysim::report;

TEST_CASE("numbers are the shortest that read back") {
  CHECK(number(0.1) == "0.1");
  CHECK(number(0.1 + 0.2) == "0.30000000000000004");
  CHECK(number(100000) == "100000");
  CHECK(number(1.0 / 3) == "0.3333333333333333");
  CHECK(number(-2.5) == "-2.5");
  CHECK(number(0) == "0");
  CHECK(number(-0.0) == "0");
  CHECK(number(0.0001) == "0.0001");
  CHECK(number(1e-9) == "1e-09");
  CHECK(number(1e22) == "1e+22");
  for (const double v : {5e-324, 1.7976931348623157e308, 123456789.125, 2.2250738585072014e-308}) {
    CHECK(std::strtod(number(v).c_str(), nullptr) == v);
  }
}

TEST_CASE("what is no number is an empty cell") {
  CHECK(number(std::numeric_limits<double>::infinity()).empty());
  CHECK(number(std::nan("")).empty());
}

TEST_CASE("no text becomes a formula and numbers stay numbers") {
  for (const char* formula :
       {"=1+1", "+cmd", "-2+3", "@SUM(A1)", "=cmd|' /C calc'!A0", "-", "+-1"}) {
    CHECK(csv_cell(formula) == "'" + std::string(formula));
  }
  CHECK(csv_cell("\tx") == "'\tx");
  CHECK(csv_cell("\rx") == "\"'\rx\"");
  CHECK(csv_cell("=a,b") == "\"'=a,b\"");
  for (const char* number : {"-5", "+5", "-1e-09", "+1.5", "-0.25"}) {
    CHECK(csv_cell(number) == number);
  }
  CHECK(csv_cell("jitter=full") == "jitter=full");
  StringSink sink;
  CsvWriter(sink).text("=1").real(-1.5).text("-1.5").end_row();
  CHECK(sink.text() == "'=1,-1.5,-1.5\n");
}

TEST_CASE("rows, quotes and empty cells") {
  StringSink sink;
  CsvWriter csv(sink);
  csv.text("a").text("b").end_row();
  csv.text("plain").text("has blank").text("a,b").text("say \"no\"").text("two\nlines").end_row();
  csv.empty().integer(18446744073709551615U).real(1.5).empty().real(std::nan(""));
  csv.end_row();
  csv.text("").text(" edge").end_row();
  CHECK(sink.text() ==
        "a,b\n"
        "plain,has blank,\"a,b\",\"say \"\"no\"\"\",\"two\nlines\"\n"
        ",18446744073709551615,1.5,,\n"
        ",\" edge\"\n");
}

TEST_CASE("cells have the text of number()") {
  for (const double v : {0.0, -0.0, 7.0, 7.5, -7.0, 999999999999999.0, 1e15, 1e16, 1e17, 0.0001,
                         0.00001, 1e22, 4503599627370497.5, 1e300}) {
    StringSink sink;
    CsvWriter(sink).real(v).end_row();
    CHECK(sink.text() == number(v) + "\n");
  }
}

TEST_CASE("cells of six digits") {
  const auto cell = [](std::optional<double> value) {
    TableBuilder table({text_column("a"), real_column("b", "1")});
    table.text("x").six_digits(value).end_row();
    StringSink sink;
    CsvWriter(sink).rows(table.finish());
    return sink.text();
  };
  CHECK(cell(1.0 / 3) == "x,0.333333\n");
  CHECK(cell(-2.0 / 3) == "x,-0.666667\n");
  CHECK(cell(12) == "x,12\n");
  CHECK(cell(0) == "x,0\n");
  CHECK(cell(-0.0) == "x,0\n");
  CHECK(cell(999999.4) == "x,999999\n");
  CHECK(cell(999999.6) == "x,1000000\n");
  CHECK(cell(100000.5) == "x,100000\n");  // half-way: to the even digit
  CHECK(cell(1234567) == "x,1234570\n");
  CHECK(cell(1.2345678e20) == "x,1.23457e+20\n");
  CHECK(cell(0.00012345678) == "x,0.000123457\n");
  CHECK(cell(0.000012345678) == "x,1.23457e-05\n");
  CHECK(cell(std::nullopt) == "x,\n");
  CHECK(cell(std::numeric_limits<double>::infinity()) == "x,\n");
}
