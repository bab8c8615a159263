// How many servers a service has, from how its durations grow when more requests are under way.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/arrivals.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <vector>

namespace retrysim::fit {

/// A request that was served.
struct Visit {
  std::int64_t start_ns = 0, end_ns = 0;
};

/// A part of a log's time.
struct Stretch {
  std::int64_t begin_ns = 0, end_ns = 0;

  bool overlaps(const Visit& v) const { return v.start_ns < end_ns && begin_ns < v.end_ns; }
};

/// When servers begin with requests, worked out from when requests ended: with a
/// first-come-first-served queue, a server begins when all but `servers - 1` of the earlier
/// requests have ended.
class ServerClock {
 public:
  explicit ServerClock(std::size_t servers) : servers_(servers) {}

  /// When the next visit, in the order of starts, begins to be served.
  std::int64_t begin_of(const Visit& v) {
    visits_.count();
    const bool busy = ends_.size() == servers_;
    const std::int64_t begin = busy ? std::max(v.start_ns, ends_.top()) : v.start_ns;
    if (!busy) {
      ends_.push(v.end_ns);
    } else if (v.end_ns > ends_.top()) {
      ends_.pop();
      ends_.push(v.end_ns);
    }
    return begin;
  }

 private:
  std::size_t servers_;
  StopCounter<> visits_;
  // The latest ends, one for each server: the earliest is when a server becomes free.
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends_;
};

/// A possible number of servers, or any number that leaves no waiting, and what the order of lines
/// says about it.
struct PossibleWait {
  std::size_t servers = 0;  ///< 0: enough that nobody waits
  double share = 0;         ///< waiting time as a share of the mean duration
  double share_error = 0;   ///< standard error of `share`
  double weight = 0;        ///< probability; all weights add up to 1
};

/// The durations of the requests that found between `least` and `most` others under way.
struct DurationAtLoad {
  std::size_t least = 0, most = 0, requests = 0;
  double mean_s = 0;
};

/// The number of servers, as far as the log tells it. With `s` servers and a
/// first-come-first-served queue, a server begins with a request when only s - 1 of the earlier
/// ones are left; the log says when. If s is the true number, the time from then on does not depend
/// on whether the request waited. With a smaller s it comes out too short for requests that waited,
/// with a larger one too long. The interval contains the numbers for which a test of the two means
/// (99 %, so that requests which waited are hardly ever taken for others) finds no difference.
struct FittedCapacity {
  std::size_t most_under_way = 0;  ///< most requests at once, in the whole log
  std::size_t most_usual = 0;  ///< most requests at once, without the stretches that are left out
  std::optional<std::size_t> servers;  ///< empty: cannot be told
  std::size_t low = 1;                 ///< at least this many
  std::optional<std::size_t> high;     ///< empty: there is no upper bound
  /// No number of servers explains the log: the service has another kind of queue, or something
  /// else was slow. `low` is then no bound, but what the scenario has.
  bool contradictory = false;
  /// Whether the clock is coarse, so that the order of the lines is used (coarse.hpp), and the
  /// waiting time as a share of the mean duration. The share is empty if the order does not tell
  /// it, or the clock is fine.
  bool by_order = false;
  std::optional<Estimate> wait_share;
  std::vector<PossibleWait> possible_waits;  ///< the numbers of servers behind `wait_share`
  /// Every request is served in this time, and waits for the rest of its duration.
  std::optional<double> constant_s;
  /// The step of the durations, if it is so long that requests come within it of which cannot be
  /// told who waited; 0: it is short.
  double coarse_step_s = 0;
  std::size_t waited = 0;                 ///< requests that waited if there are `servers` servers
  double busy = 0;                        ///< requests under way on average
  std::vector<DurationAtLoad> durations;  ///< by the number of others that requests found

  /// Requests that found fewer others under way than this did not wait.
  std::size_t free_below() const { return servers ? *servers : low; }
  /// Servers of the scenario. If a coarse clock does not tell their number, the least possible
  /// number would make requests wait that did not, so there is one for each request that was under
  /// way.
  std::size_t played() const {
    const bool any = by_order && !servers && !contradictory;
    return any ? std::max(low, most_usual) : free_below();
  }
};

/// `visits` in the order of their starts, at least one; their times are multiples of the
/// resolution. Visits that overlap a stretch in `left_out` occupy servers, but are not used as
/// evidence.
FittedCapacity fit_capacity(std::span<const Visit> visits, std::int64_t resolution_ns,
                            std::span<const Stretch> left_out = {});

/// Fills in only how many requests are under way, nothing about servers.
FittedCapacity count_under_way(std::span<const Visit> visits, std::span<const Stretch> left_out);

/// Whether each visit is outside of all stretches that are left out.
std::vector<bool> evidence_in(std::span<const Visit> visits, std::span<const Stretch> left_out);

/// Counts the visits that are under way.
class UnderWay {
 public:
  /// How many earlier visits the next visit, in the order of starts, finds under way.
  std::uint32_t found_by(const Visit& v) {
    visits_.count();
    const std::uint32_t found = at(v.start_ns);
    ends_.push(v.end_ns);
    return found;
  }
  /// How many visits are under way at a time, which must not be before the latest visit's start.
  std::uint32_t at(std::int64_t time_ns) {
    while (!ends_.empty() && ends_.top() <= time_ns) ends_.pop();
    return static_cast<std::uint32_t>(ends_.size());
  }

 private:
  StopCounter<> visits_;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends_;
};

}  // namespace retrysim::fit
