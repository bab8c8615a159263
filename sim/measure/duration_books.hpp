// The durations of requests and attempts, booked under up to four headings. For most requests the
// answer to the only attempt ends everything at once, and the durations are the same number: it is
// then booked once, for all headings together. Counts and sums are integers, so it does not matter
// when and in which order the books are added up.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include "measure/duration_log.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::stats {

/// Latencies of requests, by how they ended.
struct RequestLatencies {
  DurationTotals ok, failed;
};

class DurationBooks {
 public:
  /// The headings; any of them together is a set of headings.
  enum Heading : std::uint8_t {
    kLatency = 1,         ///< of requests
    kLatencyOk = 2,       ///< of successful requests
    kAttemptLatency = 4,  ///< of attempts, for their clients
    kServiceLatency = 8,  ///< of attempts, from arrival to the end of service
  };

  /// Books a duration, which is not negative, under each of `headings`.
  void add(unsigned headings, Duration duration) {
    if (duration != pending_ || (headings & pending_headings_) != 0) {
      settle();
      pending_ = duration;
    }
    pending_headings_ |= headings;
  }

  /// The latencies of requests that were booked since the last call, or in all.
  RequestLatencies take_latencies();

  /// All that was booked under a heading.
  DurationTotals totals(Heading heading);

 private:
  static constexpr std::size_t kSets = 16;

  /// Books the pending duration.
  void settle() {
    if (pending_headings_ == 0) return;
    by_set_[pending_headings_].add(pending_);
    pending_headings_ = 0;
  }

  Duration pending_;
  unsigned pending_headings_ = 0;                          // of the duration booked last; 0: none
  std::array<DurationLog<DurationTotals>, kSets> by_set_;  // since the last call
  std::vector<DurationTotals> before_;                     // by set; empty without such calls
};

}  // namespace retrysim::stats
