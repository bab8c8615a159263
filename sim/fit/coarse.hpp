// How long requests waited, if the clock of a log is too coarse to tell who was under way with
// whom: from the order of the lines.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/capacity.hpp"
#include "fit/log.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::fit {

/// Whether the clock's steps are too long for the durations: longer than a fifth of their mean.
/// False without durations, of fewer than 20 lines, and if all have the same time.
bool is_coarse(std::span<const Observation> rows, std::int64_t resolution_ns,
               bool times_are_starts);

/// Spreads lines of the same time at random over the step of the clock that follows it, in their
/// order. `rows` are in the order of the file. The draws depend on the order alone.
void spread_over_steps(std::vector<Observation>& rows, std::int64_t resolution_ns,
                       bool times_are_starts);

/// Which numbers of servers the order of the lines allows.
///
/// A queue makes neighbours alike: whoever comes after a request that waited waits, too. For each
/// number of servers, requests that arrive as those of the log are simulated in a
/// first-come-first-served queue, with the log's durations in another order as service times, all
/// shortened by the factor that gives the log's mean duration. The number is possible if the
/// correlations of logarithms of durations, at lags of 1 to 5 lines together, are those of the log,
/// up to chance. Numbers that leave next to no waiting cannot be told apart.
struct WaitByOrder {
  /// Share of the mean duration that was waiting. Nothing: no number of servers explains the order.
  std::optional<Estimate> share;
  std::size_t servers_low = 1;
  std::optional<std::size_t> servers, servers_high;  ///< nothing: there may be any number
};

/// `visits` in any order, spread over the steps of the clock; at least two. Of more than 20,000 it
/// looks at those in the middle. Throws Interrupted if asked to stop.
WaitByOrder wait_by_order(std::span<const Visit> visits, std::int64_t resolution_ns,
                          bool times_are_starts);

}  // namespace retrysim::fit
