// How results change along keys of the scenario: `Sweep` simulates every combination of values,
// `find_tipping_points` searches for the size of a trigger that brings the system down, and
// `find_hysteresis` raises and lowers the load within one run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {

class Tables;

// --- Sweeps --------------------------------------------------------------------------------------

// A sweep has every combination of varied keys, each a point with its replications. It may have
// millions of points: its results are kept in a store, from which it continues after an
// interruption, and are read point by point. A point that needs more memory or events than allowed
// is marked as such, and the others go on.
//
//     SweepRequest request;
//     request.scenario = "dip.toml";
//     request.varying = {"fault.*.duration=10s:60s:10s", "client.*.retry.max_attempts=1,2,3"};
//     SweepPlanResult planned = plan_sweep(request);
//     if (!planned.plan) ... planned.errors ...
//     for (const SweepPoint& point : run_sweep(*planned.plan)) ...

namespace stats {
struct MeanSeries;
}

/// The grid of a scenario file.
struct SweepRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};    ///< as `load_scenario_file` takes them
  std::vector<std::string> varying = {};  ///< as `parse_variations` takes them
  /// Only the points whose number in the grid, from 0, leaves `index` - 1 when divided by `count`.
  std::optional<Shard> shard = {};
  std::uint64_t max_memory = ~std::uint64_t{0};  ///< bytes that the list of points may take
  /// Called with each note on the scenario as it comes up; may be empty.
  std::function<void(const std::string&)> note = {};
};

/// The plan of a sweep: its points, all of them valid.
struct SweepPlan {
  LoadedScenario base;                                   ///< the scenario without variations
  std::vector<std::string> varying;                      ///< as asked for
  std::vector<std::string> paths;                        ///< the varied keys, in order
  std::size_t grid_points = 0;                           ///< points of the whole grid
  std::optional<Shard> shard;                            ///< if these are not all of them
  std::shared_ptr<const std::vector<Variant>> variants;  ///< the points, by number
  std::vector<std::uint32_t> replications;               ///< of each point
  /// The scenario of each point; for a scenario that may be large, only the parts that results
  /// need: name, seed, length, names of the client groups, expectations, and when faults, surges
  /// and phases are.
  std::vector<std::shared_ptr<const Scenario>> outlines;
  /// The whole scenario of a point, with the CSV inputs as they were when the sweep was planned.
  /// Called by several threads.
  std::function<std::shared_ptr<const Scenario>(std::size_t point)> scenario;
  /// What decides the results of each point, as a hash: found while its scenario was at hand.
  std::vector<UnitKey> identities;
  std::uint64_t id = 0;                            ///< equal for shards of one sweep only
  std::string text;                                ///< the text of the scenario file
  std::vector<std::filesystem::path> inputs = {};  ///< the CSV files that any point reads

  std::size_t points() const { return outlines.size(); }
};

/// Either a plan, or at least one error: each mistake once, at most 20, with the points it
/// concerns.
using SweepPlanResult = Planned<SweepPlan>;

/// Loads the scenario and every point. Throws RequestError if there are too many points or one asks
/// for an automatic warm-up, LimitExceeded if the list of points takes too much memory, and
/// Interrupted.
SweepPlanResult plan_sweep(const SweepRequest& request);

/// The points of a sweep made by hand, at least one.
SweepPlan plan_sweep(std::vector<NamedScenario> points);

/// One point with its results.
struct SweepPoint {
  std::string name;
  std::vector<std::string> keys;             ///< the values of the varied keys
  std::shared_ptr<const Scenario> scenario;  ///< its client groups and expectations
  MetricValues values;                       ///< no replications if it went over a limit
  std::optional<LimitKind> limit;            ///< the limit that one of the replications went over
  PhaseValues phases = {};                   ///< as `values`; see `summarize_phases`
  /// The means over time, if the sweep keeps them: for the reports of the program.
  std::shared_ptr<const stats::MeanSeries> series = {};
  /// With `series`, by replication: the figures that `verdicts` takes together with the whole
  /// scenario.
  std::vector<std::vector<double>> verdict_figures = {};
};

