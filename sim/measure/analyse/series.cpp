// Cutting a replication into few bins, and reading metrics from the sums.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/series.hpp"

#include <retrysim/metrics.hpp>

#include "flow/capacity.hpp"
#include "flow/demand.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
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

// --- A replication in few bins -------------------------------------------------------------------

namespace {

/// The sums of a client group's bin. Latencies are weighted with the number of requests, so that
/// joined bins have the right mean.
enum ClientSum : std::size_t {
  kRequests,
  kAttempts,
  kRetries,
  kSuccesses,
  kFailures,
  kThrottled,
  kErrors,
  kTimeouts,
  kQuotaDenied,
  kBackoff,      // seconds
  kSendWaiting,  // seconds
  kLatencies,
  kLatencyP50,
  kLatencyP99,
};

/// The sums of a service's bin. Times are in seconds.
enum ServiceSum : std::size_t {
  kArrivals,
  kRejected,
  kRefused,  // refused by a throttle
  kWasted,
  kQueue,
  kInService,
  kCapacity,  // attempts that could have been served
  kLimited,   // time in which the capacity was limited
};

constexpr double kNanosecond = 1e-9;

void add_client_sums(std::vector<double>& sums, const ClientBin& bin) {
  const ClientFlow& f = bin.flow;
  for (const std::uint64_t n : {f.requests, f.attempts, f.retries, f.successes, f.failures,
                                f.throttled, f.errors, f.timeouts, f.quota_denied}) {
    sums.push_back(static_cast<double>(n));
  }
  const auto latencies = static_cast<double>(bin.latency_count);
  sums.push_back(f.in_backoff_ns * kNanosecond);
  sums.push_back(f.limiter_waiting_ns * kNanosecond);
  sums.push_back(latencies);
  sums.push_back(latencies * (latencies > 0 ? bin.latency_p50_s : 0));
  sums.push_back(latencies * (latencies > 0 ? bin.latency_p99_s : 0));
}

/// The mean speed of a service's working servers, bin by bin; faults may begin and end in a bin.
class MeanSpeed {
 public:
  MeanSpeed(const Scenario& scenario, std::size_t service)
      : times_(capacity_changes(scenario, service)) {
    times_.insert(times_.begin(), Time::zero());
    for (const Time t : times_) left_.push_back(capacity_left(scenario, service, t));
  }
  /// The mean speed in [from, to), which must be later with each call.
  double between(Time from, Time to) {
    double servers = 0, power = 0;
    for (Time at = from; at < to;) {
      while (step_ + 1 < times_.size() && times_[step_ + 1] <= at) ++step_;
      const Time end = step_ + 1 < times_.size() ? std::min(times_[step_ + 1], to) : to;
      if (at == from && end == to) return left_[step_].speed;
      const double seconds = (end - at).in_seconds();
      servers += left_[step_].servers * seconds;
      power += left_[step_].share() * seconds;
      at = end;
    }
    return servers > 0 ? power / servers : 0;
  }

