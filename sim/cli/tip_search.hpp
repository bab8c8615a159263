// `retrysim tip --trigger`: one search, or one for each combination of varied keys, from which an
// interrupted command goes on.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/tip.hpp>

#include "cli/session.hpp"
#include "cli/simulation_options.hpp"

namespace retrysim::cli {

struct TipCommand : SimulationSettings {
  TipRequest request;
  bool resume = false;
};

/// Searches, writes and prints; an ExitStatus. Throws UsageError.
int search_for_tipping_points(const TipCommand& options, const Session& session);

}  // namespace retrysim::cli
