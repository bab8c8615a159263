// Bisection for a tipping point (retrysim/tip.hpp says what is searched for and why it works), and
// the times until runs tip.
//
// A replication that tips at one size and recovers at a greater one has no threshold; such
// replications are counted and reported. Runs may be too short to tell whether they recover, more
// of them at greater triggers: the search then looks further down for a size that certainly tips,
// and unknown responses make brackets wider.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/sweep.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
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

// --- Lifetimes -----------------------------------------------------------------------------------

// How long until something happens, if in some runs it has not happened by the end (censored).
// Leaving those runs out would make the times look short, and so would taking the end as the time.

struct Lifetime {
  double time = 0;
  bool censored = false;  ///< the event had not happened by `time`
};

/// From `time` on the share `survival` of the runs is still waiting.
struct SurvivalStep {
  double time = 0;
  double survival = 1;
  double standard_error = 0;  ///< Greenwood's standard error of `survival`
  std::size_t at_risk = 0;    ///< runs that were known to wait just before
};

/// Kaplan and Meier's estimate: a step at each time at which something happens. A run that is
/// censored at such a time still counts as waiting there.
std::vector<SurvivalStep> kaplan_meier(std::span<const Lifetime> lifetimes);

struct MedianLifetime {
  /// The time at which the estimate falls below one half; the middle of the stretch where it is one
  /// half exactly. Empty if it stays above.
  std::optional<double> median;
  /// 95 % interval of Brookmeyer and Crowley (1982): the times at which one half is within 1.96
  /// standard errors of the estimate. Infinite where that goes on for ever.
  double low = 0, high = 0;
};

/// The median of `lifetimes`; empty if there are none.
std::optional<MedianLifetime> median_lifetime(std::span<const Lifetime> lifetimes);

}  // namespace retrysim::stats
