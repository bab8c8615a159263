// The way of a unit: its key, the store, a thread or a rank, the store again, and the caller.
//
// SPDX-License-Identifier: MIT
#include "execution/units.hpp"

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/sweep.hpp>

#include "execution/executor.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "measure/analyse/slo.hpp"
#include "measure/analyse/storms.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <utility>

namespace retrysim::execution {

// --- Identity ------------------------------------------------------------------------------------

namespace {

/// A hash by FNV-1a, 128 bits.
class Hash {
 public:
  void add(std::string_view bytes) {
    constexpr SquareNanoseconds kPrime = (SquareNanoseconds{1} << 88) + 0x13b;
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
  UnitKey key() const {
    return {static_cast<std::uint64_t>(hash_ >> 64), static_cast<std::uint64_t>(hash_)};
  }

 private:
  SquareNanoseconds hash_ =
      SquareNanoseconds{0x6c62272e07bb0142} << 64 | SquareNanoseconds{0x62b821756295c58d};
};

bool has_own_strategy(const Scenario& scenario) {
  return std::any_of(scenario.clients.begin(), scenario.clients.end(),
                     [](const ClientSpec& client) { return client.strategy != nullptr; });
}

}  // namespace

std::string encode(const Scenario& scenario) { return pack(scenario); }

Scenario decode_scenario(std::string_view bytes) {
  Scenario scenario;
  unpack(bytes, scenario);
  return scenario;
}

UnitKey identity_of(const Scenario& scenario) {
  if (has_own_strategy(scenario)) return {};
  Scenario simulated = scenario;
  const Scenario any;
  simulated.name = any.name;
  simulated.description = any.description;
  simulated.replications = any.replications;
  simulated.precision = any.precision;
  simulated.expectations = any.expectations;
  Hash hash;
  hash.add(kSourcesOfResults);
  hash.add(encode(simulated));
  return hash.key();
}

UnitKey key_of(const UnitKey& identity, const Unit& unit, Keep keep, std::size_t most_bins) {
  if (identity == UnitKey()) return {};
  Hash hash;
  hash.add(pack(identity, unit.replication, unit.retries_until, keep, std::uint64_t{most_bins}));
  if (keep == Keep::kSplitting) hash.add(pack(unit.splitting));
  return hash.key();
}

// --- Simulating one ------------------------------------------------------------------------------

namespace {

/// The settings of a request, known to all processes.
struct Settings {
  Keep keep = Keep::kRow;
  std::uint64_t most_bins = 0;
  std::uint64_t max_events = ~std::uint64_t{0};
  /// The most bytes of all units under way in one process (kRow, kSeries, kBudgets), and of the
  /// requests of one unit (kWhole, kFate).
  std::uint64_t max_memory = ~std::uint64_t{0}, most_each = ~std::uint64_t{0};
  std::uint32_t jobs = 1;
  bool fingerprint = false, limits_are_results = false;
};

bool is_row(Keep keep) { return keep == Keep::kRow || keep == Keep::kSeries; }
/// Whether only figures are kept, so that no more runs are in memory than are under way.
bool keeps_figures(Keep keep) { return is_row(keep) || keep == Keep::kBudgets; }

UnitFate fate_of(const Scenario& scenario, const RunResult& run, SimulationOptions options) {
  const stats::Fate fate = stats::fate_of(scenario, run);
  UnitFate result;
  result.events = run.events;
  if (fate.verdict == stats::StormVerdict::kTransient) {
    result.response = TippingResponse::kRecovers;
    return result;
  }
  const stats::Aftermath& after = *fate.aftermath;
  if (fate.verdict != stats::StormVerdict::kSustained) {
    result.duration_needed_s = stats::duration_to_judge_s(scenario, after);
    return result;
  }
  result.response = TippingResponse::kTips;
  options.retries_until = after.trigger.end;
  options.progress = nullptr;
  const RunResult twin = simulate(scenario, run.replication, options);
  const auto recovery = stats::twin_recovery(scenario, twin, after);
  result.twin_events = twin.events;
  result.twin_recovered = recovery && *recovery <= after.patience_s;
  result.metastable =
      stats::with_twin(fate.verdict, after, recovery) == stats::StormVerdict::kMetastable;
  return result;
}

UnitBudgets budgets_of(const Scenario& scenario, const RunResult& run) {
  UnitBudgets budgets{stats::slo_numbers(scenario, run), {}, run.events};
  for (const SloCounts& slo : run.slos) budgets.bad_since_first.push_back(slo.since_first.bad());
  return budgets;
}

stats::SplittingRun split(const Scenario& scenario, const Unit& unit, SimulationOptions options) {
  const SplittingTask& task = unit.splitting;
  const double length_s = (scenario.duration - (task.from - Time::zero())).in_seconds();
  const std::uint64_t most = options.max_events;
  std::uint64_t events = 0;
  options.progress = nullptr;
  const auto follow_path = [&](std::uint32_t root, std::span<const Branch> branches) {
    options.branches = branches;
    options.max_events = most - events;
    FollowedRun run =
        follow(scenario, unit.replication * kMostParticles + root, task.event, task.from, options);
    events += run.events;
    stats::SplittingPath path;
    path.early = run.happened_before;
    path.events = run.events;
    path.time_s = run.end.in_seconds();
    if (run.happened) path.position = (*run.happened - task.from).in_seconds() / length_s;
    path.records = std::move(run.records);
    return path;
  };
  if (task.plain) return stats::follow_all(task.particles, follow_path);
  const RandomKey key = RandomKey(scenario.seed, unit.replication).named("risk", "splitting");
  return stats::split(task.particles, key, follow_path, task.limits);
}

/// Simulates units in one thread; keeps to the memory that all threads of the process share.
class Simulator {
 public:
  Simulator(const Settings& settings, const std::atomic<bool>* stop,
            std::shared_ptr<Turnstile> memory)
      : settings_(settings), stop_(stop), memory_(std::move(memory)) {}

