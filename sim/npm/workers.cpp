// Threads without shared memory: workers of JavaScript, each with the same module and a memory of
// its own, do what the ranks of an MPI job do, by the same orders. So whatever a search asks, its
// units go to workers, and what comes back is what a rank would send. Where there can be no
// workers, as in a web page, the units are computed in place.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/run.hpp>

#include "execution/distant.hpp"
#include "execution/executor.hpp"
#include "execution/run_bytes.hpp"
#include "npm/host.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim {
namespace {

using execution::Batch;
using execution::Batches;
using execution::BatchResult;
using execution::BatchWorker;
using execution::Done;
using execution::Failure;
using execution::put;
using execution::take;
using Clock = std::chrono::steady_clock;

constexpr int kBatchesAhead = 2;  // that a worker has, so that it need not wait for the next one
constexpr double kBatchSeconds = 0.02;
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr double kLookMs = 100;

// --- Messages ------------------------------------------------------------------------------------

struct Message {
  int from = 0;
  std::string bytes;
};

/// The next message; empty if none comes for a while.
std::optional<Message> next_message() {
  std::size_t size = 0;
  const int from = host::await_message(kLookMs, &size);
  host::look_outside();
  if (from < 0) return std::nullopt;
  Message message{from, std::string(size, '\0')};
  host::take_message(message.bytes.data());
  return message;
}

void send(int to, std::string_view bytes) { host::send_message(to, bytes.data(), bytes.size()); }

/// A message that hands out a batch; one of no units ends the task.
std::string bytes_of(Batch batch) {
  std::string bytes;
  put(bytes, static_cast<std::uint64_t>(batch.first));
  put(bytes, static_cast<std::uint64_t>(batch.count));
  return bytes;
}

Batch batch_of(std::string_view bytes) {
  Batch batch;
  batch.first = static_cast<std::size_t>(take<std::uint64_t>(bytes).value());
  batch.count = static_cast<std::size_t>(take<std::uint64_t>(bytes).value());
  return batch;
}

// --- The owner -----------------------------------------------------------------------------------

/// One task of the owner, which hands out batches, and computes nothing itself: it can be asked to
/// stop at any time.
class Round {
 public:
  Round(const Task& task, int workers, const std::atomic<bool>* stop)
      : task_(task),
        stop_(stop),
        workers_(workers),
        batches_(task.units, static_cast<std::size_t>(workers), kBatchSeconds) {}

  void run(const std::string& order) {
    for (int w = 0; w < workers_; ++w) send(w, order);
    for (int i = 0; i < kBatchesAhead; ++i) {
      for (int w = 0; w < workers_; ++w) hand_out(w);
    }
    auto last_tick = Clock::now();
    while (under_way_ > 0) {
      if (auto message = next_message()) take_result(*message);
      if (stop_ != nullptr && *stop_) {
        host::dismiss();  // in the middle of their units, which nobody waits for
        throw Interrupted();
      }
      if (task_.tick && Clock::now() - last_tick >= kTick) {
        guard([&] { task_.tick(); });
        last_tick = Clock::now();
      }
    }
    for (int w = 0; w < workers_; ++w) send(w, bytes_of({}));
    if (trouble_) std::rethrow_exception(trouble_);
    if (failure_) failure_->raise();
  }

 private:
  void hand_out(int worker) {
    const Batch batch = batches_.next();
    if (batch.count == 0) return;
    send(worker, bytes_of(batch));
    ++under_way_;
  }

  void take_result(Message& message) {
    if (message.bytes.empty()) {
      host::dismiss();
      throw LimitExceeded(
          "a worker has broken down, most likely for lack of memory; --jobs 1 needs "
          "least",
          LimitKind::kMemory);
    }
    --under_way_;
    BatchResult result;
    execution::unpack(message.bytes, result);
    batches_.note(result.done.size(), result.seconds);
    if (result.failure) batches_.end();
    hand_out(message.from);
    for (Done& d : result.done) guard([&] { task_.deliver(d.unit, std::move(d.bytes)); });
    if (result.failure && (!failure_ || result.failure->unit < failure_->unit)) {
      failure_ = std::move(result.failure);
    }
  }

