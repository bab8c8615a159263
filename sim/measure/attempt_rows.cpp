// SPDX-License-Identifier: MIT
#include "measure/attempt_rows.hpp"

namespace retrysim::stats {

void AttemptRow::begin_bin(Time now) {
  constexpr std::int64_t kWidth = 100'000'000;
  if (bin_end_ == Time()) before_bin_ = all_sent();  // the first one in the window
  note_peak();
  bin_end_ = Time::from_nanoseconds((now.count() / kWidth + 1) * kWidth);
}

void AttemptRows::begin_window() {
  in_window_ = true;
  first_.begin_window();
  for (AttemptRow& row : later_) row.begin_window();
}

void AttemptRows::end_window() {
  in_window_ = false;
  first_.end_window();
  for (AttemptRow& row : later_) row.end_window();
}

void AttemptRows::reach(std::size_t later) {
  const std::size_t before = later_.size();
  later_.resize(later + 1);
  if (!in_window_) return;
  for (std::size_t i = before; i < later_.size(); ++i) later_[i].begin_window();
}

std::vector<AttemptNumberCounts> AttemptRows::counts() const {
  std::vector<AttemptNumberCounts> all;
  if (const AttemptNumberCounts first = first_.counts();
      !later_.empty() || first_sent() > 0 || first.in_backoff_ns > 0) {
    all.push_back(first);
  }
  for (const AttemptRow& row : later_) all.push_back(row.counts());
  return all;
}

}  // namespace retrysim::stats
