// The metrics of summary.csv: one table with a row for each metric, from which files, tables,
// statistics and pictures take everything they know about it. Ratios, latencies and plain counts
// follow the cohort rule (requests submitted in the window, followed to their end); rates and
// levels follow the flow rule (what happens inside the window).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

/// The metric phase by phase (summary.hpp), where the bins do not give it: `sum` and `per` as in
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

}  // namespace retrysim
