// SPDX-License-Identifier: MIT
#include "model/service_traits.hpp"

#include "model/concurrency_limit.hpp"

namespace retrysim::model {

ServiceTraits::ServiceTraits(const ServiceSpec& spec) {
  always_succeeds = spec.model == ServiceModelKind::kQueue;
  screens_queue = spec.abandoned == Abandoned::kDropAtDequeue || spec.queue.drop_expired ||
                  spec.queue.discipline == Discipline::kCodel;
  limits_concurrency = !ConcurrencyLimit(spec.concurrency).is_unlimited();
  times_waits = spec.wait_within != Duration::max();
  watches_attempts = limits_concurrency || spec.timeout != Duration::max();
  takes_no_time = spec.service_time.is_constant() &&
                  spec.service_time.constant_value() == Duration::zero() &&
                  has_queue(spec.queue.discipline) && !watches_attempts;
  follow(spec, Impairment());
}

void ServiceTraits::follow(const ServiceSpec& spec, const Impairment& impairment) {
  screens_arrivals = spec.throttle.rate > 0 || !impairment.errors.empty() || times_waits;
  loses_messages = impairment.request_loss > 0 || impairment.response_loss > 0;
  obstructs_way = impairment.request_loss > 0 || impairment.black_hole || impairment.unreachable;
}

}  // namespace retrysim::model
