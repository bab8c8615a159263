// Metrics over time, bin by bin, as sums and divisors: events and seconds for a rate, two counts
// for a share, latencies and requests for a mean latency. Bins follow the flow rule: a request
// counts where it ends, which makes no difference to the mean of a steady state.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "measure/analyse/recovery.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retrysim::stats {

/// The value of bin i is numerators[i] / denominators[i], in the unit of the metric; a denominator
/// may be 0, the bin then has no value.
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

// --- A replication in few bins -------------------------------------------------------------------

// A replication as additive sums, bin by bin; the displayed figures (rates, shares, levels,
// latencies) follow from them. They are small enough to be kept for every replication of a sweep.

/// The number of sums in a bin of a client group, and in a bin of a service.
inline constexpr std::size_t kClientSums = 14;
inline constexpr std::size_t kServiceSums = 8;

/// One replication from its start, in bins of equal width.
struct RunSeries {
  Duration width;                             ///< width of a bin
  std::size_t bins = 0;                       ///< up to the last request's end
  bool drained = false;                       ///< nothing happens after the last bin
  std::vector<std::vector<double>> clients;   ///< the groups and all together: [bin][sum]
  std::vector<std::vector<double>> services;  ///< [bin][sum]

  bool operator==(const RunSeries&) const = default;
};

/// The bins of `run`, joined by twos until there are at most `most_bins` (at least 2). Without a
/// drain, a remainder at the end that does not fill a bin is left out.
RunSeries run_series(const Scenario& scenario, const RunResult& run, std::size_t most_bins);

/// Joins bins until they are `width` wide, which must be a power of two times their width.
void widen(RunSeries& series, Duration width);

/// Appends bins in which nothing happens, up to `bins` of them.
void extend(RunSeries& series, std::size_t bins);

/// A quantity over time: its name, and how a bin's value follows from its sums.
struct SeriesColumn {
  std::string_view name;  ///< the metric's name, if there is such a metric
  std::string_view unit;
  MetricRange range = MetricRange::kNotNegative;
  /// Returns empty if the quantity does not exist in the bin, such as the latency of no request.
  std::optional<double> (*value)(std::span<const double> sums, double width_s);
};

std::span<const SeriesColumn> client_columns();
std::span<const SeriesColumn> service_columns();

}  // namespace retrysim::stats
