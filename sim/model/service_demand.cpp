// SPDX-License-Identifier: MIT
#include "model/service_demand.hpp"

#include "model/slowdown.hpp"

#include <cmath>

namespace retrysim::model {

double ServiceDemand::of_other(const Attempt& a, std::int64_t others) const {
  if (a.is(Attempt::kRejection)) return static_cast<double>(spec_->rejection.cost.count());
  if (a.is(Attempt::kReplay) && reads_ != nullptr && reads_->is_read(a)) return of_read(a);
  if (a.is(Attempt::kReplay)) return static_cast<double>(spec_->idempotency.replay_cost.count());
  const double own = drawn(a, Purpose::kSecondServiceTime);
  return varies_ ? varied(own, a, others) : own;
}

double ServiceDemand::varied(double own_ns, const Attempt& a, std::int64_t others) const {
  const RandomKey& key = streams_->of_group(a.group);
  if (!operations_.empty()) own_ns = std::round(own_ns * operations_.work(key, a.entity, a.group));
  if (!spec_->slowdown.enabled()) return own_ns;
  return std::round(own_ns * slowdown_factor(*spec_, others));
}

}  // namespace retrysim::model
