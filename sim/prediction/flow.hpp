// A stream of attempts over time, filled in from the past: what is put in now arrives later, all at
// once or spread evenly over a while. Time is in bins; rates are of whole bins.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace retrysim::prediction {

class Flow {
 public:
  /// Holds what arrives in the next `bins` bins; what arrives later is dropped.
  explicit Flow(std::size_t bins) {
    std::size_t size = 4;
    while (size < bins + 4) size *= 2;
    mask_ = size - 1;
    single_.resize(size);
    change_.resize(size);
  }

  /// The rate of the present bin, for good; then the next bin is the present one.
  double take() {
    const std::size_t k = now_ & mask_;
    running_ += change_[k];
    const double rate = single_[k] + running_;
    single_[k] = change_[k] = 0;
    ++now_;
    return rate > 0 ? rate : 0;
  }

  /// `delay` in bins, at least one of which passes.
  void put(double delay, double rate) {
    delay = std::max(1.0, delay);
    if (delay >= static_cast<double>(mask_ - 1)) return;
    const auto whole = static_cast<std::size_t>(delay);
    const double part = delay - static_cast<double>(whole);
    single_[(now_ + whole - 1) & mask_] += rate * (1 - part);
    single_[(now_ + whole) & mask_] += rate * part;
  }

  /// Evenly from `low` to `high` bins from now.
  void spread(double low, double high, double rate) {
    low = std::max(1.0, low);
    if (high - low < 1) return put((low + std::max(low, high)) / 2, rate);
    const double share = rate / (high - low);
    change(low, share);
    change(high, -share);
  }

 private:
  void change(double delay, double by) {
    if (delay >= static_cast<double>(mask_ - 1)) return;
    const auto whole = static_cast<std::size_t>(delay);
    const double part = delay - static_cast<double>(whole);
    change_[(now_ + whole - 1) & mask_] += by * (1 - part);
    change_[(now_ + whole) & mask_] += by * part;
  }

  // `now_` is the bin after the one taken last, which is the present one while rates are put in.
  std::size_t now_ = 0, mask_;
  double running_ = 0;
  std::vector<double> single_, change_;
};

}  // namespace retrysim::prediction
