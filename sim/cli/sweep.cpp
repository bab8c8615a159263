// `retrysim sweep`: simulates the grid of all combinations of varied keys, resumable, in shards,
// over threads or MPI ranks.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>
#include <retrysim/sweep.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"
#include "report/sweep.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <memory>
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
};

Options<SweepCommand> sweep_options() {
  using C = SweepCommand;
  Options<C> options = std::vector<Option<C>>{
      {{"vary", "PATH=VALUES",
        "a key and its values: V1,V2,... or LO:HI:STEP or LO:HI:*N (N of them, log-spaced); keys "
        "that move together: A,B=(1,2),(3,4). Several make a grid",
        true},
       [](C& c, const std::string& text) { c.request.varying.push_back(text); },
       [](const C& c) { return vary_requests(c.request.varying); }},
      {{"resume", "", kResumeHelp}, [](C&, const std::string&) {}},
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

/// Writes and prints the result of the sweep; returns an exit status.
int conclude(const SweepCommand& options, Sweep& sweep, report::ResultFolder& folder) {
  const report::SweepOverview overview = report::write_sweep_files(
      folder, sweep.plan(), [&](std::size_t i) { return sweep.point(i); });
  const report::Document document = report::sweep_document(sweep.plan(), overview);
  print_result(options, {folder.path(), kPointsCsv, &document});
  if (overview.points_that_fail > 0 && (options.quiet || options.format != "table")) {
    report::print_error("FAIL expectations at {}; see {}\n",
                        scenario::said_part(overview.points_that_fail, overview.points, "point"),
                        (folder.path() / kPointsCsv).string());
  }
  if (overview.points_over_limit > 0) {
    report::print_error("retrysim: error: {} exceeded a limit; the first: {}\n",
                        scenario::said_part(overview.points_over_limit, overview.points, "point"),
                        limit_text(*sweep.first_over_limit()));
    return kLimitHit;
  }
  return overview.points_that_fail > 0 ? kExpectationFailed : kDone;
}

int sweep(const SweepCommand& options, Session& session) {
  SweepRequest request = options.request;
  request.max_memory = session.max_memory();
  request.note = [](const std::string& note) { report::print_error("note: {}\n", note); };
  SweepPlanResult planned = plan_sweep(request);
  print_errors(planned.errors);
  if (!planned.plan) return kBadInput;

  const SweepPlan& plan = *planned.plan;
  const std::string name = plan.base.scenario.name;
  const fs::path path = folder_of(options, name);
  std::vector<fs::path> reads = plan.inputs;
  reads.push_back(options.request.scenario);
  // The folder is made before the simulation, so that one that must not be written is reported at
  // once.
  report::ResultFolder folder(
      path, report::identity_of(plan.base, reads, "sweep", sweep_options().asked(options)),
      options.force, keep_earlier(options, path));
  session.keep_units_beside(path);
  report::ProgressBar bar(name, session.shows_progress());
  std::optional<Sweep> sweep;
  session.simulate(name, bar, [&](const ReplicationOptions& run) {
    sweep.emplace(*std::move(planned.plan), run);
    sweep->run();
    session.executor().finish();
  });
  return conclude(options, *sweep, folder);
}

constexpr const char* kSweepUsage =
    "Usage: retrysim sweep SCENARIO --vary PATH=VALUES... [options]\n"
    "\n"
    "Simulates every combination of the varied keys and writes the result files;\n"
    "points.csv has one row for each point. After an interruption the same command\n"
    "goes on where it was. A point that needs more than --max-memory or --max-events\n"
    "allows is marked in column outcome; the other points go on, and the exit status\n"
    "is 5. It is 1 if an expectation of the scenario failed at some point. Example:\n"
    "  retrysim sweep scenarios/capacity-dip.toml \\\n"
    "      --vary 'fault.*.duration=10s:60s:10s' \\\n"
    "      --vary 'client.*.retry.max_attempts=1,2,3,5' --replications 5\n";

int sweep(const Arguments& arguments) {
  auto command = sweep_options().read(arguments, kSweepUsage, "scenario", &SweepCommand::scenarios);
  if (!command) return kDone;
  command->request.scenario =
      only_scenario(command->scenarios, "retrysim sweep SCENARIO --vary PATH=VALUES...");
  command->request.edits = command->edits;
  if (command->request.varying.empty()) {
    throw UsageError("nothing to vary; expected --vary PATH=V1,V2,... or --vary PATH=LO:HI:STEP");
  }
  return in_session({"sweep", arguments}, *command,
                    [&](Session& session) { return sweep(*command, session); });
}

constexpr Command kSweepCommand{.name = "sweep",
                                .arguments = "SCENARIO --vary PATH=...",
                                .purpose = "simulate the grid of all combinations, resumable",
                                .run = sweep,
                                .after = "advise"};
RETRYSIM_COMMAND_ROW sweep_row = &kSweepCommand;

}  // namespace
}  // namespace retrysim::cli
