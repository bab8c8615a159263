// `retrysim predict`: predicts a scenario by facts, fluid model and Markov chain, without
// simulating it.
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
#include "report/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {
namespace {

constexpr const char* kPredictUsage =
    "Usage: retrysim predict SCENARIO [options]\n"
    "\n"
    "Predicts a scenario without simulating it: facts in closed form with warnings;\n"
    "the fluid (where it settles, what tips it, how long it takes to recover); the\n"
    "Markov chain (how long until it collapses by chance). Each figure names the\n"
    "features of the scenario that it leaves out; a part that does not apply says\n"
    "why. Exit status: 0 done, 3 the scenario is not valid.\n"
    "\n"
    "Example: retrysim predict scenarios/fifo-zombie.toml\n";

struct PredictCommand {
  std::vector<std::string> scenarios, edits;
  std::string format = "table", out;
  bool force = false;
  std::optional<Duration> timeout;
  PredictionOptions prediction;
};

Options<PredictCommand> predict_options() {
  using C = PredictCommand;
  return std::vector<Option<C>>{
      {{"set", "PATH=VALUE",
        "change any key before the prediction; TOML syntax, bare words allowed", true},
       into(&C::edits)},
      {{"format", "table|csv|json", "how to print: table (default), csv or json"},
       [](C& c, const std::string& text) { c.format = format_word(text); }},
      {{"orbit", "N",
        "most requests on their way back in the Markov chain. Default: as many as matter"},
       [](C& c, const std::string& text) {
         constexpr std::uint64_t kMost = 10'000;
         c.prediction.orbit = static_cast<int>(std::min(kMost, whole_number("orbit", text, 1)));
       }},
      {{"out", "DIR",
        "also write the prediction into a folder, with trajectories and equilibria for the picture "
        "of the phase plane; default: no files"},
       [](C& c, const std::string& text) { c.out = output_path(text); }},
      {{"force", "", "also replace a result of another scenario there"}, into(&C::force)},
      {{"timeout", "D", "give up after this much real time, such as 10s (exit status 5)"},
       [](C& c, const std::string& text) { c.timeout = duration_above_zero("timeout", text); }}};
}

/// Writes the result files into a folder.
void write_folder(const LoadedScenario& loaded, const Prediction& prediction,
                  const std::string& out, bool force) {
  report::ResultFolder folder(out, report::identity_of({&loaded}, "predict"), force);
  report::prediction_document(loaded, prediction, report::planes_of(loaded.scenario))
      .write_files(folder);
}

int predict(const Arguments& arguments) {
  const auto command =
      predict_options().read(arguments, kPredictUsage, "scenario", &PredictCommand::scenarios);
  if (!command) return kDone;
  keep_freed_memory();
  const std::vector<std::string>& paths = command->scenarios;
  if (paths.size() != 1) {
    throw UsageError(paths.empty() ? "no scenario given; expected retrysim predict SCENARIO"
                                   : "one scenario at a time; the second is " + paths[1]);
  }
  return interruptible(command->timeout, [&]() -> int {
    const LoadResult loaded = load_scenario_file(paths[0], command->edits);
    print_errors(loaded.errors);
    if (!loaded.loaded) return kBadInput;
    print_notes(*loaded.loaded);
    const Scenario& scenario = loaded.loaded->scenario;
    const Prediction prediction = retrysim::predict(scenario, command->prediction);
    const std::string &folder = command->out, &format = command->format;
    if (!folder.empty()) write_folder(*loaded.loaded, prediction, folder, command->force);
    report::StandardOutput out(format);
    const report::Document document = report::prediction_document(prediction);
    if (format == "csv") {
      document.write_file(out, "prediction.csv");
    } else if (format == "json") {
      out.write(report::prediction_json(*loaded.loaded, prediction));
    } else {
      document.write_text(out, report::output_columns());
    }
    if (!folder.empty() && format == "table") {
      out.write(fmt::format("\nResult files: {}\n", folder));
    }
    out.flush();
    return kDone;
  });
}

constexpr Command kPredictCommand{
    .name = "predict",
    .arguments = "SCENARIO",
    .purpose = "estimates from theory, without simulating: facts, fluid, Markov chain",
    .run = predict,
    .after = "verify"};
RETRYSIM_COMMAND_ROW predict_row = &kPredictCommand;

}  // namespace
}  // namespace retrysim::cli
