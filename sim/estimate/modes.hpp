// Whether a system has two modes: some replications stay healthy while others collapse. A mean over
// both describes neither, and the share of each depends on the length of the run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

/// The values of two modes, as indices into the sample, in its order.
struct Modes {
  std::vector<std::size_t> low, high;
  double low_mean = 0, high_mean = 0;
  double gap = 0;        ///< between the largest of the low and the smallest of the high values
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

}  // namespace retrysim::stats
