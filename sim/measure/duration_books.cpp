// SPDX-License-Identifier: MIT
#include "measure/duration_books.hpp"

namespace retrysim::stats {

RequestLatencies DurationBooks::take_latencies() {
  settle();
  before_.resize(kSets);
  RequestLatencies taken;
  for (std::size_t set = 0; set < kSets; ++set) {
    DurationTotals& of_set = by_set_[set].totals();
    if (of_set.moments.count == 0) continue;
    if ((set & kLatency) != 0) ((set & kLatencyOk) != 0 ? taken.ok : taken.failed).merge(of_set);
    before_[set].merge(of_set);
    of_set = {};
  }
  return taken;
}

DurationTotals DurationBooks::totals(Heading heading) {
  settle();
  DurationTotals sum;
  for (std::size_t set = 0; set < kSets; ++set) {
    if ((set & heading) == 0) continue;
    sum.merge(by_set_[set].totals());
    if (!before_.empty()) sum.merge(before_[set]);
  }
  return sum;
}

}  // namespace retrysim::stats
