// Numbers and cells of CSV files.
//
// SPDX-License-Identifier: MIT
#include "report/csv_writer.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
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
  csv.header({"a", "b"});
  csv.text("plain").text("has blank").text("a,b").text("say \"no\"").text("two\nlines").end_row();
  csv.empty().integer(18446744073709551615U).real(1.5).real(std::nullopt).real(std::nan(""));
  csv.end_row();
  csv.text("").text(" edge").end_row();
  CHECK(sink.text() ==
        "a,b\n"
        "plain,has blank,\"a,b\",\"say \"\"no\"\"\",\"two\nlines\"\n"
        ",18446744073709551615,1.5,,\n"
        ",\" edge\"\n");
}
