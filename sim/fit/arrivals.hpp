// How requests arrive: the rate, whether it changes, and whether they come at random (as a Poisson
// process does) or in bursts, or more evenly.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retrysim::fit {

/// An estimate, and an interval that covers the true value in `kCertainty` of all logs.
struct Estimate {
  double value = 0, low = 0, high = 0;
};
inline constexpr double kCertainty = 0.95;

/// A variance divided by that of a Poisson process: 1 if requests come at random, more in bursts.
/// `low` and `high` bound what chance alone would give (at `kChance` on either side).
struct Dispersion {
  double index = 1, low = 1, high = 1;
  std::size_t degrees = 0;  ///< degrees of freedom; 0: the log is too short to tell
  bool too_high() const { return degrees > 0 && index > high; }
  bool too_low() const { return degrees > 0 && index < low; }
};
/// Probability with which a Poisson process of constant rate is taken for something else by one
/// test on one side.
inline constexpr double kChance = 0.0005;

enum class ArrivalKind : std::uint8_t {
  kPoisson,  ///< at random at a constant rate
  kVarying,  ///< at random at a rate that changes
  kOther,    ///< neither: in bursts, or too evenly for chance
};

struct FittedArrivals {
  ArrivalKind kind = ArrivalKind::kPoisson;
  std::size_t requests = 0;
  double span_s = 0;          ///< from the first request to the last
  Estimate rate;              ///< per second, over the whole span
  double bin_s = 0;           ///< width of the bins
  std::vector<double> rates;  ///< rate of each bin from the first request on, per second
  Dispersion between_bins;    ///< dispersion of the counts of bins: does the rate change?
  Dispersion within_bins;  ///< dispersion of the counts of tenths of a bin, given those of the bins
  double lag_correlation = 0;   ///< correlation of neighbouring tenths, given the rates of the bins
  double lag_limit = 0;         ///< chance alone stays below this (at `kChance` on either side)
  double peak = 0, trough = 0;  ///< largest and smallest rate of a bin
};

/// Takes the times at which requests arrived, in order, at least two of them, not all the same.
/// Bins are as narrow as `1, 2, 5 x 10^n` seconds (from a minute on minutes, quarters of an hour
/// and hours) allow with 100 requests in each on average, but at most 2000 of them, and no narrower
/// than ten times the resolution of the times.
FittedArrivals fit_arrivals(std::span<const std::int64_t> times_ns, std::int64_t resolution_ns);

/// Takes the numbers of requests in intervals of `width_s`, which become the bins; at least one is
/// not 0. Nothing is told about arrivals within an interval.
FittedArrivals fit_counts(std::vector<double> counts, double width_s);

}  // namespace retrysim::fit