  /// Simulates a unit and returns the result as bytes. With `whole`, the result is stored there,
  /// and bytes are made only if `as_bytes`.
  std::string operator()(const Scenario& scenario, const Unit& unit, std::string_view name,
                         std::atomic<std::int64_t>* progress, RunResult* whole, bool as_bytes) {
    try {
      const StopScope scope(stop_);
      SimulationOptions options;
      options.fingerprint = settings_.fingerprint;
      options.max_events = settings_.max_events;
      options.stop = stop_;
      options.progress = progress;
      options.retries_until = unit.retries_until;
      const std::uint64_t need = need_of(scenario, options.max_memory);
      std::optional<Turnstile::Pass> pass;
      if (memory_) pass.emplace(*memory_, need);
      if (settings_.keep == Keep::kSplitting) return pack(split(scenario, unit, options));
      RunResult run = simulate(scenario, unit.replication, options);
      switch (settings_.keep) {
        case Keep::kRow:
        case Keep::kSeries:
          return encode(measure(scenario, run, settings_.most_bins));
        case Keep::kFate:
          return pack(fate_of(scenario, run, options));
        case Keep::kBudgets:
          return pack(budgets_of(scenario, run));
        case Keep::kSplitting:
        case Keep::kWhole:
          break;
      }
      std::string bytes = as_bytes ? encode(run) : std::string();
      if (whole != nullptr) *whole = std::move(run);
      return bytes;
    } catch (const LimitExceeded& e) {
      const LimitExceeded named(in(name, e), e.kind());
      if (!settings_.limits_are_results) throw named;
      return encode(over_limit(named));
    } catch (const InvariantViolated& e) {
      throw InvariantViolated(in(name, e));
    }
  }

 private:
  static std::string in(std::string_view name, const std::exception& e) {
    return name.empty() ? e.what() : fmt::format("{}: {}", name, e.what());
  }

  /// How much of the turnstile's room a unit needs. The bytes of a row, and those to which its
  /// requests may grow (its share of the memory, if that is more), follow from the settings alone,
  /// not from other units under way.
  std::uint64_t need_of(const Scenario& scenario, std::uint64_t& most_each) const {
    most_each = settings_.most_each;
    if (!keeps_figures(settings_.keep)) return 1;
    const std::uint64_t limit = settings_.max_memory;
    if (limit == ~std::uint64_t{0}) return 0;
    const Scenario* const run[] = {&scenario};
    const std::uint64_t need = plan_memory(run, 1, limit).total;
    const std::uint64_t share = limit / std::max(1u, settings_.jobs);
    most_each = plan_memory(run, 1, std::max(need, share)).each;
    return need;
  }

