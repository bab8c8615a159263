// Hysteresis: the load of a system is raised step by step and lowered again within one run. A
// system that retries can keep down tips at one load on the way up, and recovers only at a lower
// one on the way down. In between, its behaviour depends on its history.
//
// From a file:
//
//     const LoadKey key = parse_load("client.web.arrivals.total_rate=100:550:50");
//     const LoadResult loaded = load_at("zombie.toml", {}, key);
//     const HysteresisLoop loop = find_hysteresis(loaded.loaded->scenario, key);
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/time.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace retrysim {

class Tables;

/// Loads from the lowest to the highest and back: of n loads the first n steps rise, and n - 1
/// fall.
struct LoadRamp {
  std::vector<double> loads;  ///< rising
  Duration dwell;             ///< at each step

  std::size_t steps() const { return loads.empty() ? 0 : 2 * loads.size() - 1; }
  bool rising(std::size_t step) const { return step < loads.size(); }
  double load(std::size_t step) const {
    return rising(step) ? loads[step] : loads[2 * loads.size() - 2 - step];
  }
  Duration duration() const { return dwell * static_cast<std::int64_t>(steps()); }
};

/// Measurements of the second half of a step; the first half is for settling down.
struct StepMeasurement {
  double offered_load = 0;  ///< requests per second
  double goodput = 0;       ///< per second
  double attempt_rate = 0;  ///< arrivals at services per second
  double offered_work = 0;  ///< rho: work of the requests per capacity of the most loaded service
  bool down = false;        ///< success rate below RecoverySpec::share times that of the first step
};

/// One replication.
struct RampRun {
  std::vector<StepMeasurement> steps;
  /// First load on the way up at which the system is down; empty if it never is.
  std::optional<double> tip_load, tip_work;
  /// Highest load on the way down from which on it stays up; empty if it did not tip, or is down at
  /// the last step.
  std::optional<double> recover_load, recover_work;
  /// Integral over the load of goodput on the way up minus goodput on the way down (1/s^2), and
  /// its share of the integral on the way up.
  double loop_area = 0, loop_share = 0;
};

/// The loads, and the key that takes them.
struct LoadKey {
  std::string path;           ///< "client.web.arrivals.total_rate"
  std::string client;         ///< name of the client group, or "*" for all of them
  std::vector<double> loads;  ///< rising
  std::string unit = "1/s";   ///< of the loads
};

/// Reads "PATH=LO:HI:STEP" (or any list of rising values, as for `parse_variation`), where PATH is
/// the rate of a client group or of all; 2 to 1000 loads above 0. Throws RequestError.
LoadKey parse_load(const std::string& text);

/// Loads `file` with `edits` and the rate at the first load. Mistakes in the load are reported as
/// mistakes of --hysteresis.
LoadResult load_at(const std::filesystem::path& file, const std::vector<std::string>& edits,
                   const LoadKey& key);

struct HysteresisOptions {
  /// Time at each step, of which the second half counts; at least four bins (Scenario::interval).
  /// Empty: 20 rolling windows of attempt timeout + longest backoff.
  std::optional<Duration> dwell = {};
  ReplicationOptions run = {};  ///< how to run; `fingerprint` and `first` as in `run_replications`
};

/// Plans the ramp. `steady` is the scenario at the first load of `key`. Throws RequestError if the
/// dwell is too short, the whole longer than kLongestDuration, or a group has a rate profile of its
/// own.
LoadRamp plan_ramp(const Scenario& steady, const LoadKey& key,
                   std::optional<Duration> dwell = std::nullopt);

struct HysteresisLoop {
  LoadRamp ramp;
  std::vector<RampRun> runs;       ///< by replication
  std::vector<std::string> notes;  ///< for the reader: limitations of the answer
};

/// Simulates the replications of `steady` (which is at the first load of `key`) along the ramp. A
/// system is down at a step if its success rate there is below RecoverySpec::share times that of
/// the first step. Throws what `plan_ramp` and `run_replications` throw.
HysteresisLoop find_hysteresis(const Scenario& steady, const LoadKey& key,
                               const HysteresisOptions& options = {});

/// hysteresis: a row for each step. `scenario` gives its name.
Tables tables(const Scenario& scenario, const LoadKey& key, const HysteresisLoop& loop);

}  // namespace retrysim
