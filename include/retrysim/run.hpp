// The replications of a scenario: how they are run, kept and stopped, with a warm-up and a target
// precision where it asks for them; and what is said of them, as verdicts and tables.
//
//     const Run r = run(load("deploy.toml"), {.jobs = 2});
//     for (const Verdict& v : verdicts(r)) ... v.client ... v.sentence ...
//     const Table summary = tables(r)["summary"];
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {

class Executor;
class Tables;

// --- Stored results ------------------------------------------------------------------------------

// A unit (a scenario, a replication, what is kept of it) always has the same result, so a search
// that was interrupted, a longer comparison and a second question about the same runs take from a
// store what they need and simulate only the rest.

/// A hash of all that decides a unit's result: the scenario with the contents of its CSV files, the
/// replication, what is kept of it, and the sources of the simulator.
struct UnitKey {
  std::uint64_t high = 0, low = 0;

  friend auto operator<=>(const UnitKey&, const UnitKey&) = default;
};

/// Where results are kept and looked for. Only one thread uses it at a time, the one that calls a
/// search.
class Store {
 public:
  virtual ~Store() = default;

  /// The bytes of a unit, exactly as they were added; nothing if they are not there or damaged.
  virtual std::optional<std::string> find(const UnitKey& key) = 0;
  /// Keeps the bytes of a unit; gives whether they are now there to be found. A store that is full
  /// or cannot be written keeps nothing more; that is no error.
  virtual bool add(const UnitKey& key, std::string_view bytes) = 0;
  /// Whether all that was found or added outlasts this object. It does not if some of it is to be
  /// removed because the store is larger than it may be.
  virtual bool keeps_all() const { return true; }
  /// Called about ten times a second while units are simulated.
  virtual void tick() {}

  /// Units that searches have asked for; how many were there already; and how many were simulated
  /// and are now there.
  std::size_t units_asked = 0, units_found = 0, units_kept = 0;
};

/// A store in the memory of this process, of at most `most_bytes`.
std::unique_ptr<Store> make_store(std::uint64_t most_bytes = std::uint64_t{1} << 30);

/// A store in `folder`, which need not exist: it is made for the first unit. Several processes may
/// use one at once, on one machine or many: each writes a file of its own, and finds what was there
/// when it opened the store. If the process dies, nothing that was added is lost; if the machine
/// crashes, at most the last seconds are. When the store goes away, its oldest files are removed
/// until it has at most `most_bytes`. A folder that cannot be used is no error: its reason, such as
/// "Not a directory", is told to `note`, once, and then nothing is found or kept. `note` may be
/// empty, and what it throws passes through. Otherwise nothing is thrown.
std::unique_ptr<Store> open_store(const std::filesystem::path& folder,
                                  std::uint64_t most_bytes = std::uint64_t{1} << 30,
                                  std::function<void(const std::string&)> note = {});

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
  /// `progress`; once it gives true it is not called again, and the call ends with `Interrupted`.
  /// May be empty. What either throws ends the call, too.
  std::function<bool()> stop = {};
  /// A flag that signal handlers and other threads may set: the call then ends with `Interrupted`.
  /// May be null.
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

// --- Verdicts ------------------------------------------------------------------------------------

// How each client group fared and why, in sentences with the figures behind them. They come from a
// table of rules, each of which looks at the measurements and at what the scenario makes inevitable
// (prediction.hpp).

/// How good the news is for the operator of the system.
enum class Severity : std::uint8_t { kGood, kInfo, kBad };
template <>
inline constexpr std::string_view kWords<Severity> = "good|info|bad";
static_assert(words_end_with(Severity::kBad));

/// One figure behind a sentence. Its name ends in the unit: "_s" seconds, "_per_s" per second,
/// "_share" 0 to 1, "_ratio" a multiple.
struct EvidenceFigure {
  std::string name;
  double value = 0;
};

/// Where a figure of a sentence is counted: cells of the result's files, a key of the scenario, or
/// a formula of several of these (sim/explain/README.md).
struct FigureSource {
  enum class Kind : std::uint8_t {
    kUnknown,  ///< no file has it; `text` says what it is counted from
    kNumber,   ///< `number`
    kKey,      ///< `text` is the path of a key
    kCells,    ///< the cells of `column` in `file`, in the rows of `of` and in `window`
    kFormula,  ///< `formula` of `parts`: + - * / // ^ <= >= ==
  };
  Kind kind = Kind::kUnknown;
  double number = 0;
  std::string text = {};
  std::string_view file = {}, column = {};  ///< a column, or a metric
  std::string_view weight = {};             ///< a metric of the same row that each is multiplied by
  std::string of = {};                      ///< name of the client group or service
  /// The value in rows over time and phases; from `from_s` to `to_s` where it is empty.
  std::string_view window = {};
  double from_s = 0, to_s = 0;
  std::string_view over = "sum";  ///< what is made of the cells: sum, mean, median, min, max, count
  double above = -1;              ///< only cells with a value above this count
  std::string_view formula = {};
  std::vector<FigureSource> parts = {};
};

/// A figure as the sentence has it, or a claim ("every", "at once"), whose source is a condition.
struct SaidFigure {
  std::string text;
  double value = 0;  ///< 1 for a claim
  FigureSource source;
};

struct Verdict {
  std::string client;     ///< name of the group; "all": several groups together
  std::string_view rule;  ///< `VerdictRule::id`
  Severity severity = Severity::kInfo;
  std::string sentence;  ///< without a full stop at its end; begins in lower case
  std::vector<EvidenceFigure> evidence;
  std::vector<SaidFigure> figures = {};  ///< in the sentence, in their order
  /// The services that are named as causes of the trouble of several groups: one, or a few, each of
  /// which is a cause by itself.
  std::vector<std::string> culprits = {};
  /// For an answer: what became of the group, in the few words that a picture has room for: "12 %
  /// succeed during the fault, back 21 s after it". Empty for a cause.
  std::string fate = {};
};

/// One row of the table of rules.
struct VerdictRule {
  std::string_view id;
  Severity severity = Severity::kInfo;
  bool is_answer = false;  ///< says how the group fared; exactly one of these applies
  std::string_view when;   ///< the condition, for people
};

/// All rules, in the order in which their verdicts are listed.
std::vector<VerdictRule> verdict_rules();

/// First what is to be said of several groups together, if services call each other or groups share
/// them: which service is the cause, and what each group loses. Then the verdicts on every client
/// group, in the order of the scenario: first the answer, then the causes in the order of the
/// rules. `runs` are replications of `scenario`. Runs without time series have answers, but few
/// causes.
std::vector<Verdict> verdicts(const Scenario& scenario, std::span<const RunResult> runs);

/// How each client group that sent requests fares without a part of the scenario, such as "the
/// retry quota": `twin_runs` are the replications `runs` of the same scenario without it. Their
/// rule is "twin", which is not among `verdict_rules`.
std::vector<Verdict> twin_verdicts(const Scenario& scenario, std::span<const RunResult> runs,
                                   const Scenario& twin, std::span<const RunResult> twin_runs,
                                   std::string_view part);

/// All that verdicts need from one replication of `scenario`, so that many can be judged without
/// keeping their results: numbers that mean nothing on their own, many of them zero.
std::vector<double> verdict_figures(const Scenario& scenario, const RunResult& run);

/// The verdicts on the replications with these figures. Throws std::invalid_argument if they are
/// not those of this scenario.
std::vector<Verdict> verdicts(const Scenario& scenario,
                              std::span<const std::vector<double>> figures_by_run);

// --- A run and all that is said of it ------------------------------------------------------------

struct Run {
  LoadedScenario scenario;                   ///< with the warm-up found, if it asked for one
  std::vector<RunResult> replications;       ///< in the order of their numbers
  std::optional<FoundWarmup> warmup;         ///< if it was looked for
  std::optional<PrecisionReport> precision;  ///< if there is a target
};

/// Simulates the replications of a scenario: as many as it says, or as its precision needs (see
/// `run_experiment`). Throws `Interrupted`, `LimitExceeded`, `WarmupNotFound`, and
/// std::invalid_argument for a scenario made by hand that is not valid.
Run run(LoadedScenario scenario, const ReplicationOptions& options = {});

/// How each client group fared and why; see `verdicts` above.
std::vector<Verdict> verdicts(const Run& run);

/// The tables summary, replications, timeseries, service, latency, attempts, burstiness, storms,
/// mean_timeseries, mean_service; phases, if there is a fault, a surge or a phase of the scenario's
/// own; and instances, if a service has several. The run must outlive them.
Tables tables(const Run& run);

// --- Steady states -------------------------------------------------------------------------------

// An automatic warm-up, and parts of one run as observations of the same quantity, make sense only
// in a scenario that settles.

/// Why the scenario has no steady state: names the first part that makes it a transient, as in
/// "fault.dip is a disturbance". Such parts are faults, surges, arrivals that come once or follow a
/// trace or a profile, and capacity profiles. Empty if nothing changes from outside during the run.
/// Nothing is said of whether the system then settles: a service may stay overloaded.
std::optional<std::string> why_transient(const Scenario& scenario);

// --- Memory and events ---------------------------------------------------------------------------

// How much memory and how many events a run needs, before it begins.

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
