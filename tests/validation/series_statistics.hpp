// Second-order statistics of time series: what a mean cannot see.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace retrysim::validation {

/// Means of consecutive batches of `size` values; a last, incomplete batch is left out.
std::vector<double> batch_means(std::span<const double> values, std::size_t size);

/// Limit of n times the variance of the mean of n successive values, from at least 8 values that
/// depend on their neighbours but not (noticeably) on values further away.
///
/// The variance alone would be too small by the covariances across the edges between values; twice
/// the covariance of neighbours adds them. Both are taken around the mean of the same n values,
/// which costs three times 1/n of the result; that is made up for.
double asymptotic_variance(std::span<const double> values);

/// Correlation of values that are `lag` apart; fewer than all values.
double autocorrelation(std::span<const double> values, std::size_t lag);

/// Variance over mean of counts; 1 for a Poisson process.
double index_of_dispersion(std::span<const double> counts);

}  // namespace retrysim::validation
