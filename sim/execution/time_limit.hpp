// Limits on the time by the clock: a stop flag that is set when the time has passed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/replications.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/stop.hpp>
#include <retrysim/time.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace retrysim::execution {

/// Sets `flag` when `timeout` has passed, unless it is destroyed before; and as soon as `outer` is
/// set, if that is given.
class StopTimer {
 public:
  StopTimer(std::atomic<bool>& flag, Duration timeout, const std::atomic<bool>* outer = nullptr);
  ~StopTimer();
  StopTimer(const StopTimer&) = delete;
  StopTimer& operator=(const StopTimer&) = delete;

  /// The flag was set because the time has passed.
  bool expired() const { return expired_; }

 private:
  void wait(Duration timeout);

  std::atomic<bool>& flag_;
  const std::atomic<bool>* outer_;
  std::atomic<bool> expired_{false};
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::jthread thread_;
};

/// Calls `work` with `options`, whose timeout it keeps: what takes longer ends with LimitExceeded.
template <class Work>
auto in_time(const ReplicationOptions& options, const Work& work) {
  if (!options.timeout) return work(options);
  std::atomic<bool> stop{false};
  const StopTimer timer(stop, *options.timeout, options.stop);
  ReplicationOptions limited = options;
  limited.timeout.reset();
  limited.stop = &stop;
  try {
    return work(limited);
  } catch (const Interrupted&) {
    if (timer.expired()) throw LimitExceeded("it took longer than the timeout allows");
    throw;
  }
}

}  // namespace retrysim::execution
