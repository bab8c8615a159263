// The metrics of summary.csv, and their statistics across replications: one table with a row for
// each metric, from which files, tables, statistics and pictures take everything they know about
// it. Ratios, latencies and plain counts follow the cohort rule (requests submitted in the window,
// followed to their end); rates and levels follow the flow rule (what happens inside the window).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

/// What a metric is computed from: one client group, or all of them merged, of one replication.
struct MetricInput {
  const Scenario& scenario;
  const RunResult& run;
  const ClientResult& client;  ///< the group, or the merged groups (then without bins)
  /// Index of the group; empty: all together, without the calls between services.
  std::optional<std::size_t> group;
  /// All services; for a group, the service that it alone calls, if there is one.
  std::span<const ServiceResult> services;

  /// Bins of the group, or of all together.
  std::span<const ClientBin> bins() const {
    return group ? std::span(run.clients[*group].bins) : std::span(run.all_bins);
  }
  double window_s() const { return (run.window_end - run.window_start).in_seconds(); }

  /// The recovery after the last disturbance.
  struct LastRecovery {
    bool disturbed = false;         ///< there is a disturbance to recover from
    std::optional<double> seconds;  ///< after its end; empty: not within the run
    double not_before_s = 0;        ///< without recovery: how long it has not come
  };
  /// Found by the first metric that needs it, for all: it takes longer than all other metrics.
  mutable std::optional<LastRecovery> last_recovery = std::nullopt;
};

/// The kind of a metric. The first six kinds also define its value: `sum` is the number of events,
/// or another sum over the run (of times in nanoseconds for a level or capacity), and is divided as
/// the kind says.
enum class MetricKind : std::uint8_t {
  kCount,        ///< how many, or how much, in all: `sum`
  kShare,        ///< `sum` / `per`, where the numerator is a part of the denominator
  kRatio,        ///< `sum` / `per`: any other ratio of two sums, means of durations included
  kRate,         ///< `sum` per second of the window
  kLevel,        ///< time average over the window: `sum` / length of the window
  kCapacity,     ///< `sum` / available server time (ServiceResult::capacity_ns)
  kDeviation,    ///< variance or standard deviation
  kQuantile,     ///< quantile of durations
  kPeak,         ///< the largest of many values
  kProbability,  ///< 0 or 1 in each replication
  kOther,        ///< an index, a test, a time of day
};

/// What a metric exists for.
enum class MetricScope : std::uint8_t {
  kGroups,    ///< each client group, and all together
  kServices,  ///< all services together, and the service of a group that is its only caller
  kAllOnly,   ///< all client groups together
};

/// How summary.csv summarizes the values of the replications.
enum class MetricSummary : std::uint8_t {
  kMean,            ///< mean with Student's interval
  kProportion,      ///< values are 0 or 1: mean with Wilson's interval
  kMedianRecovery,  ///< the median that recovery_s and recovery_censored_s together give
};

/// The range of values that a metric can have.
enum class MetricRange : std::uint8_t {
  kNotNegative,  ///< counts, rates, times and ratios
  kShare,        ///< 0 to 1
  kCorrelation,  ///< -1 to 1
};

/// The direction in which a metric is better for the operator of the system.
enum class MetricBetter : std::uint8_t { kNeither, kLower, kHigher };

/// Metrics that are shown or used together; each list has its own order.
enum class MetricList : std::uint8_t {
  kCompared,    ///< compared by default by `compare`
  kSpoken,      ///< in the sentences of a comparison, the most important first
  kSwept,       ///< columns of points.csv
  kSweptTable,  ///< columns of the table of `sweep`, a subset of kSwept
  kOfModes,     ///< distinguish two modes
  kWarmup,      ///< series of a client group in which the end of the warm-up is looked for
  // Sections of the table that `run` prints.
  kLoad,
  kRequests,
  kAttempts,
  kLatency,
  kService,
  kRetries,
};
inline constexpr std::size_t kMetricListCount = 12;

/// When the table that `run` prints leaves a line out.
enum class MetricHide : std::uint8_t {
  kNever,
  kZero,        ///< where it is zero for all groups
  kShortDrain,  ///< where the drain hardly changes any success rate
  kUnpriced,    ///< where every attempt has the price 1
};

