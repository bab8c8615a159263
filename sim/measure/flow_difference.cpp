// SPDX-License-Identifier: MIT
#include "measure/flow_difference.hpp"

namespace retrysim::stats {
namespace {

/// Beyond 2^53 ns in all, the difference of two sums is a few ns off.
double growth(double before, double after) {
  const double d = after - before;
  return d > after * 1e-14 ? d : 0;
}

}  // namespace

ClientFlow counts_between(const ClientFlow& before, const ClientFlow& after) {
  ClientFlow d;
  d.requests = after.requests - before.requests;
  d.attempts = after.attempts - before.attempts;
  d.retries = after.retries - before.retries;
  d.successes = after.successes - before.successes;
  d.failures = after.failures - before.failures;
  d.throttled = after.throttled - before.throttled;
  d.errors = after.errors - before.errors;
  d.timeouts = after.timeouts - before.timeouts;
  d.quota_denied = after.quota_denied - before.quota_denied;
  d.arrivals = after.arrivals - before.arrivals;
  return d;
}

ServiceFlow flow_between(const ServiceFlow& before, const ServiceFlow& after) {
  ServiceFlow d;
  d.arrivals = after.arrivals - before.arrivals;
  d.admitted = after.admitted - before.admitted;
  d.rejected = after.rejected - before.rejected;
  d.throttled = after.throttled - before.throttled;
  d.errors = after.errors - before.errors;
  d.completions = after.completions - before.completions;
  d.wasted = after.wasted - before.wasted;
  d.queue_ns = growth(before.queue_ns, after.queue_ns);
  d.busy_ns = growth(before.busy_ns, after.busy_ns);
  d.servers_ns = growth(before.servers_ns, after.servers_ns);
  d.in_system_ns = growth(before.in_system_ns, after.in_system_ns);
  d.in_system_squared_ns = growth(before.in_system_squared_ns, after.in_system_squared_ns);
  d.all_busy_ns = growth(before.all_busy_ns, after.all_busy_ns);
  return d;
}

}  // namespace retrysim::stats
