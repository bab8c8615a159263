// How attempts arrive: in bursts (index of dispersion), in echoes of earlier bursts
// (autocorrelation), in a rhythm (spectrum). Everything is computed from counts in bins of equal
// width.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/simulation.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

// --- Fourier analysis ----------------------------------------------------------------------------

// The roots of unity come from kernel/functions.hpp and everything else is + - * /, so results do
// not depend on the machine's mathematical library.

/// Ordinates of the periodogram of `values` around their mean: |X_k|^2 / n at the frequencies k / n
/// for k = 1, ..., (n - 1) / 2, rounded down; the first is at index 0. Any length, in n log n
/// steps.
std::vector<double> periodogram(std::span<const double> values);

/// Autocorrelations of `values` at the lags 0 to `max_lag` < n: covariances around the mean, each
/// with divisor n, per variance. Empty if all values are equal or there are none.
std::vector<double> autocorrelations(std::span<const double> values, std::size_t max_lag);

// --- Burstiness ----------------------------------------------------------------------------------

/// Counts of attempts that arrived, by bin.
struct ArrivalCounts {
  std::vector<double> counts;
  double bin_s = 0;  ///< width of a bin
};

/// Counts of the window's bins. Neighbours are joined until at most 16384 are left, which bounds
/// the time of everything below; `join = false` leaves the bins as they are.
ArrivalCounts arrival_counts(const RunResult& run, std::span<const ClientBin> bins,
                             bool join = true);

/// Variance over mean of the counts; 1 for Poisson arrivals, 0 for evenly spaced ones, more for
/// bursts. Empty for fewer than two bins, or without arrivals.
std::optional<double> dispersion_index(std::span<const double> counts);

struct Dispersion {
  double window_s;
  double index;
};

/// The index of dispersion in windows of 1, 2, 4, 8, ... bins, as long as 30 of them fit (then its
/// relative standard deviation is about 1/4). A window shorter than the time between a burst and
/// its echo does not see that they belong together.
std::vector<Dispersion> dispersion_ladder(const ArrivalCounts& arrivals);

/// The largest autocorrelation, and at which lag.
struct Echo {
  double lag_s;
  double correlation;
};

/// The strongest echo at lags from one bin to a quarter of the window; empty for fewer than 8 bins,
/// or if all counts are equal. For independent counts its autocorrelation is about sqrt(2 ln(n/4) /
/// n).
std::optional<Echo> strongest_echo(const ArrivalCounts& arrivals);

/// The frequency with the largest ordinate of the periodogram.
struct SpectralPeak {
  double frequency;  ///< per second
  double ratio;      ///< the largest ordinate over the median one
  double p_value;  ///< p value of Fisher's test: the probability of such a peak without any rhythm
};

/// The peak of the spectrum of arrivals; empty for fewer than 8 bins, or if more than half of the
/// ordinates are zero.
std::optional<SpectralPeak> spectral_peak(const ArrivalCounts& arrivals);

/// Fisher's exact test: the probability that the largest of `ordinates` independent exponential
/// variates of equal mean is at least the share `largest_share` in (0, 1] of their sum.
double fisher_p_value(double largest_share, std::size_t ordinates);

}  // namespace retrysim::stats