  /// Makes a call, unless one has thrown before: then the workers only finish what they have.
  template <typename Call>
  void guard(Call call) {
    if (trouble_) return;
    try {
      call();
    } catch (...) {
      trouble_ = std::current_exception();
      batches_.end();
    }
  }

  const Task& task_;
  const std::atomic<bool>* stop_;
  int workers_, under_way_ = 0;
  Batches batches_;
  std::exception_ptr trouble_;  // exception thrown by deliver or tick
  std::optional<Failure> failure_;
};

class Owner : public Executor {
 public:
  Owner(int jobs, const std::atomic<bool>* stop) : jobs_(jobs), stop_(stop) {}

  bool is_owner() const override { return true; }
  bool is_alone() const override { return false; }
  /// Only orders of units are shared. They are sent with the task, of which it is known how many
  /// workers it can use.
  std::string share(std::string bytes) override { return order_ = std::move(bytes); }
  /// Workers know nothing but their orders.
  void agree(const std::string&) override {}
  void run(const Task& task) override {
    if (task.units == 0) return;
    const auto most = static_cast<std::size_t>(std::max(1, jobs_));
    const int workers = static_cast<int>(std::min(most, task.units));
    Round(task, host::workers(workers), stop_).run(order_);
  }

 private:
  int jobs_;
  const std::atomic<bool>* stop_;
  std::string order_;
};

/// Where there are no workers.
class InPlace : public Executor {
 public:
  explicit InPlace(const std::atomic<bool>* stop) : stop_(stop) {}

  bool is_owner() const override { return true; }
  bool is_alone() const override { return true; }
  std::string share(std::string bytes) override { return bytes; }
  void agree(const std::string&) override {}
  void run(const Task& task) override {
    if (task.units == 0) return;
    const StopScope scope(stop_);
    const Work work = task.make_work();
    for (std::size_t unit = 0; unit < task.units; ++unit) {
      host::look_outside();
      if (stop_ != nullptr && *stop_) throw Interrupted();
      task.deliver(unit, work(unit));
      if (task.tick) task.tick();
    }
  }

 private:
  const std::atomic<bool>* stop_;
};

// --- A worker ------------------------------------------------------------------------------------

class Worker : public Executor {
 public:
  bool is_owner() const override { return false; }
  bool is_alone() const override { return false; }
  std::string share(std::string) override { return next(); }
  void agree(const std::string&) override {}
  void run(const Task& task) override {
    BatchWorker worker(task, nullptr);
    while (true) {
      const Batch batch = batch_of(next());
      if (batch.count == 0) return;
      send(0, execution::pack(worker.compute(batch)));
    }
  }

 private:
  static std::string next() {
    while (true) {
      if (auto message = next_message()) return std::move(message->bytes);
    }
  }
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(int jobs, const std::atomic<bool>* stop) {
  if (host::workers(0) < 0) return std::make_unique<InPlace>(stop);
  return std::make_unique<Owner>(jobs, stop);
}

/// What a worker does, until it is dismissed.
extern "C" [[clang::export_name("retrysim_serve")]] void retrysim_serve() {
  Worker worker;
  serve(worker, nullptr);
}

// --- Time limits ---------------------------------------------------------------------------------

namespace {

/// What each timer does when it is looked at.
std::map<const void*, std::function<void()>>& timers() {
  static std::map<const void*, std::function<void()>> all;
  return all;
}

}  // namespace

void host::look_outside() {
  if (stop_asked()) interrupt();
  for (const auto& [timer, look] : timers()) look();
}

}  // namespace retrysim

namespace retrysim::execution {

StopTimer::StopTimer(std::atomic<bool>& flag, Duration timeout, const std::atomic<bool>* outer)
    : flag_(flag), outer_(outer) {
  // The timeout is cut to a few years: the clock must not overflow.
  const auto end =
      Clock::now() + std::chrono::nanoseconds(std::min(timeout.count(), std::int64_t{1} << 57));
  timers()[this] = [this, end] {
    const bool stopped = outer_ != nullptr && *outer_;
    if (!stopped && Clock::now() < end) return;
    expired_ = expired_ || !stopped;
    flag_ = true;
  };
}

StopTimer::~StopTimer() { timers().erase(this); }

}  // namespace retrysim::execution
