// How many servers a service has, from how its durations grow when more requests are under way.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/arrivals.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::fit {

/// A request that was served.
struct Visit {
  std::int64_t start_ns = 0, end_ns = 0;
};

/// The durations of the requests that found between `least` and `most` others under way.
struct DurationAtLoad {
  std::size_t least = 0, most = 0, requests = 0;
  double mean_s = 0;
};

/// With `s` servers and a first-come-first-served queue, a request's server begins when only s - 1
/// of those that came before are left: the log says when. The time from then on does not depend on
/// whether the request waited, if s is the true number: with fewer it comes out too short for
/// those that waited, with more too long. The numbers for which a test of the two means
/// (`kCertainty`) finds no difference are the interval.
struct FittedCapacity {
  std::size_t most_under_way = 0;      ///< requests at once, in the whole log
  std::optional<std::size_t> servers;  ///< nothing: cannot be told
  std::size_t low = 1;                 ///< at least so many
  std::optional<std::size_t> high;     ///< nothing: there may be any number
  /// No number of servers explains the log: it is no such queue, or something else was slow.
  bool contradictory = false;
  std::size_t waited = 0;                 ///< requests that waited, by `servers`
  double busy = 0;                        ///< requests under way on average
  std::vector<DurationAtLoad> durations;  ///< by what requests found

  /// Requests that found fewer under way did not wait.
  std::size_t free_below() const { return servers ? *servers : low; }
};

/// `visits` in the order of their starts, at least one; their times are multiples of the
/// resolution.
FittedCapacity fit_capacity(std::span<const Visit> visits, std::int64_t resolution_ns);

/// How many of the visits before it each visit found under way.
std::vector<std::uint32_t> found_under_way(std::span<const Visit> visits);

}  // namespace retrysim::fit
