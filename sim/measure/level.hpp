// The time integral of an integer level.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/time.hpp>

#include <cstdint>

namespace retrysim::stats {

/// A level that rises and falls by one. 128 bits hold the integral over thirty years for any number
/// of requests, so that a change costs two additions, and nothing is done while nothing changes.
class Level {
 public:
  void rise(Time now) {
    ++level_;
    shift_ -= static_cast<std::uint64_t>(now.count());
  }
  void fall(Time now) {
    --level_;
    shift_ += static_cast<std::uint64_t>(now.count());
  }
  std::int64_t now() const { return level_; }
  /// The integral from the start of the run to `t`, in nanoseconds.
  WideNanoseconds total(Time t) const { return WideNanoseconds{level_} * t.count() + shift_; }
  /// The integral since the last call, or since the start of the run, in nanoseconds.
  double fold(Time end) {
    const WideNanoseconds all = total(end);
    const WideNanoseconds area = all - before_;
    before_ = all;
    return static_cast<double>(area);
  }

 private:
  std::int64_t level_ = 0;
  WideNanoseconds shift_ = 0;   // the falls less the rises, each at its time
  WideNanoseconds before_ = 0;  // the integral up to the last fold
};

}  // namespace retrysim::stats
