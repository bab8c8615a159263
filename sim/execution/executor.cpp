// The thread executor, whose threads take batches of units and queue their bytes for the thread
// that called `run`; and time limits.
//
// SPDX-License-Identifier: MIT
#include "execution/executor.hpp"

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace retrysim {

namespace {

using execution::Batch;
using execution::Batches;

using Clock = std::chrono::steady_clock;

// Length of a batch: long against the cost of handing one out and waking up a thread.
constexpr double kBatchSeconds = 0.005;
constexpr auto kTick = std::chrono::milliseconds(100);
// Bytes that may wait to be delivered, for each thread, before it waits, too.
constexpr std::size_t kMaxWaitingBytes = std::size_t{4} << 20;
// Bytes of a batch that are handed over before the batch is done.
constexpr std::size_t kMaxBatchBytes = std::size_t{1} << 20;

struct Done {
  std::size_t unit;
  std::string bytes;
};

class ThreadRun {
 public:
  ThreadRun(const Task& task, std::size_t jobs, const std::atomic<bool>* stop)
      : task_(task), stop_(stop), batches_(task.units, jobs, kBatchSeconds) {
    most_waiting_ = jobs * kMaxWaitingBytes;
    running_ = jobs;
  }

  void run() {
    std::vector<std::jthread> threads;
    const std::size_t jobs = running_;
    try {
      threads.reserve(jobs);
      for (std::size_t i = 0; i < jobs; ++i) threads.emplace_back([this] { work(); });
    } catch (...) {  // continues with the threads that could be started, if any
      const std::lock_guard lock(mutex_);
      running_ -= jobs - threads.size();
      if (threads.empty()) throw;
    }
    try {
      take_deliveries();
    } catch (...) {
      give_up();
      throw;
    }
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
    if (delivered_ < task_.units) throw Interrupted();
  }

 private:
  bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }

  void work() {
    const StopScope scope(stop_);
    try {
      do_batches();
    } catch (...) {  // no unit failed: there was no memory between two units
      note_failure(std::numeric_limits<std::size_t>::max());
    }
    const std::lock_guard lock(mutex_);
    --running_;
    something_done_.notify_one();
  }

  void do_batches() {
    Work work;
    Batch batch;
    while ((batch = next_batch()).count > 0) {
      std::vector<Done> done;
      done.reserve(batch.count);
      const auto start = Clock::now();
      std::size_t unit = batch.first;
      std::size_t bytes = 0;
      try {
        if (!work) work = task_.make_work();
        for (; unit < batch.first + batch.count && !stopped(); ++unit) {
          if (unit > first_failure_.load(std::memory_order_relaxed)) break;
          done.push_back({unit, work(unit)});
          bytes += done.back().bytes.size();
          if (bytes < kMaxBatchBytes) continue;
          hand_over(std::exchange(done, {}));
          bytes = 0;
        }
      } catch (...) {
        note_failure(unit);
      }
      const std::size_t units = unit - batch.first;
      hand_over(std::move(done));
      note(units, std::chrono::duration<double>(Clock::now() - start).count());
    }
  }

  Batch next_batch() {
    const std::lock_guard lock(mutex_);
    if (stopped()) batches_.end();
    return batches_.next();
  }

  // The failure of the lowest unit is the one reported: it does not depend on the threads.
  void note_failure(std::size_t unit) {
    const std::lock_guard lock(mutex_);
    batches_.end();
    if (unit > first_failure_) return;
    first_failure_ = unit;
    failure_ = std::current_exception();
  }

  void note(std::size_t units, double seconds) {
    const std::lock_guard lock(mutex_);
    batches_.note(units, seconds);
  }

  void hand_over(std::vector<Done> done) {
    if (done.empty()) return;
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return waiting_bytes_ <= most_waiting_ || given_up_; });
    for (Done& d : done) {
      waiting_bytes_ += d.bytes.size();
      waiting_.push_back(std::move(d));
    }
    something_done_.notify_one();
  }

  void take_deliveries() {
    auto last_tick = Clock::now();
    std::vector<Done> taken;
    std::unique_lock lock(mutex_);
    while (running_ > 0 || !waiting_.empty()) {
      something_done_.wait_for(lock, kTick, [this] { return running_ == 0 || !waiting_.empty(); });
      taken.clear();
      std::swap(taken, waiting_);
      waiting_bytes_ = 0;
      lock.unlock();
      room_.notify_all();
      for (Done& d : taken) {
        task_.deliver(d.unit, std::move(d.bytes));
        ++delivered_;
      }
      if (task_.tick && Clock::now() - last_tick >= kTick) {
        task_.tick();
        last_tick = Clock::now();
      }
      lock.lock();
    }
  }

  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    batches_.end();
    first_failure_ = 0;  // units that have not begun are not computed
    room_.notify_all();
  }

  const Task& task_;
  const std::atomic<bool>* stop_;
  std::size_t most_waiting_ = 0;

  std::mutex mutex_;
  std::condition_variable something_done_, room_;
  Batches batches_;
  std::vector<Done> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t running_ = 0;
  bool given_up_ = false;
  std::exception_ptr failure_;
  std::atomic<std::size_t> first_failure_{std::numeric_limits<std::size_t>::max()};
  std::size_t delivered_ = 0;  // units delivered; used by the calling thread only
};

class ThreadExecutor : public Executor {
 public:
  ThreadExecutor(int jobs, const std::atomic<bool>* stop)
      : jobs_(static_cast<std::size_t>(std::max(1, jobs))), stop_(stop) {}

  bool is_owner() const override { return true; }
  bool is_alone() const override { return true; }
  std::string share(std::string bytes) override { return bytes; }
  void agree(const std::string&) override {}
  void run(const Task& task) override {
    if (task.units > 0) ThreadRun(task, std::min(jobs_, task.units), stop_).run();
  }

 private:
  std::size_t jobs_;
  const std::atomic<bool>* stop_;
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(int jobs, const std::atomic<bool>* stop) {
  return std::make_unique<ThreadExecutor>(jobs, stop);
}

}  // namespace retrysim

namespace retrysim::execution {

// --- Time limits ---------------------------------------------------------------------------------

StopTimer::StopTimer(std::atomic<bool>& flag, Duration timeout, const std::atomic<bool>* outer)
    : flag_(flag), outer_(outer), thread_([this, timeout] { wait(timeout); }) {}

StopTimer::~StopTimer() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_all();
}

void StopTimer::wait(Duration timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  // The timeout is cut to a few years: the clock must not overflow.
  const auto end =
      Clock::now() + std::chrono::nanoseconds(std::min(timeout.count(), std::int64_t{1} << 57));
  const auto stopped = [this] { return outer_ != nullptr && outer_->load(); };
  while (Clock::now() < end && !stopped()) {
    const auto until = outer_ == nullptr ? end : std::min(end, Clock::now() + kLook);
    if (done_changed_.wait_until(lock, until, [this] { return done_; })) return;
  }
  expired_ = !stopped();
  flag_ = true;
}

}  // namespace retrysim::execution
