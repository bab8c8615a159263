// Statistics across replications: mean, 95 % Student-t interval, spread; and the verdict on the
// expectations of a scenario. Replications are combined in their order, so the result does not
// depend on which thread finished first.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include <algorithm>
#include <cstddef>
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
  /// No end lies beyond what the metric can be (`MetricInfo::range`).
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

/// Cuts the interval off at what the metric can be. The true mean lies in that range, so the
/// interval covers it as often as before. So is a mean from which a bias was taken out, which may
/// go too far.
void respect_range(Estimate& estimate, MetricRange range);

/// Every metric of every replication, for each client group and for all together.
class MetricValues {
 public:
  MetricValues(const Scenario& scenario, std::span<const RunResult> runs);
  /// From values kept elsewhere: [run][client][place]. The first `metric_table().size()` places are
  /// those of the metrics, the rest those of what ratios are divided by.
  MetricValues(std::size_t runs, std::size_t clients, std::vector<std::optional<double>> values);

  /// Places of a client group of a run.
  static std::size_t places();

  std::size_t runs() const { return runs_; }
  /// Client groups and, last, all together.
  std::size_t clients() const { return clients_; }
  /// `metric` is an index into `metric_table()`; `client` == number of groups means all together.
  std::optional<double> at(std::size_t run, std::size_t client, std::size_t metric) const {
    return (*values_)[(run * clients_ + client) * places_ + metric];
  }
  /// What a metric that is a ratio is divided by (`MetricInfo::per`), of which it must have one.
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

/// What summary.csv says of one metric, as its `MetricInfo::summary` asks; `client` and `metric` as
/// in `MetricValues::at`. Empty if no replication has a value.
std::optional<Estimate> summarize_metric(const MetricValues& values, std::size_t client,
                                         std::size_t metric);

/// Rows by client (in scenario order, then "all") and metric (in table order). A metric without a
/// value in any replication has no row. A ratio of counts is the mean of the replications' ratios;
/// where one of at least 10 replications has fewer than 100 below the line, and not as many as the
/// others, it is the jackknifed ratio of the sums instead.
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

/// What became of one expectation.
struct ExpectationResult {
  Expectation expectation;
  std::optional<Estimate> estimate;  ///< empty: the metric does not exist in any replication
  bool passed = false;
  bool judged = false;  ///< whether there was a value in every replication to compare
  std::string reason;   ///< one line: what was compared with what
};

/// Judges the expectations of the scenario: `at_most` against the upper end of the interval,
/// `at_least` against the lower end; with one replication against the value. A metric that is
/// absent in any of the `replications` fails: leaving out the runs that never recovered, say,
/// would turn the worst runs into a pass.
std::vector<ExpectationResult> judge_expectations(const Scenario& scenario,
                                                  std::span<const SummaryRow> rows,
                                                  std::size_t replications);

}  // namespace retrysim
