// Wilson's interval against published values.
//
// SPDX-License-Identifier: MIT
#include "estimate/intervals.hpp"

#include <catch2/catch.hpp>

using retrysim::stats::wilson_interval;

TEST_CASE("Wilson's interval has Newcombe's values") {
  // Newcombe 1998, Statistics in Medicine 17:857, table I, method 3: four decimals.
  struct Row {
    std::size_t hits, trials;
    double low, high;
  };
  for (const Row& row : {Row{81, 263, 0.2553, 0.3662}, Row{15, 148, 0.0624, 0.1605},
                         Row{0, 20, 0, 0.1611}, Row{1, 29, 0.0061, 0.1718}}) {
    const auto interval = wilson_interval(row.hits, row.trials);
    CHECK(interval.low == Approx(row.low).margin(5e-5));
    CHECK(interval.high == Approx(row.high).margin(5e-5));
  }
}

TEST_CASE("Wilson's interval is symmetric, and says nothing without trials") {
  CHECK(wilson_interval(20, 20).high == 1);
  CHECK(wilson_interval(20, 20).low == Approx(1 - wilson_interval(0, 20).high));
  CHECK(wilson_interval(0, 20).low == 0);
  CHECK(wilson_interval(0, 0).low == 0);
  CHECK(wilson_interval(0, 0).high == 1);
}
