// The results of a replication as bytes: all results, for the processes of one job; a replication
// over time; and the part that an experiment keeps of a replication. The bytes are few, exact, and
// the same on every machine.
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

/// Reads the bytes of a whole replication. Throws std::runtime_error if `bytes` do not come from
/// `encode`.
RunResult decode_run(std::string_view bytes);

// --- A replication over time ---------------------------------------------------------------------

// Most sums are zeros or small whole numbers, so two bits say how each one is written.

void put_series(std::string& bytes, const stats::RunSeries& series);

/// Takes a series from the front of `bytes`; empty if `put_series` did not write them.
std::optional<stats::RunSeries> take_series(std::string_view& bytes);

/// The part of a replication that an experiment of many points keeps: sent between ranks and stored
/// in a store.
struct UnitResult {
  std::uint64_t seed = 0;
  std::uint64_t events = 0;
  std::uint32_t clients = 0;                  ///< number of client groups, and "all"
  std::vector<std::optional<double>> values;  ///< [client][place], as in MetricValues
  std::uint32_t phases = 0;
  std::vector<std::optional<double>> phase_values;  ///< [client][phase][place], as in PhaseValues
  /// Duration that would have let the replication tell whether it recovers (s; 0 if it does), by
  /// client group and last for all; empty if it tells that of all, or nothing goes wrong.
  std::vector<double> to_judge_s;
  /// The replication over time and the figures for its verdicts (run.hpp), if these are to be kept.
  std::optional<stats::RunSeries> series;
  std::vector<double> verdict_figures;
  /// The limit that the replication went over, if any; there is then nothing else but the text of
  /// the error.
  std::optional<LimitKind> limit;
  std::string message;
};

/// The result of a replication, with a series of at most `most_bins` bins; 0: without a series.
UnitResult measure(const Scenario& scenario, const RunResult& run, std::size_t most_bins = 0);

/// The result of a replication that went over a limit.
UnitResult over_limit(const LimitExceeded& error);

/// The bytes of a result: little-endian, doubles bit by bit, and only values that exist.
std::string encode(const UnitResult& result);
/// Reads the bytes of a result; empty if `encode` did not make them with the same table of metrics.
std::optional<UnitResult> decode(std::string_view bytes);
/// Whether `bytes` are those of a replication that went over a limit.
bool is_over_limit(std::string_view bytes);

/// The values of the replications of one point, in their order. All have the same client groups,
/// and for `combine_phases` the same phases, too.
MetricValues combine(std::span<const UnitResult> replications);
PhaseValues combine_phases(std::span<const UnitResult> replications);

}  // namespace retrysim::execution
