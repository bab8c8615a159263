// How the window of a scenario is divided into phases, and the metrics of each.
//
// SPDX-License-Identifier: MIT
#include "measure/metrics/phases.hpp"

#include <retrysim/metrics.hpp>

#include "measure/analyse/recovery.hpp"
#include "measure/metrics/rows.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace retrysim {

namespace {

// More phases than this would be unreadable.
constexpr std::size_t kMaxStretches = 100;

/// The names of disturbances joined with "+", each once.
std::string joined_names(std::span<const stats::Disturbance* const> active) {
  std::string text;
  std::set<std::string_view> seen;
  for (const stats::Disturbance* d : active) {
    if (!seen.insert(d->name).second) continue;
    if (!text.empty()) text += '+';
    text += d->name;
  }
  return text;
}

/// The phases from the first to the last disturbance: the times in which some are on, and those
/// between.
std::vector<Phase> disturbed_phases(const std::vector<stats::Disturbance>& disturbances) {
  std::vector<Time> edges;
  for (const stats::Disturbance& d : disturbances) {
    edges.push_back(d.start);
    edges.push_back(d.end);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  if (edges.size() > kMaxStretches + 1) {
    return {{"disturbed", PhaseKind::kDuring, edges.front(), edges.back()}};
  }
  std::vector<Phase> phases;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    std::vector<const stats::Disturbance*> active;
    for (const stats::Disturbance& d : disturbances) {
      if (d.start <= edges[i] && d.end > edges[i]) active.push_back(&d);
    }
    const PhaseKind kind = active.empty() ? PhaseKind::kBetween : PhaseKind::kDuring;
    std::string name = active.empty() ? "between" : joined_names(active);
    if (!phases.empty() && phases.back().kind == kind && phases.back().name == name) {
      phases.back().end = edges[i + 1];
    } else {
      phases.push_back({std::move(name), kind, edges[i], edges[i + 1]});
    }
  }
  return phases;
}

/// The phases of the window [start, end) with these disturbances.
std::vector<Phase> divide(const std::vector<stats::Disturbance>& disturbances, Time start,
                          Time end) {
  std::vector<Phase> phases = disturbed_phases(disturbances);
  const Time first = phases.front().start, last = phases.back().end;
  phases.insert(phases.begin(), {"before", PhaseKind::kBefore, start, first});
  phases.push_back({"recovering", PhaseKind::kRecovering, last, end});
  phases.push_back({"after", PhaseKind::kAfter, last, end});
  return phases;
}

/// Appends numbers to names that are repeated.
void number_names(std::vector<Phase>& phases) {
  std::set<std::string> taken;
  for (Phase& phase : phases) {
    std::string name = phase.name;
    for (int number = 2; !taken.insert(name).second; ++number) {
      name = phase.name + " (" + std::to_string(number) + ")";
    }
    phase.name = std::move(name);
  }
}

}  // namespace

std::vector<Phase> phases_of(const Scenario& scenario) {
  const Time start = Time::zero() + scenario.warmup, end = Time::zero() + scenario.duration;
  const std::vector<stats::Disturbance> disturbances = stats::disturbances(scenario);
  std::vector<Phase> phases;
  if (!disturbances.empty()) phases = divide(disturbances, start, end);
  std::vector<PhaseSpec> named = scenario.phases;
  std::sort(named.begin(), named.end(), [](const PhaseSpec& a, const PhaseSpec& b) {
    return std::tie(a.start, a.duration, a.name) < std::tie(b.start, b.duration, b.name);
  });
  for (const PhaseSpec& spec : named) {
    phases.push_back({spec.name, PhaseKind::kNamed, spec.start, spec.start + spec.duration});
  }
  for (Phase& phase : phases) {
    phase.start = std::clamp(phase.start, start, end);
    phase.end = std::clamp(phase.end, start, end);
  }
  std::erase_if(phases, [](const Phase& phase) { return phase.start == phase.end; });
  number_names(phases);
  return phases;
}