/// Sweeps of a file keep series over time if the whole grid has at most this many points, in at
/// most this many bins each.
inline constexpr std::size_t kMaxPointsWithSeries = 400;
inline constexpr std::size_t kMaxBinsOfPoint = 160;

/// A sweep whose points are read one by one.
class Sweep {
 public:
  /// How to run: `max_events` limits each replication; a point with a replication that exceeds it
  /// is over the limit. `max_memory` limits all replications in progress together; a point with a
  /// replication that does not fit alone is over the limit. `fingerprint`, `first` and
  /// `kept_memory` are ignored. Without a store, or where it is full, results are in memory.
  explicit Sweep(SweepPlan plan, ReplicationOptions options = {});
  Sweep(Sweep&&) noexcept;
  Sweep& operator=(Sweep&&) = delete;
  ~Sweep();

  /// Simulates what the store does not have. Throws `Interrupted` if asked to stop, LimitExceeded
  /// after the timeout, and what `simulate` throws; finished replications are then in the store.
  void run();

  std::size_t points() const;
  const SweepPlan& plan() const;

  /// Results of a point; call it after `run`. Throws std::runtime_error if the store has been
  /// damaged meanwhile.
  SweepPoint point(std::size_t number);
  /// The error of the first point, in the order of the grid, that went over a limit; empty if none
  /// did.
  std::optional<LimitExceeded> first_over_limit() const;

 private:
  class Progress;
  std::unique_ptr<Progress> progress_;
};

/// Runs a whole sweep and returns all points at once.
std::vector<SweepPoint> run_sweep(SweepPlan plan, const ReplicationOptions& options = {});

/// The tables summary, replications, phases if there may be any, points (a row for each point); and
/// if the grid is small (kMaxPointsWithSeries) verdicts, mean_timeseries and mean_service. Call it
/// after `Sweep::run`; the sweep must outlive them.
Tables tables(Sweep& sweep);

// --- Tipping points ------------------------------------------------------------------------------

// `find_tipping_points` bisects the size of a trigger (the length of an outage, the size of a
// surge, a load) for D50, the size from which half of the replications no longer recover.
//
// With common random numbers each replication has a threshold of its own: the size from which it no
// longer recovers. The number of replications that tip at a size is then the number of thresholds
// below it, and bisection for the size at which at least r of n tip closes in on the r-th smallest
// threshold. The median of the thresholds is D50. For any distribution, its median lies between the
// j-th smallest and the j-th largest threshold of n unless fewer than j of n fall on one of its
// sides. How many do is binomial with probability 1/2, and j is the largest number for which the
// interval misses the median with a probability of at most 5 %.
//
// From a file:
//
//     const Trigger trigger = parse_trigger("fault.outage.duration=0.9s:1.6s");
//     const TipResult r = find_tipping_point(scenarios_of("zombie.toml", {}, trigger),
//                                            {.first = trigger.first, .last = trigger.last});
//     if (r.point.d50) ... r.point.d50->middle() ...
//
// How the tipping point moves with other keys is a search for each combination of their values:
//
//     TipRequest request{.scenario = "zombie.toml", .trigger = trigger};
//     request.varying = {"client.web.arrivals.total_rate=250:400:50"};
//     TipPlanResult planned = plan_tip(request);
//     if (!planned.plan) ... planned.errors ...
//     for (const TipPoint& p : find_tipping_points(*planned.plan)) ...

/// The response of one replication to one size of the trigger.
enum class TippingResponse : std::uint8_t {
  kRecovers,
  kTips,
  kUnknown,  ///< the run was too short to tell
};

/// All replications at one size of the trigger.
struct TippingProbe {
  double value = 0;
  std::vector<TippingResponse> responses;  ///< by replication
  /// From the twins of the replications that tipped: how many recovered in time, and how many
  /// replications are therefore metastable.
  std::size_t twin_recovered = 0, metastable = 0;

  std::size_t count(TippingResponse response) const;
  std::size_t tipped() const { return count(TippingResponse::kTips); }
  /// Replications that ran long enough to tell whether they tip.
  std::size_t judged() const { return responses.size() - count(TippingResponse::kUnknown); }
};

