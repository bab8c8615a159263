// Durations booked under several headings at once, against a histogram and moments for each.
//
// SPDX-License-Identifier: MIT
#include "measure/record/totals.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>

namespace retrysim::stats {
namespace {

TEST_CASE("Each heading of the duration books has all that was booked under it") {
  constexpr std::array kHeadings = {DurationBooks::kLatency, DurationBooks::kLatencyOk,
                                    DurationBooks::kAttemptLatency, DurationBooks::kServiceLatency};
  DurationBooks books;
  std::array<Histogram, 4> histograms;
  std::array<DurationMoments, 4> moments;
  BinHistogram bin;
  WideNanoseconds bin_ns = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    Draws draws(RandomKey(1, 0), {i, 0, 0, Purpose::kArrival});
    // Few different durations, so that equal ones follow each other, under the same heading too.
    const auto duration = Duration::nanoseconds(1000 * draws.below(3));
    const unsigned headings = 1 + draws.below(31);
    books.add(headings, duration);
    if ((headings & DurationBooks::kBin) != 0) {
      bin.add(static_cast<std::uint64_t>(duration.count()));
      bin_ns += duration.count();
    }
    if (i % 700 == 699) {
      CHECK(books.bin().histogram == bin);
      CHECK(books.bin().sum_ns == bin_ns);
      books.bin().clear();
      bin.clear();
      bin_ns = 0;
    }
    for (std::size_t h = 0; h < kHeadings.size(); ++h) {
      if ((headings & kHeadings[h]) == 0) continue;
      histograms[h].add(static_cast<std::uint64_t>(duration.count()));
      moments[h].add(duration);
    }
  }
  for (std::size_t h = 0; h < kHeadings.size(); ++h) {
    const DurationTotals totals = books.totals(kHeadings[h]);
    CHECK(totals.histogram == histograms[h]);
    CHECK(totals.moments == moments[h]);
  }
}

TEST_CASE("Empty duration books have empty totals") {
  DurationBooks books;
  CHECK(books.totals(DurationBooks::kLatency).histogram == Histogram());
  CHECK(books.totals(DurationBooks::kLatency).moments == DurationMoments());
}

}  // namespace
}  // namespace retrysim::stats
