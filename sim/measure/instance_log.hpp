// What is recorded of the instances of a service, one by one, if it has several: totals of the
// window. The service as a whole is recorded by the Recorder, as any other service is.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "measure/recorder_events.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace retrysim::stats {

class InstanceLog {
 public:
  InstanceLog(const Scenario& scenario, std::size_t instances)
      : window_start_(Time::zero() + scenario.warmup),
        window_end_(Time::zero() + scenario.duration),
        all_(instances) {}

  void sent(std::size_t instance, Time now) { all_[instance].result.attempts += in_window(now); }
  void ended(std::size_t instance, AttemptResult result, Time now) {
    all_[instance].result.results[static_cast<std::size_t>(result)] += in_window(now);
  }
  /// The levels of the instance from `now` on.
  void levels(std::size_t instance, const StationLevels& levels, Time now) {
    One& one = all_[instance];
    integrate(one, now);
    one.levels = levels;
    if (in_window(now)) raise_maximum(one);
  }
  /// Whether it is out of rotation from `now` on.
  void out_of_rotation(std::size_t instance, bool out, Time now) {
    integrate(all_[instance], now);
    all_[instance].out = out;
  }

  /// The totals, when the run is over.
  InstanceResult close(std::size_t instance) {
    integrate(all_[instance], window_end_);
    return all_[instance].result;
  }

 private:
  struct One {
    InstanceResult result;
    StationLevels levels;
    Time since;  // the levels have been integrated up to here
    bool out = false;
  };

  bool in_window(Time now) const { return now >= window_start_ && now < window_end_; }

  static void raise_maximum(One& one) {
    const auto queued = static_cast<std::uint64_t>(one.levels.queued);
    one.result.queue_max = std::max(one.result.queue_max, queued);
  }

  void integrate(One& one, Time now) {
    const Time begin = std::max(one.since, window_start_), end = std::min(now, window_end_);
    one.since = std::max(one.since, now);
    if (end <= begin) return;
    const auto ns = static_cast<double>((end - begin).count());
    one.result.busy_ns += ns * static_cast<double>(one.levels.busy);
    one.result.in_system_ns += ns * static_cast<double>(one.levels.in_system);
    one.result.queue_ns += ns * static_cast<double>(one.levels.queued);
    one.result.out_ns += one.out ? ns : 0;
    raise_maximum(one);  // those that the window begins with
  }

  Time window_start_, window_end_;
  std::vector<One> all_;
};

}  // namespace retrysim::stats
