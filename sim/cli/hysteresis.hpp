// `retrysim tip --hysteresis`: the load goes up and down again within one run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/session.hpp"
#include "cli/simulation_options.hpp"

#include <optional>
#include <string>

namespace retrysim::cli {

struct HysteresisCommand : SimulationSettings {
  std::string scenario;
  std::string load;                  ///< "PATH=LO:HI:STEP"
  std::optional<std::string> dwell;  ///< time at each step; empty: 20 rolling windows
};

/// Simulates, writes and prints; an ExitStatus. Throws UsageError.
int hysteresis(const HysteresisCommand& options, const Session& session);

}  // namespace retrysim::cli
