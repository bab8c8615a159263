// SPDX-License-Identifier: MIT
#include "model/service/instance.hpp"

#include "kernel/stop.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"
#include "model/service/admission.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace retrysim::model {

ServiceTraits::ServiceTraits(const ServiceSpec& spec) {
  always_succeeds = spec.model == ServiceModelKind::kQueue;
  screens_queue =
      spec.abandoned == Abandoned::kDropAtDequeue || spec.queue.drop_expired || spec.queue.sheds();
  limits_concurrency = spec.concurrency.in_use();
  evicts = spec.queue.evicts();
  times_waits = spec.wait_within != Duration::max();
  watches_attempts = limits_concurrency || spec.timeout != Duration::max();
  follow(spec, Impairment());
}

void ServiceTraits::follow(const ServiceSpec& spec, const Impairment& impairment) {
  screens_arrivals = spec.throttle.rate > 0 || !impairment.errors.empty() || times_waits;
  takes_no_time =
      spec.service_time.is_constant() && spec.service_time.constant_value() == Duration::zero() &&
      has_queue(spec.queue.discipline) && !watches_attempts && impairment.late_errors.empty();
  loses_messages = impairment.request_loss > 0 || impairment.response_loss > 0;
  watches_answers = loses_messages || logs_answers;
  obstructs_way = impairment.request_loss > 0 || impairment.black_hole || impairment.unreachable;
}

void AttemptsInService::start(Attempt& a, Time now) {
  a.stage = Attempt::Stage::kInService;
  a.started = now;
  if (a.is(Attempt::kMutating) && !effects_->may_start(a, now)) {
    effects_->count_wait(a);
    RETRYSIM_TELL(Step::kHolding, now, a);
    return hold_server(a);
  }
  work_on(a, now);
}

void AttemptsInService::work_on(Attempt& a, Time now) {
  a.work.left_ns = demand.of(a, servers_.in_service());
  if (late_errors_ != nullptr) meet_late_error(a);
  RETRYSIM_TELL(Step::kWorking, now, a, static_cast<std::int64_t>(a.work.left_ns),
                servers_.attempts());
  servers_.start(a, now);
}

// Whether the server will run into an error is known when it begins: the work ends there.
void AttemptsInService::meet_late_error(Attempt& a) const {
  if (a.is(Attempt::kRejection) || (a.is(Attempt::kReplay) && !is_read(a))) return;
  a.answer = 0;
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kLateError});
  if (a.is(Attempt::kSecondMessage)) draws.next();  // decided what the read before came to
  const auto met =
      std::ranges::upper_bound(*late_errors_, draws.uniform(), {}, &LateError::cumulative);
  if (met == late_errors_->end()) return;
  a.answer = met->answer;
  a.work.left_ns = std::round(a.work.left_ns * met->share);
}

// The attempt waits for another one with its token, but keeps its server.
void AttemptsInService::hold_server(Attempt& a) {
  a.stage = Attempt::Stage::kHoldingServer;
  servers_.take();
}

void AttemptsInService::wake(Attempt& a, Time now) {
  servers_.let_go();
  a.stage = Attempt::Stage::kInService;
  if (!effects_->may_start(a, now)) {
    RETRYSIM_TELL(Step::kHolding, now, a);
    return hold_server(a);
  }
  work_on(a, now);
}

Attempt& AttemptsInService::complete(Time now) {
  Attempt& a = (*attempts_)[AttemptId(servers_.complete(now))];
  a.finished = now;
  time_spent_.add(time_between(a.started, now));
  if (!a.is(Attempt::kRejection | Attempt::kReplay)) a.set(Attempt::kExecuted);
  a.stage = Attempt::Stage::kOnTheWire;
  RETRYSIM_TELL(Step::kServed, now, a, a.is(Attempt::kExecuted));
  return a;
}

void AttemptsInService::hold(Time now) {
  Attempt& a = (*attempts_)[AttemptId(servers_.hold(now))];
  a.stage = Attempt::Stage::kHoldingServer;
  RETRYSIM_TELL(Step::kCalling, now, a);
}

void AttemptsInService::release(Attempt& a, Time now) {
  servers_.let_go();
  a.finished = now;
  time_spent_.add(time_between(a.started, now));
  a.set(Attempt::kExecuted);
  a.stage = Attempt::Stage::kOnTheWire;
  RETRYSIM_TELL(Step::kCalled, now, a, a.is(Attempt::kDegraded));
}

void AttemptsInService::abort(Attempt& a, Time now) {
  RETRYSIM_TELL(Step::kAborted, now, a);
  if (a.is(Attempt::kHasSession)) effects_->drop_session(a);
  time_spent_.add(time_between(a.started, now));
  if (a.stage == Attempt::Stage::kHoldingServer) return servers_.let_go();
  assert(a.stage == Attempt::Stage::kInService);
  servers_.abort(a.id, now);
}

