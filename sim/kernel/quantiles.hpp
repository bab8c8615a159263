// Laws of durations that have given quantiles: what many people know of their service is its p50
// and p99, and neither is its mean. Computed with our own functions, so that the same percentiles
// are the same law, bit for bit, on every machine.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

#include <span>
#include <vector>

namespace retrysim::kernel {

/// With probability `share` a value is at most `value_s`.
struct Quantile {
  double share = 0;    ///< above 0, below 1
  double value_s = 0;  ///< above 0
};

/// A law, and how far its quantiles are from those that were asked for.
struct QuantileLaw {
  Distribution law;
  std::vector<double> values_s;  ///< its own quantiles, in the order of those given
  /// The largest of their relative distances: 0.1 if one is 1.1 times as large as the one given,
  /// or 1.1 times as small.
  double off = 0;
};

/// The law of that kind with these quantiles, which are sorted by share. Its median and spread are
/// those that keep `off` least, which is 0 for two quantiles. Kinds and the numbers of quantiles
/// that they take: lognormal, weibull, gamma and pareto two or more, uniform and normal two,
/// exponential one or more. Throws std::invalid_argument with a sentence that says what is wrong:
/// values that do not rise with their shares, no such law ("pareto would have no mean").
QuantileLaw law_of_quantiles(Distribution::Kind kind, std::span<const Quantile> quantiles);

/// The law among lognormal, weibull, gamma and pareto with the least `off`, for at least three
/// quantiles.
QuantileLaw nearest_law(std::span<const Quantile> quantiles);

/// The lognormal law with one quantile and the coefficient of variation `cv` > 0.
QuantileLaw lognormal_of_cv(Quantile quantile, double cv);

/// The lognormal law with one quantile and that mean. Of two that have it, the one that varies
/// less. Throws std::invalid_argument if none has: a quantile cannot be any multiple of the mean.
QuantileLaw lognormal_of_mean(Quantile quantile, double mean_s);

/// The value below which a standard normal variable is with probability `share`, between 0 and 1.
/// Relative error about 1e-16: Wichura 1988, algorithm AS 241 (PPND16).
double normal_quantile(double share);

/// The quantile of a gamma variable with scale 1. `shape` from kMinFittedShape to kMaxFittedShape.
double gamma_quantile(double shape, double share);

/// Shapes of gamma among which quantiles choose: coefficients of variation from 0.08 to 4.5.
inline constexpr double kMinFittedShape = 0.05;
inline constexpr double kMaxFittedShape = 150;

}  // namespace retrysim::kernel
