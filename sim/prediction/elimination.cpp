// SPDX-License-Identifier: MIT
#include "prediction/elimination.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace retrysim::prediction {

Elimination::Elimination(std::size_t states, std::size_t bandwidth)
    : states_(states),
      band_(bandwidth),
      width_(2 * bandwidth + 1),
      cells_(states * width_),
      exit_(states),
      out_(states) {}

void Elimination::run(std::size_t last) {
  for (std::size_t k = states_; k-- > last;) {
    const std::size_t first = lowest(k);
    const double* const from_k = row(k) + (first + band_ - k);
    double out = exit_[k];
    for (std::size_t j = 0; j < k - first; ++j) out += from_k[j];
    assert(out > 0);
    out_[k] = out;
    for (std::size_t i = first; i < k; ++i) {
      double& into_k = row(i)[k - i + band_];
      if (into_k == 0) continue;
      const double share = into_k /= out;
      exit_[i] += share * exit_[k];
      // The diagonal is among these cells: what it collects is never looked at.
      double* const from_i = row(i) + (first + band_ - i);
      for (std::size_t j = 0; j < k - first; ++j) from_i[j] += share * from_k[j];
    }
  }
}

std::vector<double> Elimination::solve_down_to(std::size_t last, std::vector<double> x) const {
  for (std::size_t k = states_; k-- > last;) {
    // Column k of shares: of the states below.
    for (std::size_t i = std::max(lowest(k), last); i < k; ++i) {
      x[i] += row(i)[k - i + band_] * x[k];
    }
  }
  for (std::size_t k = last; k < states_; ++k) {
    const std::size_t first = lowest(k);
    const double* const from_k = row(k) + (first + band_ - k);
    double sum = x[k];
    for (std::size_t j = 0; j < k - first; ++j) sum += from_k[j] * x[first + j];
    x[k] = sum / out_[k];
  }
  return x;
}

std::vector<double> Elimination::solve(std::vector<double> reward) const {
  return solve_down_to(0, std::move(reward));
}

std::vector<double> Elimination::solve_above_first(std::vector<double> reward) const {
  reward[0] = 0;
  return solve_down_to(1, std::move(reward));
}

std::vector<double> Elimination::stationary() const {
  constexpr double kLarge = 1e200;
  std::vector<double> law(states_);
  law[0] = 1;
  for (std::size_t j = 0; j < states_; ++j) {
    if (law[j] > kLarge) {
      for (double& p : law) p /= kLarge;
    }
    const std::size_t reach = std::min(band_, states_ - 1 - j);
    const double* const from_j = row(j) + band_;
    for (std::size_t step = 1; step <= reach; ++step) law[j + step] += law[j] * from_j[step];
  }
  double sum = 0;
  for (const double p : law) sum += p;
  for (double& p : law) p /= sum;
  return law;
}

}  // namespace retrysim::prediction
