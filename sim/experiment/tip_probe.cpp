// Bytes of a replication: response, twin recovered, metastable (8 bits each), duration needed (a
// double), events of the run and of its twin (64 bits each). In the journal behind number of the
// case (64 bits), size (a double) and number of the replication (32 bits).
//
// SPDX-License-Identifier: MIT
#include "experiment/tip_probe.hpp"

#include <retrysim/needs.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/stop.hpp>

#include "execution/byte_order.hpp"
#include "execution/turnstile.hpp"
#include "measure/storms.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

namespace retrysim::experiment {
namespace {

// How often what is finished is made to survive a crash of the machine, too.
constexpr auto kSyncLogEvery = std::chrono::seconds(5);

std::string encode_probe(const ProbeRun& run) {
  std::string bytes;
  execution::put(bytes, static_cast<std::uint8_t>(run.response));
  execution::put(bytes, static_cast<std::uint8_t>(run.twin_recovered));
  execution::put(bytes, static_cast<std::uint8_t>(run.metastable));
  execution::put(bytes, std::bit_cast<std::uint64_t>(run.duration_needed_s));
  execution::put(bytes, run.events);
  execution::put(bytes, run.twin_events);
  return bytes;
}

std::optional<ProbeRun> take_probe(std::string_view& bytes) {
  const auto response = execution::take<std::uint8_t>(bytes);
  const auto recovered = execution::take<std::uint8_t>(bytes);
  const auto metastable = execution::take<std::uint8_t>(bytes);
  const auto needed = execution::take<std::uint64_t>(bytes);
  const auto events = execution::take<std::uint64_t>(bytes);
  const auto twin_events = execution::take<std::uint64_t>(bytes);
  if (!twin_events || *response > static_cast<std::uint8_t>(TippingResponse::kUnknown)) return {};
  return ProbeRun{static_cast<TippingResponse>(*response), *recovered != 0, *metastable != 0,
                  std::bit_cast<double>(*needed),          *events,         *twin_events};
}

std::string encode_key(const ProbeKey& key) {
  const auto& [number, value, replication] = key;
  std::string bytes;
  execution::put(bytes, static_cast<std::uint64_t>(number));
  execution::put(bytes, std::bit_cast<std::uint64_t>(value));
  execution::put(bytes, replication);
  return bytes;
}

std::optional<ProbeKey> take_key(std::string_view& bytes) {
  const auto number = execution::take<std::uint64_t>(bytes);
  const auto value = execution::take<std::uint64_t>(bytes);
  const auto replication = execution::take<std::uint32_t>(bytes);
  if (!replication) return std::nullopt;
  return ProbeKey{*number, std::bit_cast<double>(*value), *replication};
}

/// Simulates one replication and, if it tips, its twin.
ProbeRun simulate_probe(const Scenario& scenario, std::uint32_t replication,
                        SimulationOptions options) {
  const RunResult run = simulate(scenario, replication, options);
  const stats::Fate fate = stats::fate_of(scenario, run);
  ProbeRun result;
  result.events = run.events;
  if (fate.verdict == stats::StormVerdict::kTransient) {
    result.response = TippingResponse::kRecovers;
    return result;
  }
  const stats::Aftermath& after = *fate.aftermath;
  if (fate.verdict != stats::StormVerdict::kSustained) {
    result.duration_needed_s =
        after.trigger.end.in_seconds() + after.patience_s + scenario.recovery.hold.in_seconds();
    return result;
  }
  result.response = TippingResponse::kTips;
  options.retries_until = after.trigger.end;
  options.progress = nullptr;
  const RunResult twin = simulate(scenario, replication, options);
  const auto recovery = stats::twin_recovery(scenario, twin, after);
  result.twin_events = twin.events;
  result.twin_recovered = recovery && *recovery <= after.patience_s;
  result.metastable =
      stats::with_twin(fate.verdict, after, recovery) == stats::StormVerdict::kMetastable;
  return result;
}

/// The replications at one size. A unit of work is a replication with its twin.
class ProbeWork {
 public:
  ProbeWork(std::size_t number, double value, const Scenario& scenario,
            const ReplicationOptions& run, Executor& executor, ProbeLog& log)
      : number_(number),
        value_(value),
        scenario_(scenario),
        run_(run),
        executor_(executor),
        log_(log),
        runs_(static_cast<std::size_t>(scenario.replications)),
        reached_(std::make_unique<std::atomic<std::int64_t>[]>(runs_.size())) {}

  std::vector<ProbeRun> all() {
    const StopScope scope(run_.stop);
    stop_point();
    find_room();
    std::vector<std::uint32_t> missing = recall();
    if (!executor_.is_alone()) missing = shared(std::move(missing));
    if (!missing.empty()) simulate_missing(missing);
    if (!executor_.is_alone()) share_runs();
    if (executor_.is_owner() && run_.progress) run_.progress(1);
    check_events();
    return std::move(runs_);
  }

 private:
  std::uint32_t replication(std::size_t i) const {
    return run_.first + static_cast<std::uint32_t>(i);
  }

  /// Before anything runs; a run and its twin are kept for each thread.
  void find_room() {
    if (run_.max_memory == ~std::uint64_t{0}) return;
    const auto jobs = static_cast<std::size_t>(std::max(1, run_.jobs));
    const std::vector<const Scenario*> scenarios(std::max(runs_.size(), 2 * jobs), &scenario_);
    const MemoryPlan plan = plan_memory(scenarios, jobs, run_.max_memory, run_.kept_memory);
    most_each_ = plan.each;
    if (plan.at_once < std::min(jobs, runs_.size())) gate_.emplace(plan.at_once);
  }

