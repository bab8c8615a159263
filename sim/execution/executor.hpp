// Parts of the executors: batches of units, a turnstile for threads, and limits on wall-clock time.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

namespace retrysim::execution {

/// A range of units: [first, first + count).
struct Batch {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The batches of one task, in order: one unit each if units take long, many if they are tiny, so
/// that handing them out costs almost nothing and the last units finish together. Not for use by
/// several threads at once.
class Batches {
 public:
  /// `workers` is how many take batches; `target_s` is how long one should take.
  Batches(std::size_t units, std::size_t workers, double target_s)
      : units_(units), workers_(std::max<std::size_t>(1, workers)), target_s_(target_s) {}

  /// Learns from a batch that is done. The latest count for more: later points may be slower.
  void note(std::size_t units, double seconds) {
    if (units == 0) return;
    const double each = seconds / static_cast<double>(units);
    unit_s_ = known_ ? 0.75 * unit_s_ + 0.25 * each : each;
    known_ = true;
  }

  /// The next batch; empty if there is none.
  Batch next() {
    const std::size_t left = units_ - next_;
    std::size_t count = 1;
    if (known_ && unit_s_ * static_cast<double>(left) > target_s_) {
      count = static_cast<std::size_t>(target_s_ / std::max(unit_s_, 1e-9));
    } else if (known_) {
      count = left;
    }
    // Towards the end smaller ones, so that all are done at about the same time.
    count = std::clamp<std::size_t>(count, 1, std::max<std::size_t>(1, left / (2 * workers_)));
    count = std::min(count, left);
    const Batch batch{next_, count};
    next_ += count;
    return batch;
  }

  /// No further batches.
  void end() { units_ = next_; }
  bool done() const { return next_ == units_; }

 private:
  std::size_t units_, next_ = 0;
  std::size_t workers_;
  double target_s_;
  double unit_s_ = 0;
  bool known_ = false;
};

/// Lets threads through as long as there is room for them.
class Turnstile {
 public:
  explicit Turnstile(std::uint64_t room) : room_(room) {}

  /// Holds this much of the room while it lives; waits for it first. A thread that needs more than
  /// the whole waits until no other is in. Throws `Interrupted` if asked to stop while it waits.
  class Pass {
   public:
    Pass(Turnstile& turnstile, std::uint64_t need) : turnstile_(turnstile), need_(need) {
      constexpr auto kLook = std::chrono::milliseconds(100);
      std::unique_lock lock(turnstile_.mutex_);
      while (!turnstile_.has_room(need_)) {
        turnstile_.left_.wait_for(lock, kLook);
        stop_point();
      }
      turnstile_.taken_ += need_;
    }
    ~Pass() {
      {
        const std::lock_guard lock(turnstile_.mutex_);
        turnstile_.taken_ -= need_;
      }
      turnstile_.left_.notify_all();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Turnstile& turnstile_;
    std::uint64_t need_;
  };

 private:
  bool has_room(std::uint64_t need) const {
    return taken_ == 0 || (need <= room_ && taken_ <= room_ - need);
  }

  std::mutex mutex_;
  std::condition_variable left_;
  std::uint64_t room_, taken_ = 0;
};

/// Sets `flag` when `timeout` has passed, unless it is destroyed before; and as soon as `outer` is
/// set, if that is given.
class StopTimer {
 public:
  StopTimer(std::atomic<bool>& flag, Duration timeout, const std::atomic<bool>* outer = nullptr);
  ~StopTimer();
  StopTimer(const StopTimer&) = delete;
  StopTimer& operator=(const StopTimer&) = delete;

  /// Whether the flag was set because the time has passed.
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

/// Calls `work` with `options`, whose timeout it keeps: longer work ends with LimitExceeded.
template <class Work>
auto in_time(const ReplicationOptions& options, const Work& work) {
  if (!options.timeout) return work(options);
  std::atomic<bool> stop{false};
  const StopTimer timer(stop, *options.timeout, options.stop_flag);
  ReplicationOptions limited = options;
  limited.timeout.reset();
  limited.stop_flag = &stop;
  try {
    return work(limited);
  } catch (const Interrupted&) {
    if (timer.expired()) throw LimitExceeded("it took longer than the timeout allows");
    throw;
  }
}

}  // namespace retrysim::execution
