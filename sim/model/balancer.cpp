// SPDX-License-Identifier: MIT
#include "model/balancer.hpp"

#include "model/state.hpp"

#include <algorithm>
#include <cassert>

namespace retrysim::model {

void Balancer::prepare() {
  const Instances& instances = state_.instances;
  if (!instances.several()) return;
  log_.emplace(state_.scenario, instances.size());
  all_.resize(instances.size());
  groups_.resize(instances.services());
  for (const ServiceId i : Ids<ServiceId>(groups_.size())) rebuild_rotation(i);
}

void Balancer::rebuild_rotation(ServiceId service) {
  std::vector<InstanceId>& rotation = groups_[service].in_rotation;
  rotation.clear();
  for (const InstanceId i : state_.instances.of(service)) {
    if (all_[i].in_rotation) rotation.push_back(i);
  }
  if (!rotation.empty()) return;
  for (const InstanceId i : state_.instances.of(service)) rotation.push_back(i);
}

void Balancer::set_in_rotation(InstanceId instance, bool in) {
  all_[instance].in_rotation = in;
  log_->out_of_rotation(instance, !in, state_.now);
  rebuild_rotation(state_.instances.service_of(instance));
}

InstanceId Balancer::choose(const Attempt& a) {
  Group& group = groups_[a.at->place.service];
  InstanceId chosen = group.in_rotation.front();
  if (group.in_rotation.size() > 1) {
    switch (state_.scenario.services[a.at->place.service].instances.balancing) {
      case Balancing::kRoundRobin:
        chosen = next_by_turns(group);
        break;
      case Balancing::kRandom: {
        const auto n = static_cast<std::uint32_t>(group.in_rotation.size());
        chosen = group.in_rotation[draws_for(a).below(n)];
        break;
      }
      case Balancing::kLeastConnections:
        chosen = least_busy(group, a);
        break;
      case Balancing::kTwoChoices:
        chosen = better_of_two(group, a);
        break;
    }
  }
  group.last = chosen;
  ++all_[chosen].under_way;
  log_->sent(chosen, state_.now);
  return chosen;
}

Draws Balancer::draws_for(const Attempt& a) const {
  return {*a.clients->key, {a.entity, a.number, 0, Purpose::kBalancing}};
}

// The one after the last, whichever have left or joined the rotation since.
InstanceId Balancer::next_by_turns(Group& group) const {
  const std::vector<InstanceId>& rotation = group.in_rotation;
  if (!group.last.exists()) return rotation.front();
  const auto next = std::upper_bound(
      rotation.begin(), rotation.end(), group.last,
      [](InstanceId x, InstanceId y) { return std::uint16_t{x} < std::uint16_t{y}; });
  return next == rotation.end() ? rotation.front() : *next;
}

InstanceId Balancer::least_busy(const Group& group, const Attempt& a) const {
  std::uint32_t least = all_[group.in_rotation.front()].under_way, equal = 0;
  for (const InstanceId i : group.in_rotation) {
    const std::uint32_t here = all_[i].under_way;
    if (here > least) continue;
    equal = here < least ? 1 : equal + 1;
    least = here;
  }
  std::uint32_t skipped = equal > 1 ? draws_for(a).below(equal) : 0;
  for (const InstanceId i : group.in_rotation) {
    if (all_[i].under_way == least && skipped-- == 0) return i;
  }
  assert(false);
  return group.in_rotation.front();
}

InstanceId Balancer::better_of_two(const Group& group, const Attempt& a) const {
  const auto n = static_cast<std::uint32_t>(group.in_rotation.size());
  Draws draws = draws_for(a);
  const std::uint32_t first = draws.below(n);
  std::uint32_t second = draws.below(n - 1);
  if (second >= first) ++second;
  const InstanceId x = group.in_rotation[first], y = group.in_rotation[second];
  return all_[y].under_way < all_[x].under_way ? y : x;
}

void Balancer::ended(const Attempt& a, AttemptResult result) {
  const InstanceId instance = a.at->place.instance;
  assert(all_[instance].under_way > 0);
  --all_[instance].under_way;
  log_->ended(instance, result, state_.now);
}

void Balancer::levels_changed(const Service& s) {
  const InstanceId instance = s.place.instance;
  const ServiceId service = s.place.service;
  const stats::StationLevels levels{s.servers().busy(), static_cast<std::int64_t>(s.in_system()),
                                    static_cast<std::int64_t>(s.queued()),
                                    s.power().working_servers()};
  stats::StationLevels& known = all_[instance].levels;
  stats::StationLevels& sum = groups_[service].levels;
  sum.busy += levels.busy - known.busy;
  sum.in_system += levels.in_system - known.in_system;
  sum.queued += levels.queued - known.queued;
  // "Unlimited" is the largest number there is, and stays that.
  const bool unlimited = state_.scenario.services[service].servers == ServiceSpec::kUnlimited;
  sum.working = unlimited ? levels.working : sum.working + levels.working - known.working;
  known = levels;
  log_->levels(instance, levels, state_.now);
  stats::ServiceRecorder& recorder = *s.place.recorder;
  recorder.levels({.busy = sum.busy,
                   .in_system = static_cast<std::uint64_t>(sum.in_system),
                   .queued = static_cast<std::uint64_t>(sum.queued),
                   .working = sum.working,
                   .now = state_.now});
  if (!s.servers().waste_is_a_level()) return;
  all_[instance].wasting_servers = s.servers().wasting_servers();
  double wasting = 0;  // added up anew: differences of doubles would leave a rest
  for (const InstanceId i : state_.instances.of(service)) wasting += all_[i].wasting_servers;
  recorder.wasting_servers(wasting, state_.now);
}

std::uint64_t Balancer::under_way(ServiceId service) const {
  std::uint64_t sum = 0;
  for (const InstanceId i : state_.instances.of(service)) sum += all_[i].under_way;
  return sum;
}

void Balancer::close(RunResult& result) {
  if (!log_) return;
  for (const ServiceId service : Ids<ServiceId>(groups_.size())) {
    const Ids<InstanceId> ids = state_.instances.of(service);
    if (ids.size() == 1) continue;
    for (const InstanceId i : ids) result.services[service].instances.push_back(log_->close(i));
  }
}

}  // namespace retrysim::model
