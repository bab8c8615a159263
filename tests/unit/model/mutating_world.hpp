// One request that changes something, from a client that gives attempts up and sends them again.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "unit/model/small_world.hpp"

namespace retrysim::test {

/// Its client gives an attempt up after `patience` and makes the next one `pause` later, up to
/// three; a server takes `service` and is always free.
inline Scenario mutating_world(Duration service, Duration patience, Duration pause) {
  Scenario s = small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].service_time = Distribution::constant(service);
  s.clients[0].side_effects.mutating = 1;
  s.clients[0].retry.backoff.base = s.clients[0].retry.backoff.throttle_base = pause;
  s.clients[0].retry.backoff.factor = 1;
  set_timeout(s.clients[0], patience);
  return s;
}

}  // namespace retrysim::test
