// The search for the edge of what is safe along a grid of values. Knows nothing of simulations: it
// asks for runs that are good or not.
//
// A value is tested by bets against "at most this share of runs is good" and against its opposite,
// which may be looked at after any number of runs. A first stage of which every run is good is
// enough for a look at the curve; the answer itself is tested until it is known.
//
// Each test is wrong with probability (1 - confidence) / (2 + the halvings of the widest gap of the
// survey): with a monotone curve only the nearest unsafe values at an edge can pass for safe, one a
// halving. A single number needs a value that is known to be unsafe beside it, so that a flat curve
// gets one with no more than that probability, whatever its height.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/size.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace retrysim::stats {

/// The places that are tried first: both ends, and up to seven between them.
std::vector<std::size_t> survey_of(const SizeSearch& search);

/// The runs that it takes to show that a value is safe, if all of them are good; at most 100,000.
std::size_t least_runs(const SizeSearch& search);

/// Makes the runs from number `from` on to `to`, without it, at a place, and tells for each whether
/// it is good. The answer is always the same for the same runs.
using SizeRuns =
    std::function<std::vector<bool>(std::size_t place, std::size_t from, std::size_t to)>;

/// Searches. `wants_largest`: see SizeRequest. Throws std::invalid_argument if the search is not
/// within the ranges of its members.
SizeAnswer search_size(const SizeSearch& search, bool wants_largest, const SizeRuns& runs);

}  // namespace retrysim::stats
