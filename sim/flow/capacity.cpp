// What services can serve, and what profiles and faults leave of it.
//
// SPDX-License-Identifier: MIT
#include "flow/capacity.hpp"

#include <retrysim/service_spec.hpp>

#include "kernel/stop.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace retrysim::flow {

double passes(const ServiceSpec& service) {
  return service.model == ServiceModelKind::kOcc ? 2 : 1;
}

double error_share(const ServiceSpec& service) {
  double share = 0;
  for (const RandomError& e : service.errors) share += e.probability;
  return share;
}

double servers_of(const ServiceSpec& service) {
  return service.servers == ServiceSpec::kUnlimited ? kNoLimit
                                                    : static_cast<double>(service.all_servers());
}

double free_error_share(const ServiceSpec& service) {
  if (service.model == ServiceModelKind::kIndependent) return 0;
  const double saved = service.errors_at.on_arrival() ? 1 : 1 - service.errors_at.share;
  return std::min(1.0, error_share(service)) * saved;
}

double granted_rate(const Scenario& scenario, std::size_t service) {
  const ThrottleSpec& t = scenario.services[service].throttle;
  if (t.rate <= 0 || t.scope > ThrottleScope::kClient || t.has_limits()) return kNoLimit;
  if (t.scope == ThrottleScope::kService) return t.rate;
  double clients = 0;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) > 0) clients += c.count;
  }
  return t.rate * clients;
}

}  // namespace retrysim::flow

namespace retrysim {

// --- What profiles and faults leave --------------------------------------------------------------

// Faults of some instances do not affect the others.

namespace {

bool is_on(const FaultSpec& fault, std::size_t service, Time at) {
  return fault.service == service && at >= fault.start && at < fault.start + fault.duration;
}

double profile_factor_at(const ServiceSpec& spec, Time at) {
  if (!spec.profile) return 1;
  const auto after = std::upper_bound(spec.profile->times.begin(), spec.profile->times.end(), at);
  return spec.profile->factors[static_cast<std::size_t>(after - spec.profile->times.begin()) - 1];
}

/// The share of servers that work at a capacity factor; only whole servers work.
double working_share(const ServiceSpec& spec, double factor) {
  if (spec.servers == ServiceSpec::kUnlimited) return factor > 0 ? 1 : 0;
  if (spec.servers <= 0) return factor;
  const auto servers = static_cast<double>(spec.servers);
  return std::round(servers * factor) / servers;
}

/// The capacity left with these faults.
CapacityLeft left_with(const ServiceSpec& spec, const std::vector<const FaultSpec*>& on, Time at) {
  const double profile = profile_factor_at(spec, at);
  // Instances with the same faults are alike: from where one begins or ends to the next.
  const std::uint32_t count = spec.instances.count;
  std::vector<std::uint32_t> edges = {0, count};
  for (const FaultSpec* f : on) {
    if (f->instance == FaultSpec::kAllInstances) continue;
    edges.push_back(std::min(f->instance - 1, count));
    edges.push_back(std::min(f->instance - 1 + f->instances, count));
  }
  std::sort(edges.begin(), edges.end());
  double servers = 0, power = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i] == edges[i + 1]) continue;
    double capacity = profile, speed = 1;
    for (const FaultSpec* f : on) {
      if (!f->concerns(edges[i])) continue;
      capacity *= f->capacity;
      speed *= f->unreachable || f->black_hole ? 0 : f->speed;
    }
    const double part = working_share(spec, capacity) * (edges[i + 1] - edges[i]);
    servers += part;
    power += part * speed;
  }
  return {servers / count, servers > 0 ? power / servers : 0};
}

}  // namespace

CapacityLeft capacity_left(const Scenario& scenario, std::size_t service, Time at) {
  std::vector<const FaultSpec*> on;
  for (const FaultSpec& f : scenario.faults) {
    if (is_on(f, service, at)) on.push_back(&f);
  }
  return left_with(scenario.services[service], on, at);
}

std::vector<Time> capacity_changes(const Scenario& scenario, std::size_t service) {
  std::vector<Time> times;
  for (const FaultSpec& f : scenario.faults) {
    if (f.service != service) continue;
    times.push_back(f.start);
    times.push_back(f.start + f.duration);
  }
  if (const auto& profile = scenario.services[service].profile) {
    times.insert(times.end(), profile->times.begin(), profile->times.end());
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

double mean_capacity_left(const Scenario& scenario, std::size_t service, Time from, Time to) {
  // Among many faults, few concern a short stretch of time.
  std::vector<const FaultSpec*> concerned, on;
  std::vector<Time> changes;
  for (const FaultSpec& f : scenario.faults) {
    if (f.service != service || f.start >= to || f.start + f.duration <= from) continue;
    concerned.push_back(&f);
    changes.push_back(f.start);
    changes.push_back(f.start + f.duration);
  }
  const ServiceSpec& spec = scenario.services[service];
  if (spec.profile) {
    const std::vector<Time>& times = spec.profile->times;
    changes.insert(changes.end(), std::upper_bound(times.begin(), times.end(), from),
                   std::lower_bound(times.begin(), times.end(), to));
  }
  std::sort(changes.begin(), changes.end());
  changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
  double sum = 0;
  auto next = std::upper_bound(changes.begin(), changes.end(), from);
  for (Time at = from; at < to;) {
    stop_point();
    const Time end = next == changes.end() ? to : std::min(*next++, to);
    on.clear();
    std::ranges::copy_if(concerned, std::back_inserter(on),
                         [&](const FaultSpec* f) { return is_on(*f, service, at); });
    sum += left_with(spec, on, at).share() * (end - at).in_seconds();
    at = end;
  }
  return to > from ? sum / (to - from).in_seconds() : 1;
}

}  // namespace retrysim
