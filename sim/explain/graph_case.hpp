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

/// What a service was asked for and did in a stretch of time, summed over all replications.
struct ServicePart {
  ServiceFlow flow;
  /// Server time, s, needed by the attempts that came to its servers or its queue: its own work at
  /// its speed at the time, of first attempts and of retries, and the time for which attempts would
  /// hold a server while they wait for calls if the services below were idle.
  double first_s = 0, retry_s = 0, idle_calls_s = 0;
  double done_s = 0;     ///< own work done on the executions that ended, s
  double blocked_s = 0;  ///< time in which nothing could be served, s: no servers, or speed 0

  double own_s() const { return first_s + retry_s; }
  double needed_s() const { return own_s() + idle_calls_s; }
  double available_s() const { return flow.servers_ns / 1e9; }
  /// Needed server time as a share of the available; 0 without servers, or with unlimited servers.
  double load() const { return available_s() > 0 ? needed_s() / available_s() : 0; }
};

/// Numbers of requests and attempts of a group, summed over all replications.
struct GroupVolume {
  double requests = 0, attempts = 0;
};

/// A stretch of time in which the same faults and surges are on, or none is; or the whole window.
struct GraphStretch {
  PhaseKind kind = PhaseKind::kDuring;
  std::string name = {};          ///< names of the faults and surges
  double start_s = 0, end_s = 0;  ///< as the scenario plans it
  double seconds = 0;             ///< length of its whole bins, summed over all replications
  std::vector<ServicePart> services = {};  ///< as in the scenario
  std::vector<ClientFlow> groups = {};     ///< as in the scenario
  /// For each group: the requests made in it (for calls: on behalf of measured requests), with all
  /// of their attempts, those after its end and in the drain as well.
  std::vector<GroupVolume> made = {};
};

struct GraphCase {
  const Scenario& scenario;
  flow::CallGraph calls;
  flow::Demand demand;  ///< demand of first attempts
  /// The stretches in the order of time. Without disturbances in the window, the whole window is
  /// the only one.
  std::vector<GraphStretch> stretches;

  /// The time before the first disturbance; null if there is none, or no disturbance.
  const GraphStretch* before() const;
  /// From the first disturbance until all groups together are back; without one the window.
  std::vector<const GraphStretch*> trouble() const;
  /// Server time, s, that attempts at a service held while they waited for calls: the busy time of
  /// its servers beyond its own work, limited by the time of the calls.
  double held_s(const GraphStretch& stretch, std::size_t service) const;
};

GraphCase graph_case(const Scenario& scenario, std::span<const RunResult> runs);

/// The measurements of a replication as numbers; equally many for each replication of a scenario.
std::vector<double> figures_of(const GraphCase& graph);
/// The case made from the figures of its replications (`figures_of`). Throws std::invalid_argument
/// if a replication has too many figures or too few.
GraphCase graph_case(const Scenario& scenario,
                     std::span<const std::span<const double>> figures_by_run);

}  // namespace retrysim::explain
