// Independent replications of one scenario, spread over threads. Each replication draws its own
// random numbers and results come back in the order of the replications, so the number of threads
// changes nothing but the time it takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/simulation.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace retrysim {

struct ReplicationOptions {
  int jobs = 1;  ///< threads, at least 1
  bool fingerprint = false;
  std::uint32_t first = 0;  ///< number of the first replication
  /// Events of all replications together; `LimitExceeded` beyond.
  std::uint64_t max_events = ~std::uint64_t{0};
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: ends with `Interrupted`
  /// Called from time to time with the share done, in [0, 1], by one thread at a time.
  std::function<void(double)> progress;
};

/// Simulates `scenario.replications` replications, from `first` on. Throws what `simulate` throws,
/// for the first replication that fails.
std::vector<RunResult> run_replications(const Scenario& scenario,
                                        const ReplicationOptions& options = {});

/// A replication with the same random numbers in which no retry is permitted from some time on
/// (SimulationOptions::retries_until).
struct TwinSpec {
  std::uint32_t replication = 0;
  Time retries_until;
};

/// The twins, in the order of `twins`.
std::vector<RunResult> run_twins(const Scenario& scenario, const std::vector<TwinSpec>& twins,
                                 const ReplicationOptions& options = {});

}  // namespace retrysim
