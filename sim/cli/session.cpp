// SPDX-License-Identifier: MIT
#include "cli/session.hpp"

#include "cli/commands.hpp"
#include "cli/free_memory.hpp"
#include "cli/launch.hpp"
#include "execution/byte_order.hpp"
#include "execution/identity.hpp"
#include "report/terminal.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <utility>

namespace retrysim::cli {

void Session::agree_on(const LoadedScenario& loaded) const {
  execution::agree_on(loaded, executor_);
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
  const auto path = result_path(settings_, identity.scenario, identity.command);
  return std::make_unique<report::ResultFolder>(path, identity, settings_.force, "",
                                                keep_earlier(settings_, path));
}

report::ProgressBar Session::progress_bar(std::string name) const {
  return {std::move(name), shows_progress()};
}

ReplicationOptions Session::replication_options(report::ProgressBar& bar) const {
  ReplicationOptions options;
  options.executor = &executor_;
  options.jobs = jobs();
  options.max_memory = max_memory_;
  options.max_events = settings_.max_events;
  options.stop = interruption_.flag();
  if (bar.visible()) options.progress = [&bar](double share) { bar.show(share); };
  return options;
}

void Session::simulate(const std::string& name, report::ProgressBar& bar,
                       const std::function<void(const ReplicationOptions&)>& work) const {
  try {
    work(replication_options(bar));
  } catch (const Interrupted&) {
    bar.clear();
    if (!interruption_.timed_out()) throw;
    throw LimitExceeded(fmt::format("\"{}\" took longer than --timeout allows", name));
  } catch (...) {
    bar.clear();
    throw;
  }
  bar.clear();
}

namespace {

// What the machine of the owner has free holds for all ranks: they must come to the same end.
std::uint64_t agree_on_memory(const SimulationSettings& settings, Executor& executor) {
  if (settings.max_memory) return *settings.max_memory;
  std::string bytes;
  if (executor.is_owner()) {
    execution::put(bytes, free_memory() / ranks_on_this_machine(settings.launch));
  }
  const std::string shared = executor.share(std::move(bytes));
  std::string_view rest = shared;
  return execution::take<std::uint64_t>(rest).value_or(~std::uint64_t{0});
}

}  // namespace

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
    const std::uint64_t max_memory = agree_on_memory(settings, *executor);
    status = work(Session(settings, interruption, *executor, max_memory));
    finish();
  } catch (const Interrupted&) {
    if (interruption.timed_out()) throw_timed_out();
    if (leads) throw;
    return kInterrupted;
  } catch (...) {
    finish();
    if (leads) throw;
  }
  return leads ? status : kDone;
}

}  // namespace retrysim::cli
