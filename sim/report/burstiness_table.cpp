// burstiness.csv: how attempts arrive, by window width and by lag.
//
// SPDX-License-Identifier: MIT
#include <retrysim/stop.hpp>
#include <retrysim/summary.hpp>

#include "measure/burstiness.hpp"
#include "measure/fourier.hpp"
#include "report/csv_writer.hpp"
#include "report/result_tables.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {
namespace {

constexpr std::size_t kMostLags = 100;

/// The values of every replication by window width or lag, in seconds.
using ByScale = std::map<double, std::vector<double>>;

void write_rows(CsvWriter& csv, const Evaluation& e, std::size_t client, std::string_view statistic,
                MetricRange range, const ByScale& values) {
  const std::string cells = csv_cell(e.scenario().name) + ',' + csv_cell(e.set.variant) + ',' +
                            csv_cell(e.client_name(client)) + ',' + csv_cell(statistic);
  for (const auto& [scale_s, replications] : values) {
    auto of_all = estimate(replications);
    respect_range(*of_all, range);
    csv.cells(cells)
        .real(scale_s)
        .real(of_all->mean)
        .real(of_all->ci_low)
        .real(of_all->ci_high)
        .end_row();
  }
}

void write_client(CsvWriter& csv, const Evaluation& e, std::size_t client) {
  ByScale dispersion, correlation;
  for (const RunResult& run : e.set.runs) {
    stop_point();
    const bool all = client >= run.clients.size();
    const auto& bins = all ? run.all_bins : run.clients[client].bins;
    const stats::ArrivalCounts every_bin = stats::arrival_counts(run, bins, false);
    for (const auto& [window_s, index] : stats::dispersion_ladder(every_bin)) {
      dispersion[window_s].push_back(index);
    }
    const stats::ArrivalCounts arrivals = stats::arrival_counts(run, bins);
    const auto lags =
        stats::autocorrelations(arrivals.counts, std::min(kMostLags, arrivals.counts.size() / 4));
    for (std::size_t lag = 1; lag < lags.size(); ++lag) {
      correlation[static_cast<double>(lag) * arrivals.bin_s].push_back(lags[lag]);
    }
  }
  write_rows(csv, e, client, "dispersion_index", MetricRange::kNotNegative, dispersion);
  write_rows(csv, e, client, "autocorrelation", MetricRange::kCorrelation, correlation);
}

}  // namespace

void write_burstiness_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  csv.header(
      {"scenario", "variant", "client", "statistic", "scale_s", "mean", "ci_low", "ci_high"});
  for (const Evaluation& e : evaluations) {
    for (std::size_t c = 0; c < e.clients(); ++c) write_client(csv, e, c);
  }
}

}  // namespace retrysim::report
