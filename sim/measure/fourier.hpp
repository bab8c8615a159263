// Fourier analysis of series of counts. The roots of unity come from SLEEF and everything else is
// + - * /, so that results do not depend on the machine's mathematical library.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace retrysim::stats {

/// Ordinates of the periodogram of `values` around their mean: |X_k|^2 / n at the frequencies k / n
/// for k = 1, ..., (n - 1) / 2, rounded down; the first is at index 0. Any length, in n log n
/// steps.
std::vector<double> periodogram(std::span<const double> values);

/// Autocorrelations of `values` at the lags 0 to `max_lag` < n: covariances around the mean, each
/// with divisor n, per variance. Empty if all values are equal or there are none.
std::vector<double> autocorrelations(std::span<const double> values, std::size_t max_lag);

}  // namespace retrysim::stats
