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
  for (AttemptRow& row : few_) row.begin_window();
  for (AttemptRow& row : later_) row.begin_window();
}

void AttemptRows::end_window() {
  in_window_ = false;
  for (AttemptRow& row : few_) row.end_window();
  for (AttemptRow& row : later_) row.end_window();
}

void AttemptRows::reach(std::size_t later) {
  const std::size_t before = later_.size();
  later_.resize(later + 1);
  if (!in_window_) return;
  for (std::size_t i = before; i < later_.size(); ++i) later_[i].begin_window();
}

std::vector<AttemptNumberCounts> AttemptRows::counts() const {
  std::size_t few = kFew;
  while (later_.empty() && few > 0 && !few_[few - 1].is_used()) --few;
  std::vector<AttemptNumberCounts> all;
  for (std::size_t i = 0; i < few; ++i) all.push_back(few_[i].counts());
  for (const AttemptRow& row : later_) all.push_back(row.counts());
  return all;
}

}  // namespace retrysim::stats
