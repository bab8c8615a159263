// `retrysim predict`: facts, fluid and Markov chain of a scenario, without simulating it.
//
// SPDX-License-Identifier: MIT
#include <retrysim/fluid.hpp>
#include <retrysim/prediction.hpp>
#include <retrysim/scenario_file.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"
#include "report/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* kPredictUsage =
    "Usage: retrysim predict SCENARIO [options]\n"
    "\n"
    "Says what can be said without a simulation, in milliseconds: facts in closed form with\n"
    "warnings; the fluid (where it settles, what tips it, how long it takes to recover); the "
    "Markov\n"
    "chain (how long until it collapses by chance). For each figure it says what of the scenario\n"
    "is left out, and for each part that does not apply, why. Exit status: 0 done, 3 the scenario\n"
    "is not valid.\n"
    "\n"
    "Example: retrysim predict scenarios/fifo-zombie.toml\n";

po::options_description describe_predict_options() {
  po::options_description options("Options");
  options.add_options()  //
      ("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
       "change any key before the prediction; TOML syntax, bare words allowed")  //
      ("format", po::value<std::string>()->default_value("table")->value_name("table|csv|json"),
       "how to print: table (default), csv or json")  //
      ("orbit", po::value<std::string>()->value_name("N"),
       "most requests on their way back in the Markov chain. Default: as many as matter")  //
      ("out", po::value<std::string>()->value_name("DIR"),
       "also write the prediction into a folder, with trajectories and equilibria for the picture "
       "of "
       "the phase plane; default: no files")                                           //
      ("force", po::bool_switch(), "also replace a result of another scenario there")  //
      ("timeout", po::value<std::string>()->value_name("D"),
       "give up after this time by the clock, such as 10s (exit status 5)");
  return options;
}

/// Writes the files into a folder.
void write_folder(const LoadedScenario& loaded, const Prediction& prediction,
                  const std::string& out, bool force) {
  report::Planes planes;
  const Scenario& scenario = loaded.scenario;
  report::ResultFolder folder(out, report::identity_of({&loaded}, "predict"), force);
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    if (why_no_fluid(scenario, s)) continue;
    planes.emplace_back(scenario.services[s].name, phase_plane(scenario, s));
  }
  report::prediction_document(loaded, prediction, planes).write_files(folder);
}

}  // namespace

int predict(const Arguments& arguments) {
  const auto values =
      read_command(arguments, describe_predict_options(), "scenario", kPredictUsage);
  if (!values) return kDone;
  keep_freed_memory();
  const auto paths = texts(*values, "scenario");
  if (paths.size() != 1) {
    throw UsageError(paths.empty() ? "no scenario given; expected retrysim predict SCENARIO"
                                   : "one scenario at a time; the second is " + paths[1]);
  }
  const auto& format = (*values)["format"].as<std::string>();
  if (format != "table" && format != "csv" && format != "json") {
    throw UsageError("--format: \"" + format + "\" is none of table, csv, json");
  }
  PredictionOptions options;
  if (const auto orbit = text_of(*values, "orbit")) {
    constexpr std::uint64_t kMost = 10'000;
    options.orbit = static_cast<int>(std::min(kMost, whole_number("orbit", *orbit, 1)));
  }
  const auto folder = text_of(*values, "out");
  if (folder && folder->empty()) throw UsageError("--out: name a folder");
  return interruptible(read_timeout(*values), [&]() -> int {
    const LoadResult loaded = load_scenario_file(paths[0], texts(*values, "set"));
    print_errors(loaded.errors);
    if (!loaded.loaded) return kBadInput;
    print_notes(*loaded.loaded);
    const Scenario& scenario = loaded.loaded->scenario;
    const Prediction prediction = retrysim::predict(scenario, options);
    if (folder) write_folder(*loaded.loaded, prediction, *folder, (*values)["force"].as<bool>());
    report::StandardOutput out(format);
    const report::Document document = report::prediction_document(prediction);
    if (format == "csv") {
      document.write_file(out, "prediction.csv");
    } else if (format == "json") {
      out.write(report::prediction_json(scenario, prediction));
    } else {
      document.write_text(out, report::output_columns());
    }
    if (folder && format == "table") out.write(fmt::format("\nResult files: {}\n", *folder));
    out.flush();
    return kDone;
  });
}

}  // namespace retrysim::cli
