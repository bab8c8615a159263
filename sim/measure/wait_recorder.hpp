// What keeps the requests of a client group waiting before they are sent: tokens and connections.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/time.hpp>

#include "measure/level.hpp"

namespace retrysim::stats {

/// Waiting for a send token, or for a connection.
class WaitRecorder {
 public:
  void begins(Time now) { waiting_.rise(now); }
  void ends(bool in_cohort, Duration waited, Time now) {
    waiting_.fall(now);
    if (in_cohort) cohort_ns_ += waited.count();
  }

  Level& waiting() { return waiting_; }
  const Level& waiting() const { return waiting_; }
  WideNanoseconds cohort_ns() const { return cohort_ns_; }

 private:
  Level waiting_;
  WideNanoseconds cohort_ns_ = 0;
};

}  // namespace retrysim::stats
