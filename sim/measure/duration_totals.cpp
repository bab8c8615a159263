// SPDX-License-Identifier: MIT
#include "measure/duration_totals.hpp"

#include <algorithm>
#include <cstddef>

namespace retrysim::stats {
namespace {

/// Adds durations to `totals`, and to the bin if there is one, as long as they lie between `low`
/// and `low + range`: within the extremes of the histograms, where nothing needs to be looked at.
/// Returns how many.
template <class... Bin>
std::size_t add_plain(std::span<const std::uint64_t> durations_ns, std::uint64_t low,
                      std::uint64_t range, DurationTotals& totals, Bin&... bin) {
  const auto add_to = [](std::uint64_t ns, const auto&... buckets) { (++buckets.of(ns), ...); };
  std::uint64_t sum = 0;
  SquareNanoseconds squares = 0;
  const auto add_all = [&](const auto... buckets) {
    std::size_t i = 0;
    for (; i < durations_ns.size(); ++i) {
      const std::uint64_t ns = durations_ns[i];
      if (ns - low > range) [[unlikely]]
        break;
      add_to(ns, buckets...);
      sum += ns;
      squares += static_cast<SquareNanoseconds>(ns) * ns;
    }
    return i;
  };
  const std::size_t added = add_all(totals.histogram.buckets(), bin.histogram.buckets()...);
  totals.histogram.counted(added);
  totals.moments.add(added, sum, squares);
  (bin.histogram.counted(added), ...);
  ((bin.sum_ns += static_cast<WideNanoseconds>(sum)), ...);
  return added;
}

/// `bin`: none or one.
template <class... Bin>
void add_all(std::span<const std::uint64_t> durations_ns, DurationTotals& totals, Bin&... bin) {
  // Sums of a block of such durations fit in 64 and 128 bits.
  static_assert(Histogram::kPlainBits == 53);
  constexpr std::size_t kMost = 1024;
  while (!durations_ns.empty()) {
    const std::span block = durations_ns.first(std::min(durations_ns.size(), kMost));
    const std::uint64_t low =
        std::max({totals.histogram.plain_range().low, bin.histogram.plain_range().low...});
    const std::uint64_t high =
        std::min({totals.histogram.plain_range().high, bin.histogram.plain_range().high...});
    std::size_t done = low <= high ? add_plain(block, low, high - low, totals, bin...) : 0;
    if (done < block.size()) {
      const std::uint64_t ns = block[done++];
      totals.histogram.add(ns);
      totals.moments.add(Duration::nanoseconds(static_cast<std::int64_t>(ns)));
      (bin.histogram.add(ns), ...);
      ((bin.sum_ns += static_cast<WideNanoseconds>(ns)), ...);
    }
    durations_ns = durations_ns.subspan(done);
  }
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
    add_all(durations_ns, totals);
  } else {
    add_all(durations_ns, totals, *bin);
  }
}

void add_block(std::span<const std::uint64_t> durations_ns, BinTotals& bin) {
  bin.histogram.add(durations_ns);
  for (const std::uint64_t ns : durations_ns) bin.sum_ns += static_cast<WideNanoseconds>(ns);
}

}  // namespace retrysim::stats
