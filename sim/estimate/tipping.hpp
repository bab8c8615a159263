// Bisection for a tipping point; retrysim/tip.hpp says what is looked for and why it works.
//
// A replication that tips at one size and recovers at a greater one has no threshold; such
// replications are counted and told.
//
// Runs may be too short to tell whether they recover, and the greater the trigger the more of them
// are: a size that tips for sure is then looked for below, and what is unknown makes brackets
// wider.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/tip.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace retrysim::stats {

/// The rank j for `n` replications; zero below six.
struct MedianRank {
  std::size_t rank = 0;
  double coverage = 0;
};
MedianRank median_rank(std::size_t n);

/// Bisects. `probe` says how each replication responds to a size; it is asked once for each size,
/// and always for the same number of replications, at least one. Replications of unknown response
/// count for the side that makes brackets wider.
TippingPoint bisect(const TippingSearch& search,
                    const std::function<std::vector<TippingResponse>(double)>& probe);

}  // namespace retrysim::stats
