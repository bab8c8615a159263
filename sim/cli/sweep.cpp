// `retrysim sweep`: the grid of all combinations of varied keys, resumable, in shards, over threads
// or MPI ranks.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>
#include <retrysim/sweep.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "execution/journal.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"
#include "report/sweep.hpp"

#include <fmt/format.h>
#include <boost/program_options.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

constexpr std::string_view kPointsCsv = "points.csv";

struct SweepCommand : SimulationSettings {
  SweepRequest request;
  bool resume = false;
};

po::options_description describe_sweep_options() {
  po::options_description options("Options");
  options.add_options()  //
      ("vary", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUES"),
       "a key and its values: V1,V2,... or LO:HI:STEP or LO:HI:*N (N of them, log-spaced); keys "
       "that move together: A,B=(1,2),(3,4). Several make a grid")  //
      ("resume", po::bool_switch(),
       "resume a sweep that was interrupted; if there is none, start it")  //
      ("shard", po::value<std::string>()->value_name("I/N"),
       "simulate only every N-th point, starting with the I-th (I from 1 to N); `retrysim merge` "
       "joins the N results");
  add_simulation_options(
      options,
      {"folder of the result files; default results/NAME-sweep (of a shard "
       "results/NAME-sweep-shard-I-of-N). "
       "An earlier result of the same resolved scenario and grid is replaced (see --force)",
       "format of standard output: table (default), csv (points.csv) or json (result.json)"});
  return options;
}

Shard read_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  Shard shard;
  if (slash != std::string::npos) {
    shard.count = whole_number("shard", text.substr(slash + 1), 1);
    shard.index = whole_number("shard", text.substr(0, slash), 1);
  }
  if (slash == std::string::npos || shard.index > shard.count) {
    throw UsageError(fmt::format(
        "--shard: '{}' is not I/N with I from 1 to N, such as 1/4 for the first of four", text));
  }
  return shard;
}

SweepCommand read_sweep_options(const po::variables_map& values) {
  SweepCommand o;
  const auto scenarios = texts(values, "scenario");
  if (scenarios.size() != 1)
    throw UsageError("expected one scenario: retrysim sweep SCENARIO --vary PATH=VALUES...");
  o.request.scenario = scenarios.front();
  o.request.varying = texts(values, "vary");
  if (o.request.varying.empty()) {
    throw UsageError("nothing to vary; expected --vary PATH=V1,V2,... or --vary PATH=LO:HI:STEP");
  }
  static_cast<SimulationSettings&>(o) = read_simulation_settings(values);
  o.request.edits = o.edits;
  o.resume = values["resume"].as<bool>();
  if (const auto shard = text_of(values, "shard")) o.request.shard = read_shard(*shard);
  return o;
}

fs::path folder_of(const SweepCommand& options, const std::string& name) {
  const auto& shard = options.request.shard;
  return result_path(
      options, name,
      shard ? fmt::format("sweep-shard-{}-of-{}", shard->index, shard->count) : "sweep");
}

/// What is asked for beside the scenario.
std::vector<std::string> requests_of(const SweepRequest& request) {
  std::vector<std::string> requests;
  for (const std::string& vary : request.varying) requests.push_back("--vary " + vary);
  if (request.shard) requests.push_back("--shard " + request.shard->text());
  return requests;
}

/// The exit status that a sweep of this very kind, finished earlier in `folder`, ended with.
/// Nothing if a file of it is gone or damaged.
std::optional<int> status_of_finished(const fs::path& folder, const SweepPlan& plan) {
  try {
    const auto json = report::read_sealed(folder);
    const Shard shard = plan.shard.value_or(Shard{});
    std::optional<int> status;
    report::read_members(folder / report::kResultJson, [&] {
      const auto& sweep = json.at("sweep");
      Shard found;
      if (sweep.contains("shard")) {
        sweep.at("shard").at("index").get_to(found.index);
        sweep.at("shard").at("count").get_to(found.count);
      }
      if (sweep.at("id") != fmt::format("{:016x}", plan.id) || found.index != shard.index ||
          found.count != shard.count) {
        return;
      }
      for (const auto& record : report::file_records(json, folder / report::kResultJson)) {
        if (!report::fault_of(folder, record).empty()) return;
      }
      status = sweep.at("points_over_limit").get<std::size_t>() > 0  ? kLimitHit
               : sweep.at("points_that_fail").get<std::size_t>() > 0 ? kExpectationFailed
                                                                     : kDone;
    });
    return status;
  } catch (const report::DamagedResult&) {
    return std::nullopt;
  }
}

/// A sweep at work, and where its results go.
struct Begun {
  std::unique_ptr<report::ResultFolder> folder;
  std::unique_ptr<Sweep> sweep;
};

void print_what_is_there(const Sweep& sweep) {
  if (sweep.dropped_bytes() > 0) {
    report::print_error(
        "note: {} bytes at the end of the journal were cut off or damaged; their results are "
        "computed again\n",
        sweep.dropped_bytes());
  }
  if (sweep.replications_found() > 0) {
    report::print_error("note: resuming with {} of {} points finished\n", sweep.points_done(),
                        sweep.points());
  }
}

