// What an attempt takes of a server: drawn for it, more for some operations, and more the more
// attempts are in service.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/operation_mix.hpp"
#include "model/reconciliation.hpp"
#include "model/request.hpp"
#include "model/streams.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

class ServiceDemand {
 public:
  ServiceDemand(const ServiceSpec& spec, const Streams* streams)
      : spec_(&spec), streams_(streams), varies_(spec.slowdown.enabled()) {}

  /// The operations of the groups that call service `index`, whose requests differ in work.
  void set_operations(std::size_t index, const std::vector<ClientSpec>& clients) {
    operations_ = OperationMix(index, clients);
    varies_ = spec_->slowdown.enabled() || !operations_.empty();
  }

  /// Retries of some clients begin with a read.
  void ask_before_retries(const Reconciliation& reads) { reads_ = &reads; }
  /// What such a read takes of a server of speed 1, in nanoseconds.
  double of_read(const Attempt& a) const {
    return reads_->demand_ns(a, streams_->of_group(a.group));
  }

  /// Draws for an attempt that has to queue what depends on nothing but the attempt: when its turn
  /// comes, everything waits for its service time.
  [[gnu::always_inline]] void draw(Attempt& a) const {
    a.demand_ns = drawn(a, Purpose::kServiceTime);
  }

  /// What the attempt takes of a server of speed 1 if it begins while `others` are in service; in
  /// nanoseconds.
  double of(const Attempt& a, std::int64_t others) const {
    if (a.is(Attempt::kRejection | Attempt::kReplay | Attempt::kSecondCall)) [[unlikely]]
      return of_other(a, others);
    const double own = a.demand_ns >= 0 ? a.demand_ns : drawn(a, Purpose::kServiceTime);
    return varies_ ? varied(own, a, others) : own;
  }

 private:
  [[gnu::always_inline]] double drawn(const Attempt& a, Purpose purpose) const {
    const DrawId id{a.entity, a.number, 0, purpose};
    return static_cast<double>(spec_->service_time.sample(streams_->of_group(a.group), id).count());
  }
  double of_other(const Attempt& a, std::int64_t others) const;
  double varied(double own_ns, const Attempt& a, std::int64_t others) const;

  const ServiceSpec* spec_;
  const Streams* streams_;
  const Reconciliation* reads_ = nullptr;  // null unless there are such reads
  OperationMix operations_;
  bool varies_;
};

}  // namespace retrysim::model
