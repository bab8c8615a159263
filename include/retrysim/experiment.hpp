// Many replications: executors that spread them over threads or MPI ranks, whole experiments with a
// warm-up and a target precision, which scenarios have a steady state, and the memory and events
// that runs need.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/store.hpp>
#include <retrysim/time.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace retrysim {

// --- Executors -----------------------------------------------------------------------------------

// Threads of this process, or the ranks of an MPI job. Work comes in numbered units that do not
// depend on each other; each gives bytes that are a pure function of its number, so the schedule
// affects only the time.

/// Computes one unit. May keep data for the next one (a scenario it has loaded), as long as the
/// bytes do not depend on it. Called by one thread at a time.
using Work = std::function<std::string(std::size_t unit)>;

/// The units that an executor is to compute.
struct Task {
  std::size_t units = 0;  ///< numbered from 0
  /// Makes the `Work` of one thread; called in that thread.
  std::function<Work()> make_work;
  /// Takes a unit's bytes: only in the owner, in the thread that called `run`, one unit at a time,
  /// in any order. Units are handed out in order, so their bytes arrive roughly in order.
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

  /// The owner's `bytes`, in every process. Throws `Dismissed`.
  virtual std::string share(std::string bytes) = 0;

  /// Makes sure that `bytes` are the same in every process. Throws `Dismissed`, and
  /// std::runtime_error in a process whose bytes differ from the owner's: it is out of step.
  virtual void agree(const std::string& bytes) = 0;

  /// Computes all units. If one throws, no further ones are begun; those before it are finished and
  /// delivered, and the owner throws what the lowest failing unit threw. Throws `Interrupted` if
  /// asked to stop before the end; finished units have then been delivered. Exceptions of `deliver`
  /// and `tick` end the run as well. The other processes return when there is nothing left to do,
  /// for any reason; they throw `Dismissed`, and std::runtime_error if their task does not have as
  /// many units as the owner's: they are out of step.
  virtual void run(const Task& task) = 0;

  /// The last call; calling it again does nothing. The owner dismisses the other processes, which
  /// wait for that here. Throws std::runtime_error in a process that is out of step: the owner
  /// continues without it, or expects another call.
  virtual void finish() {}
};

/// `jobs` threads (at least 1) of this process, which is the owner. `stop` may be null.
std::unique_ptr<Executor> make_thread_executor(int jobs, const std::atomic<bool>* stop);

/// All that a process does whose executor is not the owner: it simulates what the owner asks for,
/// whatever the question is, until the owner calls `finish`. Throws what `Executor::run` throws
/// there but `Dismissed`. `stop` may be null.
void serve(Executor& executor, const std::atomic<bool>* stop);

// --- Replications --------------------------------------------------------------------------------

// Independent runs, of one scenario or of several. Each draws its own random numbers, and results
// come back in the order of the runs, so the executor affects only the time.

/// Part `index` (from 1) of `count`.
struct Shard {
  std::size_t index = 1, count = 1;

  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// Thrown by a search that is one of several tasks (`ReplicationOptions::shard`) when it has done
/// its part of the units that the search asks for now, and other parts are not in the store yet.
class ShardDone : public std::runtime_error {
 public:
  ShardDone(std::size_t units_there, std::size_t units_asked)
      : std::runtime_error("other parts of the work are not done yet"),
        there(units_there),
        all(units_asked) {}

