// The tokens in the retry quotas of a client group.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/time.hpp>

#include "measure/run_span.hpp"

#include <cstdint>

namespace retrysim::stats {

/// The retry quotas of a group, all of them together.
class QuotaRecorder {
 public:
  /// `span` must outlive the recorder.
  explicit QuotaRecorder(const RunSpan& span) : span_(&span) {}

  /// `buckets` buckets with `level` tokens each.
  void starts(std::uint64_t buckets, std::int64_t level) {
    exists_ = true;
    buckets_ = static_cast<double>(buckets);
    level_ = buckets_ * static_cast<double>(level);
  }
  void changed(std::int64_t change, Time now);
  /// A retry was not made for want of tokens.
  void denied() { ++denied_; }

  std::int64_t level() const { return static_cast<std::int64_t>(level_); }
  std::uint64_t all_denied() const { return denied_; }
  /// Fills in the mean level.
  void close(ClientResult& result);

 private:
  const RunSpan* span_;
  bool exists_ = false;
  double level_ = 0, area_ns_ = 0, buckets_ = 0;
  Time since_;
  std::uint64_t denied_ = 0;
};

}  // namespace retrysim::stats
