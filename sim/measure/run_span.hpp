// Where a run's window and its bins begin and end: what every recorder of a run has to know.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "measure/count_width.hpp"

#include <algorithm>
#include <cstddef>

namespace retrysim::stats {

struct RunSpan {
  explicit RunSpan(const Scenario& scenario)
      : window_start(Time::zero() + scenario.warmup),
        window_end(Time::zero() + scenario.duration),
        interval(scenario.interval),
        count_width(stats::count_width(scenario.duration)),
        count_bins(stats::count_bins(scenario.duration)) {}

  bool in_window(Time t) const { return t >= window_start && t < window_end; }
  /// The part of [from, to) that lies inside the window, in nanoseconds.
  double inside_window_ns(Time from, Time to) const {
    if (window_start <= from && from <= to && to <= window_end) [[likely]]
      return static_cast<double>((to - from).count());
    const Time begin = std::max(from, window_start), end = std::min(to, window_end);
    return end > begin ? static_cast<double>((end - begin).count()) : 0;
  }
  /// Later ones share the last bin, which is no part of the result.
  std::size_t count_bin_of(Time t) const {
    return std::min(static_cast<std::size_t>(t.count() / count_width.count()), count_bins);
  }

  Time window_start, window_end;
  Duration interval;     ///< of the time series
  Duration count_width;  ///< see RunResult::count_width
  std::size_t count_bins;
};

}  // namespace retrysim::stats
