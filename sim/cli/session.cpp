// SPDX-License-Identifier: MIT
#include "cli/session.hpp"

#include "cli/commands.hpp"
#include "cli/launch.hpp"
#include "experiment/identity.hpp"
#include "report/terminal.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <utility>

namespace retrysim::cli {

void Session::agree_on(const LoadedScenario& loaded) const {
  if (executor_.is_alone()) return;
  const std::string inputs = experiment::describe_files(loaded.input_files);
  executor_.agree(
      fmt::format("{:016x}", experiment::id_of({{"", to_toml(loaded, false)}, {"", inputs}})));
}

void Session::print_errors(const std::vector<Diagnostic>& errors) const {
  if (leads()) cli::print_errors(errors);
}

void Session::print_notes(const LoadedScenario& loaded) const {
  if (leads()) cli::print_notes(loaded);
}

void Session::print_note(std::string_view note) const {
  if (leads()) report::print_error("note: {}\n", note);
}

std::unique_ptr<report::ResultFolder> Session::result_folder(
    const report::ResultIdentity& identity) const {
  if (!leads()) return nullptr;
  namespace fs = std::filesystem;
  const fs::path path =
      settings_.out.empty() ? fs::path("results") / identity.scenario : fs::path(settings_.out);
  return std::make_unique<report::ResultFolder>(path, identity, settings_.force);
}

report::ProgressBar Session::progress_bar(std::string name) const {
  return {std::move(name), settings_.progress && leads()};
}

void Session::simulate(const std::string& name, report::ProgressBar& bar,
                       const std::function<void(const ReplicationOptions&)>& work) const {
  ReplicationOptions options;
  options.executor = &executor_;
  options.max_events = settings_.max_events;
  options.stop = interruption_.flag();
  if (bar.visible()) options.progress = [&bar](double share) { bar.show(share); };
  try {
    work(options);
  } catch (const Interrupted&) {
    bar.clear();
    if (!interruption_.timed_out()) throw;
    throw LimitExceeded(fmt::format("\"{}\" took longer than --timeout allows", name));
  } catch (...) {
    bar.clear();
    throw;
  }
}

std::vector<RunResult> Session::run_replications(const Scenario& scenario,
                                                 report::ProgressBar& bar) const {
  std::vector<RunResult> runs;
  simulate(scenario.name, bar, [&](const ReplicationOptions& options) {
    runs = retrysim::run_replications(scenario, options);
  });
  return runs;
}

int in_session(const Invocation& invocation, const SimulationSettings& settings,
               const std::function<int(const Session&)>& work) {
  Interruption interruption;
  const auto executor = make_executor(settings.launch, settings.jobs, interruption.flag());
  const bool leads = executor->is_owner();
  if (leads && settings.timeout) interruption.limit(*settings.timeout);
  // Ranks that have been asked to stop may be gone: nobody waits for them then. The process simply
  // ends, and mpirun ends the others.
  const auto finish = [&] {
    if (interruption.flag()->load()) return;
    try {
      executor->finish();
    } catch (const Interrupted&) {  // just now; the work is done
    }
  };
  int status = kDone;
  try {
    executor->agree(fmt::format("{} {} {}", RETRYSIM_VERSION, invocation.command,
                                fmt::join(invocation.arguments, "\n")));
    status = work(Session(settings, interruption, *executor));
    finish();
  } catch (const Interrupted&) {
    if (!leads) return kInterrupted;
    if (!interruption.timed_out()) throw;
    throw LimitExceeded("reading the scenario took longer than --timeout allows");
  } catch (...) {
    finish();
    if (leads) throw;
  }
  return leads ? status : kDone;
}

}  // namespace retrysim::cli
