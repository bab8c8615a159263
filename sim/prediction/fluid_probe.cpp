// SPDX-License-Identifier: MIT
#include "prediction/fluid_probe.hpp"

#include <algorithm>

#include "prediction/delay_law.hpp"
#include "prediction/fluid_run.hpp"
#include "prediction/fluid_system.hpp"

namespace retrysim::prediction {
namespace {

constexpr double kTimeoutsBefore = 10, kTimeoutsOfPush = 10, kTimeoutsAfter = 80;

/// What times are measured by: the shortest timeout.
double unit_of(const FluidSystem& system) {
  return system.shortest_timeout == kForever ? system.duration / 100 : system.shortest_timeout;
}

bool has_constant_load(const Scenario& scenario, const FluidSystem& system) {
  return std::all_of(system.groups.begin(), system.groups.end(), [&](const FluidClients& g) {
    const ArrivalSpec& a = scenario.clients[g.client].arrivals;
    return !a.profile && a.process != ArrivalProcess::kTrace && a.process != ArrivalProcess::kOnce;
  });
}

bool is_down(const Scenario& scenario, std::size_t service) {
  constexpr double kStepsPerTimeout = 100;
  const FluidSystem system = fluid_system(scenario, service);
  return ends_down(scenario, system, fluid_step(system, kStepsPerTimeout));
}

}  // namespace

bool has_disturbance(const Scenario& scenario, std::size_t service) {
  const auto before_end = [&](Time start) { return start < Time::zero() + scenario.duration; };
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service == service && before_end(fault.start)) return true;
  }
  for (const ClientSpec& client : scenario.clients) {
    if (client.service != service) continue;
    for (const SurgeSpec& surge : client.arrivals.surges) {
      if (before_end(surge.start)) return true;
    }
  }
  return false;
}

Scenario calm_scenario(Scenario scenario, std::size_t service) {
  std::erase_if(scenario.faults, [&](const FaultSpec& f) { return f.service == service; });
  for (ClientSpec& c : scenario.clients) {
    if (c.service == service) c.arrivals.surges.clear();
  }
  return long_scenario(std::move(scenario), service);
}

Scenario with_outage(Scenario scenario, std::size_t service, double duration) {
  const Time start =
      Time::zero() + Duration::from_seconds(kTimeoutsBefore * time_unit(scenario, service));
  if (scenario.services[service].servers != ServiceSpec::kUnlimited) {
    FaultSpec outage;
    outage.name = "outage";
    outage.service = service;
    outage.start = start;
    outage.duration = Duration::from_seconds(duration);
    outage.capacity = 0;
    scenario.faults.push_back(outage);
    return scenario;
  }
  constexpr double kFactor = 10;
  for (ClientSpec& c : scenario.clients) {
    if (c.service != service) continue;
    SurgeSpec surge;
    surge.name = "push";
    surge.start = start;
    surge.duration = Duration::from_seconds(duration);
    surge.factor = kFactor;
    c.arrivals.surges.push_back(surge);
  }
  return scenario;
}

Scenario pushed_scenario(Scenario scenario, std::size_t service) {
  const double duration = kTimeoutsOfPush * time_unit(scenario, service);
  scenario = with_outage(calm_scenario(std::move(scenario), service), service, duration);
  return long_scenario(std::move(scenario), service);
}

double time_unit(const Scenario& scenario, std::size_t service) {
  return unit_of(fluid_system(scenario, service));
}

Scenario long_scenario(Scenario scenario, std::size_t service) {
  const FluidSystem system = fluid_system(scenario, service);
  if (!has_constant_load(scenario, system)) return scenario;
  const double least = std::max(system.disturbance_end, scenario.warmup.in_seconds()) +
                       kTimeoutsAfter * unit_of(system);
  scenario.duration = std::max(scenario.duration, Duration::from_seconds(least));
  return scenario;
}

bool is_down_when_calm(const Scenario& scenario, std::size_t service) {
  return is_down(calm_scenario(scenario, service), service);
}

bool is_down_when_pushed(const Scenario& scenario, std::size_t service) {
  return is_down(pushed_scenario(scenario, service), service);
}

bool is_down_after_disturbances(const Scenario& scenario, std::size_t service) {
  return is_down(long_scenario(scenario, service), service);
}

}  // namespace retrysim::prediction
