// The width of count bins, which depends on nothing but the length of the run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace retrysim::stats {

/// The smallest of 1, 2 and 5 times a power of ten, in nanoseconds, of which at most 10,000 make up
/// the run: times in a scenario tend to be multiples of it.
inline Duration count_width(Duration run) {
  constexpr std::int64_t kMostCountBins = 10'000;
  std::int64_t power = 1;
  for (;; power *= 10) {
    for (const std::int64_t digit : {1, 2, 5}) {
      const std::int64_t width = digit * power;
      if ((run.count() - 1) / width < kMostCountBins) return Duration::nanoseconds(width);
    }
  }
}

/// How many of them a run has.
inline std::size_t count_bins(Duration run) {
  const std::int64_t width = count_width(run).count();
  return static_cast<std::size_t>(std::max<std::int64_t>((run.count() - 1) / width + 1, 1));
}

}  // namespace retrysim::stats
