// Where the warm-up of a time series ends: the marginal standard error rule in batches of five
// (MSER-5; White, Simulation 69(6), 1997, and White, Cobb and Spratt, WSC 2000).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace retrysim::stats {

/// Observations that make one batch.
inline constexpr std::size_t kMserBatch = 5;

struct Truncation {
  /// Observations to leave out at the start: a multiple of `kMserBatch`.
  std::size_t observations = 0;
  /// False: the best truncation is the largest one allowed, so that nothing tells whether the
  /// warm-up ends there. The series is too short.
  bool found = false;
};

/// Z_1 .. Z_m are the means of successive fives (what is left over at the end is ignored), and d is
/// the number of them that goes, 0 <= d <= m / 2, for which
///
///     sum over i > d of (Z_i - mean of those)^2 / (m - d)^2
///
/// is smallest: the squared standard error of the mean that remains. The first of equal ones is
/// taken. Not found for fewer than 4 batches.
Truncation mser5(std::span<const double> series);

}  // namespace retrysim::stats
