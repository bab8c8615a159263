// `retrysim run`: simulate scenarios, write their result files, print their summaries.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/experiment.hpp>
#include <retrysim/scenario_file.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "experiment/twins.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"
#include "report/run/evaluation.hpp"
#include "report/run/files.hpp"
#include "report/run/text.hpp"

#include <retrysim/verdict.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions : SimulationSettings {
  std::vector<std::string> scenarios;
  bool fingerprint = false, twin = false;
  std::vector<experiment::TwinPart> twin_parts;
};

/// One scenario with the place of its results.
struct PlannedRun {
  LoadedScenario loaded;
  fs::path folder;
};

constexpr std::string_view kTwinOfRetries = "retries";

/// The parts of `--twin`; empty if there is another word among them.
std::optional<std::vector<std::string_view>> twins_in(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    const auto parts = experiment::twin_parts();
    const bool known = std::any_of(parts.begin(), parts.end(),
                                   [&](const auto& part) { return part.word == word; });
    if (!known && word != kTwinOfRetries) return std::nullopt;
    words.push_back(word);
  }
  return words;
}

/// `--twin` alone is about retries; what follows it may be a scenario.
Arguments with_value_of_twin(Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != "--twin") continue;
    if (i + 1 < arguments.size() && twins_in(arguments[i + 1])) continue;
    arguments[i] += fmt::format("={}", kTwinOfRetries);
  }
  return arguments;
}

void read_twins(const std::string& list, RunOptions& o) {
  const auto words = twins_in(list);
  if (!words) {
    throw UsageError(
        fmt::format("--twin={}: there is no such part; expected retries, quota, "
                    "limiter, jitter or queue-bound",
                    list));
  }
  o.twin = std::count(words->begin(), words->end(), kTwinOfRetries) > 0;
  for (const experiment::TwinPart& part : experiment::twin_parts()) {
    if (std::count(words->begin(), words->end(), part.word) > 0) o.twin_parts.push_back(part);
  }
}

Options<RunOptions> run_options() {
  using O = RunOptions;
  Options<O> options = std::vector<Option<O>>{};
  options.add(simulation_options(
      {"folder of the result files, with several scenarios DIR/NAME each; default results/NAME. "
       "An earlier result of the same resolved scenario is replaced (see --force)",
       "format of the summary on standard output: table (default), csv or json (with several "
       "scenarios an array)"}));
  return options.add(Options<O>(std::vector<Option<O>>{
      {{"fingerprint", "",
        "print a 64-bit hash of the sequence of events (to standard error with --format csv or "
        "json)"},
       into(&O::fingerprint)},
      {{"twin", "retries|quota|limiter|jitter|queue-bound",
        "repeat each replication that does not recover, without retries from the end of the "
        "fault or surge on (retries, the default): if it then recovers, the failure is "
        "metastable. With another part repeat all of them without it, and report the difference; "
        "several with commas between them"},
       [](O& o, const std::string& text) { read_twins(text, o); },
       [](const O& o) -> std::vector<std::string> {
         if (!o.twin) return {};
         return {"--twin"};
       }}}));
}

// All scenarios are validated before anything runs; every mistake of every one is reported.
std::optional<std::vector<PlannedRun>> plan(const RunOptions& options, const Session& session) {
  std::vector<PlannedRun> planned;
  bool failed = false;
  for (const std::string& path : options.scenarios) {
    LoadResult result = load_scenario_file(path, options.edits);
    session.print_errors(result.errors);
    if (!result.loaded) {
      failed = true;
      continue;
    }
    session.print_notes(*result.loaded);
    const std::string name = result.loaded->scenario.name;
    for (const PlannedRun& p : planned) {
      if (p.loaded.scenario.name != name) continue;
      throw UsageError(fmt::format(
          "two of the scenarios are named \"{}\"; their results would share a folder", name));
    }
    const fs::path folder = options.scenarios.size() > 1 && !options.out.empty()
                                ? fs::path(options.out) / name
                                : result_path(options, name, "run");
    planned.push_back({std::move(*result.loaded), folder});
  }
  if (failed) return std::nullopt;
  return planned;
}

/// The JSON documents of several scenarios as one array; that of a single one as it is. What has
/// been printed is a whole document whenever the object goes away, be it by an exception.
class JsonOutput {
 public:
  explicit JsonOutput(std::size_t scenarios) : array_(scenarios > 1) {}
  ~JsonOutput() {
    if (!array_ || printed_ == 0) return;
    try {
      report::print("]\n");
    } catch (const report::OutputError&) {  // what came before has failed, too, and says so
    }
  }
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;

