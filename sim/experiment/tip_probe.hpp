// Replications of a search: those at one size of a trigger, each with its twin, the log of those
// that are finished, and the scenario of a load ramp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/tip.hpp>

#include "execution/archive.hpp"
#include "execution/journal.hpp"
#include "measure/analyse/recovery.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace retrysim::experiment {

/// The result that a search keeps of one replication at one size.
struct ProbeRun {
  TippingResponse response = TippingResponse::kUnknown;
  bool twin_recovered = false;  ///< in time; of a replication that tips
  bool metastable = false;
  double duration_needed_s = 0;  ///< that would have let the run be judged; 0 if it was
  std::uint64_t events = 0, twin_events = 0;

  template <execution::Either<ProbeRun> Run>
  friend void archive(auto& visit, Run& run) {
    visit(run.response, run.twin_recovered, run.metastable, run.duration_needed_s, run.events,
          run.twin_events);
  }
};

/// Which replication: number of the case, size of the trigger, number of the replication.
using ProbeKey = std::tuple<std::size_t, double, std::uint32_t>;

/// The replications that are done, in memory and, if there is one, in a journal. Of the owner only.
class ProbeLog {
 public:
  ProbeLog() = default;
  /// Throws what `Journal` throws, and JournalError for entries that are not valid.
  ProbeLog(const std::filesystem::path& journal, const execution::Identity& identity, bool resume);

  const ProbeRun* find(const ProbeKey& key) const;
  void add(const ProbeKey& key, const ProbeRun& run);
  /// Makes sure, at most every few seconds, that finished work survives a crash of the machine.
  void tick();
  void sync();
  void remove();

  std::size_t kept() const { return journal_ ? runs_.size() : 0; }
  std::size_t found() const { return found_; }
  std::uint64_t dropped_bytes() const { return journal_ ? journal_->dropped_bytes() : 0; }

 private:
  std::optional<execution::Journal> journal_;
  std::map<ProbeKey, ProbeRun> runs_;
  std::size_t found_ = 0;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();
};

/// All replications of `scenario`, which is that of case `number` at `value`: those that the log
/// does not have are simulated. With several processes all call it, and each gets all of them.
/// Throws what `simulate_all` throws.
std::vector<ProbeRun> probe(std::size_t number, double value, const Scenario& scenario,
                            const ReplicationOptions& run, Executor& executor, ProbeLog& log);

// --- Load ramps ----------------------------------------------------------------------------------

/// `scenario` with the rates of the client groups `clients` following `ramp`; their rates now are
/// those of its first load. No warm-up, drain, faults or surges: only the load changes. The groups
/// must have a rate and no profile.
Scenario with_load_ramp(Scenario scenario, const std::vector<std::size_t>& clients,
                        const LoadRamp& ramp);

}  // namespace retrysim::experiment
