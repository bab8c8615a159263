// SPDX-License-Identifier: MIT
#include "measure/duration_books.hpp"

#include <utility>

namespace retrysim::stats {

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
