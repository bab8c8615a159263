// SPDX-License-Identifier: MIT
#include "model/service.hpp"

#include "model/trace.hpp"

#include <cassert>
#include <utility>

namespace retrysim::model {

Service::Service(const ServiceSpec& spec, const RandomKey& key, std::uint16_t conflict,
                 const Streams* streams, kernel::LinkedPool<Attempt>* attempts,
                 std::uint64_t* sequence)
    : in_service(spec, streams, attempts, sequence),
      throttle(spec.throttle),
      traits_(spec),
      spec_(&spec),
      streams_(streams),
      queue_(spec, key),
      power_(spec),
      model_(make_service_model(spec, conflict)),
      concurrency_(spec.concurrency) {}

Service::Admission Service::admit_if_concurrency_allows(Attempt& a, Time now) {
  if (!concurrency_.has_room()) return Admission::kOverLimit;
  const Admission admission = admit_if_queue_has_room(a, now);
  if (admission != Admission::kFull) concurrency_.enter(a.id);
  return admission;
}

void Service::turn_away(Attempt& a, Time now) {
  a.set(Attempt::kRejection);
  if (servers().has_room() && queued() == 0) return start(a, now);
  queue_.join(a);
  RETRYSIM_TELL(Step::kQueued, now, a, static_cast<std::int64_t>(queued()));
}

void Service::start(Attempt& a, Time now) {
  time_queued_ += time_between(a.arrived, now);
  in_service.start(a, now);
}

void Service::remove_from_queue(const Attempt& a, Time now) {
  assert(a.stage == Attempt::Stage::kQueued);
  leave_unserved(a, now);
  queue_.leave(a);
  RETRYSIM_TELL(Step::kLeftQueue, now, a);
}

std::vector<std::uint32_t> Service::take_all(Time now) {
  std::vector<std::uint32_t> all = in_service.take_all(now);
  while (Attempt* a = queue_.take()) {
    leave_unserved(*a, now);
    RETRYSIM_TELL(Step::kLeftQueue, now, *a);
    in_service.tokens.close_session(*a);  // a second call may have that of the first
    all.push_back(a->id);
  }
  return all;
}

void Service::forget(bool throttle_too) {
  queue_.forget(spec_->queue.codel);
  concurrency_.reset();
  if (throttle_too) throttle.forget();
}

void Service::impair(Impairment impairment, Time now) {
  power_.set(std::move(impairment));
  traits_.follow(*spec_, power_.impairment());
  in_service.set_power(power_.working_servers(), power_.impairment().speed, now);
}

}  // namespace retrysim::model
