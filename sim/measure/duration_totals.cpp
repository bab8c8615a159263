// SPDX-License-Identifier: MIT
#include "measure/duration_totals.hpp"

#include <algorithm>
#include <cstddef>

namespace retrysim::stats {
namespace {

/// Adds durations to `totals` and `bin` as long as they lie between `low` and `low + range`: within
/// the extremes of both histograms, where nothing needs to be looked at. Returns how many.
std::size_t add_plain(std::span<const std::uint64_t> durations_ns, DurationTotals& totals,
                      BinTotals& bin, std::uint64_t low, std::uint64_t range) {
  const Histogram::Buckets fine = totals.histogram.buckets();
  const BinHistogram::Buckets coarse = bin.histogram.buckets();
  std::uint64_t sum = 0;
  SquareNanoseconds squares = 0;
  std::size_t i = 0;
  for (; i < durations_ns.size(); ++i) {
    const std::uint64_t ns = durations_ns[i];
    if (ns - low > range) [[unlikely]]
      break;
    ++fine.of(ns);
    ++coarse.of(ns);
    sum += ns;
    squares += static_cast<SquareNanoseconds>(ns) * ns;
  }
  totals.histogram.counted(i);
  bin.histogram.counted(i);
  totals.moments.add(i, sum, squares);
  bin.sum_ns += static_cast<WideNanoseconds>(sum);
  return i;
}

}  // namespace

void BinTotals::describe(ClientBin& row) const {
  row.latency_count = histogram.count();
  row.latency_sum_ns = static_cast<double>(sum_ns);
  if (histogram.count() == 0) return;
  row.latency_p50_s = histogram.quantile(0.50) * 1e-9;
  row.latency_p99_s = histogram.quantile(0.99) * 1e-9;
}

void add_block(std::span<const std::uint64_t> durations_ns, DurationTotals& totals,
               BinTotals* bin) {
  if (bin == nullptr) {
    totals.histogram.add(durations_ns);
    totals.moments.add(durations_ns);
    return;
  }
  // Sums of a block of such durations fit in 64 and 128 bits.
  static_assert(Histogram::kPlainBits == 53);
  constexpr std::size_t kMost = 1024;
  while (!durations_ns.empty()) {
    const std::span block = durations_ns.first(std::min(durations_ns.size(), kMost));
    const auto [low, high] = totals.histogram.plain_range();
    const auto [low_of_bin, high_of_bin] = bin->histogram.plain_range();
    const std::uint64_t from = std::max(low, low_of_bin), to = std::min(high, high_of_bin);
    std::size_t done = from <= to ? add_plain(block, totals, *bin, from, to - from) : 0;
    if (done < block.size()) {
      const std::uint64_t ns = block[done++];
      totals.histogram.add(ns);
      totals.moments.add(Duration::nanoseconds(static_cast<std::int64_t>(ns)));
      bin->histogram.add(ns);
      bin->sum_ns += static_cast<WideNanoseconds>(ns);
    }
    durations_ns = durations_ns.subspan(done);
  }
}

void add_block(std::span<const std::uint64_t> durations_ns, BinTotals& bin) {
  bin.histogram.add(durations_ns);
  for (const std::uint64_t ns : durations_ns) bin.sum_ns += static_cast<WideNanoseconds>(ns);
}

}  // namespace retrysim::stats
