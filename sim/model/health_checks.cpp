// SPDX-License-Identifier: MIT
#include "model/health_checks.hpp"

#include "model/name_order.hpp"
#include "model/parts.hpp"
#include "model/state.hpp"

#include <algorithm>
#include <string>

namespace retrysim::model {

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
  const Service& s = state_.instances[instance];
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
  const Duration time = round_trip + Duration::from_nanoseconds(work_ns / wrong.speed);
  return time > timeout ? no_answer : Outcome{Step::kPassed, time};
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
  parts_.balancer.set_in_rotation(instance, patient.in_rotation);
}

}  // namespace retrysim::model
