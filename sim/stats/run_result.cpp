// Adding up the measurements of stretches of time, or of client groups over the same stretch.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run_result.hpp>

#include <algorithm>

namespace retrysim {

void ClientFlow::merge(const ClientFlow& o) {
  requests += o.requests;
  attempts += o.attempts;
  retries += o.retries;
  successes += o.successes;
  failures += o.failures;
  throttled += o.throttled;
  errors += o.errors;
  timeouts += o.timeouts;
  quota_denied += o.quota_denied;
  arrivals += o.arrivals;
  limiter_waiting_ns += o.limiter_waiting_ns;
  connection_waiting_ns += o.connection_waiting_ns;
  in_backoff_ns += o.in_backoff_ns;
  in_flight_ns += o.in_flight_ns;
}

void RequestCounts::merge(const RequestCounts& o) {
  requests += o.requests;
  failed += o.failed;
  successes += o.successes;
  failures += o.failures;
  failed_attempts += o.failed_attempts;
}

void JobCounts::merge(const JobCounts& o) {
  begun += o.begun;
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] += o.ends[i];
  checks += o.checks;
  detection_delay_m.merge(o.detection_delay_m);
}

void ServiceFlow::merge(const ServiceFlow& o) {
  arrivals += o.arrivals;
  admitted += o.admitted;
  rejected += o.rejected;
  throttled += o.throttled;
  errors += o.errors;
  completions += o.completions;
  wasted += o.wasted;
  queue_ns += o.queue_ns;
  busy_ns += o.busy_ns;
  servers_ns += o.servers_ns;
  in_system_ns += o.in_system_ns;
  in_system_squared_ns += o.in_system_squared_ns;
  all_busy_ns += o.all_busy_ns;
  queue_max = std::max(queue_max, o.queue_max);
}

}  // namespace retrysim
