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

/// When servers begin with requests, told from when they ended: with a first-come-first-served
/// queue it is when all but `servers - 1` of the requests before have ended.
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
  // The latest ends, as many as there are servers: the first of them is when one is free.
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends_;
};

/// A number of servers, or any that leaves no waiting, and what the order of lines says of it.
struct PossibleWait {
  std::size_t servers = 0;  ///< 0: enough that nobody waits
  double share = 0;         ///< of the mean duration that is waiting
  double share_error = 0;   ///< standard error of that
  double weight = 0;        ///< its probability; all together have 1
};

/// The durations of the requests that found between `least` and `most` others under way.
struct DurationAtLoad {
  std::size_t least = 0, most = 0, requests = 0;
  double mean_s = 0;
};

/// With `s` servers and a first-come-first-served queue, a request's server begins when only s - 1
/// of those that came before are left: the log says when. The time from then on does not depend on
/// whether the request waited, if s is the true number: with fewer it comes out too short for
/// those that waited, with more too long. The numbers for which a test of the two means (99 %, so
/// that requests which waited are hardly ever taken for others) finds no difference are the
/// interval.
struct FittedCapacity {
  std::size_t most_under_way = 0;      ///< requests at once, in the whole log
  std::size_t most_usual = 0;          ///< the same without the stretches that are left out
  std::optional<std::size_t> servers;  ///< nothing: cannot be told
  std::size_t low = 1;                 ///< at least this many
  std::optional<std::size_t> high;     ///< nothing: there may be any number
  /// No number of servers explains the log: it is no such queue, or something else was slow.
  bool contradictory = false;
  /// For a log with a coarse clock: the share of the mean duration that was waiting, from the order
  /// of the lines (coarse.hpp). Nothing: the order does not tell, or the clock is fine.
  bool by_order = false;
  std::optional<Estimate> wait_share;
  std::vector<PossibleWait> possible_waits;  ///< what that is made of
  std::optional<double> constant_s;          ///< every request takes that, and waits for the rest
  std::size_t waited = 0;                    ///< requests that waited, by `servers`
  double busy = 0;                           ///< requests under way on average
  std::vector<DurationAtLoad> durations;     ///< by what requests found

  /// Requests that found fewer under way did not wait.
  std::size_t free_below() const { return servers ? *servers : low; }
  /// Servers of the scenario. Where a coarse clock does not tell their number, the least would make
  /// requests wait that did not: so many that each that was under way has one.
  std::size_t played() const {
    const bool any = by_order && !servers && !contradictory;
    return any ? std::max(low, most_usual) : free_below();
  }
};

/// `visits` in the order of their starts, at least one; their times are multiples of the
/// resolution. Those that overlap a stretch that is left out occupy servers, but are no evidence.
FittedCapacity fit_capacity(std::span<const Visit> visits, std::int64_t resolution_ns,
                            std::span<const Stretch> left_out = {});

/// How many are under way, and nothing of the servers.
FittedCapacity count_under_way(std::span<const Visit> visits, std::span<const Stretch> left_out);

/// Whether each visit is outside of all stretches that are left out.
std::vector<bool> evidence_in(std::span<const Visit> visits, std::span<const Stretch> left_out);

/// Counts the visits that are under way.
class UnderWay {
 public:
  /// How many of those before it the next visit, in the order of starts, finds.
  std::uint32_t found_by(const Visit& v) {
    visits_.count();
    const std::uint32_t found = at(v.start_ns);
    ends_.push(v.end_ns);
    return found;
  }
  /// At a time that is not before the latest visit's start.
  std::uint32_t at(std::int64_t time_ns) {
    while (!ends_.empty() && ends_.top() <= time_ns) ends_.pop();
    return static_cast<std::uint32_t>(ends_.size());
  }

 private:
  StopCounter<> visits_;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends_;
};

}  // namespace retrysim::fit
