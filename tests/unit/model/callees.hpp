// Worlds in which services call each other.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "unit/model/small_world.hpp"

#include <string>

namespace retrysim::test {

/// A further service, always free, that `caller` calls without retries; the client group that does.
inline ClientSpec& add_callee(Scenario& s, std::size_t caller, const std::string& name,
                              Duration time) {
  ServiceSpec service;
  service.name = name;
  service.servers = ServiceSpec::kUnlimited;
  service.service_time = Distribution::constant(time);
  s.services.push_back(service);
  ClientSpec call;
  call.name = s.services[caller].name + "." + name;
  call.service = s.services.size() - 1;
  call.retry.max_attempts = 1;
  add_call(s, caller, call);
  return s.clients.back();
}

}  // namespace retrysim::test
