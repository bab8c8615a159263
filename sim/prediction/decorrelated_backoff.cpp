// SPDX-License-Identifier: MIT
#include "prediction/decorrelated_backoff.hpp"

#include <algorithm>
#include <cmath>

namespace retrysim::prediction {

void DecorrelatedStep::begin(double low, double high) {
  if (grid_.empty() || low != grid_.front() || high != grid_.back()) make_grid(low, high);
  for (std::vector<double>* sums : {&mass_, &slope_, &shift_}) {
    sums->assign(grid_.size() + 1, 0.0);
  }
  near_low_ = near_high_ = 0;
}

void DecorrelatedStep::add_uniform(double low, double high, double probability) {
  const std::size_t from = index(low, near_low_);
  if (!(high > low)) {
    mass_[from] += probability;
    return;
  }
  const std::size_t to = index(high, near_high_);
  const double density = probability / (high - low);
  slope_[from] += density;
  slope_[to] -= density;
  shift_[from] -= density * low;
  shift_[to] += density * low;
  mass_[to] += probability;
}

DelayLaw DecorrelatedStep::law() const {
  DelayLaw result;
  double mass = 0, slope = 0, shift = 0, before = 0;
  for (std::size_t k = 0; k < grid_.size(); ++k) {
    mass += mass_[k];
    slope += slope_[k];
    shift += shift_[k];
    const double below = mass + slope * grid_[k] + shift;
    if (k > 0) add(result, grid_[k - 1], grid_[k], below - before);
    if (k == 0) add(result, grid_[0], grid_[0], below);
    before = below;
  }
  add(result, grid_.back(), grid_.back(), 1 - before);
  return result;
}

void DecorrelatedStep::make_grid(double low, double high) {
  constexpr int kCells = 4000;
  const double least = low > 0 ? low : high * 1e-4;
  grid_.clear();
  for (int k = 0; k <= kCells; ++k) {
    grid_.push_back(least * std::pow(high / least, static_cast<double>(k) / kCells));
  }
  grid_.front() = low;
  grid_.back() = high;
}

std::size_t DecorrelatedStep::index(double x, std::size_t& near) const {
  if (near > 0 && grid_[near - 1] >= x) near = 0;
  while (near < grid_.size() && grid_[near] < x) ++near;
  return near;
}

DecorrelatedBackoff::DecorrelatedBackoff(const BackoffRules& rules, bool throttling)
    : base_(in_seconds(throttling ? rules.throttle_base : rules.base)),
      cap_(in_seconds(rules.cap)),
      from_full_(rules.decorrelated_from_full) {}

void DecorrelatedBackoff::next() {
  if (base_ == 0) {
    law_ = {{0, 0, 1}};
  } else if (law_.empty()) {
    law_ = from_full_ ? DelayLaw{{0, std::min(base_, cap_), 1}}
                      : limited({{base_, 3 * base_, 1}}, cap_);
  } else {
    advance();
  }
}

void DecorrelatedBackoff::advance() {
  const double low = from_full_ ? 0 : std::min(base_, cap_);
  const double high = std::min(cap_, 3 * most_of(law_));
  if (!(high > low)) {
    law_ = {{low, low, 1}};
    return;
  }
  step_.begin(low, high);
  const auto most_parts = static_cast<int>(std::max<std::size_t>(1, 4000 / law_.size()));
  for (const DelayPiece& p : law_) {
    const int parts = p.high > p.low ? most_parts : 1;
    for (int part = 0; part < parts; ++part) {
      const double s = p.low + (p.high - p.low) * (part + 0.5) / parts;
      const double probability = p.probability / parts;
      if (from_full_) {
        const double x = std::min(cap_, 3 * s);
        step_.add_uniform(std::min(base_, x), std::max(base_, x), probability);
      } else {
        step_.add_uniform(base_, std::max(base_, 3 * s), probability);
      }
    }
  }
  law_ = step_.law();
}

}  // namespace retrysim::prediction
