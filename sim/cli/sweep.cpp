// `retrysim sweep`: the grid of all combinations of varied keys, resumable, in shards, over threads
// or MPI ranks.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>
#include <retrysim/sweep.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "execution/journal.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"
#include "report/sweep.hpp"

#include <fmt/format.h>
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

namespace fs = std::filesystem;

constexpr std::string_view kPointsCsv = "points.csv";

struct SweepCommand : SimulationSettings {
  std::vector<std::string> scenarios;
  SweepRequest request;
  bool resume = false;
};

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

Options<SweepCommand> sweep_options() {
  using C = SweepCommand;
  Options<C> options = std::vector<Option<C>>{
      {{"vary", "PATH=VALUES",
        "a key and its values: V1,V2,... or LO:HI:STEP or LO:HI:*N (N of them, log-spaced); keys "
        "that move together: A,B=(1,2),(3,4). Several make a grid",
        true},
       [](C& c, const std::string& text) { c.request.varying.push_back(text); },
       [](const C& c) { return vary_requests(c.request.varying); }},
      {{"resume", "", "resume a sweep that was interrupted; if there is none, start it"},
       into(&C::resume)},
      {{"shard", "I/N",
        "simulate only every N-th point, starting with the I-th (I from 1 to N); `retrysim merge` "
        "joins the N results"},
       [](C& c, const std::string& text) { c.request.shard = read_shard(text); },
       [](const C& c) -> std::vector<std::string> {
         if (!c.request.shard) return {};
         return {"--shard " + c.request.shard->text()};
       }}};
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-sweep (of a shard "
       "results/NAME-sweep-shard-I-of-N). "
       "An earlier result of the same resolved scenario and grid is replaced (see --force)",
       "format of standard output: table (default), csv (points.csv) or json (result.json)"}));
}

fs::path folder_of(const SweepCommand& options, const std::string& name) {
  const auto& shard = options.request.shard;
  return result_path(
      options, name,
      shard ? fmt::format("sweep-shard-{}-of-{}", shard->index, shard->count) : "sweep");
}

/// The exit status of the sweep `plan`, if that is what `json` is the result of.
std::optional<int> status_of_sweep(const nlohmann::ordered_json& json, const SweepPlan& plan) {
  const auto& sweep = json.at("sweep");
  const Shard shard = plan.shard.value_or(Shard{});
  Shard found;
  if (sweep.contains("shard")) {
    sweep.at("shard").at("index").get_to(found.index);
    sweep.at("shard").at("count").get_to(found.count);
  }
  if (sweep.at("id") != fmt::format("{:016x}", plan.id) || found.index != shard.index ||
      found.count != shard.count) {
    return std::nullopt;
  }
  return sweep.at("points_over_limit").get<std::size_t>() > 0  ? kLimitHit
         : sweep.at("points_that_fail").get<std::size_t>() > 0 ? kExpectationFailed
                                                               : kDone;
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

/// "2 of 3 points"; empty if not even a replication is finished.
std::string points_done(const Sweep& sweep) {
  return sweep.replications_done() == 0
             ? ""
             : fmt::format("{} of {} points", sweep.points_done(), sweep.points());
}

int lead(const SweepCommand& options, const Session& session) {
  report::ProgressBar none("", false);
  ReplicationOptions run = session.replication_options(none);
  SweepRequest request = options.request;
  request.max_memory = run.max_memory;
  request.note = [&](const std::string& note) { session.print_note(note); };
  SweepPlanResult planned = plan_sweep(request);
  session.print_errors(planned.errors);
  if (!planned.plan) return kBadInput;

  const SweepPlan& plan = *planned.plan;
  const std::string name = plan.base.scenario.name;
  JournaledCommand command(options, options.resume, folder_of(options, name),
                           {"sweep", report::kSweepJournal});
  if (const auto status = command.completed_before(
          kPointsCsv, [&](const auto& json) { return status_of_sweep(json, plan); })) {
    return *status;
  }
  std::vector<fs::path> reads = plan.inputs;
  reads.push_back(options.request.scenario);
  const fs::path journal =
      command.open(report::identity_of(plan.base, reads, "sweep", sweep_options().asked(options)));
  report::ProgressBar bar(name, session.shows_progress());
  run.progress = [&](double share) {
    if (bar.visible()) bar.show(share);
  };
  Sweep sweep = command.open_journal([&] {
    return Sweep(std::move(*planned.plan), SweepOptions{run, journal, options.resume});
  });
  command.print_found(points_done(sweep), sweep.dropped_bytes());
  command.keep_what_is_done(name, session.interruption(),
                            {[&] { return points_done(sweep); }, [&] { sweep.remove_journal(); }},
                            [&] {
                              sweep.run();
                              bar.clear();
                              session.executor().finish();
                            });
  return conclude(options, sweep, command.result());
}

/// A process that only computes.
int help_out(const SweepCommand& options, const Session& session) {
  report::ProgressBar none("", false);
  help_with_sweep(options.request, {session.replication_options(none), {}, false});
  return kDone;
}

constexpr const char* kSweepUsage =
    "Usage: retrysim sweep SCENARIO --vary PATH=VALUES... [options]\n"
    "\n"
    "Simulates every combination of the varied keys and writes the result files;\n"
    "points.csv has one row for each point. Finished points are kept if the sweep is\n"
    "interrupted. A point that needs more than --max-memory or --max-events allows is\n"
    "marked in column outcome; the other points go on, and the exit status is 5. It\n"
    "is 1 if an expectation of the scenario failed at some point. Example:\n"
    "  retrysim sweep scenarios/capacity-dip.toml \\\n"
    "      --vary 'fault.*.duration=10s:60s:10s' \\\n"
    "      --vary 'client.*.retry.max_attempts=1,2,3,5' --replications 5\n";

}  // namespace

int sweep(const Arguments& arguments) {
  auto command = sweep_options().read(arguments, kSweepUsage, "scenario", &SweepCommand::scenarios);
  if (!command) return kDone;
  command->request.scenario =
      only_scenario(command->scenarios, "retrysim sweep SCENARIO --vary PATH=VALUES...");
  command->request.edits = command->edits;
  if (command->request.varying.empty()) {
    throw UsageError("nothing to vary; expected --vary PATH=V1,V2,... or --vary PATH=LO:HI:STEP");
  }
  return in_session({"sweep", arguments}, *command, [&](const Session& session) {
    return session.leads() ? lead(*command, session) : help_out(*command, session);
  });
}

}  // namespace retrysim::cli
