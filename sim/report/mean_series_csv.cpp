// SPDX-License-Identifier: MIT
#include "report/mean_series_csv.hpp"

#include "report/csv_writer.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim::report {
namespace {

using Estimates = std::vector<std::optional<Estimate>>;
using Columns = std::span<const stats::SeriesColumn>;

void write_header(Sink& sink, std::string_view bearer, Columns columns) {
  CsvWriter csv(sink);
  csv.text("scenario").text("variant").text(bearer).text("time_s").text("width_s");
  for (const stats::SeriesColumn& column : columns) {
    const std::string name(column.name);
    csv.text(name).text(name + "_ci_low").text(name + "_ci_high");
  }
  csv.end_row();
}

void write_rows(CsvWriter& csv, const std::string& first_cells, const stats::MeanSeries& series,
                const Estimates& estimates, std::size_t columns) {
  for (std::size_t bin = 0; bin < series.bins; ++bin) {
    const Duration start =
        Duration::nanoseconds(series.width.count() * static_cast<std::int64_t>(bin));
    csv.cells(first_cells).real(start.in_seconds()).real(series.width.in_seconds());
    for (std::size_t column = 0; column < columns; ++column) {
      const std::optional<Estimate>& e = estimates[bin * columns + column];
      if (!e) {
        csv.empty().empty().empty();
        continue;
      }
      csv.six_digits(e->mean).six_digits(e->ci_low).six_digits(e->ci_high);
    }
    csv.end_row();
  }
}

std::string first_cells(const Scenario& scenario, std::string_view variant,
                        std::string_view bearer) {
  return csv_cell(scenario.name) + "," + csv_cell(variant) + "," + csv_cell(bearer);
}

stats::MeanSeries series_of(const Evaluation& e) {
  std::vector<stats::RunSeries> runs;
  for (const RunResult& run : e.set.runs) {
    runs.push_back(stats::run_series(e.scenario(), run, kMostBins));
  }
  return stats::mean_series(std::move(runs));
}

}  // namespace

void write_mean_timeseries_header(Sink& sink) {
  write_header(sink, "client", stats::client_columns());
}

void write_mean_timeseries_rows(Sink& sink, const Scenario& scenario, std::string_view variant,
                                const stats::MeanSeries& series) {
  CsvWriter csv(sink);
  for (std::size_t c = 0; c < series.clients.size(); ++c) {
    const std::string client = c < scenario.clients.size() ? scenario.clients[c].name : "all";
    write_rows(csv, first_cells(scenario, variant, client), series, series.clients[c],
               stats::client_columns().size());
  }
}

void write_mean_service_header(Sink& sink) {
  write_header(sink, "service", stats::service_columns());
}

void write_mean_service_rows(Sink& sink, const Scenario& scenario, std::string_view variant,
                             const stats::MeanSeries& series) {
  CsvWriter csv(sink);
  for (std::size_t s = 0; s < series.services.size(); ++s) {
    write_rows(csv, first_cells(scenario, variant, scenario.services[s].name), series,
               series.services[s], stats::service_columns().size());
  }
}

void write_mean_series_csv(Sink& timeseries, Sink& service, Evaluations evaluations) {
  write_mean_timeseries_header(timeseries);
  write_mean_service_header(service);
  for (const Evaluation& e : evaluations) {
    const stats::MeanSeries series = series_of(e);
    write_mean_timeseries_rows(timeseries, e.scenario(), e.set.variant, series);
    write_mean_service_rows(service, e.scenario(), e.set.variant, series);
  }
}

}  // namespace retrysim::report
