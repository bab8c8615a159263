// SPDX-License-Identifier: MIT
#include <retrysim/needs.hpp>
#include <retrysim/replications.hpp>
#include <retrysim/stop.hpp>

#include "execution/byte_order.hpp"
#include "execution/run_bytes.hpp"
#include "execution/time_limit.hpp"
#include "execution/turnstile.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim {
namespace {

// A unit of work is a run. Threads leave their results in the places of their own; results of other
// processes travel to the owner as bytes, and from there to all.
class Runs {
 public:
  Runs(std::span<const RunSpec> runs, const ReplicationOptions& options, Executor& executor)
      : runs_(runs),
        options_(options),
        executor_(executor),
        results_(runs.size()),
        progress_(std::make_unique<std::atomic<std::int64_t>[]>(runs.size())) {
    for (const RunSpec& run : runs) {
      total_s_ += run.scenario->duration.in_seconds();
    }
  }

  std::vector<RunResult> run() {
    const StopScope scope(options_.stop);
    find_room();
    Task task;
    task.units = runs_.size();
    task.make_work = [this] { return [this](std::size_t i) { return simulate_one(i); }; };
    task.deliver = [this](std::size_t i, const std::string& bytes) {
      if (!executor_.is_alone()) results_[i] = execution::decode_run(bytes);
      progress_[i] = runs_[i].scenario->duration.count();
    };
    if (options_.progress) task.tick = [this] { options_.progress(share_done()); };
    executor_.run(task);
    if (!executor_.is_alone()) share();
    if (executor_.is_owner() && options_.progress) options_.progress(1);
    check_events();
    return std::move(results_);
  }

 private:
  // Before anything runs: who has computed for hours must not find out that there is no room.
  void find_room() {
    if (options_.max_memory == ~std::uint64_t{0}) return;
    std::vector<const Scenario*> scenarios;
    for (const RunSpec& run : runs_) scenarios.push_back(run.scenario);
    const auto jobs = static_cast<std::size_t>(std::max(1, options_.jobs));
    const MemoryPlan plan = plan_memory(scenarios, jobs, options_.max_memory, options_.kept_memory);
    most_each_ = plan.each;
    if (plan.at_once < std::min(jobs, runs_.size())) gate_.emplace(plan.at_once);
  }

  std::string simulate_one(std::size_t i) {
    std::optional<execution::Turnstile::Pass> pass;
    if (gate_) pass.emplace(*gate_, 1);
    SimulationOptions options;
    options.fingerprint = options_.fingerprint;
    options.max_events = options_.max_events;
    options.max_memory = most_each_;
    options.stop = options_.stop;
    options.progress = &progress_[i];
    options.retries_until = runs_[i].retries_until;
    RunResult result = simulate(*runs_[i].scenario, runs_[i].replication, options);
    if (!executor_.is_alone()) return execution::encode(result);
    results_[i] = std::move(result);
    return {};
  }

  void share() {
    std::string bytes;
    if (executor_.is_owner()) {
      for (const RunResult& r : results_) execution::put_text(bytes, execution::encode(r));
    }
    bytes = executor_.share(std::move(bytes));
    if (executor_.is_owner()) return;
    std::string_view rest = bytes;
    for (RunResult& r : results_) {
      const auto one = execution::take_text(rest);
      if (!one) throw std::runtime_error("results were truncated in transit");
      r = execution::decode_run(*one);
    }
  }

  // Of runs in other processes only that they are done.
  double share_done() const {
    double done_s = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      done_s += static_cast<double>(progress_[i].load(std::memory_order_relaxed)) / 1e9;
    }
    return std::min(1.0, done_s / total_s_);
  }

  void check_events() const {
    std::uint64_t events = 0;
    for (const RunResult& r : results_) events += r.events;
    if (events > options_.max_events) {
      throw LimitExceeded("more events than --max-events allows, counted over all replications",
                          LimitKind::kEvents);
    }
  }

  std::span<const RunSpec> runs_;
  const ReplicationOptions& options_;
  Executor& executor_;
  std::vector<RunResult> results_;
  std::uint64_t most_each_ = ~std::uint64_t{0};
  std::optional<execution::Turnstile> gate_;  // if not all threads may run at once
  std::unique_ptr<std::atomic<std::int64_t>[]> progress_;
  double total_s_ = 0;
};

}  // namespace

std::vector<RunResult> simulate_all(std::span<const RunSpec> runs,
                                    const ReplicationOptions& options) {
  if (runs.empty()) return {};
  return execution::in_time(options, [&](const ReplicationOptions& limited) {
    if (limited.executor != nullptr) return Runs(runs, limited, *limited.executor).run();
    const auto threads = make_thread_executor(limited.jobs, limited.stop);
    return Runs(runs, limited, *threads).run();
  });
}

std::vector<RunResult> run_replications(const Scenario& scenario,
                                        const ReplicationOptions& options) {
  std::vector<RunSpec> runs;
  for (int i = 0; i < scenario.replications; ++i) {
    runs.push_back({&scenario, options.first + static_cast<std::uint32_t>(i)});
  }
  return simulate_all(runs, options);
}

}  // namespace retrysim
