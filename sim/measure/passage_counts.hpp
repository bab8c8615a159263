// What services do with the attempts of one client group.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/time.hpp>

#include "measure/duration_totals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::stats {

class PassageCounts {
 public:
  void arrived(bool in_cohort) { ++arrived_[in_cohort]; }
  /// It gets a server at once, or a place in the queue.
  void admitted(bool in_cohort, bool must_wait) {
    if (in_cohort) ++admitted_[must_wait];
  }
  /// Its turn in the queue has come.
  void started(bool in_cohort, Duration queueing_time) {
    if (in_cohort) waited_for(queueing_time);
  }
  /// One of the cohort was served to the end.
  void executed(bool given_up) {
    ++executed_;
    late_ += given_up;
  }
  /// Turned away by a full queue, which answers with another error than a throttling one.
  void rejected(bool in_cohort) { ++rejected_[in_cohort]; }
  /// The service will not serve the attempt: told when it decides that, whatever the client hears.
  void refused(bool in_cohort) { refused_ += in_cohort; }
  void dropped(bool in_cohort) { dropped_ += in_cohort; }
  /// At a service that has a `wait_within`: an attempt arrives, a server begins with it.
  void arrived_to_be_timed(bool in_cohort) { timed_.arrivals += in_cohort; }
  void started_timed(bool in_cohort, bool within) {
    timed_.started += in_cohort;
    timed_.within += in_cohort && within;
  }
  void lost(bool in_cohort) { lost_ += in_cohort; }

  // From the start of the run on, in the cohort or not.
  std::uint64_t all_arrived() const { return arrived_[0] + arrived_[1]; }
  std::uint64_t all_rejected() const { return rejected_[0] + rejected_[1]; }

  /// Fills in the counts of the cohort, and its queueing times.
  void close(ClientResult& r) {
    r.arrivals = arrived_[1];
    r.admitted = admitted_[0] + admitted_[1];
    r.waited = admitted_[1];
    r.executed = executed_;
    r.late = late_;
    r.rejected = rejected_[1];
    r.refused = refused_;
    r.dropped = dropped_;
    r.lost = lost_;
    r.waits = timed_;
    add_noted();
    queueing_time_.add_zeros(admitted_[0]);
    r.queueing_time = std::move(queueing_time_.histogram);
    r.queueing_time_m = queueing_time_.moments;
  }

 private:
  void waited_for(Duration queueing_time) {
    noted_[count_++] = static_cast<std::uint64_t>(queueing_time.count());
    if (count_ == noted_.size()) [[unlikely]]
      add_noted();
  }
  void add_noted();

  // Of others, and of the cohort.
  std::array<std::uint64_t, 2> arrived_{}, rejected_{};
  // Of the cohort: those that found a free server, and those that did not.
  std::array<std::uint64_t, 2> admitted_{};
  std::uint64_t executed_ = 0, late_ = 0, refused_ = 0, dropped_ = 0, lost_ = 0;
  WaitCounts timed_;
  std::size_t count_ = 0;
  std::array<std::uint64_t, 32> noted_{};  // the first count_ of them
  DurationTotals queueing_time_;           // of those that waited, but for `noted_`
};

}  // namespace retrysim::stats
