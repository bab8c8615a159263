// Statistics across replications: mean, 95 % Student-t interval and spread of every metric, for
// whole runs and phase by phase; and the verdict on the expectations of a scenario. Replications
// are combined in their order, so the result does not depend on which thread finished first.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <algorithm>
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
  /// Null if there is none.
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
  kAfter,       ///< from then on
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
  std::string name;  ///< unique; of faults and surges, joined by "+" where several are active
  PhaseKind kind = PhaseKind::kBefore;
  Time start, end;

  bool operator==(const Phase&) const = default;
};

/// The phases of a scenario, in order of time, then those that it names itself. None if there is no
/// fault, surge or named phase. More than 100 stretches of faults and surges make one phase,
/// "disturbed", from the first to the last.
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

  /// Null if the metric does not exist in any replication.
  const Estimate* find(std::string_view metric) const;
};

/// By client (in scenario order, then "all") and phase; a phase that no replication has is left
/// out. Counts are means over all replications, so that they add up. Ratios are estimated as in
/// `summarize`, from the replications that have them; rates and levels too, with the jackknife if
/// the phase is not equally long in all.
std::vector<PhaseSummary> summarize_phases(const Scenario& scenario, const PhaseValues& values);

/// Null if there is none.
const PhaseSummary* find_phase(std::span<const PhaseSummary> phases, std::string_view client,
                               std::string_view name);

}  // namespace retrysim
