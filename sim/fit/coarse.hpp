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

/// Whether lines of `rows`, which are in the order of the file, come later than the clock allows if
/// they were written one after the other: so do bunches of several buffers.
bool are_disordered(std::span<const Observation> rows, std::int64_t resolution_ns,
                    bool times_are_starts);

/// Spreads lines of the same time at random over the step of the clock that follows it, in their
/// order, or in any if they are disordered. Lines of the first and the last step are as dense as
/// the others, since the log begins and ends within these. `rows` are in the order of the file. The
/// draws depend on the order alone.
void spread_over_steps(std::vector<Observation>& rows, std::int64_t resolution_ns,
                       bool times_are_starts, bool disordered);

/// The sum of the correlations of logarithms of durations that are 1 to 5 places apart.
double likeness_of_neighbours(std::span<const double> durations_s);

/// Which numbers of servers the order of the lines allows.
///
/// A queue makes neighbours alike: whoever comes after a request that waited waits, too. For each
/// number of servers, requests that arrive as those of the log are simulated in a
/// first-come-first-served queue, with the log's durations in another order as service times, all
/// shortened by the factor that gives the log's mean duration. The likelihood of the number follows
/// from how far the correlations of logarithms of durations (lags of 1 to 5 lines together, of 6 to
/// 20 and of 21 to 60) are from those of the log; before the log is seen, each number has a
/// probability in inverse proportion to it, as if all orders of magnitude were alike.
struct WaitByOrder {
  /// In the order of servers. Empty: no number of servers explains the order.
  std::vector<PossibleWait> possible;
  /// Most lines took this time, hardly any less, and a queue in which every request takes it makes
  /// the others wait as long as they did.
  std::optional<double> constant_s;
};

/// `lines` in any order, spread over the steps of the clock; at least two. Throws Interrupted if
/// asked to stop.
WaitByOrder wait_by_order(std::vector<Visit> lines, const Log& log);

}  // namespace retrysim::fit
