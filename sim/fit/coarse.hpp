// How long requests waited, worked out from the order of the lines, if the clock of a log is too
// coarse to tell which requests were under way together.
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

/// Whether the clock of a log is too coarse: its steps are longer than a fifth of the mean
/// duration. False without durations, of fewer than 20 lines, and if all have the same time.
bool is_coarse(std::span<const Observation> rows, std::int64_t resolution_ns,
               bool times_are_starts);

/// Whether lines of `rows`, which are in the order of the file, come later than the clock allows if
/// they were written one after the other, as when several buffers each write a bunch of lines.
bool are_disordered(std::span<const Observation> rows, std::int64_t resolution_ns,
                    bool times_are_starts);

/// Spreads lines with the same time at random over the clock step that follows, in their order, or
/// in any order if they are disordered. In the first and the last step, in which the log begins and
/// ends, lines become as dense as in the others. `rows` are in the order of the file. The draws
/// depend on the order alone.
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
/// 20 and of 21 to 60) are from those of the log; the prior probability of a number is inversely
/// proportional to it, so that all orders of magnitude are equally likely.
struct WaitByOrder {
  /// The possible numbers of servers, ascending. Empty: no number of servers explains the order.
  std::vector<PossibleWait> possible;
  /// A constant service time, s: most lines took this time, hardly any less, and a queue in which
  /// every request is served in this time makes the others wait as long as they did.
  std::optional<double> constant_s;
};

/// Takes at least two `lines` in any order, spread over the steps of the clock. Throws Interrupted
/// if asked to stop.
WaitByOrder wait_by_order(std::vector<Visit> lines, const Log& log);

}  // namespace retrysim::fit
