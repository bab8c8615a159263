// SPDX-License-Identifier: MIT
#include "experiment/load_ramp.hpp"

#include <cstdint>

namespace retrysim::experiment {

Scenario with_load_ramp(Scenario scenario, const std::vector<std::size_t>& clients,
                        const LoadRamp& ramp) {
  RateProfile profile;
  for (std::size_t step = 0; step < ramp.steps(); ++step) {
    profile.times.push_back(Time::zero() + ramp.dwell * static_cast<std::int64_t>(step));
    profile.rates.push_back(ramp.load(step) / ramp.loads.front());
  }
  for (const std::size_t client : clients) scenario.clients[client].arrivals.profile = profile;
  for (ClientSpec& client : scenario.clients) client.arrivals.surges.clear();
  scenario.faults.clear();
  scenario.expectations.clear();
  scenario.warmup = Duration::zero();
  scenario.duration = ramp.duration();
  scenario.drain = false;
  return scenario;
}

}  // namespace retrysim::experiment
