// The metrics of summary.csv: one table with name, unit, meaning and formula. Ratios, latencies and
// plain counts follow the cohort rule (requests submitted in the window, followed to their end);
// rates and levels follow the flow rule (what happens inside the window).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

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
  /// Index of the group; empty: all together, without those by which services call others.
  std::optional<std::size_t> group;
  /// All services; for a group the one that it alone calls, if there is one.
  std::span<const ServiceResult> services;

  /// Bins of the group, or of all together.
  std::span<const ClientBin> bins() const {
    return group ? std::span(run.clients[*group].bins) : std::span(run.all_bins);
  }
  double window_s() const { return (run.window_end - run.window_start).in_seconds(); }
};

/// What a metric exists for.
enum class MetricScope : std::uint8_t {
  kGroups,    ///< each client group, and all together
  kServices,  ///< the services: those of all together, and that of a group which alone calls it
  kAllOnly,   ///< all client groups together
};

/// What summary.csv says about the values of the replications.
enum class MetricSummary : std::uint8_t {
  kMean,            ///< mean with Student's interval
  kProportion,      ///< values are 0 or 1: mean with Wilson's interval
  kMedianRecovery,  ///< the median that recovery_s and recovery_censored_s together give
};

/// The values that a metric can have, whatever happens.
enum class MetricRange : std::uint8_t {
  kNotNegative,  ///< counts, rates, times and what is per something
  kShare,        ///< 0 to 1
  kCorrelation,  ///< -1 to 1
};

struct MetricInfo {
  std::string_view name;
  std::string_view unit;     ///< "s", "1/s", "1" for shares and ratios, or what is counted
  std::string_view meaning;  ///< one sentence
  MetricScope scope;
  /// Empty if the metric does not exist in this run (utilization of unlimited servers, say).
  std::optional<double> (*formula)(const MetricInput&);
  MetricSummary summary = MetricSummary::kMean;
  MetricRange range = MetricRange::kNotNegative;
  /// Of a metric that is a ratio of two sums over the run (requests, attempts, ...): the lower one,
  /// which differs from replication to replication. Null for all others: what is divided by the
  /// length of the window or by the number of servers is no such ratio.
  double (*per)(const MetricInput&) = nullptr;
};

/// Every metric, in the order in which files list them.
std::span<const MetricInfo> metric_table();

std::vector<std::string_view> metric_names();

/// All that `metric_values` computes of one client group: the metrics in table order, and for those
/// that are ratios what they are divided by (`MetricInfo::per`), in the same order; 0 for others.
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
/// what happens there then is the group's doing alone.
std::optional<std::size_t> own_service(const Scenario& scenario, std::size_t client);

/// The quantile `p` in (0, 1) of a histogram of nanoseconds, in seconds. Exists only if at least
/// one value is to be expected beyond it on either side: count * min(p, 1 - p) >= 1. So the median
/// needs 2 values, p90 10, p99 100 and p999 1000.
std::optional<double> quantile_seconds(const Histogram& histogram, double p);

/// Whether `quantile_seconds` rests on at least 100 values beyond the quantile, which an interval
/// across replications needs to be trusted.
bool quantile_is_well_supported(const Histogram& histogram, double p);

}  // namespace retrysim