  Settings settings_;
  const std::atomic<bool>* stop_;
  std::shared_ptr<Turnstile> memory_;
};

// --- Over ranks ----------------------------------------------------------------------------------

/// An order of the owner to the other ranks, with everything they need, so that they read no files
/// and know nothing of the question.
struct Order {
  Settings settings;
  std::vector<std::string> scenarios;  ///< the scenarios, encoded as bytes
  std::vector<std::string> names;
  std::vector<Unit> units;
};

// Larger orders are sent in parts.
constexpr std::size_t kMaxBytesOfOrder = std::size_t{32} << 20;

}  // namespace

}  // namespace retrysim::execution

namespace retrysim {

void serve(Executor& executor, const std::atomic<bool>* stop) {
  using namespace execution;
  try {
    while (true) {
      Order order;
      unpack(executor.share({}), order);
      const auto memory = keeps_figures(order.settings.keep)
                              ? std::make_shared<Turnstile>(order.settings.max_memory)
                              : nullptr;
      Task task;
      task.units = order.units.size();
      task.make_work = [&]() -> Work {
        struct Known {
          std::size_t number;
          Scenario scenario;
        };
        auto known = std::make_shared<std::optional<Known>>();
        return [&, known,
                simulator = Simulator(order.settings, stop, memory)](std::size_t i) mutable {
          const Unit& unit = order.units[i];
          if (!*known || (*known)->number != unit.scenario) {
            known->emplace(Known{unit.scenario, decode_scenario(order.scenarios[unit.scenario])});
          }
          return simulator((*known)->scenario, unit, order.names[unit.scenario], nullptr, nullptr,
                           true);
        };
      };
      executor.run(task);
    }
  } catch (const Dismissed&) {
  }
}

}  // namespace retrysim

// --- All of a request ----------------------------------------------------------------------------

namespace retrysim::execution {

namespace {

class Request {
 public:
  Request(const Units& units, const ReplicationOptions& options, Executor& executor,
          const Deliver& deliver, std::vector<RunResult>* whole)
      : units_(units),
        options_(options),
        executor_(executor),
        deliver_(deliver),
        whole_(whole),
        store_(options.fingerprint ? nullptr : options.store) {}

  std::vector<UnitKey> get() {
    const StopScope scope(options_.stop_flag);
    stop_point();
    if (options_.shard && store_ == nullptr) {
      throw RequestError(
          fmt::format("{}: a part of the work has to be left in a store, and none is used here",
                      RequestError::part("shard")));
    }
    settle();
    recall();
    const std::size_t others = leave_to_other_shards();
    if (!missing_.empty()) executor_.is_alone() ? simulate_here() : simulate_everywhere();
    if (others > 0) throw ShardDone(in_store_, units_.count);
    if (options_.progress) options_.progress(1);
    return std::move(keys_);
  }

 private:
  /// Sets the settings and plans the memory, so that a lack of room is found before anything runs.
  void settle() {
    settings_.keep = units_.keep;
    settings_.most_bins = units_.most_bins;
    settings_.max_events = options_.max_events;
    settings_.max_memory = options_.max_memory;
    settings_.jobs = static_cast<std::uint32_t>(std::max(1, options_.jobs));
    settings_.fingerprint = options_.fingerprint;
    settings_.limits_are_results = units_.limits_are_results;
    if (keeps_figures(units_.keep)) {
      memory_ = std::make_shared<Turnstile>(options_.max_memory);
      return;
    }
    if (options_.max_memory == ~std::uint64_t{0}) return;
    std::vector<std::shared_ptr<const Scenario>> held;
    std::vector<const Scenario*> scenarios;
    for (std::size_t i = 0; i < units_.count; ++i) {
      held.push_back(units_.scenario(units_.unit(i).scenario));
      scenarios.push_back(held.back().get());
    }
    const std::size_t jobs = settings_.jobs;
    // Each thread has a run and its twin, whose results are freed when their fate is known.
    if (units_.keep == Keep::kFate) {
      scenarios.resize(std::max(scenarios.size(), 2 * jobs), scenarios.front());
    }
    const MemoryPlan plan = plan_memory(scenarios, jobs, options_.max_memory, options_.kept_memory);
    settings_.most_each = plan.each;
    if (plan.at_once < std::min(jobs, units_.count)) {
      memory_ = std::make_shared<Turnstile>(plan.at_once);
    }
  }