/// The words after the size of a difference in a sentence: "12 % lower mean latency". Empty: only
/// the tables show the metric, unless the user asks for it.
struct MetricWords {
  std::string_view less, more;
};

/// How a metric is shown to people.
struct MetricDisplay {
  std::string_view label;   ///< "mean latency"; empty: the name is used
  bool percentage = false;  ///< whether 0.5 is shown as 50 %
  MetricBetter better = MetricBetter::kNeither;
  MetricWords words;            ///< empty: sentences use the name
  std::string_view line_label;  ///< in the table that `run` prints, below the title of its section
  MetricHide hide = MetricHide::kNever;
  /// The metric's place in each list, from 1; 0: it is not in it.
  std::array<std::uint8_t, kMetricListCount> places{};

  constexpr std::uint8_t place(MetricList list) const {
    return places[static_cast<std::size_t>(list)];
  }
};

/// The metric bin by bin, where it exists: what to sum up for a bin of a client group or of a
/// service, in the unit of `MetricInfo::sum`. At most one of the first two is not null.
struct MetricSeries {
  double (*of_clients)(const ClientBin&) = nullptr;
  double (*of_service)(const ServiceFlow&) = nullptr;
  /// The divisor of a ratio for a client group's bin.
  double (*per)(const ClientBin&) = nullptr;
};

/// The metric phase by phase (`PhaseValues`), where the bins do not give it: `sum` and `per` as in
/// MetricInfo, over the phase, or a formula of its own.
struct MetricOfPhase {
  double (*sum)(const PhaseResult&) = nullptr;
  double (*per)(const PhaseResult&) = nullptr;
  std::optional<double> (*formula)(const PhaseResult&) = nullptr;
};

/// One row of the table of metrics: everything that the program knows about the metric.
struct MetricInfo {
  std::string_view name;
  std::string_view unit;     ///< "s", "1/s", "1" for shares and ratios, or what is counted
  std::string_view meaning;  ///< one sentence
  MetricKind kind = MetricKind::kOther;
  MetricScope scope = MetricScope::kGroups;
  MetricSummary summary = MetricSummary::kMean;
  MetricRange range = MetricRange::kNotNegative;

  /// See MetricKind; null for a metric with a formula of its own.
  double (*sum)(const MetricInput&) = nullptr;
  /// The divisor of a ratio of two sums over the run (requests, attempts, ...), which differs
  /// between replications. Null for all others, also for metrics divided by the length of the
  /// window or the number of servers.
  double (*per)(const MetricInput&) = nullptr;
  /// Empty if the metric does not exist in this run.
  std::optional<double> (*formula)(const MetricInput&) = nullptr;
  /// Whether the metric exists for these services; null: for any.
  bool (*services)(std::span<const ServiceResult>) = nullptr;

  MetricSeries series;
  MetricOfPhase phase;
  MetricDisplay display;

  /// For people: the label, or else the name.
  std::string_view label() const { return display.label.empty() ? name : display.label; }
};

/// Every metric, in the order in which files list them.
std::span<const MetricInfo> metric_table();

std::vector<std::string_view> metric_names();

/// The metrics of a list, in its order.
std::vector<const MetricInfo*> metrics_of(MetricList list);

/// Index of a metric in the table, as `MetricValues` takes it.
std::size_t index_of(const MetricInfo& metric);

/// The results of `measure_metrics` for one client group: the metrics in table order and, in the
/// same order, the divisors of those that are ratios (`MetricInfo::per`); 0 for others.
struct MeasuredMetrics {
  std::vector<std::optional<double>> values;
  std::vector<double> per;
};
MeasuredMetrics measure_metrics(const Scenario& scenario, const RunResult& run,
                                std::optional<std::size_t> client);

/// The metric of that name; null if there is none.
const MetricInfo* find_metric(std::string_view name);

/// The value of one metric for client group `client` (index into Scenario::clients), or for all
/// together if empty. Empty if the metric does not exist there.
std::optional<double> metric_value(const MetricInfo& metric, const Scenario& scenario,
                                   const RunResult& run, std::optional<std::size_t> client);

