// Time series of metrics, bin by bin, as sums and what they are divided by: events and seconds for
// a rate, two counts for a share, latencies and requests for a mean latency. Bins follow the flow
// rule: requests count where they end, not where they were submitted, which makes no difference to
// the mean of a steady state.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "measure/recovery.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace retrysim::stats {

/// The value of bin i is numerators[i] / denominators[i], in the unit of the metric; a bin may have
/// nothing to divide by.
struct FlowSeries {
  std::vector<double> numerators, denominators;
};

/// The series of a metric of client group `client` (empty: all together) over `bins`. Empty if the
/// metric cannot be told bin by bin (quantiles, say) or does not exist there.
std::optional<FlowSeries> flow_series(const MetricInfo& metric, const Scenario& scenario,
                                      const RunResult& run, std::optional<std::size_t> client,
                                      BinRange bins);

/// The number of attempts at one service (index into Scenario::services), waiting and served.
FlowSeries in_system_series(const RunResult& run, std::size_t service, BinRange bins);

}  // namespace retrysim::stats
