// Independent runs, of one scenario or of several, spread over threads or the processes of an MPI
// job. Each draws its own random numbers and results come back in the order of the runs, so who
// does the work changes nothing but the time it takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/executor.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace retrysim {

struct ReplicationOptions {
  int jobs = 1;  ///< threads, at least 1
  /// Does the work instead of `jobs` threads, if given. Of several processes all must make the same
  /// calls with the same scenarios; each gets all results.
  Executor* executor = nullptr;
  bool fingerprint = false;
  std::uint32_t first = 0;  ///< number of the first replication
  /// Events of all runs together; `LimitExceeded` beyond.
  std::uint64_t max_events = ~std::uint64_t{0};
  /// Bytes that all of this may take, what its caller keeps included: `kept_memory`. Fewer threads
  /// than `jobs` work where there is no memory for more; `LimitExceeded` if there is not even
  /// enough for one, before anything is taken (needs.hpp).
  std::uint64_t max_memory = ~std::uint64_t{0};
  std::uint64_t kept_memory = 0;
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: ends with `Interrupted`
  /// Time by the clock that the whole call may take: `LimitExceeded` beyond, within about 100 ms.
  std::optional<Duration> timeout;
  /// Called from time to time with the share done, in [0, 1], by one thread at a time; of several
  /// processes in the executor's owner only.
  std::function<void(double)> progress;
};

/// One run.
struct RunSpec {
  const Scenario* scenario = nullptr;  ///< never null; must outlive the call
  std::uint32_t replication = 0;
  /// No retry is permitted from then on (SimulationOptions::retries_until), all else is the same.
  Time retries_until = Time::max();
};

/// Simulates `runs` (`ReplicationOptions::first` is not looked at). Throws what `simulate` throws,
/// for the first run that fails, and what the executor throws.
std::vector<RunResult> simulate_all(std::span<const RunSpec> runs,
                                    const ReplicationOptions& options = {});

/// Simulates `scenario.replications` replications, from `first` on.
std::vector<RunResult> run_replications(const Scenario& scenario,
                                        const ReplicationOptions& options = {});

}  // namespace retrysim