/// The stretch between two sizes that were tried: `low` comes first in the direction of the search.
struct TippingBracket {
  double low = 0, high = 0;

  double middle() const { return (low + high) / 2; }
};

/// The bounds found for the threshold of one replication.
struct TippingThreshold {
  std::optional<double> low;   ///< empty: it already tips at the first size
  std::optional<double> high;  ///< empty: it recovers even at the last
  bool monotone = true;        ///< it recovers up to `low` and tips from `high` on
};

/// Where to look. Sizes are in the unit of the trigger; seconds for durations.
struct TippingSearch {
  double first = 0, last = 0;  ///< sizes: expected to recover, to tip; `last` may be the smaller
  double tolerance = 0.01;     ///< a bracket this narrow, relative to its ends, is closed
  bool whole_numbers = false;  ///< only whole numbers are tried
};

enum class TippingOutcome : std::uint8_t {
  kFound,
  kTipsAtFirst,     ///< half of the replications or more already tip at the first size
  kRecoversAtLast,  ///< fewer than half tip at the last size
  kEndsExchanged,   ///< more than half tip at the first size, and fewer than half at the last
  kNotJudged,       ///< too many replications are unknown: at the first size, or from where on half
                    ///< would have to tip
};
template <>
inline constexpr std::string_view kWords<TippingOutcome> =
    "found|tips_at_first_value|recovers_at_last_value|ends_exchanged|not_judged";
static_assert(words_end_with(TippingOutcome::kNotJudged));

struct TippingPoint {
  TippingOutcome outcome = TippingOutcome::kFound;
  std::vector<TippingProbe> probes;          ///< from the first size to the last
  std::vector<TippingThreshold> thresholds;  ///< by replication
  /// Where the median threshold lies. With an even number of replications it reaches from the
  /// middle of one to the middle of the other of the two central brackets. Exists if found.
  std::optional<TippingBracket> d50;
  /// 95 % interval of the median; an end is empty if it lies outside of the sizes searched or could
  /// not be judged. With fewer than six replications there is no interval: both are empty.
  std::optional<double> ci_first, ci_last;
  std::size_t rank = 0;  ///< j, from 1; zero: too few replications for an interval
  double coverage = 0;   ///< of the interval, at least 0.95

  /// Replications that recover from a larger trigger than one that tips them.
  std::size_t not_monotone() const;
  /// No size between the ends of the interval was tried: it is a bracket, and says only where the
  /// search stopped.
  bool interval_is_bracket() const;
  /// Whether an end of the interval is missing because of unknown responses.
  bool first_end_not_judged() const;
  bool last_end_not_judged() const;
  /// Index of the probe at which the share that tips is nearest to one half; of equals, the first
  /// where more than half tip.
  std::size_t nearest_probe() const;
};

/// The scenario with the trigger at a size.
using ScenarioAt = std::function<Scenario(double value)>;

struct TipOptions {
  /// How to run. Limits on events and memory are those of the replications at one size; `timeout`
  /// is that of the whole search, and `progress` starts again at each size.
  ReplicationOptions run;
  /// Called before each size is simulated, in the calling thread, with the number of the size (from
  /// 1) and the size; may be empty.
  std::function<void(int probe, double value)> probing;
};

struct TipResult {
  TippingSearch search;
  TippingPoint point;
  std::vector<std::string> notes;  ///< for the reader: limitations of the answer
};

/// Searches by bisection. Every size is simulated with the same number of replications (that of the
/// scenario), on common random numbers; those that tip run again with no retries after the end of
/// the trigger. Throws RequestError for an impossible search (equal ends; a tolerance outside of
/// 1e-6 to 0.5), what `scenario_at` throws, and what `run_replications` throws.
TipResult find_tipping_point(const ScenarioAt& scenario_at, const TippingSearch& search,
                             const TipOptions& options = {});

/// A key of a scenario that takes sizes from `first` to `last`.
struct Trigger {
  std::string path;
  double first = 0, last = 0;
  bool is_duration = false;    ///< values are seconds
  bool whole_numbers = false;  ///< the key takes whole numbers
  std::string unit = "1";      ///< of the values, as the table of keys has it

