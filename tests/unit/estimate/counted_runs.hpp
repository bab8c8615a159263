// Runs of which only the requests and successes of their client groups are known.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retrysim::test {

/// One service and these client groups.
inline Scenario scenario_of_groups(const std::vector<std::string>& names) {
  Scenario s;
  s.services.resize(1);
  for (const std::string& name : names) s.clients.emplace_back().name = name;
  return s;
}

/// A run of ten seconds in which each of `groups` submits `requests` and has `successes`.
inline RunResult counted_run(std::size_t groups, std::uint64_t requests, std::uint64_t successes) {
  RunResult run;
  run.window_end = Time::zero() + Duration::seconds(10);
  run.interval = Duration::seconds(1);
  run.clients.resize(groups);
  run.services.resize(1);
  for (ClientResult& c : run.clients) {
    c.requests = requests;
    c.outcomes[static_cast<std::size_t>(Outcome::kSuccess)] = successes;
  }
  return run;
}

}  // namespace retrysim::test
