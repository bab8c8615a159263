// Lines of sentences, and how wide they may be.
//
// SPDX-License-Identifier: MIT
#include "report/document/text.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace retrysim::report;

TEST_CASE("sentences are broken between words, and later lines indented") {
  CHECK(wrapped("one two three", {9, "- ", "  "}) == "- one two\n  three\n");
  CHECK(wrapped("one", {9, "- ", "  "}) == "- one\n");
  CHECK(wrapped("", {9, "- ", "  "}) == "- \n");
  CHECK(wrapped("a incomprehensibilities b", {9, "", "  "}) == "a\n  incomprehensibilities\n  b\n");
}

TEST_CASE("a number and its unit stay together") {
  CHECK(wrapped("it takes 12 s, and 5 % fail", {11, "", ""}) == "it takes\n12 s, and\n5 % fail\n");
  CHECK(wrapped("a share of 12 % and 12 others", {12, "", ""}) ==
        "a share of\n12 % and 12\nothers\n");
}

TEST_CASE("numbers in tables have commas from five digits on") {
  CHECK(format_plain(9999.4) == "9999");
  CHECK(format_plain(123456.7) == "123,457");
  CHECK(format_plain(-12345.6) == "-12,346");
  CHECK(format_plain(0.5) == "0.5");
  CHECK(percent(0.0000001) == "0.00001 %");
  CHECK(wrapped("of 55 million requests", {9, "", ""}) == "of\n55 million\nrequests\n");
}

TEST_CASE("COLUMNS says how wide the output may be, within reason") {
  const char* old = std::getenv("COLUMNS");
  const std::string before = old == nullptr ? "" : old;
  const auto with = [](const char* columns) {
    ::setenv("COLUMNS", columns, 1);
    return output_columns();
  };
  CHECK(with("100") == 100);
  CHECK(with("20") == 80);
  CHECK(with("1000") == 160);
  if (old == nullptr) {
    ::unsetenv("COLUMNS");
  } else {
    ::setenv("COLUMNS", before.c_str(), 1);
  }
}
