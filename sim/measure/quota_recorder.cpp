// SPDX-License-Identifier: MIT
#include "measure/quota_recorder.hpp"

namespace retrysim::stats {

void QuotaRecorder::changed(std::int64_t change, Time now) {
  area_ns_ += level_ * span_->inside_window_ns(since_, now);
  since_ = now;
  level_ += static_cast<double>(change);
}

void QuotaRecorder::close(ClientResult& result) {
  changed(0, span_->window_end);
  result.has_quota = exists_;
  const Duration window = span_->window_end - span_->window_start;
  const auto window_ns = static_cast<double>(window.count());
  if (exists_) result.quota_mean = area_ns_ / (window_ns * buckets_);
}

}  // namespace retrysim::stats
