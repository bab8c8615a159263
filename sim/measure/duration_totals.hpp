// What many durations amount to, and how they get there: in blocks, which takes a third of the
// instructions of adding them one by one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/histogram.hpp>
#include <retrysim/run_result.hpp>

#include <cstdint>
#include <span>

namespace retrysim::stats {

/// Distribution, exact sum and sum of squares of durations in nanoseconds.
struct DurationTotals {
  Histogram histogram;
  DurationMoments moments;

  void add_zeros(std::uint64_t times) {
    histogram.add(0, times);
    moments.count += times;
  }
  void merge(const DurationTotals& o) {
    histogram.merge(o.histogram);
    moments.merge(o.moments);
  }
};

/// Those of a time-series bin. The sum is exact, so that durations may come in any order.
struct BinTotals {
  BinHistogram histogram;
  WideNanoseconds sum_ns = 0;

  void add_zeros(std::uint64_t times) { histogram.add(0, times); }
  void merge(const BinTotals& o) {
    histogram.merge(o.histogram);
    sum_ns += o.sum_ns;
  }
  void clear() {
    histogram.clear();
    sum_ns = 0;
  }
  /// Fills in the latencies of the row.
  void describe(ClientBin& row) const;
};

/// Adds a block of durations to either; `bin` may be null.
void add_block(std::span<const std::uint64_t> durations_ns, DurationTotals& totals, BinTotals* bin);

/// The same, only for a bin.
void add_block(std::span<const std::uint64_t> durations_ns, BinTotals& bin);

}  // namespace retrysim::stats
