// SPDX-License-Identifier: MIT
#include <retrysim/replications.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace retrysim {
namespace {

// Replications, or their twins, are handed out one at a time; each thread writes only to the places
// of its own.
class Workers {
 public:
  Workers(const Scenario& scenario, const ReplicationOptions& options, std::vector<TwinSpec> runs)
      : scenario_(scenario),
        options_(options),
        runs_(std::move(runs)),
        count_(runs_.size()),
        results_(count_),
        progress_(std::make_unique<std::atomic<std::int64_t>[]>(count_)) {}

  std::vector<RunResult> run() {
    {
      std::vector<std::jthread> threads;
      const auto jobs = std::min(count_, static_cast<std::size_t>(std::max(1, options_.jobs)));
      running_ = jobs;
      for (std::size_t i = 0; i < jobs; ++i) threads.emplace_back([this] { work(); });
      watch();
    }
    if (failure_) std::rethrow_exception(failure_);
    check_events();
    return std::move(results_);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      if (i > first_failure_.load()) break;
      try {
        SimulationOptions options;
        options.fingerprint = options_.fingerprint;
        options.max_events = options_.max_events;
        options.stop = options_.stop;
        options.progress = &progress_[i];
        options.retries_until = runs_[i].retries_until;
        results_[i] = simulate(scenario_, runs_[i].replication, options);
        progress_[i] = scenario_.duration.count();
      } catch (...) {
        note_failure(i);
      }
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_one();
  }

  // The failure of the lowest replication is the one reported: it does not depend on the threads.
  void note_failure(std::size_t replication) {
    const std::lock_guard lock(mutex_);
    if (replication > first_failure_) return;
    first_failure_ = replication;
    failure_ = std::current_exception();
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (options_.progress) options_.progress(share_done());
    }
  }

  double share_done() const {
    double done = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      done += static_cast<double>(progress_[i].load(std::memory_order_relaxed)) /
              static_cast<double>(scenario_.duration.count());
    }
    return std::min(1.0, done / static_cast<double>(count_));
  }

  void check_events() const {
    std::uint64_t events = 0;
    for (const RunResult& r : results_) events += r.events;
    if (events > options_.max_events) {
      throw LimitExceeded("more events than --max-events allows, all replications together");
    }
  }

  const Scenario& scenario_;
  const ReplicationOptions& options_;
  std::vector<TwinSpec> runs_;
  std::size_t count_;
  std::vector<RunResult> results_;
  std::unique_ptr<std::atomic<std::int64_t>[]> progress_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> first_failure_{std::numeric_limits<std::size_t>::max()};
  std::size_t running_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<RunResult> run_replications(const Scenario& scenario,
                                        const ReplicationOptions& options) {
  std::vector<TwinSpec> runs(static_cast<std::size_t>(scenario.replications));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i] = {options.first + static_cast<std::uint32_t>(i), Time::max()};
  }
  return Workers(scenario, options, std::move(runs)).run();
}

std::vector<RunResult> run_twins(const Scenario& scenario, const std::vector<TwinSpec>& twins,
                                 const ReplicationOptions& options) {
  if (twins.empty()) return {};
  return Workers(scenario, options, twins).run();
}

}  // namespace retrysim
