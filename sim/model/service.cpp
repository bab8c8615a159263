// SPDX-License-Identifier: MIT
#include "model/service.hpp"

#include <cassert>
#include <utility>

namespace retrysim::model {

Service::Service(const ServiceSpec& spec, const RandomKey& key, std::uint16_t conflict,
                 const Streams* streams, kernel::LinkedPool<Attempt>* attempts,
                 std::uint64_t* sequence)
    : demand(spec, streams),
      throttle(spec.throttle),
      spec_(&spec),
      streams_(streams),
      attempts_(attempts),
      servers_(spec, attempts, sequence),
      queue_(spec, key),
      power_(spec),
      model_(make_service_model(spec, conflict)),
      concurrency_(spec.concurrency) {
  traits_.always_succeeds = spec.model == ServiceModelKind::kQueue;
  traits_.screens_queue = spec.abandoned == Abandoned::kDropAtDequeue || spec.queue.drop_expired ||
                          spec.queue.discipline == Discipline::kCodel;
  traits_.limits_concurrency = !concurrency_.is_unlimited();
  traits_.times_waits = spec.wait_within != Duration::max();
  traits_.watches_attempts = traits_.limits_concurrency || spec.timeout != Duration::max();
  traits_.takes_no_time = spec.service_time.is_constant() &&
                          spec.service_time.constant_value() == Duration::zero() &&
                          has_queue(spec.queue.discipline) && !traits_.watches_attempts;
}

Service::Admission Service::admit_if_concurrency_allows(Attempt& a, Time now) {
  if (!concurrency_.has_room()) return Admission::kOverLimit;
  const Admission admission = admit_if_queue_has_room(a, now);
  if (admission != Admission::kFull) concurrency_.enter(a.id);
  return admission;
}

RETRYSIM_IN_LOOP Service::Admission Service::admit_if_queue_has_room(Attempt& a, Time now) {
  if (servers_.has_room() && queued() == 0) {
    if (servers_.is_full(queue_.capacity())) return Admission::kFull;
    start(a, now);
    return Admission::kStarted;
  }
  if (queue_.is_full()) return Admission::kFull;
  demand.draw(a);
  queue_.join(a);
  return Admission::kQueued;
}

void Service::turn_away(Attempt& a, Time now) {
  a.set(Attempt::kRejection);
  if (servers_.has_room() && queued() == 0) return start(a, now);
  queue_.join(a);
}

void Service::start(Attempt& a, Time now) {
  a.stage = Attempt::Stage::kInService;
  a.started = now;
  time_spent_.queued += time_between(a.arrived, now);
  if (a.is(Attempt::kMutating) && !tokens.begin(a, now)) [[unlikely]] {
    tokens.count_wait(a);
    return hold_server(a);
  }
  begin_work(a, now);
}

void Service::begin_work(Attempt& a, Time now) {
  a.work.left_ns = demand.of(a, servers_.in_service());
  servers_.start(a, now);
}

// It waits for another attempt with its token, but keeps its server.
void Service::hold_server(Attempt& a) {
  a.stage = Attempt::Stage::kCalling;
  servers_.take();
}

void Service::wake(Attempt& a, Time now) {
  servers_.let_go();
  a.stage = Attempt::Stage::kInService;
  if (!tokens.begin(a, now)) return hold_server(a);
  begin_work(a, now);
}

Duration Service::service_time_of(const Attempt& a) const {
  const double work_ns =
      tokens.is_read(a) ? demand.of_read(a) : demand.of(a, servers_.in_service());
  if (work_ns == 0) return Duration::zero();
  const double speed = impairment().speed;
  return speed > 0 ? Duration::from_nanoseconds(work_ns / speed) : Duration::max();
}

Attempt& Service::complete(Time now) {
  Attempt& a = (*attempts_)[servers_.complete(now)];
  a.finished = now;
  time_spent_.in_system += time_between(a.arrived, now);
  if (!a.is(Attempt::kRejection | Attempt::kReplay)) [[likely]]
    a.set(Attempt::kExecuted);
  a.stage = Attempt::Stage::kOnTheWire;
  return a;
}

void Service::hold(Time now) { (*attempts_)[servers_.hold(now)].stage = Attempt::Stage::kCalling; }

void Service::release(Attempt& a, Time now) {
  servers_.let_go();
  a.finished = now;
  time_spent_.in_system += time_between(a.arrived, now);
  a.set(Attempt::kExecuted);
  a.stage = Attempt::Stage::kOnTheWire;
}

void Service::remove_from_queue(const Attempt& a, Time now) {
  assert(a.stage == Attempt::Stage::kQueued);
  leave_unserved(a, now);
  queue_.leave(a);
}

void Service::abort(Attempt& a, Time now) {
  tokens.close_session(a);
  time_spent_.in_system += time_between(a.arrived, now);
  if (a.stage == Attempt::Stage::kCalling) return servers_.let_go();
  assert(a.stage == Attempt::Stage::kInService);
  servers_.abort(a.id, now);
}

std::vector<std::uint32_t> Service::take_all(Time now) {
  std::vector<std::uint32_t> all = servers_.take_all(now);
  for (const std::uint32_t id : all) {
    time_spent_.in_system += time_between((*attempts_)[id].arrived, now);
  }
  while (const Attempt* a = queue_.take()) {
    leave_unserved(*a, now);
    all.push_back(a->id);
  }
  for (const std::uint32_t id : all) tokens.close_session((*attempts_)[id]);
  return all;
}

void Service::forget(bool throttle_too) {
  queue_.forget(spec_->queue.codel);
  concurrency_.reset();
  if (throttle_too) throttle.forget();
}

void Service::impair(Impairment impairment, Time now) {
  power_.set(std::move(impairment));
  traits_.screens_arrivals =
      spec_->throttle.rate > 0 || !power_.impairment().errors.empty() || traits_.times_waits;
  const Impairment& present = power_.impairment();
  traits_.loses_messages = present.request_loss > 0 || present.response_loss > 0;
  traits_.obstructs_way = present.request_loss > 0 || present.black_hole || present.unreachable;
  servers_.set_power(power_.working_servers(), power_.impairment().speed, now);
}

}  // namespace retrysim::model
