// The division of a scenario's window into phases.
//
// SPDX-License-Identifier: MIT
#include <retrysim/phases.hpp>

#include "measure/recovery.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace retrysim {
namespace {

// More of them would bury what they are about.
constexpr std::size_t kMostStretches = 100;

/// Names with "+" between them, each once.
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

/// From the first to the last disturbance: what is on, and the time between.
std::vector<Phase> disturbed_phases(const std::vector<stats::Disturbance>& disturbances) {
  std::vector<Time> edges;
  for (const stats::Disturbance& d : disturbances) {
    edges.push_back(d.start);
    edges.push_back(d.end);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  if (edges.size() > kMostStretches + 1) {
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

/// The phases of a window, [start, end), with disturbances.
std::vector<Phase> divide(const std::vector<stats::Disturbance>& disturbances, Time start,
                          Time end) {
  std::vector<Phase> phases = disturbed_phases(disturbances);
  const Time first = phases.front().start, last = phases.back().end;
  phases.insert(phases.begin(), {"before", PhaseKind::kBefore, start, first});
  phases.push_back({"recovering", PhaseKind::kRecovering, last, end});
  phases.push_back({"after", PhaseKind::kAfter, last, end});
  return phases;
}

/// A name that comes again gets a number.
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

}  // namespace retrysim
