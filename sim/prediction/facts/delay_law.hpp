// The law of a delay as a mixture of uniform pieces: backoffs of every jitter, think times, service
// times. An integral over such a law is a sum of a few terms.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/time.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

namespace retrysim::prediction {

inline constexpr double kForever = std::numeric_limits<double>::infinity();

inline double in_seconds(Duration d) { return d == Duration::max() ? kForever : d.in_seconds(); }

/// Uniform on [low, high], seconds; low = high is a single value.
struct DelayPiece {
  double low = 0, high = 0, probability = 1;

  double mean() const { return (low + high) / 2; }
};

using DelayLaw = std::vector<DelayPiece>;  // probabilities add up to 1

class DecorrelatedBackoff;

/// Adds a piece, unless it is impossible.
void add(DelayLaw& law, double low, double high, double probability);

/// The law with values above `cap` replaced by `cap`.
DelayLaw limited(const DelayLaw& law, double cap);

double mean_of(const DelayLaw& law);
double variance_of(const DelayLaw& law);
double least_of(const DelayLaw& law);
double most_of(const DelayLaw& law);

/// The delay before retry number `retry` (from 1). For decorrelated jitter it is the marginal law:
/// exact for each retry, but without the dependence between successive delays.
DelayLaw backoff_law(const BackoffRules& rules, bool throttling, int retry);

/// The laws for one retry after another, at the cost of the last alone. The rules must outlive it.
class BackoffLaws {
 public:
  BackoffLaws(const BackoffRules& rules, bool throttling);
  ~BackoffLaws();
  BackoffLaws(const BackoffLaws&) = delete;
  BackoffLaws& operator=(const BackoffLaws&) = delete;

  /// The delay of retry number 1, then 2, ...
  DelayLaw next();
  /// Skips the law of one retry.
  void skip();

 private:
  const BackoffRules& rules_;
  bool throttling_;
  int retry_ = 0;
  DelayLaw last_;  // last delay of a list of delays
  std::unique_ptr<DecorrelatedBackoff> decorrelated_;
};

/// Whether the delays after throttling errors have a law of their own.
bool throttling_differs(const BackoffRules& rules);

/// The law of a distribution: exact for constant and uniform ones; others by `pieces` quantiles,
/// with the exact mean.
DelayLaw law_of(const Distribution& distribution, int pieces = 32);

/// The sample below which a share `probability` (0 to 1) lies.
double quantile_of(const Distribution& distribution, double probability);

/// The law approximated by at most `pieces` pieces, with the same mean.
DelayLaw coarsened(DelayLaw law, int pieces);

/// Probability that a sample is longer than `seconds`. Empirical distributions count as constant,
/// at their mean: a `Distribution` does not give their values.
double survival(const Distribution& distribution, double seconds);

/// Variance / mean^2; infinite where there is no variance, 0 for a mean of 0.
double squared_variation(const Distribution& distribution);

// --- Decorrelated jitter -------------------------------------------------------------------------

// Each delay is drawn from the one before.

/// The law of the next delay, uniform between a bound and three times the one before: every bit of
/// the law before becomes a uniform piece, and their sum is exact at the points of a grid.
class DecorrelatedStep {
 public:
  /// Begins a new law, between these bounds.
  void begin(double low, double high);
  void add_uniform(double low, double high, double probability);
  DelayLaw law() const;

 private:
  void make_grid(double low, double high);
  /// The index of the first grid point that is not below x. `near` is the index for the previous x:
  /// they mostly come in ascending order.
  std::size_t index(double x, std::size_t& near) const;

  std::vector<double> grid_, mass_, slope_, shift_;
  std::size_t near_low_ = 0, near_high_ = 0;
};

/// The laws of the delays before retries 1, 2, ...
class DecorrelatedBackoff {
 public:
  DecorrelatedBackoff(const BackoffRules& rules, bool throttling);

  /// Goes on to the next retry.
  void next();
  /// The law of the present retry; empty before the first.
  const DelayLaw& law() const { return law_; }

 private:
  void advance();

  double base_, cap_;  // seconds
  bool from_full_;
  DelayLaw law_;
  DecorrelatedStep step_;
};

}  // namespace retrysim::prediction
