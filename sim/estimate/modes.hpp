// Whether a system has two modes: some replications stay healthy while others collapse. A mean over
// both describes neither, and the share of each depends on the length of the run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retrysim::stats {

/// The values of two modes, as indices into the sample, in its order.
struct Modes {
  std::vector<std::size_t> low, high;
  double low_mean = 0, high_mean = 0;
  double gap = 0;        ///< distance between the largest low and the smallest high value
  double within_sd = 0;  ///< pooled standard deviation inside the modes
};

/// Two modes, if among the splits of the sorted values with at least a tenth of them, and two, on
/// either side the widest gap is wider than 4 pooled standard deviations of what lies on its sides,
/// and than 5 % of the larger mean (smaller differences are not another mode, however exact the
/// values are). Empty otherwise, and for fewer than 10 values.
///
/// False alarms: 0.9 % of normal samples of 10 values, fewer than one in 10,000 from 20 on. Skewed
/// samples give more: exponential ones 5.6 % with 10 values, 1.7 % with 20 and 0.2 % with 30.
std::optional<Modes> find_modes(std::span<const double> values);

/// 95 % interval of a probability from `successes` out of `trials` >= 1 (Wilson, JASA 22, 1927).
struct Proportion {
  double share = 0, ci_low = 0, ci_high = 0;
};
Proportion wilson(std::size_t successes, std::size_t trials);

/// When a series goes from one mode to the other: the observation with which its moving average
/// has come within a quarter of the distance of the other mean.
struct Switch {
  std::size_t observation = 0;
  bool to_low = false;
};
struct ModeHistory {
  std::vector<Switch> switches;
  bool ends_low = false;
};

/// `window` >= 1 observations are averaged. The series begins in the mode that its first such
/// average is nearer to; one shorter than the window is averaged as a whole.
ModeHistory mode_history(std::span<const double> series, double low_mean, double high_mean,
                         std::size_t window);

// --- Two modes in replications -------------------------------------------------------------------

// Which replication is in which mode, what each mode looks like, and when runs change from one to
// the other.

/// The replications (or, within runs, the stretches) of one mode.
struct ModeDescription {
  Proportion share;  ///< share of the replications, or stretches, in this mode
  std::vector<std::size_t> replications;
  struct Mean {
    std::string_view metric;
    Estimate estimate;  ///< over the replications of this mode
  };
  std::vector<Mean> means;  ///< means of the metrics of MetricList::kOfModes
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
  /// The modes of replications that stay in their mode on the whole; empty if the modes are
  /// stretches of the same runs instead.
  std::optional<ModeDescription> low, high;
  std::size_t runs_with_both = 0;  ///< runs that show both modes inside
  std::size_t ended_low = 0;       ///< runs that are in the low mode when the window ends
  std::vector<ModeSwitch> switches;
};

/// Two modes of the replications' goodput, further apart than counting the successes of a window of
/// `window_s` makes them by chance.
std::optional<Modes> goodput_modes(const MetricValues& values, double window_s);

/// Finds two modes by `find_modes` from the goodput of the replications, if the gap is also wider
/// than the noise of counting the successes (0, 1 and 2 of them are not modes). If the replications
/// are alike and the scenario has a steady state, each run is looked at by itself: its window in 30
/// equal stretches. A disturbance would make two modes of any run, so transients are not examined.
std::optional<Bistability> find_bistability(const Scenario& scenario,
                                            std::span<const RunResult> runs,
                                            const MetricValues& values);

}  // namespace retrysim::stats