  /// Delivers the units that the store has; the others are noted as missing.
  void recall() {
    if (store_ != nullptr) keys_.resize(units_.count);
    std::size_t number = ~std::size_t{0};
    UnitKey identity;
    for (std::size_t i = 0; i < units_.count; ++i) {
      if (store_ == nullptr) {
        missing_.push_back(i);
        continue;
      }
      stop_point();
      const Unit unit = units_.unit(i);
      if (unit.scenario != number) {
        number = unit.scenario;
        identity =
            units_.identity ? units_.identity(number) : identity_of(*units_.scenario(number));
      }
      keys_[i] = key_of(identity, unit, units_.keep, units_.most_bins);
      ++store_->units_asked;
      if (identity != UnitKey() && recall_one(i, identity, unit)) {
        ++store_->units_found;
        ++in_store_;
      } else {
        missing_.push_back(i);
      }
    }
  }

  /// Delivers a unit from the store, also from another result kept of the same replication; false
  /// if it is not there. A unit that went over the present limit is simulated again, to the same
  /// end.
  bool recall_one(std::size_t i, const UnitKey& identity, const Unit& unit) {
    auto bytes = store_->find(keys_[i]);
    bool kept = true;
    try {
      if (units_.keep == Keep::kWhole) {
        if (!bytes) return false;
        RunResult run = decode_run(*bytes);
        if (run.events > options_.max_events) return false;
        (*whole_)[i] = std::move(run);
        return true;
      }
      if (units_.keep == Keep::kFate) {
        if (!bytes) return false;
        UnitFate fate;
        unpack(*bytes, fate);
        if (std::max(fate.events, fate.twin_events) > options_.max_events) return false;
      } else if (units_.keep == Keep::kBudgets) {
        if (!bytes) return false;
        UnitBudgets budgets;
        unpack(*bytes, budgets);
        if (budgets.events > options_.max_events) return false;
      } else if (units_.keep == Keep::kSplitting) {
        if (!bytes) return false;
        stats::SplittingRun run;
        unpack(*bytes, run);
        if (run.events > options_.max_events) return false;
      } else {
        if (!bytes) {
          bytes = row_of_more(identity, unit);
          if (!bytes) return false;
          kept = store_->add(keys_[i], *bytes);
        }
        const auto row = decode(*bytes);
        if (!row || row->limit || row->events > options_.max_events) return false;
      }
    } catch (const ArchiveError&) {
      return false;
    }
    deliver_(i, *std::move(bytes), kept);
    return true;
  }

  std::optional<std::string> row_of_more(const UnitKey& identity, const Unit& unit) const {
    if (const auto whole = store_->find(key_of(identity, unit, Keep::kWhole))) {
      return encode(measure(*units_.scenario(unit.scenario), decode_run(*whole), units_.most_bins));
    }
    if (units_.keep == Keep::kSeries) return std::nullopt;
    const auto bytes = store_->find(key_of(identity, unit, Keep::kSeries, kMaxBinsOfPoint));
    if (!bytes) return std::nullopt;
    auto row = decode(*bytes);
    if (!row) return std::nullopt;
    row->series.reset();
    return encode(*row);
  }

  /// Leaves missing units to the other tasks of the array; returns how many.
  std::size_t leave_to_other_shards() {
    if (!options_.shard) return 0;
    const std::size_t all = missing_.size();
    std::erase_if(missing_, [&](std::size_t i) {
      return i % options_.shard->count != options_.shard->index - 1;
    });
    return all - missing_.size();
  }

  Task task_of(std::size_t first, std::size_t count) {
    Task task;
    task.units = count;
    task.make_work = [this, first]() -> Work {
      struct Known {
        std::size_t number = 0;
        std::shared_ptr<const Scenario> scenario;
      };
      return
          [this, first, known = Known(),
           simulator = Simulator(settings_, options_.stop_flag, memory_)](std::size_t m) mutable {
            const std::size_t i = missing_[first + m];
            const Unit unit = units_.unit(i);
            if (!known.scenario || known.number != unit.scenario) {
              known = {unit.scenario, units_.scenario(unit.scenario)};
            }
            const bool here = whole_ != nullptr && executor_.is_alone();
            return simulator(*known.scenario, unit, units_.name ? units_.name(unit.scenario) : "",
                             reached_ ? &reached_[first + m] : nullptr,
                             here ? &(*whole_)[i] : nullptr, !here || store_ != nullptr);
          };
    };
    task.deliver = [this, first](std::size_t m, std::string bytes) { take(first + m, bytes); };
    task.tick = [this] {
      if (store_ != nullptr) store_->tick();
      if (options_.progress) options_.progress(share_done());
    };
    return task;
  }

