// Elimination without subtraction (Grassmann, Taksar and Heyman 1985) on a band matrix of rates. To
// take a state out, the rates into it are redistributed to the states that it would go to next; the
// rate of leaving a state is the sum of its rates, never one minus another. Cost: states times the
// square of the bandwidth; memory: 16 bytes times their product.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace retrysim::prediction {

/// Rates between the states of a chain, or of a part of it with an exit to the rest.
class Elimination {
 public:
  /// No step may be longer than `bandwidth` states.
  Elimination(std::size_t states, std::size_t bandwidth);

  /// Adds a rate; to be called before `run`. `from` and `to` must differ.
  void add(std::size_t from, std::size_t to, double rate) { row(from)[to - from + band_] += rate; }
  void add_exit(std::size_t from, double rate) { exit_[from] += rate; }

  /// Takes out all states from the highest down to `last`. Each must have a way out, through lower
  /// states or the exit. If a way out is so rare that the mean time until it is taken is beyond a
  /// double, returns the state, and no other function may be called.
  std::optional<std::size_t> run(std::size_t last);

  /// After run(0): x with (rates out of k) x_k = reward_k + sum over steps of rate x_j. Rewards of
  /// 1 give the mean time to the exit. Rewards may have any sign; without subtraction only if all
  /// have the same sign.
  std::vector<double> solve(std::vector<double> reward) const;

  /// After run(1), without exits: the stationary distribution.
  std::vector<double> stationary() const;

  /// After run(1), without exits: the mean time from each state until one of the first `targets`
  /// states (at least one); 0 in these. They are taken out last, so that earlier work does not
  /// depend on them.
  std::vector<double> time_below(std::size_t targets) const;

  /// After run(1): x with x_0 = 0, as `solve`; the reward of state 0 is ignored.
  std::vector<double> solve_above_first(std::vector<double> reward) const;

 private:
  double* row(std::size_t i) { return cells_.data() + i * width_; }
  const double* row(std::size_t i) const { return cells_.data() + i * width_; }
  bool sum_up(std::size_t k);  // sums up the rate out of k; false if it is too small
  void take_out_of(std::size_t i, std::size_t k);  // takes k out of the ways of i
  // Takes out top .. top - 3; returns as `run`.
  std::optional<std::size_t> take_out_four(std::size_t top);
  std::vector<double> solve_down_to(std::size_t last, std::vector<double> reward) const;
  std::size_t lowest(std::size_t k) const { return k > band_ ? k - band_ : 0; }

  std::size_t states_, band_, width_;
  std::vector<double> cells_;  // row i, column i - band .. i + band; the diagonal is unused
  std::vector<double> exit_;
  std::vector<double> mean_stay_;  // 1 / rate out, once a state is taken out
};

}  // namespace retrysim::prediction
