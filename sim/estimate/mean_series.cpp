// SPDX-License-Identifier: MIT
#include "estimate/mean_series.hpp"

#include <algorithm>
#include <span>

namespace retrysim::stats {
namespace {

using Estimates = std::vector<std::optional<Estimate>>;
using SumsOf = const std::vector<double>& (*)(const RunSeries&, std::size_t);

/// Of one group or service: `sums_of` gives its sums in a run.
Estimates estimates_of(const std::vector<RunSeries>& runs, std::size_t index, SumsOf sums_of,
                       std::size_t sums_per_bin, std::span<const SeriesColumn> columns) {
  Estimates estimates;
  std::vector<double> values;
  for (std::size_t bin = 0; bin < runs.front().bins; ++bin) {
    for (const SeriesColumn& column : columns) {
      values.clear();
      for (const RunSeries& run : runs) {
        const std::span<const double> sums = sums_of(run, index);
        const auto value =
            column.value(sums.subspan(bin * sums_per_bin, sums_per_bin), run.width.in_seconds());
        if (value) values.push_back(*value);
      }
      std::optional<Estimate> found = estimate(values);
      if (found) respect_range(*found, column.range);
      estimates.push_back(found);
    }
  }
  return estimates;
}

}  // namespace

MeanSeries mean_series(std::vector<RunSeries> runs) {
  MeanSeries mean;
  if (runs.empty()) return mean;
  for (const RunSeries& run : runs) mean.width = std::max(mean.width, run.width);
  for (RunSeries& run : runs) {
    widen(run, mean.width);
    mean.bins = std::max(mean.bins, run.bins);
  }
  for (RunSeries& run : runs) extend(run, mean.bins);
  const auto of_client = [](const RunSeries& run, std::size_t i) -> const std::vector<double>& {
    return run.clients[i];
  };
  const auto of_service = [](const RunSeries& run, std::size_t i) -> const std::vector<double>& {
    return run.services[i];
  };
  for (std::size_t i = 0; i < runs.front().clients.size(); ++i) {
    mean.clients.push_back(estimates_of(runs, i, of_client, kClientSums, client_columns()));
  }
  for (std::size_t i = 0; i < runs.front().services.size(); ++i) {
    mean.services.push_back(estimates_of(runs, i, of_service, kServiceSums, service_columns()));
  }
  return mean;
}

}  // namespace retrysim::stats
