// Checks at the end of every run with several instances of a service: what was recorded of the
// instances, one by one, against what was recorded of their service.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "model/books.hpp"
#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {
namespace {

/// Whether time integrals differ by more than the rounding of their sums.
bool differ(double a, double b, double rounding) {
  return std::abs(a - b) > 1 + rounding * std::max(a, b);
}

}  // namespace

std::string_view Books::wrong_instances(const RunResult& result, ServiceId service) const {
  const ServiceResult& s = result.services[service];
  if (s.instances.empty()) return "";
  // Each event may add to an integral once.
  const double rounding = 1e-9 + static_cast<double>(result.events) * 0x1p-51;
  InstanceResult sum;
  const double window_ns = static_cast<double>((result.window_end - result.window_start).count());
  for (const InstanceResult& one : s.instances) {
    sum.attempts += one.attempts;
    sum.busy_ns += one.busy_ns;
    sum.in_system_ns += one.in_system_ns;
    if (one.out_ns > window_ns) return "an instance was out of rotation for longer than the window";
    if (one.queue_ns > static_cast<double>(one.queue_max) * window_ns * (1 + rounding) + 1) {
      return "the mean of an instance's queue is above its maximum";
    }
  }
  // Of groups that call other services, too, it is not known how much went here.
  std::uint64_t sent = 0;
  std::int64_t in_flight = 0;
  bool all_known = true;
  for (const ClientGroup& g : state_.groups) {
    if (share_of_calls(*g.spec, service) == 0) continue;
    all_known &= !g.calls_several;
    sent += result.clients[g.index].window.attempts;
    in_flight += state_.recorder.client(g.index).levels().in_flight;
  }
  if (all_known && sum.attempts != sent)
    return "instances and clients disagree on the attempts that were sent";
  if (all_known && parts_.balancer.under_way(service) != static_cast<std::uint64_t>(in_flight)) {
    return "balancer and clients disagree on the attempts under way";
  }
  if (differ(sum.busy_ns, s.window.busy_ns, rounding)) return "busy time of the instances";
  if (differ(sum.in_system_ns, s.window.in_system_ns, rounding)) {
    return "attempts at the instances";
  }
  return "";
}

}  // namespace retrysim::model
