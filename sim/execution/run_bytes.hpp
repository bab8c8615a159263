// The results of a replication as bytes: all of them, for the processes of one job; a replication
// over time; and what an experiment keeps of one replication. Small, exact, and the same on every
// machine.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "execution/archive.hpp"
#include "measure/analyse/series.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::execution {

// --- A whole replication -------------------------------------------------------------------------

std::string encode(const RunResult& run);

/// Throws std::runtime_error if `bytes` do not come from `encode`.
RunResult decode_run(std::string_view bytes);

// --- A replication over time ---------------------------------------------------------------------

// Most sums are zeros or small whole numbers, so two bits say how each one is written.

void put_series(std::string& bytes, const stats::RunSeries& series);

/// Takes a series from the front of `bytes`; nothing if they are not what `put_series` wrote.
std::optional<stats::RunSeries> take_series(std::string_view& bytes);

/// The part of a replication that an experiment of many points keeps: sent between ranks and stored
/// in a store.
struct UnitResult {
  std::uint64_t seed = 0;
  std::uint64_t events = 0;
  std::uint32_t clients = 0;                  ///< client groups, and all together
  std::vector<std::optional<double>> values;  ///< [client][place], as in MetricValues
  std::uint32_t phases = 0;
  std::vector<std::optional<double>> phase_values;  ///< [client][phase][place], as in PhaseValues
  /// The replication over time, if that is to be kept, and then the figures for its verdicts
  /// (run.hpp).
  std::optional<stats::RunSeries> series;
  std::vector<double> verdict_figures;
  /// If the replication went over a limit: then there is nothing else but the text of the error.
  std::optional<LimitKind> limit;
  std::string message;
};

/// With a series of at most `most_bins` bins; 0: without.
UnitResult measure(const Scenario& scenario, const RunResult& run, std::size_t most_bins = 0);

/// The result of a replication that went over a limit.
UnitResult over_limit(const LimitExceeded& error);

/// Little-endian; doubles bit by bit, and only values that exist.
std::string encode(const UnitResult& result);
/// Nothing if `bytes` are not what `encode` made with the same table of metrics.
std::optional<UnitResult> decode(std::string_view bytes);
/// Whether `bytes` are those of a replication that went over a limit.
bool is_over_limit(std::string_view bytes);

/// The replications of one point, in their order. All have the same client groups.
MetricValues combine(std::span<const UnitResult> replications);
PhaseValues combine_phases(std::span<const UnitResult> replications);

}  // namespace retrysim::execution
