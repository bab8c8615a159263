// `retrysim map`: shows where in a plane of two keys a scenario is safe, vulnerable, overloaded or
// dead, by the fluid model, and simulates points near the borders.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>
#include <retrysim/scenario.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"
#include "report/map.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

constexpr const char* kMapUsage =
    "Usage: retrysim map SCENARIO --vary X=... --vary Y=... [options]\n"
    "\n"
    "Finds with the fluid model, for each combination of two keys, whether a service\n"
    "is safe (recovers from everything), vulnerable (fine now, but does not recover\n"
    "once knocked over), tipped (vulnerable, and left down by the scenario's faults\n"
    "and surges), or short of capacity without any trigger: overloaded (at least half\n"
    "of the requests succeed) or dead (fewer do). Nothing is simulated and no files\n"
    "are written unless --confirm or --out asks for it.\n"
    "\n"
    "--confirm N simulates N points near the borders and reports for each whether the\n"
    "simulation agrees, disagrees, or is outside the validity of the fluid. Exit\n"
    "status: 0 done, 1 a point disagrees, 2 the fluid does not apply, 3 a scenario is\n"
    "not valid.\n"
    "\n"
    "Example:\n"
    "  retrysim map scenarios/fifo-zombie.toml \\\n"
    "      --vary client.web.arrivals.total_rate=50:550:50 \\\n"
    "      --vary client.web.retry.max_attempts=1:6:1\n";

struct MapCommand : SimulationSettings {
  std::vector<std::string> scenarios;
  PhaseMapRequest request;
  std::vector<std::string> varied;
  std::size_t confirm = 0;

  bool writes_files() const { return confirm > 0 || !out.empty(); }
};

Options<MapCommand> map_options() {
  using C = MapCommand;
  using Texts = std::vector<std::string>;
  Options<C> options = std::vector<Option<C>>{
      {{"vary", "PATH=...",
        "given twice: the key across the plane, then the key up it, each PATH=V1,V2,... or "
        "PATH=LO:HI:STEP or PATH=LO:HI:*N, as for sweep",
        true},
       into(&C::varied),
       [](const C& c) { return vary_requests(c.varied); }},
      {{"service", "NAME", "which service; needed where there are several"},
       [](C& c, const std::string& text) { c.request.service = text; },
       [](const C& c) { return Texts{"--service " + c.request.service.value_or("")}; }},
      {{"confirm", "N",
        "simulate N points near the borders, each with the scenario's replications"},
       [](C& c, const std::string& text) {
         constexpr std::uint64_t kMaxPoints = 10'000;
         c.confirm =
             static_cast<std::size_t>(std::min(kMaxPoints, whole_number("confirm", text, 1)));
       },
       [](const C& c) {
         return c.confirm > 0 ? Texts{fmt::format("--confirm {}", c.confirm)} : Texts{};
       }}};
  options.add(shard_option());
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-map with --confirm, otherwise none. An "
       "earlier result of the same resolved scenario and plane is replaced (see --force)",
       "format of standard output: table (a picture, the default), csv (map.csv) or json "
       "(result.json)"}));
}

/// Prints a map that is not written to a folder.
void print_map(const MapCommand& options, const report::Document& document) {
  if (options.quiet) return;
  report::StandardOutput out(options.format);
  if (options.format == "csv") {
    document.write_file(out, "map.csv");
  } else if (options.format == "json") {
    document.write_json(out, "", {});
  } else {
    document.write_text(out, report::output_columns());
  }
  out.flush();
}

int map(const MapCommand& options, const LoadedScenario& loaded, Session& session) {
  const std::string& name = loaded.scenario.name;
  report::ProgressBar bar = session.progress_bar(name);
  PhaseMapResult result;
  session.simulate(name, bar, [&](const ReplicationOptions& run) {
    PhaseMapRequest request = options.request;
    request.stop = [&run] { return run.stop_flag->load(); };
    request.progress = run.progress;
    result = map_phases(request);
  });
  print_errors(result.errors);
  if (!result.map) return kBadInput;
  const PhaseMap& map = *result.map;
  std::unique_ptr<report::ResultFolder> folder;
  if (options.writes_files()) {
    MapCommand asked = options;
    asked.request.service = map.service;  // may be left out if there is only one
    folder = session.result_folder(
        report::identity_of(loaded, map.inputs, "map", map_options().asked(asked)));
  }
  std::vector<MapConfirmation> confirmed;
  if (options.confirm > 0) {
    report::ProgressBar confirming = session.progress_bar(name + ", confirming");
    session.simulate(name, confirming, [&](const ReplicationOptions& run) {
      confirmed = confirm_map(options.request, map, options.confirm, run);
    });
  }
  const report::MapReport found{loaded, options.varied, map, options.confirm, std::move(confirmed)};
  const report::Document document = report::map_document(found);
  if (!folder) {
    print_map(options, document);
    return kDone;
  }
  document.write_files(*folder);
  print_result(options, {folder->path(), "map.csv", &document});
  const bool disagrees =
      std::any_of(found.confirmed.begin(), found.confirmed.end(),
                  [](const MapConfirmation& c) { return c.verdict == MapVerdict::kDisagree; });
  return disagrees ? kExpectationFailed : kDone;
}

int map(const MapCommand& options, Session& session) {
  const LoadResult result = load_scenario_file(options.request.scenario, options.request.edits);
  print_errors(result.errors);
  if (!result.loaded) return kBadInput;
  print_notes(*result.loaded);
  return map(options, *result.loaded, session);
}

int map(const Arguments& arguments) {
  auto command = map_options().read(arguments, kMapUsage, "scenario", &MapCommand::scenarios);
  if (!command) return kDone;
  keep_freed_memory();
  if (command->scenarios.size() != 1) {
    throw UsageError("expected retrysim map SCENARIO --vary X=... --vary Y=...");
  }
  if (command->shard && command->confirm == 0) throw UsageError("--shard needs --confirm");
  command->request.scenario = command->scenarios.front();
  command->request.edits = command->edits;
  VariationsResult read = parse_variations(command->varied);
  print_errors(read.errors);
  if (!read.errors.empty()) return kBadInput;
  command->request.plane = std::move(read.variations);
  return in_session({"map", arguments}, *command,
                    [&](Session& session) { return map(*command, session); });
}

constexpr Command kMapCommand{
    .name = "map",
    .arguments = "SCENARIO --vary X=... --vary ...",
    .purpose = "chart where a service is safe, vulnerable, overloaded or dead (fluid)",
    .run = map,
    .after = "predict",
    .less_memory = "give --vary fewer values"};
RETRYSIM_COMMAND_ROW map_row = &kMapCommand;

}  // namespace
}  // namespace retrysim::cli
