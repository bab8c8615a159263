// Adding up blocks of durations, and their standard deviation.
//
// SPDX-License-Identifier: MIT
#include "measure/record/durations.hpp"

#include <retrysim/run_result.hpp>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstddef>
#include <utility>

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

void DurationBooks::open_log(std::size_t set) { by_set_[set] = std::make_unique<Log>(); }

void DurationBooks::add_noted(std::size_t set) {
  Log& log = *by_set_[set];
  const std::span<const std::uint64_t> noted(log.noted.data(), std::exchange(log.count, 0));
  const std::uint64_t zeros = std::exchange(log.zeros, 0);
  BinTotals* const bin = (set & kBin) != 0 ? &bin_ : nullptr;
  if (zeros > 0 && bin != nullptr) bin->add_zeros(zeros);
  if (set == kBin) return add_block(noted, *bin);
  add_block(noted, log.totals, bin);
  if (zeros > 0) log.totals.add_zeros(zeros);
}

void DurationBooks::add_all_noted() {
  settle();
  for (std::size_t set = 0; set < kSets; ++set) {
    if (by_set_[set] != nullptr) add_noted(set);
  }
}

BinTotals& DurationBooks::bin() {
  add_all_noted();
  return bin_;
}

RequestLatencies DurationBooks::take_latencies() {
  add_all_noted();
  RequestLatencies taken;
  for (std::size_t set = 0; set < kSets; ++set) {
    if (by_set_[set] == nullptr || by_set_[set]->totals.moments.count == 0) continue;
    Log& log = *by_set_[set];
    if ((set & kLatency) != 0 && (set & kSameStretch) != 0) {
      taken.parts.push_back({(set & kLatencyOk) != 0, SparseHistogram(log.totals.histogram),
                             log.totals.moments.sum_ns});
    }
    log.before.merge(log.totals);
    log.totals = {};
  }
  return taken;
}

DurationTotals DurationBooks::totals(Heading heading) {
  add_all_noted();
  DurationTotals sum;
  // Those of many headings first: they are of single attempts, the shortest. Histograms grow
  // upwards without moving what they have.
  for (std::size_t set = kSets; set-- > 0;) {
    if ((set & heading) == 0 || by_set_[set] == nullptr) continue;
    sum.merge(by_set_[set]->totals);
    sum.merge(by_set_[set]->before);
  }
  return sum;
}

}  // namespace retrysim::stats

namespace retrysim {

double DurationMoments::standard_deviation_ns() const {
  if (count == 0) return 0;
  // Squared distances from the mean rounded down to q = (sum - r) / count are whole numbers:
  // sum (x - q)^2 = sum x^2 - 2 q sum x + count q^2, of which the mean's (r / count)^2 is to be
  // taken off. The difference of the large numbers is exact; what is left cannot cancel.
  using Wide = boost::multiprecision::int512_t;
  const Wide n = count;
  const Wide sum = sum_ns;
  const Wide q = sum / n;
  const Wide squares = (Wide(sum_squares_carry) << 128) + Wide(sum_squares_ns2);
  const Wide distances = squares - 2 * q * sum + n * q * q;
  const double rest = static_cast<double>(sum - q * n) / static_cast<double>(count);
  const double variance = static_cast<double>(distances) / static_cast<double>(count) - rest * rest;
  return variance > 0 ? std::sqrt(variance) : 0;
}

}  // namespace retrysim
