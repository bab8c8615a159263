// How likely is something so rare that no run shows it? Splitting: many runs (particles) start; of
// them the ones that come least near to the event are given up, and others that have come nearer go
// on from where they first did, each time with new random numbers. What is given up counts: with n
// particles of which k are given up at a time, a factor of (n - k) / n.
//
// This is adaptive multilevel splitting (Cérou and Guyader, Stochastic Analysis and Applications
// 25, 2007) in the form that is unbiased also where many particles are equally near: all of those
// at the lowest level are given up together, and the others go on from the first moment at which
// they are beyond it (Bréhier, Gazeau, Goudenège, Lelièvre and Rousset, Annals of Applied
// Probability 26, 2016). Its error is found from independent repetitions and nothing else; a
// product of binomial errors would be too small, because particles have ancestors in common.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

/// One particle from its start to the event, or to its end without it.
struct SplittingPath {
  std::vector<NearestSoFar> records;  ///< rising; the last one is `kHappened` if it arrives
  double position = 0;                ///< where in its time it arrives, from 0 to 1
  double time_s = 0;                  ///< from its start to the event, or to its end
  bool early = false;                 ///< ended by the event, but too early to count
  std::uint64_t events = 0;
};

/// Follows the particle that starts as `root` and takes these branches. The same arguments must
/// give the same path, and paths with equal branches up to some event are the same up to there.
using FollowPath =
    std::function<SplittingPath(std::uint32_t root, std::span<const Branch> branches)>;

/// One repetition. Its expected probability is exactly that of the event, however few particles
/// there are and however poor the scores; what these decide is its spread.
struct SplittingRun {
  double probability = 0;  ///< 0: all particles were at the lowest level at some time
  /// It was given up before all particles arrived; `probability` is that of coming as near as the
  /// least near of them, and the event is less likely.
  bool unfinished = false;
  std::uint32_t particles = 0;
  std::uint32_t levels = 0;     ///< at which particles were given up
  std::uint32_t ancestors = 0;  ///< different starts among those that arrive
  NearnessScore nearest = 0;    ///< the highest score of any particle
  double position = 0;          ///< mean of those that arrive
  /// One of those that arrive, each as likely as any other: its start, its branches, and where in
  /// its time it arrives.
  std::uint32_t root = 0;
  std::vector<Branch> branches = {};
  double arrives = 0;
  std::uint32_t early = 0;              ///< starts from which the event came too early to count
  double time_s = 0;                    ///< `follow_all`: of all particles together
  std::uint64_t paths = 0, events = 0;  ///< that were followed
  std::uint64_t repeated = 0;           ///< of the events: what another particle had done before

  bool operator==(const SplittingRun&) const = default;
};

/// When a repetition is given up.
struct SplittingLimits {
  double least_probability = 0;
  std::uint64_t most_events = ~std::uint64_t{0};  ///< looked at between levels
};

/// `particles`: at least 2. `key`: for choosing which particles go on.
SplittingRun split(std::uint32_t particles, const RandomKey& key, const FollowPath& follow,
                   const SplittingLimits& limits = {});

/// The same without splitting: all particles from their starts, and the share that arrives.
SplittingRun follow_all(std::uint32_t particles, const FollowPath& follow);

/// A mean of numbers that are not negative and may differ by orders of magnitude.
struct PositiveEstimate {
  double mean = 0;
  double low = 0, high = 0;   ///< 95 % interval; 0 < low < mean < high unless all are equal
  double relative_error = 0;  ///< standard error of the mean, as a share of it

  /// The larger distance to the interval's ends, as a share of the mean.
  double half_width() const { return mean > 0 ? (high - mean) / mean : 0; }
};

/// Student's interval of the logarithm of the mean by the jackknife: symmetric as a factor, and
/// never below 0. Nothing if fewer than two of the values are above 0.
std::optional<PositiveEstimate> positive_mean(std::span<const double> values);
/// The same for the sum of the numerators over that of the denominators, which are above 0.
std::optional<PositiveEstimate> positive_ratio(std::span<const double> numerators,
                                               std::span<const double> denominators);

/// Upper end of a one-sided 95 % interval for a rate, if no event has come in this time; or for a
/// small probability, after as many trials.
double bound_without_hits(double time_or_trials);

}  // namespace retrysim::stats
