// What a terminal might obey is shown, not obeyed.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/text.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <regex>
#include <string>

#include "scenario/text/document.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/problems.hpp"

using namespace retrysim;
using namespace retrysim::scenario;

TEST_CASE("control characters of all kinds are shown as escapes") {
  CHECK(printable("\x1B[31mred") == "\\x1B[31mred");
  CHECK(printable("a\tb\rc\x7F") == "a\\tb\\rc\\x7F");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\xC2\x9B"
                  "31m") == "\\u009B31m");  // CSI of C1
  CHECK(printable("\xE2\x80\xAE"
                  "abc\xE2\x80\xAC") == "\\u202Eabc\\u202C");  // right to left
  CHECK(printable("\xE2\x81\xA6") == "\\u2066");
  CHECK(printable("\xE2\x80\xA8") == "\\u2028");
  CHECK(printable("\x9B"
                  "31m") == "\\x9B31m");         // no UTF-8
  CHECK(printable("\xC0\x9B") == "\\xC0\\x9B");  // an escape in a form that is too long
  CHECK(printable("\xED\xA0\x80") == "\\xED\\xA0\\x80");
  CHECK(printable("\xE2\x80") == "\\xE2\\x80");
  CHECK(printable_line("a\nb") == "a\\nb");
}

TEST_CASE("text of any script stays as it is") {
  for (const char* text : {"", "plain", "gr\xC3\xBC\xC3\x9F\x65", "\xE2\x82\xAC",
                           "\xF0\x9F\x98\x80", "two\nlines", "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D"}) {
    CHECK(printable(text) == text);
  }
}

TEST_CASE("quotes in messages show the characters that they escape") {
  CHECK(in_quotes("a\x1B[2Jb\xE2\x80\xAE") == "\"a\\x1B[2Jb\\u202E\"");
}

TEST_CASE("texts in resolved scenarios are escaped as TOML has it") {
  CHECK(render_text("a\x1B\xC2\x9B\xE2\x80\xAE\"\\") == R"("a\u001B\u009B\u202E\"\\")");
  CHECK(render_text("gr\xC3\xBC\xC3\x9F\x65") == "\"gr\xC3\xBC\xC3\x9F\x65\"");
}

TEST_CASE("numbers in sentences can be read, whatever they are") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> numbers = {0, -1, kInfinity, -kInfinity, std::nan("")};
  for (int exponent = -320; exponent <= 308; ++exponent) {
    for (const double digits : {1.0, 4.4444, 9.99996}) {
      numbers.push_back(digits * std::pow(10, exponent));
    }
  }
  const std::regex absurd("[0-9]e[-+]?[0-9]|inf|nan|-[0-9]|(^|[^0-9.])[0-9]{5}");
  for (const double number : numbers) {
    for (const std::string& text :
         {said_count(number), said_count(number, 5), said_whole(number), said_time(number),
          said_share(number), said_times(number), said_one_in(number)}) {
      INFO(number << ": " << text);
      CHECK(!std::regex_search(text, absurd));
    }
  }
  CHECK(said_count(0.00001234) == "0.0000123");
  CHECK(said_count(1e-30) == "less than 0.000000001");
  CHECK(said_whole(kInfinity) == "more than 1000 trillion");
  CHECK(said_things(1, "run") == "1 run");
  CHECK(said_things(0, "run") == "0 runs");
  CHECK(said_things(said_count(0.5), "request") == "0.5 requests");
  CHECK(said_things(2, "policy") == "2 policies");
  CHECK(said_things(2, "key") == "2 keys");
  CHECK(said_part(1, 1, "run") == "1 of 1 run");
  CHECK(said_part(1, 20, "run") == "1 of 20 runs");
  CHECK(said_time(2e-8) == "0.02 µs");
  CHECK(said_time(3.5 * 86'400) == "84 hours");
  CHECK(said_time(45 * 86'400.0) == "45 days");
  CHECK(said_time(25e9) == "792 years");
}

TEST_CASE("numbers are said as people write them") {
  CHECK(said_count(3120) == "3120");
  CHECK(said_count(9996) == "10,000");
  CHECK(said_count(32'412) == "32,400");
  CHECK(said_count(999'499) == "999,000");
  CHECK(said_count(999'500) == "1 million");
  CHECK(said_count(5'678'912) == "5.68 million");
  CHECK(said_count(55'000'000, 2) == "55 million");
  CHECK(said_count(999'999'999) == "1 billion");
  CHECK(said_count(3.18e14) == "318 trillion");
  CHECK(said_count(-3) == "0");
  CHECK(said_number(-32'412) == "-32,400");
  CHECK(said_number(-0.000025) == "-0.000025");
  CHECK(said_number(-1e-12) == "0");
  CHECK(said_number(12'345.678, 6) == "12,345.7");
  CHECK(said_number(9999.96, 5) == "10,000");
  CHECK(said_number(0.1, 6) == "0.1");
  CHECK(said_whole(1'234'567) == "1,234,567");
  CHECK(said_whole(1234) == "1234");
  CHECK(said_decimals(12'345.678, 2) == "12,345.68");
  CHECK(said_decimals(-0.001, 2) == "0");
  CHECK(said_decimals(-10'000.5, 1) == "-10,000.5");
  CHECK(said_one_in(8.6e-8) == "1 in 12 million");
  CHECK(said_one_in(1e-20) == "less than 1 in 1000 trillion");
  CHECK(said_one_in(0) == "0");
  CHECK(grouped(9999) == "9999");
  CHECK(grouped(1'234'567) == "1,234,567");
  CHECK(said_things(20'000, "run") == "20,000 runs");
  CHECK(said_part(10'000, 20'000, "run") == "10,000 of 20,000 runs");
}

TEST_CASE("a name can be seen") {
  for (const char* name : {"a", "a b", "\xC3\xBC", "\xE3\x80\x80x", "a\xC2\xAD"}) {
    CHECK(can_be_name(name));
  }
  // What is not drawn, or changes the direction of what follows: a soft hyphen, fillers of Hangul,
  // a blank of Braille, a tag, a variation selector.
  for (const char* name :
       {"\xC2\xAD", "\xE3\x85\xA4", "\xE1\x85\x9F", "\xE2\xA0\x80", "\xF3\xA0\x80\xA0",
        "\xEF\xB8\x8F", "\xE1\xA0\x8E", "\xE2\x80\xAE", "a\xE2\x80\xAE"}) {
    INFO(printable_line(name));
    CHECK(!can_be_name(name));
  }
  for (const char* name : {"", " ", "\t", "a\tb", "a\nb", "a\x7F", "\xFF", "\xC2\xA0",
                           " \xE2\x80\x83", "\xE2\x80\x8B", "\xC2\x85", "\xEF\xBB\xBF"}) {
    INFO(printable_line(name));
    CHECK(!can_be_name(name));
  }
}