  /// Called before each document.
  std::string_view separator() { return printed_++ > 0 ? ",\n" : array_ ? "[\n" : ""; }

 private:
  bool array_;
  std::size_t printed_ = 0;
};

void print_summary(const RunOptions& options, const report::Evaluation& evaluation,
                   const report::Document& document, const report::ResultFolder& folder,
                   JsonOutput& json) {
  const bool with_separator = !options.quiet && options.format == "json";
  print_result(options, {folder.path(), "summary.csv", &document},
               with_separator ? json.separator() : "");
  if (!options.fingerprint) return;
  const std::string line = fmt::format("fingerprint {} {:016x}\n", evaluation.scenario().name,
                                       combined_fingerprint(evaluation.set.runs));
  if (options.format == "table") {
    try {
      report::print(line);
    } catch (const report::OutputClosed&) {  // as in print_result
    }
  } else {
    report::print_error(line);
  }
}

/// Says which expectations failed where the summary for people does not.
void print_failures(const RunOptions& options, const report::Evaluation& evaluation) {
  if (!options.quiet && options.format == "table") return;
  const bool several = options.scenarios.size() > 1;
  for (const ExpectationResult& result : evaluation.expectations) {
    if (result.passed) continue;
    report::print_error("FAIL {}{}\n", report::expectation_text(result),
                        several ? " (" + evaluation.scenario().name + ")" : "");
  }
}

bool run_one(const RunOptions& options, const PlannedRun& planned, const Session& session,
             JsonOutput& json) {
  const std::string& name = planned.loaded.scenario.name;
  // Made before the simulation, so that a folder that must not be written is reported at once.
  std::optional<report::ResultFolder> folder;
  if (session.leads()) {
    folder.emplace(planned.folder,
                   report::identity_of({&planned.loaded}, "run", run_options().asked(options)),
                   options.force, "", keep_earlier(options, planned.folder));
  }
  report::ProgressBar bar = session.progress_bar(name);
  LoadedScenario loaded = planned.loaded;
  report::ResultSet results{loaded, "base", {}};
  session.simulate(name, bar, [&](ReplicationOptions run_options) {
    run_options.fingerprint = options.fingerprint;
    Experiment experiment = run_experiment(loaded.scenario, run_options);
    if (experiment.warmup) take_warmup(loaded, *experiment.warmup);
    results.runs = std::move(experiment.runs);
    results.warmup = std::move(experiment.warmup);
    results.precision = std::move(experiment.precision);
    if (options.twin) {
      results.storms_with_twins = std::make_shared<const std::vector<std::vector<stats::Storm>>>(
          experiment::storms_with_twins(loaded.scenario, results.runs, run_options));
    }
    for (const experiment::TwinPart& part : options.twin_parts) {
      Scenario twin = loaded.scenario;
      if (!part.remove(twin)) continue;  // it is without it
      const std::vector<RunResult> runs =
          experiment::simulate_twin(twin, results.runs, run_options);
      const std::vector<Verdict> said =
          twin_verdicts(loaded.scenario, results.runs, twin, runs, part.words);
      results.twin_verdicts.insert(results.twin_verdicts.end(), said.begin(), said.end());
    }
  });
  if (!session.leads()) return true;
  const report::Evaluation evaluation(results);
  report::Document document = report::run_document(evaluation);
  if (options.twin) document.member("twin", true);
  document.write_files(*folder);
  print_failures(options, evaluation);
  print_summary(options, evaluation, document, *folder, json);
  return evaluation.all_expectations_hold();
}

constexpr const char* kRunUsage =
    "Usage: retrysim run SCENARIO... [options]\n\n"
    "Simulates each scenario, prints a summary and writes the result files. Example:\n"
    "  retrysim run scenarios/capacity-dip.toml --replications 50 \\\n"
    "      --set "
    "fault.*.duration=60s\n";

}  // namespace

int run(const Arguments& arguments) {
  const auto options = run_options().read(with_value_of_twin(arguments), kRunUsage, "scenario",
                                          &RunOptions::scenarios);
  if (!options) return kDone;
  if (options->scenarios.empty()) {
    throw UsageError("no scenario given; expected retrysim run SCENARIO...");
  }
  return in_session({"run", arguments}, *options, [&](const Session& session) -> int {
    const auto planned = plan(*options, session);
    if (!planned) return kBadInput;
    for (const PlannedRun& p : *planned) session.agree_on(p.loaded);
    JsonOutput json(planned->size());
    bool all_hold = true;
    for (const PlannedRun& p : *planned) all_hold &= run_one(*options, p, session, json);
    return all_hold ? kDone : kExpectationFailed;
  });
}

}  // namespace retrysim::cli
