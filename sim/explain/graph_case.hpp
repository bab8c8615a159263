// The case of services that call each other: what each of them was asked for and did, and what went
// along each edge, before, during and after disturbances. One for all client groups of a scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "flow/calls.hpp"
#include "flow/demand.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim::explain {

/// A service in a stretch of time, in all replications together.
struct ServicePart {
  ServiceFlow flow;
  /// Server time that the attempts ask for which came to its servers or its queue: its own work at
  /// the speed that it has then, of first attempts and of retries, and the time for which they hold
  /// a server while they wait for calls, if the services below were idle.
  double first_s = 0, retry_s = 0, idle_calls_s = 0;
  double done_s = 0;     ///< its own work on the executions that ended
  double blocked_s = 0;  ///< time in which nothing was served: no servers, or at no speed

  double own_s() const { return first_s + retry_s; }
  double needed_s() const { return own_s() + idle_calls_s; }
  double available_s() const { return flow.servers_ns / 1e9; }
  /// The share of its capacity that it is asked for; 0 if there are no servers, or any number of
  /// them.
  double load() const { return available_s() > 0 ? needed_s() / available_s() : 0; }
};

/// Requests and attempts of a group, in all replications.
struct GroupVolume {
  double requests = 0, attempts = 0;
};

/// A stretch of time in which the same faults and surges are on, or none is; or the whole window.
struct GraphStretch {
  PhaseKind kind = PhaseKind::kDuring;
  std::string name = {};                   ///< of the faults and surges
  double start_s = 0, end_s = 0;           ///< as the scenario plans it
  double seconds = 0;                      ///< of all replications together, in whole bins
  std::vector<ServicePart> services = {};  ///< as in the scenario
  std::vector<ClientFlow> groups = {};     ///< as in the scenario
  /// For each group: the requests made in it (for calls: on behalf of measured requests), with all
  /// of their attempts, those after its end and in the drain as well.
  std::vector<GroupVolume> made = {};
};

struct GraphCase {
  const Scenario& scenario;
  flow::CallGraph calls;
  flow::Demand demand;  ///< of first attempts
  /// In the order of time. Without disturbances in the window there is one, the window.
  std::vector<GraphStretch> stretches;

  /// The time before the first disturbance; null if there is none, or no disturbance.
  const GraphStretch* before() const;
  /// From the first disturbance until all groups together are back; without one the window.
  std::vector<const GraphStretch*> trouble() const;
  /// Server time that attempts at a service held while they waited for calls: what its servers were
  /// busy beyond its own work, and no more than there were calls.
  double held_s(const GraphStretch& stretch, std::size_t service) const;
};

GraphCase graph_case(const Scenario& scenario, std::span<const RunResult> runs);

/// The measurements of a replication as numbers; equally many for each of the scenario.
std::vector<double> figures_of(const GraphCase& graph);
/// The case of the replications that these are the figures of. Throws std::invalid_argument if
/// there are too many of them or too few.
GraphCase graph_case(const Scenario& scenario,
                     std::span<const std::span<const double>> figures_by_run);

}  // namespace retrysim::explain