  /// `value` as an edit of a scenario: "fault.outage.duration=\"1.5s\"".
  std::string edit(double value) const;
};

/// Reads "PATH=LO:HI"; LO and HI are numbers, or durations such as 250ms. Throws RequestError,
/// which calls it `part`.
Trigger parse_trigger(const std::string& text, const std::string& part = "trigger");

/// Loads `file` with `edits` and the trigger at `value`. Mistakes in that value are reported as
/// mistakes of `part`.
LoadResult load_at(const std::filesystem::path& file, std::vector<std::string> edits,
                   const Trigger& trigger, double value, const std::string& part = "trigger");

/// `load_at` for `find_tipping_point`. What it returns throws RequestError if the scenario has a
/// mistake, with the first one as the message.
ScenarioAt scenarios_of(const std::filesystem::path& file, const std::vector<std::string>& edits,
                        const Trigger& trigger);

/// Searches of a scenario file: one, or one for each combination of the varied keys.
struct TipRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};    ///< as `load_scenario_file` takes them
  std::vector<std::string> varying = {};  ///< as `parse_variations` takes them; may be empty
  Trigger trigger = {};
  double tolerance = 0.01;  ///< as in `TippingSearch`
};

/// One search of several.
struct TipCase {
  std::string name;               ///< "base" without variations
  std::vector<std::string> keys;  ///< the values of the varied keys
  ScenarioAt scenario;
};

/// The plan of searches; all scenarios are valid at both ends of the trigger.
struct TipPlan {
  LoadedScenario base;  ///< without the trigger and without variations
  Trigger trigger;
  TippingSearch search;
  std::vector<Variation> variations;
  std::vector<TipCase> cases;  ///< at least one; the last variation changes fastest
  /// A hash of the question: equal for plans that ask the same. 0 without a file.
  std::uint64_t id = 0;
  std::vector<std::filesystem::path> inputs = {};  ///< the CSV files that any case reads

  /// The varied keys, in order.
  std::vector<std::string> paths() const;
  /// The variation along which the tipping point makes a curve: the first one of a single key whose
  /// values are all numbers, or all durations. Empty if there is none.
  std::optional<std::size_t> axis() const;
};

/// Either a plan, or at least one error: each mistake once, at most 20.
using TipPlanResult = Planned<TipPlan>;

/// Loads the scenario and every case at both ends of the trigger. Throws RequestError if the
/// trigger is among the varied keys, if there are more than 10,000 cases or one of them asks for an
/// automatic warm-up, and for an impossible search; Interrupted.
TipPlanResult plan_tip(const TipRequest& request);

/// What can be said before anything runs: that runs are too short to judge what does not recover
/// from `first`, or from `last`, and how long they should be. Notes for the reader.
std::vector<std::string> notes_before(const TipPlan& plan);

/// Searches made by hand, at least one.
TipPlan plan_tip(std::vector<TipCase> cases, const TippingSearch& search);

struct TipSearchOptions {
  /// How to run; as in `TipOptions`, with the timeout that of all searches together.
  ReplicationOptions run;
  /// Called before each size is simulated, in the calling thread, with the name of the case, the
  /// number of the size (from 1) and the size; may be empty.
  std::function<void(const std::string& name, int probe, double value)> probing;
};

/// The tipping point of one case.
struct TipPoint {
  std::string name;
  std::vector<std::string> keys;
  TipResult found;
};

/// Finds all tipping points, in the order of the cases. Throws what `find_tipping_point` throws.
std::vector<TipPoint> find_tipping_points(const TipPlan& plan,
                                          const TipSearchOptions& options = {});

/// The tables tip (a row for each size that was tried) and thresholds (for each replication); with
/// variations also curve (for each case). `points` are those of the plan.
Tables tables(const TipPlan& plan, const std::vector<TipPoint>& points);

// --- Hysteresis ----------------------------------------------------------------------------------

