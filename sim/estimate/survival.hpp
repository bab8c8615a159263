// How long until something happens, when in some runs it has not happened yet at their end
// (censored): leaving those out would make the times look short, and so would counting them as if
// it had happened then.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

struct Lifetime {
  double time = 0;
  bool censored = false;  ///< it had not happened by then
};

/// From `time` on the share `survival` of the runs is still waiting.
struct SurvivalStep {
  double time = 0;
  double survival = 1;
  double standard_error = 0;  ///< Greenwood's
  std::size_t at_risk = 0;    ///< runs that were known to wait just before
};

/// Kaplan and Meier's estimate: a step at each time at which something happens. A run that is
/// censored at such a time still counts as waiting there.
std::vector<SurvivalStep> kaplan_meier(std::span<const Lifetime> lifetimes);

struct MedianLifetime {
  /// Where the estimate falls below one half; the middle of the stretch where it is one half
  /// exactly. Empty if it stays above.
  std::optional<double> median;
  /// 95 % interval of Brookmeyer and Crowley (1982): the times at which one half is within 1.96
  /// standard errors of the estimate. Infinite where that goes on for ever.
  double low = 0, high = 0;
};

/// Empty without any lifetimes.
std::optional<MedianLifetime> median_lifetime(std::span<const Lifetime> lifetimes);

}  // namespace retrysim::stats
