// The jobs that the clients of a group begin and poll for.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

#include "measure/recorder_events.hpp"

#include <cstddef>

namespace retrysim::stats {

class JobRecorder {
 public:
  /// Jobs that begin in the window belong to the cohort.
  void begin_window() { in_window_ = true; }
  void end_window() { in_window_ = false; }

  /// Whether the job belongs to the cohort.
  bool begins() {
    counts_.begun += in_window_;
    return in_window_;
  }
  void ended(const JobEnded& event) {
    const auto& [in_cohort, end, checks, done, now] = event;
    if (!in_cohort) return;
    ++counts_.ends[static_cast<std::size_t>(end)];
    if (end != JobEnd::kSucceeded) return;
    counts_.checks += checks;
    counts_.detection_delay_m.add(now - done);
  }

  const JobCounts& counts() const { return counts_; }

 private:
  JobCounts counts_;
  bool in_window_ = false;
};

}  // namespace retrysim::stats
