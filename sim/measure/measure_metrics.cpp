// The metrics of a run, by the formulas of the table of metrics.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/stop.hpp>

#include "measure/metrics_merge.hpp"

namespace retrysim {
namespace {

/// What the sum of a metric is divided by; zero if there is nothing to divide by.
double divisor(const MetricInfo& metric, const MetricInput& in) {
  switch (metric.kind) {
    case MetricKind::kShare:
    case MetricKind::kRatio:
      return metric.per(in);
    case MetricKind::kRate:
      return in.window_s();
    case MetricKind::kLevel:
      return in.window_s() * 1e9;
    case MetricKind::kCapacity: {
      double capacity = 0;
      for (const ServiceResult& s : in.services) {
        capacity += s.capacity_ns(s.window, in.window_s() * 1e9);
      }
      return capacity;
    }
    default:
      return 1;
  }
}

std::optional<double> apply(const MetricInfo& metric, const MetricInput& in) {
  if (in.group && metric.scope == MetricScope::kAllOnly) return std::nullopt;
  if (in.group && metric.scope == MetricScope::kServices && in.services.empty())
    return std::nullopt;
  if (metric.services != nullptr && !metric.services(in.services)) return std::nullopt;
  if (metric.formula != nullptr) return metric.formula(in);
  const double below = divisor(metric, in);
  if (below <= 0) return std::nullopt;
  return metric.sum(in) / below;
}

MetricInput input_of(const Scenario& scenario, const RunResult& run, const ClientResult& client,
                     std::optional<std::size_t> group) {
  std::span<const ServiceResult> services(run.services);
  if (group) {
    const auto own = own_service(scenario, *group);
    services = own ? services.subspan(*own, 1) : std::span<const ServiceResult>();
  }
  return {scenario, run, client, group, services};
}

}  // namespace

std::optional<double> metric_value(const MetricInfo& metric, const Scenario& scenario,
                                   const RunResult& run, std::optional<std::size_t> client) {
  if (client) return apply(metric, input_of(scenario, run, run.clients[*client], client));
  const ClientResult all = stats::merge_groups(scenario, run);
  return apply(metric, input_of(scenario, run, all, client));
}

MeasuredMetrics measure_metrics(const Scenario& scenario, const RunResult& run,
                                std::optional<std::size_t> client) {
  const ClientResult all = client ? ClientResult() : stats::merge_groups(scenario, run);
  const MetricInput in = input_of(scenario, run, client ? run.clients[*client] : all, client);
  MeasuredMetrics measured;
  for (const MetricInfo& metric : metric_table()) {
    stop_point();  // some go through all bins
    measured.values.push_back(apply(metric, in));
    measured.per.push_back(metric.per != nullptr ? metric.per(in) : 0);
  }
  return measured;
}

std::vector<std::optional<double>> metric_values(const Scenario& scenario, const RunResult& run,
                                                 std::optional<std::size_t> client) {
  return measure_metrics(scenario, run, client).values;
}

}  // namespace retrysim
