// Monitoring exports: numbers or rates of requests of one or several series, such as a column for
// each host, become the numbers of all in intervals of equal length.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/log.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retrysim::fit {

/// Sorts counts by series, then by time, and adds up those of one series and time. Returns whether
/// there were any.
bool add_up_same_times(std::vector<Count>& counts);

/// The most frequent distance of two times of one series, ns; 0: each series has but one time.
/// `counts` are sorted by series and time.
std::int64_t usual_distance(std::span<const Count> counts);

/// How numbers go on within their series, which are sorted by series and time.
struct Steps {
  std::size_t all = 0, up = 0, down = 0;
  std::size_t resets = 0;  ///< of `down`, those by more than half

  /// Whether the numbers grow but for a few resets, as those of a counter since its start do.
  bool only_grow() const;
};
Steps steps_of(std::span<const Count> counts);

/// The numbers in the intervals between those of counters, each at the interval's begin; a smaller
/// number than before is that since a reset. What grew over several of the usual intervals is
/// spread evenly over them. `counts` are sorted by series and time.
std::vector<Count> differences(std::span<const Count> counts);

/// Numbers of requests in equal intervals.
struct Buckets {
  std::vector<double> numbers;
  std::size_t missing = 0;  ///< numbers that are taken from the interval before
};

/// The numbers of all series in intervals of `width_ns` from `origin_ns` on. Several samples of a
/// rate in an interval have a mean, several numbers a sum. An interval that a series lacks has its
/// number from before; none before its first and behind its last. Throws BadLog if there would be
/// too many.
Buckets bucketed(std::span<const Count> counts, std::int64_t origin_ns, std::int64_t width_ns,
                 bool are_rates);

}  // namespace retrysim::fit