// The load of a system is raised step by step and lowered again within one run. A system that
// retries can keep down tips at one load on the way up, and recovers only at a lower one on the way
// down. In between, its behaviour depends on its history.
//
// From a file:
//
//     const LoadKey key = parse_load("client.web.arrivals.total_rate=100:550:50");
//     const LoadResult loaded = load_at("zombie.toml", {}, key);
//     const HysteresisLoop loop = find_hysteresis(loaded.loaded->scenario, key);

/// Loads from the lowest to the highest and back: of n loads the first n steps rise, and n - 1
/// fall.
struct LoadRamp {
  std::vector<double> loads;  ///< rising
  Duration dwell;             ///< the time at each step

  std::size_t steps() const { return loads.empty() ? 0 : 2 * loads.size() - 1; }
  bool rising(std::size_t step) const { return step < loads.size(); }
  double load(std::size_t step) const {
    return rising(step) ? loads[step] : loads[2 * loads.size() - 2 - step];
  }
  Duration duration() const { return dwell * static_cast<std::int64_t>(steps()); }
};

/// Measurements of the second half of a step; the first half is for settling down.
struct StepMeasurement {
  double offered_load = 0;  ///< requests per second
  double goodput = 0;       ///< per second
  double attempt_rate = 0;  ///< arrivals at services per second
  double offered_work = 0;  ///< rho: work of the requests per capacity of the most loaded service
  bool down = false;        ///< success rate below RecoverySpec::share times that of the first step
};

/// One replication.
struct RampRun {
  std::vector<StepMeasurement> steps;
  /// First load on the way up at which the system is down; empty if it never is.
  std::optional<double> tip_load, tip_work;
  /// Highest load on the way down from which on it stays up; empty if it did not tip, or is down at
  /// the last step.
  std::optional<double> recover_load, recover_work;
  /// Integral over the load of goodput on the way up minus goodput on the way down (1/s^2), and
  /// its share of the integral on the way up.
  double loop_area = 0, loop_share = 0;
};

/// The loads, and the key that takes them.
struct LoadKey {
  std::string path;           ///< "client.web.arrivals.total_rate"
  std::string client;         ///< name of the client group, or "*" for all of them
  std::vector<double> loads;  ///< rising
  std::string unit = "1/s";   ///< of the loads
};

/// Reads "PATH=LO:HI:STEP" (or any list of rising values, as for `parse_variation`), where PATH is
/// the rate of a client group or of all; 2 to 1000 loads above 0. Throws RequestError.
LoadKey parse_load(const std::string& text);

/// Loads `file` with `edits` and the rate at the first load. Mistakes in the load are reported as
/// mistakes of "hysteresis".
LoadResult load_at(const std::filesystem::path& file, const std::vector<std::string>& edits,
                   const LoadKey& key);

struct HysteresisOptions {
  /// Time at each step, of which the second half counts; at least four bins (Scenario::interval).
  /// Empty: 20 rolling windows of attempt timeout + longest backoff.
  std::optional<Duration> dwell = {};
  ReplicationOptions run = {};  ///< how to run; `fingerprint` and `first` as in `run_replications`
};

/// Plans the ramp. `steady` is the scenario at the first load of `key`. Throws RequestError if the
/// dwell is too short, the whole longer than kLongestDuration, or a group has a rate profile of its
/// own.
LoadRamp plan_ramp(const Scenario& steady, const LoadKey& key,
                   std::optional<Duration> dwell = std::nullopt);

struct HysteresisLoop {
  LoadRamp ramp;
  std::vector<RampRun> runs;       ///< by replication
  std::vector<std::string> notes;  ///< for the reader: limitations of the answer
};

/// Simulates the replications of `steady` (which is at the first load of `key`) along the ramp. A
/// system is down at a step if its success rate there is below RecoverySpec::share times that of
/// the first step. Throws what `plan_ramp` and `run_replications` throw.
HysteresisLoop find_hysteresis(const Scenario& steady, const LoadKey& key,
                               const HysteresisOptions& options = {});

/// The table hysteresis: a row for each step. `scenario` gives its name.
Tables tables(const Scenario& scenario, const LoadKey& key, const HysteresisLoop& loop);

}  // namespace retrysim
