// Finding metrics by name, and what several of them rest on: a group's own service, quantiles.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include <algorithm>

namespace retrysim {

std::vector<std::string_view> metric_names() {
  std::vector<std::string_view> names;
  for (const MetricInfo& metric : metric_table()) names.push_back(metric.name);
  return names;
}

const MetricInfo* find_metric(std::string_view name) {
  const std::span<const MetricInfo> table = metric_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const MetricInfo& m) { return m.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::size_t index_of(const MetricInfo& metric) {
  return static_cast<std::size_t>(&metric - metric_table().data());
}

std::vector<const MetricInfo*> metrics_of(MetricList list) {
  std::vector<const MetricInfo*> metrics;
  for (const MetricInfo& metric : metric_table()) {
    if (metric.display.place(list) > 0) metrics.push_back(&metric);
  }
  std::sort(metrics.begin(), metrics.end(), [&](const MetricInfo* a, const MetricInfo* b) {
    return a->display.place(list) < b->display.place(list);
  });
  return metrics;
}

std::optional<std::size_t> own_service(const Scenario& scenario, std::size_t client) {
  const std::size_t service = scenario.clients[client].service;
  for (std::size_t other = 0; other < scenario.clients.size(); ++other) {
    if (other != client && scenario.clients[other].service == service) return std::nullopt;
  }
  return service;
}

bool quantile_exists(std::uint64_t count, double p) {
  // The tolerance lets 10 values have a p90 although 1 - 0.9 is a little less than 0.1.
  return static_cast<double>(count) * std::min(p, 1 - p) >= 1 - 1e-9;
}

std::optional<double> quantile_seconds(const Histogram& histogram, double p) {
  if (!quantile_exists(histogram.count(), p)) return std::nullopt;
  return histogram.quantile(p) / 1e9;
}

bool quantile_is_well_supported(const Histogram& histogram, double p) {
  return static_cast<double>(histogram.count()) * std::min(p, 1 - p) >= 100 - 1e-9;
}

}  // namespace retrysim
