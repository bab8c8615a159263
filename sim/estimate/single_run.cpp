// SPDX-License-Identifier: MIT
#include "estimate/single_run.hpp"

#include <retrysim/steady_state.hpp>

#include "estimate/batch_means.hpp"
#include "measure/flow_series.hpp"

#include <algorithm>

namespace retrysim::stats {
namespace {

std::optional<std::size_t> group_of(const Scenario& scenario, const SummaryRow& row) {
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    if (scenario.clients[g].name == row.client) return g;
  }
  return std::nullopt;
}

}  // namespace

SingleRunIntervals add_batch_means(const Scenario& scenario, const RunResult& run,
                                   std::span<SummaryRow> rows) {
  SingleRunIntervals result;
  if (const auto why = why_transient(scenario)) {
    result.none_because = *why;
    return result;
  }
  const BinRange bins = window_bins(run, run.all_bins);
  if (bins.last - bins.first < kBatches) {
    result.none_because = "the run has fewer than 30 bins";
    return result;
  }
  for (SummaryRow& row : rows) {
    const auto series = flow_series(*row.metric, scenario, run, group_of(scenario, row), bins);
    if (!series) continue;
    const auto batches = batch_means(series->numerators, series->denominators);
    if (!batches) {
      ++result.correlated;
      continue;
    }
    row.estimate.ci_low = row.estimate.mean - batches->half_width;
    row.estimate.ci_high = row.estimate.mean + batches->half_width;
    respect_range(row.estimate, row.metric->range);
    result.fewest_batches =
        result.rows == 0 ? batches->batches : std::min(result.fewest_batches, batches->batches);
    result.most_batches = std::max(result.most_batches, batches->batches);
    ++result.rows;
  }
  return result;
}

}  // namespace retrysim::stats