namespace stats {
// --- The metrics of a phase ----------------------------------------------------------------------

namespace {

using formula::in_phase;
using F = ClientFlow;

// Counts that the table of metrics has only as shares.
constexpr auto kCounts = std::to_array<MetricInfo>({
    count("throttled", "attempts", "Attempts answered with a throttling error", nullptr)
        .in_phases(in_phase<&F::throttled>),
    count("errors", "attempts",
          "Attempts answered with another error (rejections included) or refused", nullptr)
        .in_phases(in_phase<&F::errors>),
    count("timeouts", "attempts", "Attempts without an answer in time", nullptr)
        .in_phases(in_phase<&F::timeouts>),
    count("quota_denied", "requests", "Requests that ended because the retry quota was too small",
          nullptr)
        .in_phases(formula::made_that_ended<Outcome::kQuotaExceeded>),
    count("rejected", "attempts",
          "Attempts turned away by the queue with an error other than throttling", nullptr)
        .in_phases(formula::rejected_in_phase),
    count("ended", "requests", "Requests that ended, whenever they did", nullptr)
        .in_phases(formula::phase_number<&PhaseResult::latency>),
    count("latency_total", "s", "Sum of the latencies of these", nullptr)
        .in_phases(formula::phase_seconds<&PhaseResult::latency>),
});

bool has_phases(const MetricInfo& metric) {
  return metric.phase.sum != nullptr || metric.phase.formula != nullptr ||
         metric.series.of_clients != nullptr || metric.series.of_service != nullptr;
}

/// The phase as if it were one bin of the time series.
ClientBin bin_of(const PhaseResult& phase) {
  ClientBin bin;
  bin.flow = phase.flow;
  bin.latency_count = phase.latency.count;
  bin.latency_sum_ns = phase.latency.sum_ns;
  return bin;
}

double sum_of(const MetricInfo& metric, const PhaseResult& phase) {
  if (metric.phase.sum != nullptr) return metric.phase.sum(phase);
  if (metric.series.of_clients != nullptr) return metric.series.of_clients(bin_of(phase));
  return metric.series.of_service(phase.service);
}

double per_of(const MetricInfo& metric, const PhaseResult& phase) {
  if (metric.phase.per != nullptr) return metric.phase.per(phase);
  return metric.series.per != nullptr ? metric.series.per(bin_of(phase)) : 0;
}

double capacity_ns(const PhaseResult& phase, std::span<const ServiceResult> services) {
  double servers = 0;
  for (const ServiceResult& s : services) servers += static_cast<double>(s.nominal_servers);
  const auto length_ns = static_cast<double>((phase.end - phase.start).count());
  return servers * length_ns + phase.service.extra_servers_ns;
}

std::optional<double> value_of(const MetricInfo& metric, const PhaseResult& phase,
                               std::span<const ServiceResult> services) {
  if (metric.scope == MetricScope::kServices && services.empty()) return std::nullopt;
  if (metric.services != nullptr && !metric.services(services)) return std::nullopt;
  if (metric.phase.formula != nullptr) return metric.phase.formula(phase);
  const double seconds = (phase.end - phase.start).in_seconds();
  double below = 1;
  switch (metric.kind) {
    case MetricKind::kShare:
    case MetricKind::kRatio:
      below = per_of(metric, phase);
      break;
    case MetricKind::kRate:
      below = seconds;
      break;
    case MetricKind::kLevel:
      below = seconds * 1e9;
      break;
    case MetricKind::kCapacity:
      below = capacity_ns(phase, services);
      break;
    default:
      break;
  }
  if (below <= 0) return std::nullopt;
  return sum_of(metric, phase) / below;
}

}  // namespace

MeasuredPhase measure_phase(const Scenario& scenario, const RunResult& run,
                            std::optional<std::size_t> client, const PhaseResult& phase) {
  std::span<const ServiceResult> services(run.services);
  if (client) {
    const auto own = own_service(scenario, *client);
    services = own ? services.subspan(*own, 1) : services.first(0);
  }
  MeasuredPhase measured;
  for (const MetricInfo* metric : phase_metrics()) {
    measured.values.push_back(value_of(*metric, phase, services));
    measured.per.push_back(per_of(*metric, phase));
  }
  return measured;
}

}  // namespace stats

const std::vector<const MetricInfo*>& phase_metrics() {
  static const std::vector<const MetricInfo*> metrics = [] {
    std::vector<const MetricInfo*> found;
    for (const MetricInfo& metric : metric_table()) {
      if (stats::has_phases(metric)) found.push_back(&metric);
    }
    for (const MetricInfo& metric : stats::kCounts) found.push_back(&metric);
    return found;
  }();
  return metrics;
}

}  // namespace retrysim
