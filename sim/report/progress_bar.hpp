// One line on standard error that shows how far the work is. Only on a terminal, so that logs and
// pipes stay clean; wall-clock figures appear here and nowhere else.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace retrysim::report {

/// The text of the line: "name [=====>    ]  52 %  ~12 s left", at most `columns` wide. `share` is
/// clamped to [0, 1]; `elapsed_s` gives the estimate of what is left.
std::string progress_line(std::string_view name, double share, double elapsed_s,
                          std::size_t columns);

/// Not for use by several threads at once.
class ProgressBar {
 public:
  /// Draws nothing unless `wanted` and standard error is a terminal.
  ProgressBar(std::string name, bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool visible() const { return visible_; }
  /// Redraws, at most ten times a second.
  void show(double share);
  /// Takes the line away; call before anything else is written to the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  bool visible_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
};

}  // namespace retrysim::report