/// All metrics at once, in table order; faster than one by one.
std::vector<std::optional<double>> metric_values(const Scenario& scenario, const RunResult& run,
                                                 std::optional<std::size_t> client);

/// The service (index into Scenario::services) of client group `client` if no other group calls it:
/// all that happens there is then due to this group.
std::optional<std::size_t> own_service(const Scenario& scenario, std::size_t client);

/// Whether `count` values have a quantile `p` in (0, 1) that is worth showing: at least one value
/// is expected beyond it on either side, count * min(p, 1 - p) >= 1.
bool quantile_exists(std::uint64_t count, double p);

/// The quantile `p` in (0, 1) of a histogram of nanoseconds, in seconds, if it exists
/// (`quantile_exists`). So the median needs 2 values, p90 10, p99 100 and p999 1000.
std::optional<double> quantile_seconds(const Histogram& histogram, double p);

/// Whether `quantile_seconds` rests on at least 100 values beyond the quantile, which an interval
/// across replications needs to be trusted.
bool quantile_is_well_supported(const Histogram& histogram, double p);

// --- Statistics across replications --------------------------------------------------------------

// Mean, 95 % Student-t interval and spread of every metric, for whole runs and phase by phase; and
// the verdict on the expectations of a scenario. Replications are combined in their order, so the
// result does not depend on which thread finished first.

/// Mean and spread of one number over independent replications.
struct Estimate {
  std::size_t count = 0;  ///< replications that have the value
  double mean = 0;
  double min = 0, max = 0;
  /// Sample standard deviation and 95 % interval of the mean; exist from two values on. Metrics
  /// other than means have the interval that `MetricInfo::summary` says; an end may be infinite.
  /// Both ends lie within the range of the metric (`MetricInfo::range`).
  std::optional<double> stddev, ci_low, ci_high;

  /// From the mean to the farther end of the interval: half its width, unless the range of the
  /// metric cuts it off at one side.
  std::optional<double> half_width() const {
    if (!ci_low) return std::nullopt;
    return std::max(*ci_high - mean, mean - *ci_low);
  }
};

/// Two-sided 95 % quantile of Student's t, rounded to 10 decimals so that files do not depend on
/// the last bits of the machine's mathematical library. `degrees_of_freedom` >= 1.
double student_t_95(std::size_t degrees_of_freedom);

/// Mean, spread and interval of `values`; empty if there are none.
std::optional<Estimate> estimate(std::span<const double> values);

/// Cuts the interval off at the limits of the metric. The true mean lies between them, so the
/// coverage stays the same. A mean is cut off, too: the correction of a bias may overshoot.
void respect_range(Estimate& estimate, MetricRange range);

/// Every metric of every replication, for each client group and for all together.
class MetricValues {
 public:
  MetricValues(const Scenario& scenario, std::span<const RunResult> runs);
  /// From values kept elsewhere: [run][client][place]. The first `metric_table().size()` places are
  /// those of the metrics, the rest those of the divisors of ratios.
  MetricValues(std::size_t runs, std::size_t clients, std::vector<std::optional<double>> values);

  /// The number of places of a client group of a run.
  static std::size_t places();

  std::size_t runs() const { return runs_; }
  /// Client groups and, last, all together.
  std::size_t clients() const { return clients_; }
  /// `metric` is an index into `metric_table()`; `client` == number of groups means all together.
  std::optional<double> at(std::size_t run, std::size_t client, std::size_t metric) const {
    return (*values_)[(run * clients_ + client) * places_ + metric];
  }
  /// The divisor of a metric that is a ratio: `MetricInfo::per` must not be null.
  double per(std::size_t run, std::size_t client, std::size_t metric) const;

 private:
  std::size_t runs_, clients_, places_;
  std::shared_ptr<const std::vector<std::optional<double>>> values_;
};

/// One row of summary.csv.
struct SummaryRow {
  std::string client;        ///< name of the group, or "all"
  const MetricInfo* metric;  ///< never null
  Estimate estimate;
};

