// SPDX-License-Identifier: MIT
#include "stats/flow_series.hpp"

#include <retrysim/metrics.hpp>

#include <algorithm>
#include <iterator>
#include <span>

namespace retrysim::stats {
namespace {

double number(std::uint64_t n) { return static_cast<double>(n); }

/// A metric of a client group; without `below` it is a rate per second.
struct ClientSeries {
  std::string_view metric;
  double (*above)(const ClientBin&);
  double (*below)(const ClientBin&);
};

using B = const ClientBin&;
constexpr ClientSeries kClientSeries[] = {
    {"offered_load", [](B b) { return number(b.flow.requests); }, nullptr},
    {"send_rate", [](B b) { return number(b.flow.attempts); }, nullptr},
    {"attempt_rate", [](B b) { return number(b.flow.arrivals); }, nullptr},
    {"goodput", [](B b) { return number(b.flow.successes); }, nullptr},
    {"in_backoff_mean", [](B b) { return b.flow.in_backoff_ns / 1e9; }, nullptr},
    {"success_rate", [](B b) { return number(b.flow.successes); },
     [](B b) { return number(b.flow.successes + b.flow.failures); }},
    {"amplification", [](B b) { return number(b.flow.attempts); },
     [](B b) { return number(b.flow.requests); }},
    {"retry_share", [](B b) { return number(b.flow.retries); },
     [](B b) { return number(b.flow.attempts); }},
    {"attempts_per_success", [](B b) { return number(b.flow.attempts); },
     [](B b) { return number(b.flow.successes); }},
    {"throttled_share", [](B b) { return number(b.flow.throttled); },
     [](B b) { return number(b.flow.attempts); }},
    {"error_share", [](B b) { return number(b.flow.errors); },
     [](B b) { return number(b.flow.attempts); }},
    {"timeout_share", [](B b) { return number(b.flow.timeouts); },
     [](B b) { return number(b.flow.attempts); }},
    {"quota_denied_share", [](B b) { return number(b.flow.quota_denied); },
     [](B b) { return number(b.flow.requests); }},
    {"latency_mean", [](B b) { return b.latency_sum_ns / 1e9; },
     [](B b) { return number(b.latency_count); }},
};

/// A metric of services, which adds up over them: per second, or per second and server.
struct ServiceSeries {
  std::string_view metric;
  double (*above)(const ServiceFlow&);
  bool per_server = false;
  bool single = false;  ///< of one service alone
};

using S = const ServiceFlow&;
constexpr ServiceSeries kServiceSeries[] = {
    {"throughput", [](S s) { return number(s.completions); }},
    {"utilization", [](S s) { return s.busy_ns / 1e9; }, true},
    {"queue_mean", [](S s) { return s.queue_ns / 1e9; }},
    {"in_system_mean", [](S s) { return s.in_system_ns / 1e9; }},
    {"all_busy_share", [](S s) { return s.all_busy_ns / 1e9; }, false, true},
};

FlowSeries series_of(const ClientSeries& metric, std::span<const ClientBin> bins, double width_s) {
  FlowSeries series;
  for (const ClientBin& bin : bins) {
    series.numerators.push_back(metric.above(bin));
    series.denominators.push_back(metric.below == nullptr ? width_s : metric.below(bin));
  }
  return series;
}

std::optional<FlowSeries> series_of(const ServiceSeries& metric,
                                    std::span<const ServiceResult> services, BinRange range,
                                    double width_s) {
  if (services.empty() || (metric.single && services.size() != 1)) return std::nullopt;
  double servers = 0;
  for (const ServiceResult& service : services) {
    if (service.unlimited && (metric.per_server || metric.single)) return std::nullopt;
    servers += static_cast<double>(service.nominal_servers);
  }
  FlowSeries series;
  for (std::size_t i = range.first; i < range.last; ++i) {
    double sum = 0;
    for (const ServiceResult& service : services) sum += metric.above(service.bins[i]);
    series.numerators.push_back(sum);
    series.denominators.push_back(metric.per_server ? servers * width_s : width_s);
  }
  return series;
}

template <typename Table>
const auto* find_in(const Table& table, std::string_view metric) {
  const auto* at = std::find_if(std::begin(table), std::end(table),
                                [&](const auto& row) { return row.metric == metric; });
  return at == std::end(table) ? nullptr : at;
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

std::optional<FlowSeries> flow_series(std::string_view metric, const Scenario& scenario,
                                      const RunResult& run, std::optional<std::size_t> client,
                                      BinRange bins) {
  const double width_s = run.interval.in_seconds();
  if (const auto* of_clients = find_in(kClientSeries, metric)) {
    const std::span all(client ? run.clients[*client].bins : run.all_bins);
    return series_of(*of_clients, all.subspan(bins.first, bins.last - bins.first), width_s);
  }
  const auto* of_services = find_in(kServiceSeries, metric);
  if (of_services == nullptr) return std::nullopt;
  return series_of(*of_services, services_of(scenario, run, client), bins, width_s);
}

FlowSeries in_system_series(const RunResult& run, std::size_t service, BinRange bins) {
  const auto* in_system = find_in(kServiceSeries, "in_system_mean");
  return *series_of(*in_system, std::span(run.services).subspan(service, 1), bins,
                    run.interval.in_seconds());
}

}  // namespace retrysim::stats
