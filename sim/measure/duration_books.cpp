// SPDX-License-Identifier: MIT
#include "measure/duration_books.hpp"

namespace retrysim::stats {

DurationBooks::Totals DurationBooks::totals(Heading heading) {
  settle();
  Totals sum;
  for (std::size_t set = 0; set < kSets; ++set) {
    if ((set & heading) == 0) continue;
    sum.histogram.merge(by_set_[set].histogram);
    sum.moments.merge(by_set_[set].moments);
  }
  return sum;
}

}  // namespace retrysim::stats
