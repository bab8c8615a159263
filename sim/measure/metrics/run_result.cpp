// Adding up results of successive stretches of time, or of client groups over the same stretch.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run_result.hpp>

#include "measure/metrics/result_fields.hpp"

#include <algorithm>
#include <numeric>

namespace retrysim {

std::uint64_t PhaseRequests::requests() const {
  return std::accumulate(outcomes.begin(), outcomes.end(), std::uint64_t{0});
}

void PhaseRequests::merge(const PhaseRequests& o) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) outcomes[i] += o.outcomes[i];
  attempts += o.attempts;
  unsent += o.unsent;
}

void ClientFlow::merge(const ClientFlow& o) { stats::add_fields(*this, o); }

void RequestCounts::merge(const RequestCounts& o) { stats::add_fields(*this, o); }

void JobCounts::merge(const JobCounts& o) { stats::add_fields(*this, o); }
void WaitCounts::merge(const WaitCounts& o) { stats::add_fields(*this, o); }

void ServiceFlow::merge(const ServiceFlow& o) {
  const std::uint64_t most = std::max(queue_max, o.queue_max);
  stats::add_fields(*this, o);
  queue_max = most;
}

}  // namespace retrysim
