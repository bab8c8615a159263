// SPDX-License-Identifier: MIT
#include "measure/duration_books.hpp"

namespace retrysim::stats {

DurationTotals DurationBooks::totals(Heading heading) {
  settle();
  DurationTotals sum;
  for (std::size_t set = 0; set < kSets; ++set) {
    if ((set & heading) == 0) continue;
    const DurationTotals& of_set = by_set_[set].totals();
    sum.histogram.merge(of_set.histogram);
    sum.moments.merge(of_set.moments);
  }
  return sum;
}

}  // namespace retrysim::stats
