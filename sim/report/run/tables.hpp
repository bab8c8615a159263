// The tidy CSV tables of what was simulated: one observation a row, seconds everywhere. They may be
// long, and so are written row by row. Each function writes a whole table with its header line;
// several evaluations are several variants of a scenario in one table.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "estimate/intervals.hpp"
#include "report/document/csv_writer.hpp"
#include "report/folder/output.hpp"
#include "report/run/evaluation.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace retrysim::report {

using Evaluations = std::span<const Evaluation>;

void write_summary_csv(Sink& sink, Evaluations evaluations);
void write_replications_csv(Sink& sink, Evaluations evaluations);
/// Counts of each bin; levels (limiter_waiting, in_backoff, in_flight) are averages over the bin.
/// `time_s` is its start.
void write_timeseries_csv(Sink& sink, Evaluations evaluations);
/// `busy_mean` is the mean number of busy servers: under processor sharing all of them or none.
/// `servers` is the mean number of working servers; empty for an unlimited service.
/// `in_service_mean` is the mean number of attempts in service, however many share a server.
void write_service_csv(Sink& sink, Evaluations evaluations);
/// Quantiles of all replications pooled; the interval comes from the quantiles of the single
/// replications and exists only if each of them has at least 100 values beyond the quantile.
void write_latency_csv(Sink& sink, Evaluations evaluations);
/// Means over the replications of the counts by attempt number (1 is the first attempt), of the
/// largest number sent in 100 ms (empty for several groups together), and of the mean number of
/// requests in the backoff before that attempt; then, from two replications on, the ends of their
/// 95 % intervals. A replication without such an attempt counts with zero.
void write_attempts_csv(Sink& sink, Evaluations evaluations);
/// How attempts arrive, mean over the replications: `dispersion_index` by the width of the windows
/// (`scale_s`), `autocorrelation` by lag, up to 100 bins or a quarter of the window.
void write_burstiness_csv(Sink& sink, Evaluations evaluations);
void write_storms_csv(Sink& sink, Evaluations evaluations);
/// Every metric of every phase of every client group; `start_s` and `end_s` are means over the
/// replications.
void write_phases_csv(Sink& sink, Evaluations evaluations);
/// The instances of services that have several, in the window: attempts that were sent there and,
/// as their clients saw it, how they ended; mean numbers of busy servers, of attempts in service
/// and in the queue; the share of the time out of rotation.
void write_instances_csv(Sink& sink, Evaluations evaluations);

// The parts of three of them, for tables that are written variant by variant.

void write_summary_header(CsvWriter& csv);
void write_summary_rows(CsvWriter& csv, std::string_view scenario, std::string_view variant,
                        std::span<const SummaryRow> rows);
void write_phases_header(CsvWriter& csv);
void write_phases_rows(CsvWriter& csv, std::string_view scenario, std::string_view variant,
                       std::span<const PhaseSummary> phases);
void write_replications_header(CsvWriter& csv);
/// `scenario` gives its seed and the names of the client groups.
void write_replications_rows(CsvWriter& csv, std::string_view scenario_name,
                             std::string_view variant, const Scenario& scenario,
                             const MetricValues& values);

inline constexpr std::string_view kMeanTimeseries = "mean_timeseries.csv";
inline constexpr std::string_view kMeanService = "mean_service.csv";
/// Bins of the series of a run or of a variant of a comparison.
inline constexpr std::size_t kMaxBins = 400;

/// What happened over time in the mean of the replications, with 95 % intervals, in few bins:
/// enough for a picture, and small where the series of every replication would not be. Both tables
/// follow from the same series. Numbers are rounded to six digits.
void write_mean_series_csv(Sink& timeseries, Sink& service, Evaluations evaluations);

/// The same tables, row by row of points: first the header, then the series of each.
void write_mean_timeseries_header(Sink& sink);
void write_mean_timeseries_rows(Sink& sink, const Scenario& scenario, std::string_view variant,
                                const stats::MeanSeries& series);
void write_mean_service_header(Sink& sink);
void write_mean_service_rows(Sink& sink, const Scenario& scenario, std::string_view variant,
                             const stats::MeanSeries& series);

}  // namespace retrysim::report
