// SPDX-License-Identifier: MIT
#include "measure/passage_counts.hpp"

#include <utility>

namespace retrysim::stats {

void PassageCounts::add_noted() {
  add_block({noted_.data(), std::exchange(count_, 0)}, queueing_time_, nullptr);
}

void PassageCounts::close(ClientResult& r) {
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

}  // namespace retrysim::stats