  void take(std::size_t m, std::string& bytes) {
    const std::size_t i = missing_[m];
    ++done_;
    if (whole_ != nullptr && !executor_.is_alone()) (*whole_)[i] = decode_run(bytes);
    // A unit that is over a limit is tried again: the next limit may be another one.
    const bool keeps = store_ != nullptr && keys_[i] != UnitKey() &&
                       !(is_row(units_.keep) && is_over_limit(bytes));
    const bool kept = keeps && store_->add(keys_[i], bytes);
    if (kept) {
      ++store_->units_kept;
      ++in_store_;
    }
    if (reached_) reached_[m] = 0;  // the unit counts as done
    if (whole_ == nullptr) deliver_(i, std::move(bytes), kept);
  }

  void simulate_here() {
    if (options_.progress && !is_row(units_.keep)) {
      reached_ = std::make_unique<std::atomic<std::int64_t>[]>(missing_.size());
      for (const std::size_t i : missing_) {
        longest_ = std::max(longest_, units_.scenario(units_.unit(i).scenario)->duration);
      }
    }
    executor_.run(task_of(0, missing_.size()));
  }

  void simulate_everywhere() {
    for (std::size_t first = 0; first < missing_.size();) {
      Order order;
      order.settings = settings_;
      std::size_t bytes = 0, last = ~std::size_t{0};
      for (std::size_t m = first; m < missing_.size() && bytes < kMaxBytesOfOrder; ++m) {
        Unit unit = units_.unit(missing_[m]);
        if (unit.scenario != last) {
          last = unit.scenario;
          const auto scenario = units_.scenario(last);
          if (has_own_strategy(*scenario)) {
            throw RequestError("a scenario with a strategy of its own runs in one process");
          }
          order.scenarios.push_back(encode(*scenario));
          order.names.push_back(units_.name ? units_.name(last) : "");
          bytes += order.scenarios.back().size();
        }
        unit.scenario = order.scenarios.size() - 1;
        order.units.push_back(unit);
        bytes += sizeof unit;
      }
      executor_.share(pack(order));
      executor_.run(task_of(first, order.units.size()));
      first += order.units.size();
    }
  }

  // The share that is done: finished units and, in this process, the simulated part of those under
  // way.
  double share_done() const {
    double under_way = 0;
    if (reached_) {
      for (std::size_t m = 0; m < missing_.size(); ++m) {
        under_way += static_cast<double>(reached_[m].load(std::memory_order_relaxed));
      }
      under_way /= static_cast<double>(longest_.count());
    }
    const std::size_t there = units_.count - missing_.size() + done_;
    return std::min(1.0,
                    (static_cast<double>(there) + under_way) / static_cast<double>(units_.count));
  }