 private:
  std::vector<Time> times_;
  std::vector<CapacityLeft> left_;  // capacity left from each change on
  std::size_t step_ = 0;
};

/// Attempts per second that a service can serve, or lets in, if a server that is always busy serves
/// `each_server` per second; empty if nothing limits it.
std::optional<double> capacity_of(const ServiceSpec& service, double each_server, bool unlimited,
                                  double servers) {
  std::optional<double> capacity;
  if (!unlimited && each_server < flow::kNoLimit) capacity = servers * each_server;
  if (service.throttle.rate > 0 && service.throttle.scope == ThrottleScope::kService) {
    capacity = std::min(capacity.value_or(service.throttle.rate), service.throttle.rate);
  }
  return capacity;
}

void add_service_sums(std::vector<double>& sums, const ServiceFlow& f, double width_s,
                      std::optional<double> capacity) {
  for (const std::uint64_t n : {f.arrivals, f.rejected, f.throttled, f.wasted}) {
    sums.push_back(static_cast<double>(n));
  }
  sums.push_back(f.queue_ns * kNanosecond);
  sums.push_back((f.in_system_ns - f.queue_ns) * kNanosecond);
  sums.push_back(capacity.value_or(0) * width_s);
  sums.push_back(capacity ? width_s : 0);
}

std::vector<double> service_sums(const Scenario& scenario, const RunResult& run, std::size_t s) {
  const ServiceResult& service = run.services[s];
  const double width_s = run.interval.in_seconds();
  std::vector<double> sums;
  sums.reserve(service.bins.size() * kServiceSums);
  const double each_server = flow::answerable_rate(scenario, s, 1);
  MeanSpeed speed(scenario, s);
  Time start = Time::zero();
  for (const ServiceFlow& bin : service.bins) {
    const double servers = bin.servers_ns / static_cast<double>(run.interval.count());
    const double mean_speed = speed.between(start, start + run.interval);
    add_service_sums(
        sums, bin, width_s,
        capacity_of(scenario.services[s], each_server * mean_speed, service.unlimited, servers));
    start = start + run.interval;
  }
  return sums;
}

std::vector<double> client_sums(const std::vector<ClientBin>& bins) {
  std::vector<double> sums;
  sums.reserve(bins.size() * kClientSums);
  for (const ClientBin& bin : bins) add_client_sums(sums, bin);
  return sums;
}

/// Appends bins of zeros; a service's capacity stays what it was.
void extend(std::vector<double>& sums, std::size_t per_bin, std::size_t bins) {
  const std::size_t before = sums.size();
  if (bins * per_bin <= before) return;
  sums.resize(bins * per_bin, 0.0);
  if (per_bin != kServiceSums || before == 0) return;
  for (std::size_t i = before; i < sums.size(); ++i) {
    const std::size_t sum = i % kServiceSums;
    if (sum == kCapacity || sum == kLimited) sums[i] = sums[i - kServiceSums];
  }
}

void join_twos(std::vector<double>& sums, std::size_t per_bin, std::size_t bins) {
  for (std::size_t i = 0; i < bins; ++i) {
    for (std::size_t k = 0; k < per_bin; ++k) {
      sums[i * per_bin + k] = sums[2 * i * per_bin + k] + sums[(2 * i + 1) * per_bin + k];
    }
  }
  sums.resize(bins * per_bin);
}

/// Joins the bins of one group or service until there are at most `most_bins`, and frees the memory
/// of the others; `series` tells how many and how wide they are.
void join_down_to(std::vector<double>& sums, std::size_t per_bin, std::size_t most_bins,
                  RunSeries& series) {
  extend(sums, per_bin, series.bins);
  while (series.bins > most_bins) {
    if (series.drained) extend(sums, per_bin, series.bins += series.bins % 2);
    series.bins /= 2;
    join_twos(sums, per_bin, series.bins);
    series.width += series.width;
  }
  sums.shrink_to_fit();
}

void join_twos(RunSeries& series) {
  if (series.drained) extend(series, series.bins + series.bins % 2);
  series.bins /= 2;
  for (auto& sums : series.clients) join_twos(sums, kClientSums, series.bins);
  for (auto& sums : series.services) join_twos(sums, kServiceSums, series.bins);
  series.width += series.width;
}

std::optional<double> ratio(double above, double below) {
  return below > 0 ? std::optional(above / below) : std::nullopt;
}

using Sums = std::span<const double>;

template <std::size_t sum>
std::optional<double> per_second(Sums sums, double width_s) {
  return sums[sum] / width_s;
}

template <std::size_t above, std::size_t below>
std::optional<double> quotient(Sums sums, double) {
  return ratio(sums[above], sums[below]);
}

std::optional<double> success_share(Sums sums, double) {
  return ratio(sums[kSuccesses], sums[kSuccesses] + sums[kFailures]);
}

constexpr MetricRange kAnySize = MetricRange::kNotNegative;

constexpr std::array<SeriesColumn, 14> kClientColumns = {{
    {"offered_load", "1/s", kAnySize, per_second<kRequests>},
    {"attempt_rate", "1/s", kAnySize, per_second<kAttempts>},
    {"retry_rate", "1/s", kAnySize, per_second<kRetries>},
    {"goodput", "1/s", kAnySize, per_second<kSuccesses>},
    {"success_rate", "1", MetricRange::kShare, success_share},
    {"amplification", "1", kAnySize, quotient<kAttempts, kRequests>},
    {"latency_p50", "s", kAnySize, quotient<kLatencyP50, kLatencies>},
    {"latency_p99", "s", kAnySize, quotient<kLatencyP99, kLatencies>},
    {"in_backoff", "requests", kAnySize, per_second<kBackoff>},
    {"limiter_waiting", "requests", kAnySize, per_second<kSendWaiting>},
    {"timeouts", "1/s", kAnySize, per_second<kTimeouts>},
    {"errors", "1/s", kAnySize, per_second<kErrors>},
    {"throttled", "1/s", kAnySize, per_second<kThrottled>},
    {"quota_denied", "1/s", kAnySize, per_second<kQuotaDenied>},
}};

constexpr std::array<SeriesColumn, 6> kServiceColumns = {{
    {"arrival_rate", "1/s", kAnySize, per_second<kArrivals>},
    {"capacity", "1/s", kAnySize, quotient<kCapacity, kLimited>},
    {"queue_mean", "attempts", kAnySize, per_second<kQueue>},
    {"in_service_mean", "attempts", kAnySize, per_second<kInService>},
    {"refused", "1/s", kAnySize,
     [](Sums sums, double width_s) {
       return std::optional((sums[kRejected] + sums[kRefused]) / width_s);
     }},
    {"wasted", "1/s", kAnySize, per_second<kWasted>},
}};

}  // namespace

RunSeries run_series(const Scenario& scenario, const RunResult& run, std::size_t most_bins) {
  RunSeries series;
  series.width = run.interval;
  series.drained = scenario.drain;
  std::size_t bins = run.all_bins.size();
  for (const ClientResult& client : run.clients) bins = std::max(bins, client.bins.size());
  for (const ServiceResult& service : run.services) bins = std::max(bins, service.bins.size());
  // One group after the other, because all bins of all groups together would take as much memory as
  // the run itself.
  const auto add = [&](std::vector<std::vector<double>>& to, std::vector<double> sums,
                       std::size_t per_bin) {
    stop_point();
    series.bins = bins;
    series.width = run.interval;
    join_down_to(sums, per_bin, most_bins, series);
    to.push_back(std::move(sums));
  };
  for (const ClientResult& client : run.clients) {
    add(series.clients, client_sums(client.bins), kClientSums);
  }
  add(series.clients, client_sums(run.all_bins), kClientSums);
  for (std::size_t s = 0; s < run.services.size(); ++s) {
    add(series.services, service_sums(scenario, run, s), kServiceSums);
  }
  return series;
}

void widen(RunSeries& series, Duration width) {
  while (series.width < width) join_twos(series);
}

void extend(RunSeries& series, std::size_t bins) {
  for (auto& sums : series.clients) extend(sums, kClientSums, bins);
  for (auto& sums : series.services) extend(sums, kServiceSums, bins);
  series.bins = std::max(series.bins, bins);
}

std::span<const SeriesColumn> client_columns() { return kClientColumns; }
std::span<const SeriesColumn> service_columns() { return kServiceColumns; }

}  // namespace retrysim::stats
