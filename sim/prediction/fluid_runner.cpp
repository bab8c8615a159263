// SPDX-License-Identifier: MIT
#include "prediction/fluid_runner.hpp"

#include <algorithm>

#include "prediction/delay_law.hpp"

namespace retrysim::prediction {
namespace {

double longest_timeout(const FluidSystem& system) {
  double longest = 0;
  for (const FluidClients& g : system.groups) longest = std::max(longest, g.timeout);
  return longest;
}

double longest_round_trip(const FluidSystem& system) {
  double longest = 0;
  for (const FluidClients& g : system.groups) longest = std::max(longest, g.round_trip);
  double fault = 0;
  for (const FluidStretch& s : system.stretches) fault = std::max(fault, s.latency);
  return longest + fault;
}

}  // namespace

Runner::Runner(const Scenario& scenario, const FluidSystem& system, double step, std::size_t steps)
    : system_(system),
      step_(step),
      steps_(steps),
      service_(system, step, steps),
      sent_(system.groups.size()) {
  const double longest = memory();
  const auto bins =
      static_cast<std::size_t>(std::min(static_cast<double>(steps), longest / step) + 4);
  groups_.reserve(system.groups.size());
  for (const FluidClients& g : system.groups) {
    groups_.emplace_back(g, scenario.clients[g.client],
                         arrival_rates(scenario, g.client, step, steps), bins, step);
  }
}

std::vector<FluidGroup> Runner::groups() const {
  std::vector<FluidGroup> result;
  for (const GroupFlows& g : groups_) result.push_back(g.books());
  return result;
}

double Runner::memory() const {
  if (system_.shortest_timeout == kForever) return kForever;
  return longest_timeout(system_) + system_.most_backoff + longest_round_trip(system_);
}

bool Runner::is_strained() const {
  const std::vector<Shares>& all = service_.shares();
  return std::any_of(all.begin(), all.end(), [](const Shares& s) { return s.strained; });
}

bool Runner::all_fail() const {
  const std::vector<Shares>& all = service_.shares();
  return std::all_of(all.begin(), all.end(), [](const Shares& s) { return s.success == 0; });
}

FluidSample Runner::advance(std::size_t k) {
  const double now = static_cast<double>(k) * step_;
  const FluidBin bin{.number = k,
                     .step = step_,
                     .has_begun = now >= system_.warmup,
                     .is_over = now >= system_.duration};
  const std::vector<Shares>& shares = service_.shares();
  service_.begin(now);
  FluidSample sample;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].send(bin, shares[i].throttled, sample);
    sent_[i] = groups_[i].sent();
  }
  service_.serve(sent_);
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].settle(bin, shares[i], sample);
  for (const GroupFlows& g : groups_) sample.retrying += g.retrying();
  sample.backlog = service_.backlog();
  return sample;
}

}  // namespace retrysim::prediction
