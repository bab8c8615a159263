// Clients that give up after a second and come back at once; work that is served all the same.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <string>

namespace retrysim::test {

/// Services within a timeout: so many that chance is nothing.
inline constexpr double kServicesPerTimeout = 10'000;

/// A service of one server at this load of first attempts, and whatever `more` adds.
inline std::string zombie_system(double load, int attempts, const std::string& more = "") {
  return fmt::format(
      "name = \"zombie\"\nduration = 60\n"
      "[service.api]\nservice_time = {{ distribution = \"exponential\", mean = {} }}\n"
      "[client.web]\ncount = 100\n"
      "arrivals = {{ process = \"poisson\", total_rate = {} }}\n"
      "attempt_timeout = 1\nretry = {{ mode = \"custom\", max_attempts = {}, delays = [0] }}\n{}",
      1 / kServicesPerTimeout, load * kServicesPerTimeout, attempts, more);
}

}  // namespace retrysim::test
