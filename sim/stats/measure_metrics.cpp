// The metrics of a run, by the formulas of the table of metrics.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/stop.hpp>

#include "stats/metrics_merge.hpp"

namespace retrysim {
namespace {

std::optional<double> apply(const MetricInfo& metric, const MetricInput& in) {
  if (in.group && metric.scope == MetricScope::kAllOnly) return std::nullopt;
  if (in.group && metric.scope == MetricScope::kServices && in.services.empty())
    return std::nullopt;
  return metric.formula(in);
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
