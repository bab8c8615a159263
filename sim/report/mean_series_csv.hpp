// mean_timeseries.csv and mean_service.csv: what happened over time in the mean of the
// replications, with 95 % intervals, in few bins. They are enough for a picture, and small where
// the series of every replication would not be.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "estimate/mean_series.hpp"
#include "report/result_tables.hpp"
#include "report/sink.hpp"

#include <cstddef>
#include <string_view>

namespace retrysim::report {

inline constexpr std::string_view kMeanTimeseries = "mean_timeseries.csv";
inline constexpr std::string_view kMeanService = "mean_service.csv";
/// Bins of the series of a run or of a variant of a comparison.
inline constexpr std::size_t kMostBins = 400;

/// Both tables, which follow from the same series. Numbers are rounded to six digits.
void write_mean_series_csv(Sink& timeseries, Sink& service, Evaluations evaluations);

/// The same tables, row by row of points: first the header, then the series of each.
void write_mean_timeseries_header(Sink& sink);
void write_mean_timeseries_rows(Sink& sink, const Scenario& scenario, std::string_view variant,
                                const stats::MeanSeries& series);
void write_mean_service_header(Sink& sink);
void write_mean_service_rows(Sink& sink, const Scenario& scenario, std::string_view variant,
                             const stats::MeanSeries& series);

}  // namespace retrysim::report
