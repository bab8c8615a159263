// SPDX-License-Identifier: MIT
#include "prediction/elimination.hpp"

#include <retrysim/stop.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

namespace retrysim::prediction {
namespace {

constexpr std::size_t kStates = 4;  // taken out at once

/// Adds to each of `cells` numbers what the four rows have there, times their shares; in this
/// order, so that the result is the same however wide the registers are.
inline __attribute__((always_inline)) void add_rows(double* __restrict to,
                                                    const double* const* rows, const double* shares,
                                                    std::size_t cells) {
  const double a = shares[0], b = shares[1], c = shares[2], d = shares[3];
  const double *p = rows[0], *q = rows[1], *r = rows[2], *s = rows[3];
  for (std::size_t j = 0; j < cells; ++j) {
    to[j] = to[j] + a * p[j] + b * q[j] + c * r[j] + d * s[j];
  }
}

using AddRows = void (*)(double*, const double* const*, const double*, std::size_t);

void add_rows_anywhere(double* to, const double* const* rows, const double* shares,
                       std::size_t cells) {
  add_rows(to, rows, shares, cells);
}

#if defined(__x86_64__)
// Four numbers at a time instead of two: this loop is nearly all that a chain costs.
__attribute__((target("avx2"))) void add_rows_avx2(double* to, const double* const* rows,
                                                   const double* shares, std::size_t cells) {
  add_rows(to, rows, shares, cells);
}
const AddRows kAddRows = __builtin_cpu_supports("avx2") != 0 ? add_rows_avx2 : add_rows_anywhere;
#else
const AddRows kAddRows = add_rows_anywhere;
#endif

}  // namespace

Elimination::Elimination(std::size_t states, std::size_t bandwidth)
    : states_(states),
      band_(bandwidth),
      width_(2 * bandwidth + 1),
      cells_(states * width_),
      exit_(states),
      mean_stay_(states) {}

void Elimination::take_out_of(std::size_t i, std::size_t k) {
  const std::size_t first = lowest(k);
  double& into_k = row(i)[k - i + band_];
  if (into_k == 0) return;
  const double share = into_k *= mean_stay_[k];
  exit_[i] += share * exit_[k];
  // The diagonal is among these cells: what it collects is never looked at.
  const double* const from_k = row(k) + (first + band_ - k);
  double* const from_i = row(i) + (first + band_ - i);
  for (std::size_t j = 0; j < k - first; ++j) from_i[j] += share * from_k[j];
}

void Elimination::sum_up(std::size_t k) {
  const std::size_t first = lowest(k);
  const double* const from_k = row(k) + (first + band_ - k);
  double out = exit_[k];
  for (std::size_t j = 0; j < k - first; ++j) out += from_k[j];
  assert(out > 0);
  mean_stay_[k] = 1 / out;
}

/// Four states at once, so that a row is read and written once for all of them; the same sums in
/// the same order as one by one.
void Elimination::take_out_four(std::size_t top) {
  for (std::size_t t = 0; t < kStates; ++t) {
    for (std::size_t before = 0; before < t; ++before) take_out_of(top - t, top - before);
    sum_up(top - t);
  }
  const std::size_t bottom = top - (kStates - 1), common = lowest(top);
  for (std::size_t i = lowest(bottom); i < common; ++i) {
    for (std::size_t t = 1; t < kStates; ++t) {
      if (i >= lowest(top - t)) take_out_of(i, top - t);
    }
  }
  const double* from[kStates];  // cell 0 is that of state `common`
  for (std::size_t t = 0; t < kStates; ++t) from[t] = row(top - t) + (common + band_ - (top - t));
  for (std::size_t i = common; i < bottom; ++i) {
    double* const from_i = row(i) + (common + band_ - i);
    double share[kStates];
    for (std::size_t t = 0; t < kStates; ++t) {
      const std::size_t k = top - t;
      double& into_k = from_i[k - common];
      share[t] = into_k *= mean_stay_[k];
      exit_[i] += share[t] * exit_[k];
      for (std::size_t j = bottom; j < k; ++j) from_i[j - common] += share[t] * from[t][j - common];
      // States that only the lower ones of the four reach.
      for (std::size_t j = lowest(k); j < common; ++j) {
        row(i)[j + band_ - i] += share[t] * row(k)[j + band_ - k];
      }
    }
    kAddRows(from_i, from, share, bottom - common);
  }
}

void Elimination::run(std::size_t last) {
  std::size_t left = states_;
  // The first rows of the band are shorter; states with them are taken out one by one.
  while (left >= last + kStates && left > band_ + 2 * kStates && band_ >= 2 * kStates) {
    stop_point();
    take_out_four(left - 1);
    left -= kStates;
  }
  for (std::size_t k = left; k-- > last;) {
    stop_point();
    sum_up(k);
    for (std::size_t i = lowest(k); i < k; ++i) take_out_of(i, k);
  }
}

std::vector<double> Elimination::solve_down_to(std::size_t last, std::vector<double> x) const {
  for (std::size_t i = states_; i-- > last;) {
    const double* const share = row(i) + band_;  // of those who would enter state i + step
    double sum = x[i];
    for (std::size_t step = std::min(band_, states_ - 1 - i); step > 0; --step) {
      sum += share[step] * x[i + step];
    }
    x[i] = sum;
  }
  for (std::size_t k = last; k < states_; ++k) {
    const std::size_t first = lowest(k);
    const double* const from_k = row(k) + (first + band_ - k);
    double sum = x[k];
    for (std::size_t j = 0; j < k - first; ++j) sum += from_k[j] * x[first + j];
    x[k] = sum * mean_stay_[k];
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

std::vector<double> Elimination::time_below(std::size_t targets) const {
  std::vector<double> reward(states_, 1);
  std::fill_n(reward.begin(), targets, 0);
  return solve_down_to(targets, std::move(reward));
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
