// The tidy tables of simulated runs: one observation in each row, seconds everywhere. They may be
// long, and so are made row by row. Several evaluations are several variants of a scenario in one
// table.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "estimate/intervals.hpp"
#include "report/document/table_builder.hpp"
#include "report/run/evaluation.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// The evaluations of a table source, which keeps this span: the evaluations must outlive the
/// source.
using Evaluations = std::span<const Evaluation>;

/// All tables below for which the evaluations have data, and the mean series, in the order of the
/// files.
std::vector<TableSource> run_tables(Evaluations evaluations);

TableSource summary_table(Evaluations evaluations);
TableSource replications_table(Evaluations evaluations);
/// The counts of each bin of each client group; levels (limiter_waiting, in_backoff, in_flight) are
/// averages over the bin. `time_s` is the bin's start.
TableSource timeseries_table(Evaluations evaluations);
/// The bins of each service. `busy_mean` is the mean number of busy servers: under processor
/// sharing all or none are busy. `servers` is the mean number of working servers; missing for an
/// unlimited service. `in_service_mean` is the mean number of attempts in service, however many
/// share a server.
TableSource service_table(Evaluations evaluations);
/// Quantiles of latency over all replications pooled; the interval comes from the quantiles of the
/// single replications and exists only if each of them has at least 100 values beyond the quantile.
TableSource latency_table(Evaluations evaluations);
/// Means over the replications of the counts by attempt number (1 is the first attempt), of the
/// largest number sent in 100 ms (missing for several groups together), and of the mean number of
/// requests in the backoff before that attempt; then, from two replications on, the ends of their
/// 95 % intervals. A replication without such an attempt counts with zero.
TableSource attempts_table(Evaluations evaluations);
/// The burstiness of attempts, as means over the replications: `dispersion_index` by the width of
/// the windows (`scale_s`), `autocorrelation` by lag, up to 100 bins or a quarter of the window.
TableSource burstiness_table(Evaluations evaluations);
TableSource storms_table(Evaluations evaluations);
/// The share of each error budget that each fault or surge uses: means over the replications, and
/// the interval of `budget_used`. In `ended` of the `replications` the event ends before the run
/// does.
TableSource slo_table(Evaluations evaluations);
/// Every metric of every phase of every client group; `start_s` and `end_s` are means over the
/// replications.
TableSource phases_table(Evaluations evaluations);
/// The instances of services that have several, in the window: attempts that were sent there and,
/// as their clients saw it, how they ended; mean numbers of busy servers, of attempts in service
/// and in the queue; the share of the time out of rotation.
TableSource instances_table(Evaluations evaluations);

// Means over the replications over time, with 95 % intervals, in few bins: enough for a picture,
// and far smaller than the series of every replication. Numbers are rounded to six digits.

inline constexpr std::string_view kMeanTimeseries = "mean_timeseries.csv";
inline constexpr std::string_view kMeanService = "mean_service.csv";
/// Most bins of the series of a run or of a variant of a comparison.
inline constexpr std::size_t kMaxBins = 400;

// Columns and rows of tables that are also made variant by variant, as in sweeps.

std::vector<ColumnInfo> summary_columns();
void add_summary_rows(TableBuilder& table, std::string_view scenario, std::string_view variant,
                      std::span<const SummaryRow> rows);
std::vector<ColumnInfo> phases_columns();
void add_phases_rows(TableBuilder& table, std::string_view scenario, std::string_view variant,
                     std::span<const PhaseSummary> phases);
std::vector<ColumnInfo> replications_columns();
/// Adds the rows of replications; `scenario` gives the seed and the names of the client groups.
void add_replications_rows(TableBuilder& table, std::string_view scenario_name,
                           std::string_view variant, const Scenario& scenario,
                           const MetricValues& values);
std::vector<ColumnInfo> mean_timeseries_columns();
void add_mean_timeseries_rows(TableBuilder& table, const Scenario& scenario,
                              std::string_view variant, const stats::MeanSeries& series);
std::vector<ColumnInfo> mean_service_columns();
void add_mean_service_rows(TableBuilder& table, const Scenario& scenario, std::string_view variant,
                           const stats::MeanSeries& series);

}  // namespace retrysim::report
