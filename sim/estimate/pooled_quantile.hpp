// Quantiles of the values of all replications together, with an interval that belongs to them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/histogram.hpp>

#include <optional>
#include <span>

namespace retrysim::stats {

struct PooledQuantile {
  double value_s = 0;                         ///< quantile of all values, seconds
  std::optional<double> ci_low_s, ci_high_s;  ///< 95 % interval around it
};

/// The quantile `p` in (0, 1) of the values of all histograms of nanoseconds, one a replication.
/// Empty if not even one value is to be expected beyond it (see `quantile_seconds`).
///
/// The interval is that of sectioning, with the replications as sections: pooled quantile ± t S /
/// sqrt(R), where S^2 = sum (quantile of a replication - pooled quantile)^2 / (R - 1) and t is that
/// of R - 1 degrees of freedom (Asmussen and Glynn, Stochastic Simulation, III.5; Nakayama, ACM
/// TOMACS 24(4), 2014). To this the interval adds how far the exact quantile may lie from the
/// histogram's. It exists from two replications on, if each of them has 100 values beyond the
/// quantile (`quantile_is_well_supported`), and is cut off at zero.
std::optional<PooledQuantile> pooled_quantile(std::span<const Histogram* const> replications,
                                              const Histogram& pooled, double p);

}  // namespace retrysim::stats