  /// Takes what the log has; gives the places of the others.
  std::vector<std::uint32_t> recall() {
    std::vector<std::uint32_t> missing;
    if (!executor_.is_owner()) return missing;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (const ProbeRun* known = log_.find({number_, value_, replication(i)})) {
        runs_[i] = *known;
        reached_[i] = scenario_.duration.count();
      } else {
        missing.push_back(static_cast<std::uint32_t>(i));
      }
    }
    return missing;
  }

  std::vector<std::uint32_t> shared(std::vector<std::uint32_t> places) {
    std::string bytes;
    for (const std::uint32_t place : places) execution::put(bytes, place);
    const std::string all = executor_.share(std::move(bytes));
    std::string_view rest = all;
    places.clear();
    while (const auto place = execution::take<std::uint32_t>(rest)) places.push_back(*place);
    return places;
  }

  void simulate_missing(const std::vector<std::uint32_t>& missing) {
    Task task;
    task.units = missing.size();
    task.make_work = [&] {
      return [&](std::size_t unit) { return encode_probe(simulate_one(missing[unit])); };
    };
    task.deliver = [&](std::size_t unit, const std::string& bytes) {
      std::string_view rest = bytes;
      const std::size_t i = missing[unit];
      runs_[i] = take_probe(rest).value();
      reached_[i] = scenario_.duration.count();
      log_.add({number_, value_, replication(i)}, runs_[i]);
    };
    task.tick = [&] {
      log_.tick();
      if (run_.progress) run_.progress(share_done());
    };
    executor_.run(task);
  }

  ProbeRun simulate_one(std::size_t i) {
    std::optional<execution::Turnstile::Pass> pass;
    if (gate_) pass.emplace(*gate_, 1);
    SimulationOptions options;
    options.max_events = run_.max_events;
    options.max_memory = most_each_;
    options.stop = run_.stop;
    options.progress = &reached_[i];
    return simulate_probe(scenario_, replication(i), options);
  }

  void share_runs() {
    std::string bytes;
    if (executor_.is_owner()) {
      for (const ProbeRun& run : runs_) bytes += encode_probe(run);
    }
    const std::string all = executor_.share(std::move(bytes));
    std::string_view rest = all;
    for (ProbeRun& run : runs_) {
      const auto one = take_probe(rest);
      if (!one) throw std::runtime_error("results were truncated in transit");
      run = *one;
    }
  }

  double share_done() const {
    double done = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      done += static_cast<double>(reached_[i].load(std::memory_order_relaxed));
    }
    const auto total = static_cast<double>(scenario_.duration.count());
    return std::min(1.0, done / (total * static_cast<double>(runs_.size())));
  }

  void check_events() const {
    std::uint64_t events = 0, twin_events = 0;
    for (const ProbeRun& run : runs_) {
      events += run.events;
      twin_events += run.twin_events;
    }
    if (std::max(events, twin_events) > run_.max_events) {
      throw LimitExceeded("more events than --max-events allows, counted over all replications",
                          LimitKind::kEvents);
    }
  }

  std::size_t number_;
  double value_;
  const Scenario& scenario_;
  const ReplicationOptions& run_;
  Executor& executor_;
  ProbeLog& log_;
  std::vector<ProbeRun> runs_;
  std::unique_ptr<std::atomic<std::int64_t>[]> reached_;  // simulated ns, by replication
  std::uint64_t most_each_ = ~std::uint64_t{0};
  std::optional<execution::Turnstile> gate_;  // if not all threads may run at once
};

}  // namespace

// Its units are the replications in the order in which they were finished: which sizes there will
// be is not known before.
ProbeLog::ProbeLog(const std::filesystem::path& path, const execution::Identity& identity,
                   bool resume) {
  constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
  journal_.emplace(resume ? execution::Journal::resume(path, identity, kAnyNumber)
                          : execution::Journal::begin(path, identity, kAnyNumber));
  for (std::size_t unit = 0; journal_->has(unit); ++unit) {
    const std::string bytes = journal_->read(unit);
    std::string_view rest = bytes;
    const auto key = take_key(rest);
    const auto run = key ? take_probe(rest) : std::nullopt;
    if (!run || !rest.empty()) {
      throw execution::JournalError(path.string() + " does not contain the results of a search");
    }
    runs_.emplace(*key, *run);
  }
  found_ = runs_.size();
}

const ProbeRun* ProbeLog::find(const ProbeKey& key) const {
  const auto found = runs_.find(key);
  return found == runs_.end() ? nullptr : &found->second;
}

void ProbeLog::add(const ProbeKey& key, const ProbeRun& run) {
  runs_.emplace(key, run);
  if (!journal_) return;
  // What is finished survives whatever happens to this process.
  journal_->append(journal_->count(), encode_key(key) + encode_probe(run));
  journal_->flush();
}

void ProbeLog::tick() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_sync_ < kSyncLogEvery) return;
  sync();
  last_sync_ = now;
}

void ProbeLog::sync() {
  if (journal_) journal_->sync();
}

void ProbeLog::remove() {
  if (journal_) journal_->remove();
}

std::vector<ProbeRun> probe(std::size_t number, double value, const Scenario& scenario,
                            const ReplicationOptions& run, Executor& executor, ProbeLog& log) {
  return ProbeWork(number, value, scenario, run, executor, log).all();
}

}  // namespace retrysim::experiment
