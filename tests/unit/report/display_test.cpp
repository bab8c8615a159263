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