/// Opens the result folder and the journal in it. `unfinished`: the journal is there.
Begun begin(const SweepCommand& options, SweepPlan plan, const ReplicationOptions& run,
            const fs::path& path, bool unfinished) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw report::OutputError(path, error.message());
  Begun begun;
  const auto kept = keep_earlier(options, path);
  // With --out, whoever began what is resumed here has been allowed to replace what there is.
  begun.folder = std::make_unique<report::ResultFolder>(
      path, report::identity_of({&plan.base}, "sweep", requests_of(options.request)),
      options.force || (unfinished && options.resume && !kept), report::kSweepJournal, kept);
  const SweepOptions sweep_options{run, begun.folder->path() / report::kSweepJournal,
                                   options.resume};
  try {
    begun.sweep = std::make_unique<Sweep>(std::move(plan), sweep_options);
  } catch (const execution::JournalError& e) {
    throw report::OutputError(
        begun.folder->path(),
        std::string(e.what()) + "; use another folder, or --force without --resume to start again");
  }
  if (options.resume) print_what_is_there(*begun.sweep);
  return begun;
}

/// Plans, and makes sure that the result can be written. Without a sweep, but with `status`, if
/// there is nothing to do.
Begun prepare(const SweepCommand& options, const ReplicationOptions& run, int& status) {
  SweepRequest request = options.request;
  request.max_memory = run.max_memory;
  request.note = [](const std::string& note) { report::print_error("note: {}\n", note); };
  SweepPlanResult planned = plan_sweep(request);
  print_errors(planned.errors);
  if (!planned.plan) {
    status = kBadInput;
    return {};
  }
  const fs::path path = folder_of(options, planned.plan->base.scenario.name);
  std::error_code error;
  const bool unfinished = fs::exists(path / report::kSweepJournal, error);
  if (unfinished && !options.resume && !options.force) {
    throw report::OutputError(
        path, "it contains an unfinished sweep; --resume continues it, --force starts again");
  }
  if (options.resume && !unfinished) {
    if (const auto finished = status_of_finished(path, *planned.plan)) {
      report::print_error("note: this sweep is already complete: {}\n", path.string());
      print_result(options, {path, kPointsCsv});
      status = *finished;
      return {};
    }
  }
  return begin(options, std::move(*planned.plan), run, path, unfinished);
}

/// Writes and prints what there is at the end; an exit status.
int conclude(const SweepCommand& options, Sweep& sweep, report::ResultFolder& folder) {
  const report::SweepOverview overview = report::write_sweep_files(
      folder, sweep.plan(), [&](std::size_t i) { return sweep.point(i); });
  sweep.remove_journal();
  const report::Document document = report::sweep_document(sweep.plan(), overview);
  print_result(options, {folder.path(), kPointsCsv, &document});
  if (overview.points_that_fail > 0 && (options.quiet || options.format != "table")) {
    report::print_error("FAIL expectations at {} of {} points; see {}\n", overview.points_that_fail,
                        overview.points, (folder.path() / kPointsCsv).string());
  }
  if (overview.points_over_limit > 0) {
    report::print_error("retrysim: error: {} of {} points exceeded a limit; the first: {}\n",
                        overview.points_over_limit, overview.points, sweep.first_over_limit());
    return kLimitHit;
  }
  return overview.points_that_fail > 0 ? kExpectationFailed : kDone;
}

int lead(const SweepCommand& options, const Session& session) {
  // Its name is known once the scenario has been read.
  std::optional<report::ProgressBar> bar;
  report::ProgressBar none("", false);
  ReplicationOptions run = session.replication_options(none);
  run.progress = [&](double share) {
    if (bar->visible()) bar->show(share);
  };
  int status = kDone;
  const Begun begun = prepare(options, run, status);
  if (!begun.sweep) return status;
  bar.emplace(begun.sweep->plan().base.scenario.name, session.shows_progress());
  try {
    begun.sweep->run();
    bar->clear();
    session.executor().finish();
    return conclude(options, *begun.sweep, *begun.folder);
  } catch (const Interrupted&) {
    bar->clear();
    const std::string kept =
        fmt::format("{} of {} points are finished; --resume continues the sweep",
                    begun.sweep->points_done(), begun.sweep->points());
    if (session.interruption().timed_out()) {
      throw LimitExceeded("the sweep took longer than --timeout allows; " + kept);
    }
    report::print_error("retrysim: error: interrupted; {}\n", kept);
    return kInterrupted;
  }
}

/// A process that only computes.
int help_out(const SweepCommand& options, const Session& session) {
  report::ProgressBar none("", false);
  help_with_sweep(options.request, {session.replication_options(none), {}, false});
  return kDone;
}

constexpr const char* kSweepUsage =
    "Usage: retrysim sweep SCENARIO --vary PATH=VALUES... [options]\n\n"
    "Simulates every combination of the varied keys and writes the result files; points.csv has "
    "one\n"
    "row for each point. Finished points are kept if the sweep is interrupted. A point that needs "
    "more\n"
    "than --max-memory or --max-events allows is marked in column outcome; the other points go "
    "on, and\n"
    "the exit status is 5. Example:\n"
    "  retrysim sweep scenarios/capacity-dip.toml --vary 'fault.*.duration=10s:60s:10s' \\\n"
    "      --vary 'client.*.retry.max_attempts=1,2,3,5' --replications 5\n";

}  // namespace

int sweep(const Arguments& arguments) {
  const auto values = read_command(arguments, describe_sweep_options(), "scenario", kSweepUsage);
  if (!values) return kDone;
  const SweepCommand options = read_sweep_options(*values);
  return in_session({"sweep", arguments}, options, [&](const Session& session) {
    return session.leads() ? lead(options, session) : help_out(options, session);
  });
}

}  // namespace retrysim::cli
