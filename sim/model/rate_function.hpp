// An arrival rate that changes over time (profiles, traces, surges), and the walk along its
// integral: a Poisson process of unit rate, stretched by it, is the inhomogeneous Poisson process;
// evenly spaced points, stretched likewise, are evenly spaced requests.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <vector>

namespace retrysim::model {

/// Piecewise linear rate over time; from the last piece on it is constant.
class RateFunction {
 public:
  /// `base` (per second) times the profile, if there is one, times the surges.
  RateFunction(double base, const std::optional<RateProfile>& profile,
               const std::vector<SurgeSpec>& surges);

  bool is_constant() const { return pieces_.size() == 1 && pieces_[0].slope == 0; }
  double constant_rate() const { return pieces_[0].rate; }

  /// The rate per second at `t`.
  double at(Time t) const;

  /// The highest rate at any time.
  double highest() const;

  /// The integral from zero to `end`.
  double area(Time end) const;

  /// Moves along the rate's integral.
  class Cursor {
   public:
    explicit Cursor(const RateFunction& function) : function_(&function) {}
    /// The time at which the integral has grown by `area` (requests) since the last call;
    /// `Time::max()` if it never does.
    Time advance(double area);

   private:
    const RateFunction* function_;
    std::size_t piece_ = 0;
    double offset_s_ = 0;  // from the start of the piece
  };

 private:
  struct Piece {
    double start_s;
    double rate;   // at the start, per second
    double slope;  // per second squared
  };
  std::vector<Piece> pieces_;
};

}  // namespace retrysim::model
