// SPDX-License-Identifier: MIT
#include <retrysim/phase_plane.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "prediction/delay_law.hpp"
#include "prediction/fluid_probe.hpp"
#include "prediction/fluid_run.hpp"
#include "prediction/fluid_system.hpp"

namespace retrysim {
namespace {

constexpr double kTimeoutsShown = 30, kSamplesPerTimeout = 20, kStepsPerTimeout = 400;

/// The scenario with its first trigger alone, or with an outage if it has none.
Scenario with_one_trigger(const Scenario& scenario, std::size_t service) {
  Scenario one = prediction::calm_scenario(scenario, service);
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service != service) continue;
    one.faults.push_back(fault);
    return one;
  }
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    const ClientSpec& client = scenario.clients[c];
    if (client.service != service || client.arrivals.surges.empty()) continue;
    one.clients[c].arrivals.surges.push_back(client.arrivals.surges.front());
    return one;
  }
  return prediction::with_outage(std::move(one), service, 1);
}

/// The same with a trigger of another length, ten timeouts after the start.
Scenario with_length(Scenario one, std::size_t service, double unit, double seconds) {
  const Time start = Time::zero() + Duration::from_seconds(10 * unit);
  for (FaultSpec& fault : one.faults) {
    if (fault.service != service) continue;
    fault.start = start;
    fault.duration = Duration::from_seconds(seconds);
  }
  for (ClientSpec& client : one.clients) {
    if (client.service != service) continue;
    for (SurgeSpec& surge : client.arrivals.surges) {
      surge.start = start;
      surge.duration = Duration::from_seconds(seconds);
    }
  }
  one.warmup = Duration::zero();
  one.drain = false;
  one.duration = Duration::from_seconds(10 * unit + seconds + 80 * unit);
  return one;
}

PhaseTrajectory trajectory(const Scenario& one, std::size_t service, double unit, double seconds) {
  const Scenario scenario = with_length(one, service, unit, seconds);
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  const double step =
      std::min(prediction::fluid_step(system, kStepsPerTimeout), unit / kStepsPerTimeout);
  FluidRun run = prediction::run_system(scenario, system, step, unit / kSamplesPerTimeout);
  PhaseTrajectory result;
  result.trigger = seconds;
  result.stays_down = run.down_at_end;
  const double from = 10 * unit + seconds;
  for (FluidSample& sample : run.series) {
    if (sample.time < from || sample.time > from + kTimeoutsShown * unit) continue;
    sample.time -= from;
    result.samples.push_back(sample);
  }
  return result;
}

}  // namespace

PhasePlane phase_plane(const Scenario& scenario, std::size_t service) {
  if (const auto why = why_no_fluid(scenario, service)) throw std::domain_error(*why);
  const Scenario one = with_one_trigger(scenario, service);
  const double unit = prediction::time_unit(scenario, service);
  PhasePlane plane;
  const FluidTippingPoint tipping = fluid_tipping_points(one, service).front();
  plane.trigger = tipping.trigger;
  if (tipping.found) plane.tipping = tipping.duration;
  const double timeout = prediction::fluid_system(scenario, service).shortest_timeout;
  plane.timeout = timeout == prediction::kForever ? 0 : timeout;
  try {
    for (const auto& state : fluid_equilibria(one, service).states) {
      PhaseEquilibrium e{state.name, state.stable, state.backlog, state.retrying};
      if (!std::isfinite(state.backlog)) e.backlog.reset();
      plane.equilibria.push_back(std::move(e));
    }
  } catch (const std::domain_error&) {
    // A closed loop has no balance of its own; its trajectories show where it settles.
  }
  if (plane.tipping) {
    constexpr double kNear = 3e-4;  // beyond what the search leaves open
    for (const double factor : {0.5, 0.8, 0.95, 1 - kNear, 1 + kNear, 1.05, 1.25, 2.0}) {
      plane.trajectories.push_back(trajectory(one, service, unit, factor * *plane.tipping));
      plane.trajectories.back().separatrix = std::abs(factor - 1) < 2 * kNear;
    }
  } else {
    for (const double timeouts : {0.5, 1.0, 2.0, 4.0, 8.0}) {
      plane.trajectories.push_back(trajectory(one, service, unit, timeouts * unit));
    }
  }
  return plane;
}

}  // namespace retrysim
