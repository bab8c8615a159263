// Which law service times follow.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/arrivals.hpp"
#include "fit/formats.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim::fit {

enum class LawKind : std::uint8_t {
  kConstant,
  kExponential,
  kGamma,
  kLognormal,
  kWeibull,
  kPareto,
  kHyperexponential,  ///< a mixture of two exponential laws
  kTwoLognormals,     ///< a mixture of two lognormal laws
  kEmpirical,         ///< the values of the log themselves
};

/// A law with the parameters of largest likelihood.
struct Law {
  LawKind kind = LawKind::kEmpirical;
  /// In seconds. Exponential: mean. Gamma, Weibull: shape, scale. Lognormal: median, standard
  /// deviation of the logarithm. Pareto: least value, shape. Hyperexponential: probability of the
  /// first, both means. Two lognormals: probability of the first, median and deviation of each.
  std::vector<double> parameters;
  double aic = 0;       ///< 2 k - 2 ln(largest likelihood), of the values that were compared
  double distance = 0;  ///< largest difference of the distribution functions (Kolmogorov)

  double cumulative(double x_s) const;
  double mean() const;
  /// The value that a share `p` in (0, 1) stays below.
  double quantile(double p) const;
};

struct FittedServiceTime {
  std::size_t values = 0;  ///< number of values used
  /// If set, the values are all durations, reduced by this share, which was waiting; empty: the
  /// values are durations of requests that did not wait.
  std::optional<double> wait_share;
  /// Statistics of the values, in seconds, with intervals that need no law: that of the mean allows
  /// for skewness (Hall's transformation of Student's t), those of the quantiles count values; all
  /// allow for the rounding of values.
  Estimate mean, p50, p99;
  double cv = 0;      ///< standard deviation / mean
  double step_s = 0;  ///< durations of the log are multiples of this
  /// How they became so: as the format says, or else as the shortest values tell. If they were cut
  /// off, half a step has been added; if it is not known, the intervals hold both.
  HowRounded rounding = HowRounded::kUnknown;
  std::vector<Law> laws;  ///< the laws that were tried, the best (least AIC) first
  Law chosen;             ///< the law that the scenario has
  std::string why;        ///< a sentence why it was chosen
  /// Two kinds of requests can be told apart: the sentence says how many and how long.
  std::string two_kinds;
  std::vector<double> quantiles_s;  ///< quantiles of the values, if the chosen law is empirical
};

/// Fits the law of service times to at least one value, in seconds, not negative, independent of
/// each other. Values are multiples of `resolution_s`. `rounding`: what the format says of that.
FittedServiceTime fit_service_time(std::vector<double> values_s, double resolution_s,
                                   HowRounded rounding = HowRounded::kUnknown);

/// The median of the values, which are reordered; of two middle values the upper one.
double median_of(std::vector<double>& values);

/// A time with three digits and a unit: "12.5 ms".
std::string time_words(double seconds);

/// "1457 requests that did not wait".
std::string values_words(const FittedServiceTime& s);

/// A moment or a long time, in seconds: four digits, or all that are whole seconds, without a unit.
std::string second_words(double seconds);

/// A duration as scenarios have it, to six digits or a whole second: "12.5ms".
std::string duration_text(double seconds);

}  // namespace retrysim::fit
