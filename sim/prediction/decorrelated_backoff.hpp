// The delays of decorrelated jitter, each of which is drawn from the one before.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>

#include <cstddef>
#include <vector>

#include "prediction/delay_law.hpp"

namespace retrysim::prediction {

/// The law of the next delay, uniform between a bound and three times the one before: every bit of
/// the law before becomes a uniform piece, and their sum is exact at the points of a grid.
class DecorrelatedStep {
 public:
  /// Begins a law between these bounds.
  void begin(double low, double high);
  void add_uniform(double low, double high, double probability);
  DelayLaw law() const;

 private:
  void make_grid(double low, double high);
  /// Of the first point that is not below x. `near` is the place of the x before: they mostly come
  /// in ascending order.
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
  /// Of the present retry; empty before the first.
  const DelayLaw& law() const { return law_; }

 private:
  void advance();

  double base_, cap_;  // seconds
  bool from_full_;
  DelayLaw law_;
  DecorrelatedStep step_;
};

}  // namespace retrysim::prediction
