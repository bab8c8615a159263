// Two modes in the replications of one scenario: which replication is in which mode, what each mode
// looks like, and when runs change from one to the other.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/summary.hpp>

#include "estimate/modes.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retrysim::stats {

/// The replications (or, within runs, the stretches) of one mode.
struct ModeDescription {
  Proportion share;  ///< of the replications
  std::vector<std::size_t> replications;
  struct Mean {
    std::string_view metric;
    Estimate estimate;  ///< over the replications of this mode
  };
  std::vector<Mean> means;  ///< those of MetricList::kOfModes
};

/// A change from one mode to the other, seen in the goodput of one replication.
struct ModeSwitch {
  std::uint32_t replication = 0;
  double time_s = 0;  ///< end of the bin, from the start of the run
  bool to_low = false;
};

/// Goodput of all clients together in two modes.
struct Bistability {
  double low_goodput = 0, high_goodput = 0;  ///< means of the modes, per second
  /// Of replications that stay in their mode on the whole; empty if the modes are stretches of the
  /// same runs instead.
  std::optional<ModeDescription> low, high;
  std::size_t runs_with_both = 0;  ///< runs that show both modes inside
  std::size_t ended_low = 0;       ///< runs that are in the low mode when the window ends
  std::vector<ModeSwitch> switches;
};

/// Two modes of the replications' goodput, further apart than counting the successes of a window of
/// `window_s` makes them by chance.
std::optional<Modes> goodput_modes(const MetricValues& values, double window_s);

/// By `find_modes`, from the goodput of the replications, where the gap is also wider than the
/// noise of counting the successes (0, 1 and 2 of them are no modes). If these are alike and the
/// scenario has a steady state, each run is looked at by itself: its window in 30 equal stretches.
/// A disturbance would make two modes of any run, so transients are not looked into.
std::optional<Bistability> find_bistability(const Scenario& scenario,
                                            std::span<const RunResult> runs,
                                            const MetricValues& values);

}  // namespace retrysim::stats