/// The estimate of one metric in summary.csv, of the kind `MetricInfo::summary`; `client` and
/// `metric` as in `MetricValues::at`. Empty if no replication has a value.
std::optional<Estimate> summarize_metric(const MetricValues& values, std::size_t client,
                                         std::size_t metric);

/// Rows by client (in scenario order, then "all") and metric (in table order). A metric without a
/// value in any replication has no row. A ratio of counts is the mean of the replications' ratios;
/// if there are at least 10 replications, one has a divisor below 100, and the divisors differ, it
/// is the jackknifed ratio of the sums instead.
std::vector<SummaryRow> summarize(const Scenario& scenario, const MetricValues& values);

/// The row of `client` and `metric`; null if there is none.
const SummaryRow* find_row(std::span<const SummaryRow> rows, std::string_view client,
                           std::string_view metric);

/// Rows by client: finds those of many clients without going through all rows for each.
class RowsByClient {
 public:
  /// `rows` as `summarize` gives them; they must stay where they are.
  explicit RowsByClient(std::span<const SummaryRow> rows);
  /// The row of that client and metric; null if there is none.
  const SummaryRow* find(std::string_view client, std::string_view metric) const;

 private:
  std::map<std::string_view, std::span<const SummaryRow>> rows_;
};

/// What the replications say about an expectation.
enum class ExpectationVerdict : std::uint8_t {
  kHolds,      ///< the whole interval lies within the bounds
  kUncertain,  ///< the interval straddles a bound: more replications would tell
  kFails,      ///< the whole interval lies beyond a bound, or there is nothing to judge
};
template <>
inline constexpr std::string_view kWords<ExpectationVerdict> = "holds|uncertain|fails";
static_assert(words_end_with(ExpectationVerdict::kFails));

/// The verdict on one expectation.
struct ExpectationResult {
  Expectation expectation;
  std::optional<Estimate> estimate;  ///< empty: the metric does not exist in any replication
  ExpectationVerdict verdict = ExpectationVerdict::kFails;
  bool judged = false;  ///< whether there was a value in every replication to compare
  std::string reason;   ///< one line: what was compared with what

  bool holds() const { return verdict == ExpectationVerdict::kHolds; }
  bool fails() const { return verdict == ExpectationVerdict::kFails; }
};

/// Judges the expectations of the scenario by the 95 % intervals of their metrics; a metric without
/// an interval, as with one replication, by its value, which holds or fails. With two bounds the
/// worse verdict counts. A metric that is absent in any of the `replications` fails: leaving out
/// the runs that never recovered, say, would turn the worst runs into a pass.
///
/// An expectation that is true fails by chance with a probability of at most 2.5 % for each bound,
/// and one that is not true holds with at most that, as far as the intervals keep their 95 %. The
/// seed decides it: the same scenario has the same verdict every time.
std::vector<ExpectationResult> judge_expectations(const Scenario& scenario,
                                                  std::span<const SummaryRow> rows,
                                                  std::size_t replications);

// --- Phases --------------------------------------------------------------------------------------

// The window of a run divided by its faults and surges, and every metric that exists phase by
// phase. The success rate of a whole run depends on how long it happens to be; the success rate
// before, during and after the fault does not.
//
//     const std::vector<PhaseSummary> phases = summarize_phases(scenario, {scenario, runs});
//     for (const PhaseSummary& p : phases) ... p.client, p.phase.name, p.find("success_rate") ...
//
// The number, success, attempts and latency of requests are those of the requests made in the
// phase, whenever they end. Rates, levels and counts of attempts cover what happens while the phase
// lasts. The phases of the division (all but kNamed) add up to the window exactly.

/// What makes a stretch of time a phase.
enum class PhaseKind : std::uint8_t {
  kBefore,      ///< before the first fault or surge
  kDuring,      ///< the same faults and surges are active throughout
  kBetween,     ///< between two of them
  kRecovering,  ///< from the end of the last one until the goodput of the group has recovered
  kAfter,       ///< from that recovery on
  kNamed,       ///< named by the scenario; may overlap all others
};
template <>
inline constexpr std::string_view kWords<PhaseKind> =
    "before|during|between|recovering|after|named";
static_assert(words_end_with(PhaseKind::kNamed));