  const Units& units_;
  const ReplicationOptions& options_;
  Executor& executor_;
  const Deliver& deliver_;
  std::vector<RunResult>* whole_;
  Store* store_;
  Settings settings_;
  std::shared_ptr<Turnstile> memory_;
  std::vector<UnitKey> keys_;
  std::vector<std::size_t> missing_;
  std::size_t done_ = 0, in_store_ = 0;
  std::unique_ptr<std::atomic<std::int64_t>[]> reached_;  // simulated ns of units under way
  Duration longest_ = Duration::nanoseconds(1);
};

}  // namespace

namespace {

/// Calls `work` with a flag in place of the options' function `stop`, which is asked whenever
/// progress is reported.
template <class Work>
auto stoppable(const ReplicationOptions& options, const Work& work) {
  if (options.stop()) throw Interrupted();
  std::atomic<bool> flag{false};
  ReplicationOptions with_flag = options;
  with_flag.stop = {};
  with_flag.stop_flag = &flag;
  with_flag.progress = [&](double share) {
    const auto is_asked = [&] {
      return options.stop() || (options.stop_flag != nullptr && *options.stop_flag);
    };
    if (!flag && is_asked()) flag = true;
    if (options.progress) options.progress(share);
  };
  return work(with_flag);
}

}  // namespace

std::vector<UnitKey> get_units(const Units& units, const ReplicationOptions& options,
                               const Deliver& deliver, std::vector<RunResult>* whole) {
  if (units.count == 0) return {};
  if (options.stop) {
    return stoppable(options, [&](const ReplicationOptions& with_flag) {
      return get_units(units, with_flag, deliver, whole);
    });
  }
  return in_time(options, [&](const ReplicationOptions& limited) {
    std::unique_ptr<Executor> threads;
    if (limited.executor == nullptr)
      threads = make_thread_executor(limited.jobs, limited.stop_flag);
    Executor& executor = limited.executor == nullptr ? *threads : *limited.executor;
    return Request(units, limited, executor, deliver, whole).get();
  });
}

std::vector<UnitResult> get_rows(const Units& units, const ReplicationOptions& options) {
  std::vector<UnitResult> rows(units.count);
  get_units(units, options, [&](std::size_t i, const std::string& bytes, bool) {
    rows[i] = decode(bytes).value();
  });
  return rows;
}

namespace {

void check_events(std::uint64_t events, const ReplicationOptions& options) {
  if (events <= options.max_events) return;
  throw LimitExceeded("more events than are allowed, counted over all replications",
                      LimitKind::kEvents);
}

}  // namespace

std::shared_ptr<const Scenario> borrowed(const Scenario& scenario) {
  return {std::shared_ptr<const Scenario>(), &scenario};
}

void check_events(std::span<const UnitResult> rows, const ReplicationOptions& options) {
  std::uint64_t events = 0;
  for (const UnitResult& row : rows) events += row.events;
  check_events(events, options);
}

std::vector<stats::SplittingRun> get_splittings(const Scenario& scenario, const SplittingTask& task,
                                                std::uint32_t first, std::size_t count,
                                                const ReplicationOptions& options) {
  Units units;
  units.keep = Keep::kSplitting;
  units.count = count;
  units.unit = [&](std::size_t i) {
    return Unit{.replication = first + static_cast<std::uint32_t>(i), .splitting = task};
  };
  units.scenario = [&](std::size_t) { return borrowed(scenario); };
  std::vector<stats::SplittingRun> runs(count);
  get_units(units, options,
            [&](std::size_t i, const std::string& bytes, bool) { unpack(bytes, runs[i]); });
  std::uint64_t events = 0;
  for (const stats::SplittingRun& run : runs) events += run.events;
  check_events(events, options);
  return runs;
}

std::vector<UnitBudgets> get_budgets(Units units, const ReplicationOptions& options) {
  units.keep = Keep::kBudgets;
  std::vector<UnitBudgets> budgets(units.count);
  get_units(units, options,
            [&](std::size_t i, const std::string& bytes, bool) { unpack(bytes, budgets[i]); });
  return budgets;
}

std::vector<UnitFate> get_fates(const Scenario& scenario, const ReplicationOptions& options) {
  Units units;
  units.keep = Keep::kFate;
  units.count = static_cast<std::size_t>(scenario.replications);
  units.unit = [&](std::size_t i) {
    return Unit{0, options.first + static_cast<std::uint32_t>(i)};
  };
  units.scenario = [&](std::size_t) { return borrowed(scenario); };
  std::vector<UnitFate> fates(units.count);
  get_units(units, options,
            [&](std::size_t i, const std::string& bytes, bool) { unpack(bytes, fates[i]); });
  std::uint64_t events = 0, twin_events = 0;
  for (const UnitFate& fate : fates) {
    events += fate.events;
    twin_events += fate.twin_events;
  }
  check_events(std::max(events, twin_events), options);
  return fates;
}

}  // namespace retrysim::execution

namespace retrysim {

std::vector<RunResult> simulate_all(std::span<const RunSpec> runs,
                                    const ReplicationOptions& options) {
  using namespace execution;
  Units units;
  units.keep = Keep::kWhole;
  units.count = runs.size();
  // Runs of the same scenario, one after the other, share its number.
  std::vector<std::size_t> numbers;
  std::vector<const Scenario*> scenarios;
  for (const RunSpec& run : runs) {
    if (scenarios.empty() || scenarios.back() != run.scenario) scenarios.push_back(run.scenario);
    numbers.push_back(scenarios.size() - 1);
  }
  units.unit = [&](std::size_t i) {
    return Unit{numbers[i], runs[i].replication, runs[i].retries_until};
  };
  units.scenario = [&](std::size_t number) { return borrowed(*scenarios[number]); };
  std::vector<RunResult> results(runs.size());
  get_units(units, options, {}, &results);
  std::uint64_t events = 0;
  for (const RunResult& run : results) events += run.events;
  check_events(events, options);
  return results;
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
