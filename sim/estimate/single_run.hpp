// Intervals where there is one replication only: by batch means, in a steady state.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/summary.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim::stats {

struct SingleRunIntervals {
  /// Why there are none at all, if so: "fault.dip is a disturbance".
  std::optional<std::string> none_because;
  std::size_t rows = 0;        ///< rows of the summary that got an interval
  std::size_t correlated = 0;  ///< rows without, because even 10 batches depended on each other
  std::size_t fewest_batches = 0, most_batches = 0;  ///< behind any of the intervals
};

/// Gives an interval to each row of the summary of a single run whose metric `flow_series` can tell
/// bin by bin, around the row's own value. The bins are those inside the window. Other rows stay
/// without; so do all if the scenario is transient, where the replication is the observation.
SingleRunIntervals add_batch_means(const Scenario& scenario, const RunResult& run,
                                   std::span<SummaryRow> rows);

}  // namespace retrysim::stats
