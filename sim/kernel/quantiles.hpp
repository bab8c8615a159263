// Laws of durations that have given quantiles: many people know only p50 and p99 of their service,
// and neither is its mean. They are computed with the functions of functions.hpp, so that the same
// percentiles give the same law, bit for bit, on every machine.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

#include <span>
#include <vector>

namespace retrysim::kernel {

/// A quantile: a value is at most `value_s` with probability `share`.
struct Quantile {
  double share = 0;    ///< above 0, below 1
  double value_s = 0;  ///< above 0
};

/// A law, and the distance of its quantiles from the given ones.
struct QuantileLaw {
  Distribution law;
  std::vector<double> values_s;  ///< the law's own quantiles, in the order of the given ones
  /// The largest relative distance of a quantile from the given one: 0.1 if it is 1.1 times as
  /// large, or as small.
  double off = 0;
};

/// The law of that kind with these quantiles, which are sorted by share. Its median and spread make
/// `off` least; for two quantiles `off` is 0. Kinds and the numbers of quantiles that they take:
/// lognormal, weibull, gamma and pareto two or more, uniform and normal two, exponential one or
/// more. Throws std::invalid_argument with a sentence that says what is wrong: values that do not
/// rise with their shares, no such law ("pareto would have no mean").
QuantileLaw law_of_quantiles(Distribution::Kind kind, std::span<const Quantile> quantiles);

/// The law among lognormal, weibull, gamma and pareto with the least `off`, for at least three
/// quantiles.
QuantileLaw nearest_law(std::span<const Quantile> quantiles);

/// The lognormal law with one quantile and the coefficient of variation `cv` > 0.
QuantileLaw lognormal_of_cv(Quantile quantile, double cv);

/// The lognormal law with one quantile and the mean `mean_s`; of two such laws, the one that varies
/// less. Throws std::invalid_argument if there is none: a quantile cannot be any multiple of the
/// mean.
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
