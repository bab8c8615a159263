// SPDX-License-Identifier: MIT
#include "measure/flow_series.hpp"

#include <retrysim/metrics.hpp>

#include <span>

namespace retrysim::stats {
namespace {

/// Integrals over time are in nanoseconds, as in `MetricInfo::sum`; series have seconds.
double scale_of(const MetricInfo& metric) {
  const bool is_time = metric.kind == MetricKind::kLevel || metric.kind == MetricKind::kCapacity;
  return is_time ? 1e9 : 1;
}

FlowSeries client_series(const MetricInfo& metric, std::span<const ClientBin> bins,
                         double width_s) {
  FlowSeries series;
  series.numerators.resize(bins.size());
  series.denominators.assign(bins.size(), width_s);
  const double scale = scale_of(metric);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    series.numerators[i] = metric.series.of_clients(bins[i]) / scale;
    if (metric.series.per != nullptr) series.denominators[i] = metric.series.per(bins[i]);
  }
  return series;
}

std::optional<FlowSeries> service_series(const MetricInfo& metric,
                                         std::span<const ServiceResult> services, BinRange range,
                                         double width_s) {
  if (services.empty() || (metric.services != nullptr && !metric.services(services))) {
    return std::nullopt;
  }
  const bool of_capacity = metric.kind == MetricKind::kCapacity;
  const std::size_t bins = range.last - range.first;
  const double scale = scale_of(metric);
  FlowSeries series;
  series.numerators.assign(bins, 0);
  series.denominators.assign(bins, of_capacity ? 0 : width_s);
  for (const ServiceResult& service : services) {
    for (std::size_t i = 0; i < bins; ++i) {
      const ServiceFlow& bin = service.bins[range.first + i];
      series.numerators[i] += metric.series.of_service(bin) / scale;
      if (of_capacity) series.denominators[i] += service.capacity_ns(bin, width_s * 1e9) / 1e9;
    }
  }
  return series;
}

/// The services whose metrics the client has (see `MetricInput::services`).
std::span<const ServiceResult> services_of(const Scenario& scenario, const RunResult& run,
                                           std::optional<std::size_t> client) {
  const std::span all(run.services);
  if (!client) return all;
  const auto own = own_service(scenario, *client);
  return own ? all.subspan(*own, 1) : all.first(0);
}

}  // namespace

std::optional<FlowSeries> flow_series(const MetricInfo& metric, const Scenario& scenario,
                                      const RunResult& run, std::optional<std::size_t> client,
                                      BinRange bins) {
  const double width_s = run.interval.in_seconds();
  if (metric.series.of_clients != nullptr) {
    const std::span all(client ? run.clients[*client].bins : run.all_bins);
    return client_series(metric, all.subspan(bins.first, bins.last - bins.first), width_s);
  }
  if (metric.series.of_service == nullptr) return std::nullopt;
  return service_series(metric, services_of(scenario, run, client), bins, width_s);
}

FlowSeries in_system_series(const RunResult& run, std::size_t service, BinRange bins) {
  return *service_series(*find_metric("in_system_mean"),
                         std::span(run.services).subspan(service, 1), bins,
                         run.interval.in_seconds());
}

}  // namespace retrysim::stats
