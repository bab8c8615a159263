// Executors, which spread units over threads or MPI ranks; and their parts: batches of units, a
// turnstile for threads, limits on wall-clock time.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>
#include <retrysim/time.hpp>

#include "kernel/stop.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace retrysim {

// Threads of this process, or the ranks of an MPI job. Work comes in numbered units that do not
// depend on each other; each gives bytes that are a pure function of its number, so the schedule
// affects only the time.

/// Computes one unit and returns its bytes. It may keep data for the next unit (a loaded scenario,
/// say), as long as the bytes do not depend on it. Called by one thread at a time.
using Work = std::function<std::string(std::size_t unit)>;

/// The units that an executor is to compute.
struct Task {
  std::size_t units = 0;  ///< number of units, numbered from 0
  /// Makes the `Work` of one thread; called in that thread.
  std::function<Work()> make_work;
  /// Takes the bytes of a unit. Called only in the owner, in the thread that called `run`, one unit
  /// at a time, in any order. Units are handed out in order, so their bytes arrive roughly in
  /// order.
  std::function<void(std::size_t unit, std::string bytes)> deliver;
  /// Called by the owner about ten times a second, between deliveries; may be empty.
  std::function<void()> tick;
};

/// Thrown in a helping process when the owner has called `finish`, for any reason.
class Dismissed : public std::exception {
 public:
  const char* what() const noexcept override { return "the process that leads has finished"; }
};

/// Several processes may work together (MPI). Exactly one of them is the owner, which asks,
/// collects the results and writes; the others `serve` it. All make the same calls on their
/// executors in the same order; the owner may call `finish` at any time instead of the call that
/// the others expect.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual bool is_owner() const = 0;
  /// Whether this is the only process: all memory is shared, so nothing needs to be sent.
  virtual bool is_alone() const = 0;

  /// Sends the owner's `bytes` to every process, and returns them. Throws `Dismissed`.
  virtual std::string share(std::string bytes) = 0;

  /// Makes sure that `bytes` are the same in every process. Throws `Dismissed`, and
  /// std::runtime_error in a process whose bytes differ from the owner's: it is out of step.
  virtual void agree(const std::string& bytes) = 0;

  /// Computes all units. If a unit throws, no further units are begun; earlier units are finished
  /// and delivered, and the owner throws what the lowest failing unit threw. Throws `Interrupted`
  /// if asked to stop before the end; finished units have then been delivered. Exceptions of
  /// `deliver` and `tick` end the run as well. The other processes return when there is nothing
  /// left to do, for any reason; they throw `Dismissed`, and std::runtime_error if their task does
  /// not have as many units as the owner's: they are out of step.
  virtual void run(const Task& task) = 0;

  /// The last call on an executor; another one does nothing. The owner dismisses the other
  /// processes, which wait for that here. Throws std::runtime_error in a process that is out of
  /// step: the owner continues without it, or expects another call.
  virtual void finish() {}
};

/// `jobs` threads (at least 1) of this process, which is the owner. `stop` may be null.
std::unique_ptr<Executor> make_thread_executor(int jobs, const std::atomic<bool>* stop);

/// Runs a process whose executor is not the owner: simulates whatever the owner asks for, until the
/// owner calls `finish`. Throws what `Executor::run` throws in such a process, except `Dismissed`.
/// `stop` may be null.
void serve(Executor& executor, const std::atomic<bool>* stop);

}  // namespace retrysim

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
  /// `workers`: number of threads or ranks that take batches; `target_s`: seconds that a batch
  /// should take.
  Batches(std::size_t units, std::size_t workers, double target_s)
      : units_(units), workers_(std::max<std::size_t>(1, workers)), target_s_(target_s) {}

  /// Learns from a finished batch. The latest batches count for more: later points may be slower.
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
    // Batches become smaller towards the end, so that all workers finish at about the same time.
    count = std::clamp<std::size_t>(count, 1, std::max<std::size_t>(1, left / (2 * workers_)));
    count = std::min(count, left);
    const Batch batch{next_, count};
    next_ += count;
    return batch;
  }

  /// Ends the task: there are no further batches.
  void end() { units_ = next_; }
  bool done() const { return next_ == units_; }

 private:
  std::size_t units_, next_ = 0;
  std::size_t workers_;
  double target_s_;
  double unit_s_ = 0;
  bool known_ = false;
};

/// Admits threads as long as there is room for them.
class Turnstile {
 public:
  explicit Turnstile(std::uint64_t room) : room_(room) {}

  /// Waits for `need` of the room, and holds it as long as the pass lives. A thread that needs more
  /// than all of the room waits until no other thread is in. Throws `Interrupted` if asked to stop
  /// while it waits.
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

/// Sets `flag` when `timeout` has passed or, if `outer` is given, as soon as that is set; not after
/// its destruction.
class StopTimer {
 public:
  StopTimer(std::atomic<bool>& flag, Duration timeout, const std::atomic<bool>* outer = nullptr);
  ~StopTimer();
  StopTimer(const StopTimer&) = delete;
  StopTimer& operator=(const StopTimer&) = delete;

  /// Whether the timer set the flag because the time has passed.
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

/// Calls `work` with `options` and enforces their timeout: longer work ends with LimitExceeded.
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
