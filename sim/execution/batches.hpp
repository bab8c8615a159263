// How many units to hand out at a time: one if they take long, many if they are tiny, so that
// handing out costs nothing to speak of and nobody waits long for the last ones.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

namespace retrysim::execution {

/// A range of units: [first, first + count).
struct Batch {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The batches of one task, in order. Not for use by several threads at once.
class Batches {
 public:
  /// `workers` is how many take batches; `target_s` is how long one should take.
  Batches(std::size_t units, std::size_t workers, double target_s)
      : units_(units), workers_(std::max<std::size_t>(1, workers)), target_s_(target_s) {}

  /// Learns from a batch that is done. The latest count for more: later points may be slower.
  void note(std::size_t units, double seconds) {
    if (units == 0) return;
    const double each = seconds / static_cast<double>(units);
    unit_s_ = known_ ? 0.75 * unit_s_ + 0.25 * each : each;
    known_ = true;
  }

  /// The next batch; empty if there is none.
  Batch next() {
    const std::size_t left = units_ - next_;
    std::size_t count = 1;
    if (known_ && unit_s_ * static_cast<double>(left) > target_s_) {
      count = static_cast<std::size_t>(target_s_ / std::max(unit_s_, 1e-9));
    } else if (known_) {
      count = left;
    }
    // Towards the end smaller ones, so that all are done at about the same time.
    count = std::clamp<std::size_t>(count, 1, std::max<std::size_t>(1, left / (2 * workers_)));
    count = std::min(count, left);
    const Batch batch{next_, count};
    next_ += count;
    return batch;
  }

  /// No further batches.
  void end() { units_ = next_; }
  bool done() const { return next_ == units_; }

 private:
  std::size_t units_, next_ = 0;
  std::size_t workers_;
  double target_s_;
  double unit_s_ = 0;
  bool known_ = false;
};

}  // namespace retrysim::execution
