// A command at work: alone, or as one of the ranks of an MPI job, until it is done or interrupted.
// All ranks take the same steps; only the first one says something and writes files.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/executor.hpp>
#include <retrysim/experiment.hpp>
#include <retrysim/replications.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario_file.hpp>

#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "cli/simulation_options.hpp"
#include "report/progress_bar.hpp"
#include "report/result_folder.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

class Session {
 public:
  Session(const SimulationSettings& settings, const Interruption& interruption, Executor& executor,
          std::uint64_t max_memory)
      : settings_(settings),
        interruption_(interruption),
        executor_(executor),
        max_memory_(max_memory) {}

  const Interruption& interruption() const { return interruption_; }
  Executor& executor() const { return executor_; }
  /// Replications that this process computes at once.
  int jobs() const { return executor_.is_alone() ? settings_.jobs : 1; }
  /// Bytes that this process may take; the same in all ranks.
  std::uint64_t max_memory() const { return max_memory_; }
  /// Whether this process is the one that prints and writes.
  bool leads() const { return executor_.is_owner(); }

  /// Makes sure that all ranks have read the same: scenario files and CSV inputs. Throws what
  /// `Executor::agree` throws.
  void agree_on(const LoadedScenario& loaded) const;

  /// To standard error, if this process leads.
  void print_errors(const std::vector<Diagnostic>& errors) const;
  void print_notes(const LoadedScenario& loaded) const;
  void print_note(std::string_view note) const;

  /// Where the results of a scenario go: see `result_path`. Null if this process does not lead.
  /// Throws OutputError, also if another result is where --out says.
  std::unique_ptr<report::ResultFolder> result_folder(const report::ResultIdentity& identity) const;

  /// Whether this process leads and the user wants to see how far it is.
  bool shows_progress() const { return settings_.progress && leads(); }
  /// A bar for `name`, if progress is shown.
  report::ProgressBar progress_bar(std::string name) const;

  /// What the settings ask for, with the bar as the progress.
  ReplicationOptions replication_options(report::ProgressBar& bar) const;

  /// Calls `work`, which simulates, with these options. Throws what `work` throws, and
  /// LimitExceeded with `name` if --timeout ended it; `bar` is cleared in any case.
  void simulate(const std::string& name, report::ProgressBar& bar,
                const std::function<void(const ReplicationOptions&)>& work) const;

 private:
  const SimulationSettings& settings_;
  const Interruption& interruption_;
  Executor& executor_;
  std::uint64_t max_memory_;
};

/// What the user has asked for, which must be the same in all ranks.
struct Invocation {
  std::string command;
  Arguments arguments;
};

/// Calls `work`, in each rank if `settings` say that there are ranks, and gives its exit status; in
/// the ranks that only help kDone. Throws what `work` throws where it leads, and where a rank is
/// out of step. UsageError if MPI is wanted but this program was built without it.
int in_session(const Invocation& invocation, const SimulationSettings& settings,
               const std::function<int(const Session&)>& work);

}  // namespace retrysim::cli