  std::size_t there, all;  ///< of the units that the search asks for now
  /// Whether the search may ask for further units when it has these results. Then all tasks have to
  /// be started again, until one of them finds the answer.
  bool has_rounds = false;
};

struct ReplicationOptions {
  int jobs = 1;  ///< threads, at least 1
  /// If given, does the work instead of `jobs` threads. Its process is the owner.
  Executor* executor = nullptr;
  /// Where results are looked for before anything is simulated, and kept; null: nothing is reused.
  /// With `fingerprint` it is not used.
  Store* store = nullptr;
  /// Only every `count`-th unit that is not in the store is simulated; see `ShardDone`. Throws
  /// RequestError if no store is used.
  std::optional<Shard> shard = {};
  bool fingerprint = false;
  std::uint32_t first = 0;  ///< number of the first replication
  /// Events of all runs together; `LimitExceeded` beyond.
  std::uint64_t max_events = ~std::uint64_t{0};
  /// Bytes that the call may take, including `kept_memory`, which its caller already holds. If it
  /// is too little for `jobs` threads, fewer work; if it is too little for one, `LimitExceeded`
  /// before any is allocated.
  std::uint64_t max_memory = ~std::uint64_t{0};
  std::uint64_t kept_memory = 0;
  /// Called about ten times a second while units are simulated, in the calling thread, as
  /// `progress`; once it gives true, the call ends with `Interrupted`. May be empty. What either
  /// throws ends the call, too.
  std::function<bool()> stop = {};
  /// The same for signal handlers and other threads: ends with `Interrupted` once it is set. May be
  /// null.
  const std::atomic<bool>* stop_flag = nullptr;
  /// Wall-clock time that the whole call may take: `LimitExceeded` beyond, within about 100 ms.
  std::optional<Duration> timeout = {};
  /// Called from time to time with the share done, in [0, 1], in the calling thread; may be empty.
  std::function<void(double)> progress = {};
};

/// One run.
struct RunSpec {
  const Scenario* scenario = nullptr;  ///< never null; must outlive the call
  std::uint32_t replication = 0;
  /// No retries from this moment on (SimulationOptions::retries_until).
  Time retries_until = Time::max();
};

/// Simulates `runs` (`ReplicationOptions::first` is ignored). Throws what `simulate` throws, for
/// the first run that fails, and what the executor throws.
std::vector<RunResult> simulate_all(std::span<const RunSpec> runs,
                                    const ReplicationOptions& options = {});

/// One number for the fingerprints of runs in this order.
std::uint64_t combined_fingerprint(std::span<const RunResult> runs);

/// Simulates `scenario.replications` replications, from `first` on.
std::vector<RunResult> run_replications(const Scenario& scenario,
                                        const ReplicationOptions& options = {});

// --- Experiments ---------------------------------------------------------------------------------

// The warm-up is found if the scenario asks for it; then replications follow until the target
// precision is met, or as many as the scenario says. All decisions use results in the order of the
// replications, so the number of threads affects only the time.

/// A warm-up found by MSER-5.
struct FoundWarmup {
  Duration warmup;             ///< the same for all scenarios
  double removed_share = 0;    ///< of the (shortest) duration, in [0, 1/2)
  std::string decided_by;      ///< the series that takes longest: "latency_mean of web"
  std::size_t pilot_runs = 0;  ///< replications (of each scenario) whose average was used
};

/// Half of the run or more may be warm-up: too little is left to measure.
class WarmupNotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs pilot replications (the first ones of the experiment, at most 20) without a warm-up and
/// averages over them the time series of goodput, attempt rate and mean latency of each client
/// group, and of the number of attempts at each service. Returns the longest MSER-5 truncation of
/// any series, in multiples of five bins. Compared policies must be measured over the same stretch:
/// pass them together to get one warm-up for all. Throws `WarmupNotFound`, and what
/// `run_replications` throws; std::invalid_argument if there is no scenario or one is transient
/// (`why_transient`).
FoundWarmup find_warmup(std::span<const Scenario> scenarios,
                        const ReplicationOptions& options = {});

/// How precise one metric of all clients together is.
struct MetricPrecision {
  std::string metric;
  /// Half-width of the 95 % interval divided by the mean, or by the size in `run_experiment` if the
  /// mean is nearer to zero; for a probability, how far the true one may lie from the estimate.
  /// Empty if no replication has the metric.
  std::optional<double> reached;
  bool met = false;
};

/// Whether `PrecisionSpec::target` was met.
struct PrecisionReport {
  double target = 0;
  bool met = false;  ///< by all metrics
  std::vector<MetricPrecision> metrics;
};

struct Experiment {
  std::vector<RunResult> runs;
  std::optional<FoundWarmup> warmup;         ///< if it was looked for
  std::optional<PrecisionReport> precision;  ///< if there is a target
};

/// With `Scenario::warmup_is_auto` the found warm-up (see `find_warmup`) is put into `scenario`.
///
/// With `PrecisionSpec::target` = g > 0, replications are added after the schedule of
/// `next_replications`, from `Scenario::replications` on and up to `max_replications`, until each
/// of its metrics has h <= g / (1 + g) max(|mean|, size): then the relative error towards the true
/// mean is at most g with about 95 % confidence (Law and Kelton's correction; the intervals are
/// valid for many replications, Chow and Robbins 1965). The size keeps means near zero from asking
/// for the impossible: 0.1 for a share, a tenth of the offered load for a rate, else 0.
Experiment run_experiment(Scenario& scenario, const ReplicationOptions& options = {});

/// The next point at which precision is judged, after `replications`: 10, 15, 20, 30, 45, and then
/// half as many again (67, 100, 150, ...), but at most `limit`.
int next_replications(int replications, int limit);

// --- Steady states -------------------------------------------------------------------------------

// An automatic warm-up, and parts of one run as observations of the same quantity, make sense only
// in a scenario that settles.

/// Why the scenario has no steady state: names the first part that makes it a transient, as in
/// "fault.dip is a disturbance". Such parts are faults, surges, arrivals that come once or follow a
/// trace or a profile, and capacity profiles. Empty if nothing changes from outside during the run.
/// Whether the system then settles (a service may stay overloaded) is another question.
std::optional<std::string> why_transient(const Scenario& scenario);

// --- Memory and events ---------------------------------------------------------------------------

// What a run needs, before it begins.

/// The memory of one part of a run, and the keys that change it.
struct MemoryPart {
  std::string what;
  std::string keys;
  std::uint64_t bytes = 0;
};

std::uint64_t total_bytes(std::span<const MemoryPart> parts);

/// "1.5 GiB"; three significant digits, with the unit that fits.
std::string to_text_of_bytes(std::uint64_t bytes);

/// The memory and events of one replication.
struct RunNeeds {
  /// Only while it runs: the clients with their retry states, and the arrivals to come.
  std::vector<MemoryPart> clients;
  /// While it runs: the requests under way at once, if the service answers each at its first
  /// attempt, including the final queue if it is overloaded. This is an estimate; the other figures
  /// are counted.
  std::vector<MemoryPart> requests;
  /// Kept by its result.
  std::vector<MemoryPart> result;
  /// For its statistics; used for one replication at a time.
  MemoryPart analysis;
  /// Events, if each request succeeds at its first attempt.
  double events = 0;
};

/// Takes a valid scenario. Fast for runs of any size.
RunNeeds needs_of(const Scenario& scenario);

/// How replications share the available memory.
struct MemoryPlan {
  std::vector<MemoryPart> parts;  ///< all of it, with `at_once` replications running
  std::uint64_t total = 0;
  std::size_t at_once = 1;
  /// The memory to which the requests under way of one replication may grow
  /// (SimulationOptions::max_memory).
  std::uint64_t each = ~std::uint64_t{0};
};

/// Up to `jobs` replications run at once, as many as fit into `limit` bytes, of which `kept` are
/// taken already. `runs` are the scenarios of the replications. Throws LimitExceeded if there is no
/// room for one; the message has the figure for each large part and the keys to change.
MemoryPlan plan_memory(std::span<const Scenario* const> runs, std::size_t jobs, std::uint64_t limit,
                       std::uint64_t kept = 0);

}  // namespace retrysim