/// A phase as the scenario plans it, [start, end) inside the window. Recovery ends at a different
/// time in each run and client group: kRecovering and kAfter both have the whole time that they
/// share.
struct Phase {
  std::string name;  ///< unique; names of faults and surges active together are joined by "+"
  PhaseKind kind = PhaseKind::kBefore;
  Time start, end;

  bool operator==(const Phase&) const = default;
};

/// The phases of a scenario, in order of time, then those that it names itself. There are none
/// without a fault, surge or named phase. More than 100 stretches of faults and surges make one
/// phase, "disturbed", from the first to the last.
std::vector<Phase> phases_of(const Scenario& scenario);

/// The metrics that phases have: those of the table of metrics that exist phase by phase, in its
/// order, then counts of attempts and requests that only phases have (`throttled`, `errors`,
/// `timeouts`, `quota_denied`, `rejected`).
const std::vector<const MetricInfo*>& phase_metrics();

/// Every metric of every phase of every replication, for each client group and all together.
class PhaseValues {
 public:
  PhaseValues() = default;
  PhaseValues(const Scenario& scenario, std::span<const RunResult> runs);
  /// From values kept elsewhere: [run][client][phase][place], `places()` of each phase.
  PhaseValues(std::size_t runs, std::size_t clients, std::size_t phases,
              std::vector<std::optional<double>> values);

  /// Places of a phase of a client group of a run: start and end in seconds, the metrics, and the
  /// divisors of ratios of counts.
  static std::size_t places();

  std::size_t runs() const { return runs_; }
  /// Client groups and, last, all together.
  std::size_t clients() const { return clients_; }
  std::size_t phases() const { return phases_; }

  double start_s(std::size_t run, std::size_t client, std::size_t phase) const {
    return *at_place(run, client, phase, 0);
  }
  double end_s(std::size_t run, std::size_t client, std::size_t phase) const {
    return *at_place(run, client, phase, 1);
  }
  /// `metric` is an index into `phase_metrics()`. Empty if it does not exist: the phase had no
  /// time, or the divisor is 0.
  std::optional<double> at(std::size_t run, std::size_t client, std::size_t phase,
                           std::size_t metric) const {
    return at_place(run, client, phase, 2 + metric);
  }
  /// The divisor of a ratio, rate or level: a count, or the seconds of the phase; 0 for others.
  double per(std::size_t run, std::size_t client, std::size_t phase, std::size_t metric) const;

  const std::vector<std::optional<double>>& all() const { return values_; }

 private:
  std::optional<double> at_place(std::size_t run, std::size_t client, std::size_t phase,
                                 std::size_t place) const {
    return values_[((run * clients_ + client) * phases_ + phase) * places() + place];
  }

  std::size_t runs_ = 0, clients_ = 0, phases_ = 0;
  std::vector<std::optional<double>> values_;
};

/// One metric of a phase over the replications.
struct PhaseEstimate {
  const MetricInfo* metric;  ///< never null
  Estimate estimate;
};

/// One phase of one client group over the replications.
struct PhaseSummary {
  std::string client;  ///< name of the group, or "all"
  Phase phase;
  /// Means over all replications. A replication without the phase (it recovers at once, say) counts
  /// with length zero, so that in the mean, too, one phase ends where the next begins.
  double start_s = 0, end_s = 0;
  std::size_t replications = 0;  ///< in which the phase has a length
  std::vector<PhaseEstimate> metrics;

  /// The estimate of a metric; null if it does not exist in any replication.
  const Estimate* find(std::string_view metric) const;
};

/// By client (in scenario order, then "all") and phase; a phase that no replication has is left
/// out. Counts are means over all replications, so that they add up. Ratios are estimated as in
/// `summarize`, from the replications that have them; rates and levels too, with the jackknife if
/// the phase is not equally long in all.
std::vector<PhaseSummary> summarize_phases(const Scenario& scenario, const PhaseValues& values);

/// The phase of that client and name; null if there is none.
const PhaseSummary* find_phase(std::span<const PhaseSummary> phases, std::string_view client,
                               std::string_view name);

}  // namespace retrysim
