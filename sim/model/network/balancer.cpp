// SPDX-License-Identifier: MIT
#include "model/network/balancer.hpp"

#include "model/run/request.hpp"
#include "model/run/state.hpp"

#include <algorithm>
#include <cassert>
#include <string>

namespace retrysim::model {

void Balancer::prepare() {
  const Instances& instances = state_.instances;
  if (!instances.several()) return;
  all_.resize(instances.size());
  hosts_.resize(instances.services());
  for (const ServiceId i : Ids<ServiceId>(hosts_.size())) rebuild_rotation(i);
}

void Balancer::rebuild_rotation(ServiceId service) {
  std::vector<InstanceId>& rotation = hosts_[service].in_rotation;
  rotation.clear();
  for (const InstanceId i : state_.instances.of(service)) {
    if (all_[i].in_rotation) rotation.push_back(i);
  }
  if (!rotation.empty()) return;
  for (const InstanceId i : state_.instances.of(service)) rotation.push_back(i);
}

void Balancer::set_in_rotation(InstanceId instance, bool in) {
  all_[instance].in_rotation = in;
  state_.instance_log->out_of_rotation(instance, !in, state_.now);
  rebuild_rotation(state_.instances.service_of(instance));
}

InstanceId Balancer::choose(const Attempt& a) {
  Hosts& hosts = hosts_[a.at->place.service];
  InstanceId chosen = hosts.in_rotation.front();
  if (hosts.in_rotation.size() > 1) {
    switch (state_.scenario.services[a.at->place.service].instances.balancing) {
      case Balancing::kRoundRobin:
        chosen = next_by_turns(hosts);
        break;
      case Balancing::kRandom: {
        const auto n = static_cast<std::uint32_t>(hosts.in_rotation.size());
        chosen = hosts.in_rotation[draws_for(a).below(n)];
        break;
      }
      case Balancing::kLeastConnections:
        chosen = least_busy(hosts, a);
        break;
      case Balancing::kTwoChoices:
        chosen = better_of_two(hosts, a);
        break;
    }
  }
  hosts.last = chosen;
  ++all_[chosen].under_way;
  state_.instance_log->sent(chosen, state_.now);
  return chosen;
}

Draws Balancer::draws_for(const Attempt& a) const {
  return {*a.clients->key, {a.entity, a.number, 0, Purpose::kBalancing}};
}

// The one after the last, whichever have left or joined the rotation since.
InstanceId Balancer::next_by_turns(Hosts& hosts) const {
  const std::vector<InstanceId>& rotation = hosts.in_rotation;
  if (!hosts.last.exists()) return rotation.front();
  const auto next = std::upper_bound(
      rotation.begin(), rotation.end(), hosts.last,
      [](InstanceId x, InstanceId y) { return std::uint16_t{x} < std::uint16_t{y}; });
  return next == rotation.end() ? rotation.front() : *next;
}

InstanceId Balancer::least_busy(const Hosts& hosts, const Attempt& a) const {
  std::uint32_t least = all_[hosts.in_rotation.front()].under_way, equal = 0;
  for (const InstanceId i : hosts.in_rotation) {
    const std::uint32_t here = all_[i].under_way;
    if (here > least) continue;
    equal = here < least ? 1 : equal + 1;
    least = here;
  }
  std::uint32_t skipped = equal > 1 ? draws_for(a).below(equal) : 0;
  for (const InstanceId i : hosts.in_rotation) {
    if (all_[i].under_way == least && skipped-- == 0) return i;
  }
  assert(false);
  return hosts.in_rotation.front();
}

InstanceId Balancer::better_of_two(const Hosts& hosts, const Attempt& a) const {
  const auto n = static_cast<std::uint32_t>(hosts.in_rotation.size());
  Draws draws = draws_for(a);
  const std::uint32_t first = draws.below(n);
  std::uint32_t second = draws.below(n - 1);
  if (second >= first) ++second;
  const InstanceId x = hosts.in_rotation[first], y = hosts.in_rotation[second];
  return all_[y].under_way < all_[x].under_way ? y : x;
}

void Balancer::ended(const Attempt& a, AttemptResult result) {
  const InstanceId instance = a.at->place.instance;
  assert(all_[instance].under_way > 0);
  --all_[instance].under_way;
  state_.instance_log->ended(instance, result, state_.now);
}

std::uint64_t Balancer::under_way(ServiceId service) const {
  std::uint64_t sum = 0;
  for (const InstanceId i : state_.instances.of(service)) sum += all_[i].under_way;
  return sum;
}

void Balancer::close(RunResult& result) {
  if (!state_.instance_log) return;
  for (const ServiceId service : Ids<ServiceId>(hosts_.size())) {
    const Ids<InstanceId> ids = state_.instances.of(service);
    if (ids.size() == 1) continue;
    for (const InstanceId i : ids)
      result.services[service].instances.push_back(state_.instance_log->close(i));
  }
}

void HealthChecks::add_sources() {
  const std::vector<ServiceSpec>& services = state_.scenario.services;
  const bool some = std::ranges::any_of(services, [](const ServiceSpec& s) {
    return s.instances.count > 1 && s.instances.health_check.enabled();
  });
  if (!some) return;
  source_ = state_.add_source(EventKind::kHealthCheck);
  patients_.resize(state_.instances.size());
  ranks_.resize(services.size());
  std::size_t rank = 0;
  for (const std::size_t i : name_order(services)) ranks_[ServiceId(i)] = rank++;
}

void HealthChecks::start() {
  if (patients_.empty()) return;
  for (const std::size_t at : name_order(state_.scenario.services)) {
    const ServiceSpec& spec = state_.scenario.services[at];
    if (spec.instances.count == 1 || !spec.instances.health_check.enabled()) continue;
    const double pause_ns =
        static_cast<double>(spec.instances.health_check.interval.count()) / spec.instances.count;
    for (const InstanceId i : state_.instances.of(ServiceId(at))) {
      const double turn = state_.instances.number_of(i) + 1.0;
      schedule(i, Step::kBegin, Duration::from_nanoseconds(pause_ns * turn));
    }
  }
}

void HealthChecks::schedule(InstanceId instance, Step step, Duration after) {
  timers_.push({state_.key_in(after), instance, static_cast<std::uint32_t>(step)});
  state_.queue.offer(source_, timers_.head());
}

void HealthChecks::due() {
  const kernel::TimerEntry timer = timers_.pop();
  state_.queue.set(source_, timers_.head());
  const InstanceId instance(timer.entity);
  const std::uint64_t rank = ranks_[state_.instances.service_of(instance)];
  state_.note_event(EventKind::kHealthCheck, rank << 32 | state_.instances.number_of(instance));
  const auto step = static_cast<Step>(timer.kind);
  if (step == Step::kBegin) return begin(instance);
  book(instance, step == Step::kPassed);
}

void HealthChecks::begin(InstanceId instance) {
  const HealthCheckSpec& spec = state_.instances[instance].spec().instances.health_check;
  const Outcome outcome = examine(instance, ++patients_[instance].checks);
  schedule(instance, outcome.step, outcome.after);
  schedule(instance, Step::kBegin, spec.interval);
}

HealthChecks::Outcome HealthChecks::examine(InstanceId instance, std::uint64_t number) const {
  const Instance& s = state_.instances[instance];
  const ServiceSpec& spec = s.spec();
  const Impairment& wrong = s.impairment();
  const Duration timeout = spec.instances.health_check.timeout;
  const Outcome no_answer{Step::kFailed, timeout};
  const RandomKey key = state_.streams.of_instance(state_.instances.service_of(instance),
                                                   state_.instances.number_of(instance));
  Draws draws(key, {number, 0, 0, Purpose::kHealthCheck});
  const bool request_lost = draws.uniform() < wrong.request_loss;
  const bool lost = draws.uniform() < wrong.response_loss || request_lost;
  const double luck = draws.uniform();
  const Distribution& latency = state_.scenario.network.latency;
  const Duration round_trip = latency.sample(draws) + latency.sample(draws) + wrong.latency * 2;
  if (wrong.black_hole || lost) return no_answer;
  const bool refused =
      wrong.unreachable || (!wrong.errors.empty() && luck < wrong.errors.back().first);
  if (refused) return {Step::kFailed, std::min(round_trip, timeout)};
  if (s.power().working_servers() == 0 || wrong.speed == 0) return no_answer;
  const auto work_ns = static_cast<double>(spec.service_time.sample(draws).count());
  Outcome outcome{Step::kPassed, {}};
  double worked = 1;
  const double further_luck = wrong.late_errors.empty() ? 1 : draws.uniform();
  for (const LateError& e : wrong.late_errors) {
    if (further_luck >= e.cumulative) continue;
    outcome.step = Step::kFailed;
    worked = e.share;
    break;
  }
  outcome.after = round_trip + Duration::from_nanoseconds(worked * work_ns / wrong.speed);
  return outcome.after > timeout ? no_answer : outcome;
}

void HealthChecks::book(InstanceId instance, bool passed) {
  const HealthCheckSpec& spec = state_.instances[instance].spec().instances.health_check;
  Patient& patient = patients_[instance];
  patient.passes = passed ? patient.passes + 1 : 0;
  patient.failures = passed ? 0 : patient.failures + 1;
  const bool changes = patient.in_rotation ? patient.failures >= spec.unhealthy_threshold
                                           : patient.passes >= spec.healthy_threshold;
  if (!changes) return;
  patient.in_rotation = !patient.in_rotation;
  balancer_.set_in_rotation(instance, patient.in_rotation);
}

}  // namespace retrysim::model
