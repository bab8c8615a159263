// Which scenarios have a steady state, MSER-5, batch means, and the intervals of a single run.
//
// SPDX-License-Identifier: MIT
#include "estimate/steady_state.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>

#include "measure/analyse/series.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace retrysim {

namespace {

std::optional<std::string> why_transient(const ClientSpec& client, Time run_end) {
  const std::string path = "client." + client.name + ".";
  const ArrivalSpec& arrivals = client.arrivals;
  if (arrivals.process == ArrivalProcess::kOnce) {
    return path + "arrivals come once, with nothing after them";
  }
  if (arrivals.process == ArrivalProcess::kTrace) return path + "arrivals follow a trace";
  if (arrivals.profile) return path + "arrivals follow a profile over time";
  for (const SurgeSpec& surge : arrivals.surges) {
    if (surge.start < run_end && surge.duration > Duration::zero()) {
      return path + "surge." + surge.name + " is a disturbance";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_transient(const Scenario& scenario) {
  const Time run_end = Time::zero() + scenario.duration;
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.start < run_end && fault.duration > Duration::zero()) {
      return "fault." + fault.name + " is a disturbance";
    }
  }
  for (const ServiceSpec& service : scenario.services) {
    if (service.profile) return "service." + service.name + ".profile changes its capacity";
  }
  for (const ClientSpec& client : scenario.clients) {
    if (auto why = why_transient(client, run_end)) return why;
  }
  return std::nullopt;
}

}  // namespace retrysim

namespace retrysim::stats {

// --- The end of the warm-up ----------------------------------------------------------------------

Truncation mser5(std::span<const double> series) {
  constexpr std::size_t kMinToTruncate = 4;
  const std::size_t m = series.size() / kMserBatch;
  if (m < kMinToTruncate) return {};
  std::vector<double> batches;
  for (std::size_t b = 0; b < m; ++b) {
    double sum = 0;
    for (const double x : series.subspan(b * kMserBatch, kMserBatch)) sum += x;
    batches.push_back(sum / static_cast<double>(kMserBatch));
  }
  // The loop goes from the end to the start, so that each step adds one batch to mean and squared
  // deviations; nothing cancels, and equal values have no deviations at all.
  double mean = 0, squares = 0, best = 0;
  std::size_t best_d = m / 2;
  for (std::size_t d = m; d-- > 0;) {
    const double kept = static_cast<double>(m - d);
    const double distance = batches[d] - mean;
    mean += distance / kept;
    squares += distance * (batches[d] - mean);
    const double marginal_error = squares / (kept * kept);
    if (d > m / 2) continue;
    if (d == m / 2 || marginal_error <= best) {
      best = marginal_error;
      best_d = d;
    }
  }
  return {best_d * kMserBatch, best_d < m / 2};
}

// --- Batch means ---------------------------------------------------------------------------------

namespace {

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::optional<BatchMeans> in_batches_of(std::size_t size, std::span<const double> numerators,
                                        std::span<const double> denominators) {
  const std::size_t batches = numerators.size() / size;
  const auto y = numerators.last(batches * size);
  const auto x = denominators.last(batches * size);
  const double all_x = sum_of(x);
  if (!(all_x > 0)) return std::nullopt;
  const double ratio = sum_of(y) / all_x;
  const auto k = static_cast<double>(batches);
  // Equal batches differ only by rounding errors, which are not deviations.
  const double rounding = 1e-12 * std::fabs(ratio);
  std::vector<double> deviations;
  double squares = 0;
  for (std::size_t b = 0; b < batches; ++b) {
    const double sum_y = sum_of(y.subspan(b * size, size));
    const double sum_x = sum_of(x.subspan(b * size, size));
    double z = (sum_y - ratio * sum_x) / (all_x / k);
    if (std::fabs(z) <= rounding) z = 0;
    deviations.push_back(z);
    squares += z * z;
  }
  BatchMeans result;
  result.mean = ratio;
  result.half_width = student_t_95(batches - 1) * std::sqrt(squares / (k - 1) / k);
  result.batches = batches;
  result.observations_per_batch = size;
  result.correlation = lag1_correlation(deviations);
  return result;
}

}  // namespace

std::optional<BatchMeans> batch_means(std::span<const double> numerators,
                                      std::span<const double> denominators) {
  const std::size_t n = numerators.size();
  if (n < kBatches || denominators.size() != n) return std::nullopt;
  for (std::size_t size = n / kBatches; n / size >= kMinBatches; size *= 2) {
    const auto result = in_batches_of(size, numerators, denominators);
    if (!result || result->correlation < kMaxBatchCorrelation) return result;
  }
  return std::nullopt;
}

double lag1_correlation(std::span<const double> series) {
  const auto differs = [&](double v) { return v != series.front(); };
  if (std::none_of(series.begin(), series.end(), differs)) return 0;
  const double mean = sum_of(series) / static_cast<double>(series.size());
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double here = series[i] - mean;
    squares += here * here;
    if (i > 0) products += here * (series[i - 1] - mean);
  }
  return products / squares;
}

// --- A single run --------------------------------------------------------------------------------

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
