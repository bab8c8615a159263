// The success of a run before anything goes wrong.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace retrysim::experiment {

/// The success rate of all clients in the first phase of a run, before anything goes wrong; empty
/// if something goes wrong from the beginning.
inline std::optional<double> success_before(const PhaseValues& phases, std::size_t run) {
  static const std::size_t kOfSuccess = [] {
    const auto& all = phase_metrics();
    const auto at =
        std::ranges::find_if(all, [](const auto& m) { return m->name == "success_rate"; });
    return static_cast<std::size_t>(at - all.begin());
  }();
  if (phases.phases() == 0) return std::nullopt;
  return phases.at(run, phases.clients() - 1, 0, kOfSuccess);
}

}  // namespace retrysim::experiment