std::vector<std::uint32_t> AttemptsInService::take_all(Time now) {
  std::vector<std::uint32_t> all = servers_.take_all(now);
  StopCounter<> stop;
  for (const std::uint32_t id : all) {
    stop.count();
    Attempt& a = (*attempts_)[AttemptId(id)];
    RETRYSIM_TELL(Step::kAborted, now, a);
    time_spent_.add(time_between(a.started, now));
    if (a.is(Attempt::kHasSession)) effects_->drop_session(a);
  }
  return all;
}

Duration AttemptsInService::time_of(const Attempt& a, double speed) const {
  const double work_ns = is_read(a) ? demand.of_read(a) : demand.of(a, servers_.in_service());
  if (work_ns == 0) return Duration::zero();
  return speed > 0 ? Duration::from_nanoseconds(work_ns / speed) : Duration::max();
}

Instance::Instance(const ServiceSpec& spec, const RandomKey& key, std::uint16_t conflict,
                   const Streams* streams, AttemptPool* attempts, std::uint64_t* sequence,
                   Effects* effects)
    : in_service(spec, streams, attempts, sequence, effects),
      throttle(spec.throttle),
      effects_(effects),
      traits_(spec),
      spec_(&spec),
      streams_(streams),
      queue_(spec, key, &attempts->ranks),
      power_(spec),
      model_(make_service_model(spec, conflict)),
      concurrency_(spec.concurrency, &attempts->present_at_entry, key, spec.servers),
      partitions_(spec.concurrency.partitions) {}

Instance::Admission Instance::admit_if_concurrency_allows(Attempt& a, Time now) {
  const std::int64_t limit = concurrency_.limit(now), present = concurrency_.present();
  const bool is_let_in =
      partitions_.empty() ? present < limit : partitions_.let_in(a.priority, present, limit);
  if (concurrency_.is_adaptive()) place.recorder->met_limit(limit, !is_let_in);
  if (!is_let_in) {
    concurrency_.refused(now);
    return Admission::kOverLimit;
  }
  return enter(a, now);
}

// The limit on concurrency has let it in.
Instance::Admission Instance::enter(Attempt& a, Time now) {
  const Admission admission = admit_if_queue_has_room(a, now);
  if (admission == Admission::kFull) return admission;
  partitions_.enter(a.priority);
  concurrency_.enter(a.id, now);
  return admission;
}

void Instance::turn_away(Attempt& a, Time now) {
  a.set(Attempt::kRejection);
  if (servers().has_room() && queued() == 0) return start(a, now);
  queue_.join(a);
  RETRYSIM_TELL(Step::kQueued, now, a, static_cast<std::int64_t>(queued()));
}

void Instance::start(Attempt& a, Time now) {
  time_queued_.add(time_between(a.arrived, now));
  in_service.start(a, now);
}

void Instance::remove_from_queue(const Attempt& a, Time now) {
  assert(a.stage == Attempt::Stage::kQueued);
  count_wait_of_unserved(a, now);
  queue_.leave(a);
  RETRYSIM_TELL(Step::kLeftQueue, now, a);
}

std::vector<std::uint32_t> Instance::take_all(Time now) {
  std::vector<std::uint32_t> all = in_service.take_all(now);
  StopCounter<> stop;
  while (Attempt* a = queue_.take(now)) {
    stop.count();
    count_wait_of_unserved(*a, now);
    RETRYSIM_TELL(Step::kLeftQueue, now, *a);
    // A second call may have the session of the first.
    if (a->is(Attempt::kHasSession)) effects_->drop_session(*a);
    all.push_back(a->id);
  }
  return all;
}

void Instance::forget(bool throttle_too, Time now) {
  queue_.forget(spec_->queue.codel);
  concurrency_.reset(now);
  if (throttle_too) throttle.forget();
}

void Instance::branch(const RandomKey& key, Time now) {
  queue_.branch(key);
  queue_.for_each([this](const Attempt& a) { in_service.draw_demand(a.id); });
  in_service.branch(now);
}

void Instance::impair(Impairment impairment, Time now) {
  power_.set(std::move(impairment));
  traits_.follow(*spec_, power_.impairment());
  in_service.set_power(power_.working_servers(), power_.impairment().speed, now);
  if (traits_.limits_concurrency) concurrency_.set_working(power_.working_servers(), now);
  const std::vector<LateError>& late = power_.impairment().late_errors;
  in_service.set_late_errors(late.empty() ? nullptr : &late);
}

}  // namespace retrysim::model
