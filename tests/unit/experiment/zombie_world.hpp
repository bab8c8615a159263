// A small FIFO queue that retries keep down after an outage: 50 services in a timeout of 1 s, three
// attempts at once.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "unit/model/small_world.hpp"

namespace retrysim::test {

inline Scenario zombie_world(Duration outage) {
  Scenario s = small_world();
  s.duration = Duration::seconds(150);
  s.interval = Duration::milliseconds(100);
  s.drain = false;
  s.replications = 6;
  s.recovery.hold = Duration::seconds(10);
  s.recovery.window = Duration::seconds(5);  // 150 requests, with a noise of 8 %
  s.recovery.share = 0.8;
  s.services[0].service_time = Distribution::exponential(0.02);
  s.clients[0].count = 10;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 3;  // of 5 that each could have
  set_timeout(s.clients[0], Duration::seconds(1));
  s.clients[0].retry.backoff.delays = {Distribution::constant(Duration::zero())};
  s.faults.resize(1);
  s.faults[0].start = Time::zero() + Duration::seconds(20);
  s.faults[0].duration = outage;
  s.faults[0].capacity = 0;
  return s;
}

}  // namespace retrysim::test
