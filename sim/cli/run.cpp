// `retrysim run`: simulates scenarios, writes their result files, prints their summaries.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/uncertain.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "execution/units.hpp"
#include "experiment/twins.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"
#include "report/run/access_log.hpp"
#include "report/run/against.hpp"
#include "report/run/evaluation.hpp"
#include "report/run/files.hpp"
#include "report/run/gate.hpp"
#include "report/run/text.hpp"
#include "report/uncertain.hpp"
#include "scenario/text/result_names.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions : SimulationSettings {
  std::vector<std::string> scenarios;
  bool fingerprint = false, twin = false, strict = false, annotations = false, uncertain = false;
  std::string access_log;  ///< file of the access log; empty: none
  std::string junit;       ///< the JUnit file; empty: none
  std::string against;     ///< folder of a kept result; empty: none
  std::vector<experiment::TwinPart> twin_parts;
};

/// A scenario, and the folder for its results.
struct PlannedRun {
  LoadedScenario loaded;
  fs::path folder;
  std::optional<report::KeptRun> kept = {};  ///< what it is compared with
};

constexpr std::string_view kTwinOfRetries = "retries";

/// The parts that the value of `--twin` lists; empty if it contains another word.
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

/// Gives `--twin` without a value that of retries; the word that follows may be a scenario.
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
  options.add(shard_option());
  return options.add(Options<O>(std::vector<Option<O>>{
      {{"fingerprint", "",
        "print a 64-bit hash of the sequence of events (to standard error with --format csv or "
        "json)"},
       into(&O::fingerprint)},
      {{"access-log", "FILE",
        "also write the access log of the simulated services in the first replication as CSV: a "
        "row for each answer with its time, duration and status. An earlier log is replaced"},
       [](O& o, const std::string& text) { o.access_log = output_path(text, "file"); }},
      {{"twin", "retries|quota|limiter|jitter|queue-bound",
        "repeat each replication that does not recover, without retries from the end of the "
        "fault or surge on (retries, the default): if it then recovers, the failure is "
        "metastable. With another part repeat all of them without it, and report the difference; "
        "several with commas between them"},
       [](O& o, const std::string& text) { read_twins(text, o); },
       [](const O& o) -> std::vector<std::string> {
         std::vector<std::string> asked;
         if (o.twin) asked.push_back("--twin");
         for (const experiment::TwinPart& part : o.twin_parts) {
           asked.push_back(fmt::format("--twin={}", part.word));
         }
         return asked;
       }},
      {{"uncertain", "",
        "each replication draws the values of the keys that [uncertain.\"PATH\"] gives intervals "
        "of, as `fit` does: in how many of them does the system recover, and which key decides "
        "it? 100 draws, or --replications"},
       into(&O::uncertain),
       [](const O& o) -> std::vector<std::string> {
         return o.uncertain ? std::vector<std::string>{"--uncertain"} : std::vector<std::string>();
       }},
      {{"against", "DIR",
        "compare with a result of run that was kept, on the same random numbers: exit status 1 if "
        "success, recovery, the p99 latency of successes or the error budget used is worse by more "
        "than chance explains. Says which keys differ. With several scenarios DIR/NAME each; a new "
        "one is compared with nothing"},
       into(&O::against),
       [](const O& o) -> std::vector<std::string> {
         return o.against.empty() ? std::vector<std::string>()
                                  : std::vector<std::string>{"--against " + o.against};
       }},
      {{"strict", "", "count uncertain expectations as failures"}, into(&O::strict)},
      {{"junit", "FILE",
        "write the verdicts on the expectations of all scenarios as a JUnit file, with uncertain "
        "ones as skipped tests. An earlier one of retrysim is replaced; any other file with "
        "--force"},
       [](O& o, const std::string& text) { o.junit = output_path(text, "file", "junit"); }},
      {{"annotations", "github",
        "print expectations that fail or are uncertain on standard error as annotations of the "
        "lines of the scenario, for GitHub Actions"},
       [](O& o, const std::string& text) {
         if (text != "github") {
           throw UsageError(fmt::format("--annotations: '{}' is unknown; expected github", text));
         }
         o.annotations = true;
       }}}));
}

// Loads all scenarios before anything runs; reports every mistake of each.
std::optional<std::vector<PlannedRun>> plan(const RunOptions& options) {
  std::vector<PlannedRun> planned;
  bool failed = false;
  for (const std::string& path : options.scenarios) {
    LoadResult result = load_scenario_file(path, options.edits);
    print_errors(result.errors);
    if (!result.loaded) {
      failed = true;
      continue;
    }
    print_notes(*result.loaded);
    const std::string name = result.loaded->scenario.name;
    for (const PlannedRun& p : planned) {
      if (p.loaded.scenario.name != name) continue;
      throw UsageError(fmt::format(
          "two of the scenarios are named \"{}\"; their results would share a folder", name));
    }
    const fs::path folder =
        options.scenarios.size() > 1 && !options.out.empty()
            ? fs::path(options.out) / name
            : result_path(options, name, options.uncertain ? "uncertain" : "run");
    planned.push_back({std::move(*result.loaded), folder});
  }
  if (failed) return std::nullopt;
  return planned;
}

/// Prints the JSON documents of several scenarios as one array; that of a single scenario as it is.
/// The destructor completes the array, even after an exception.
class JsonOutput {
 public:
  explicit JsonOutput(std::size_t scenarios) : array_(scenarios > 1) {}
  ~JsonOutput() {
    if (!array_ || printed_ == 0) return;
    try {
      report::print("]\n");
    } catch (const report::OutputError&) {  // earlier output has failed, too, and says so
    }
  }
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;

  /// The text to print before each document.
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
    } catch (const report::OutputClosed&) {  // the reader has seen enough
    }
  } else {
    report::print_error(line);
  }
}

/// Prints which checks do not hold if the summary for people does not say it, and with
/// --strict which of them count.
void print_misses(const RunOptions& options, const report::JudgedScenario& judged) {
  if (options.annotations) {
    report::print_error(report::github_annotations(judged, options.strict));
    return;
  }
  const bool shown = !options.quiet && options.format == "table";
  const bool several = options.scenarios.size() > 1;
  for (const report::Check& check : judged.checks) {
    const bool fails = check.verdict == ExpectationVerdict::kFails;
    if (check.verdict == ExpectationVerdict::kHolds || (shown && (fails || !options.strict))) {
      continue;
    }
    report::print_error("{} {}{}\n", report::is_failure(check, options.strict) ? "FAIL" : "WARN",
                        check.text, several ? " (" + judged.title + ")" : "");
  }
}

/// Writes the access log of the scenario's first replication, which is simulated once more.
void write_access_log(const report::OutputFile& file, const Scenario& scenario,
                      const ReplicationOptions& options) {
  file.write([&](report::Sink& sink) {
    report::AccessLogWriter log(sink, scenario);
    SimulationOptions simulation;
    simulation.access_log = [&log](const AccessLogEntry& entry) { log.write(entry); };
    simulation.max_events = options.max_events;
    simulation.max_memory = options.max_memory;
    simulation.stop = options.stop_flag;
    simulate(scenario, options.first, simulation);
  });
}

/// Whether two paths lead to the same file, which need not exist.
bool is_same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(a), error) ==
         fs::weakly_canonical(fs::absolute(b), error);
}

bool is_result(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / report::kResultJson, error);
}

bool has_results_below(const fs::path& folder) {
  std::error_code error;
  const fs::directory_iterator begin(folder, error);
  return !error && std::any_of(begin, fs::directory_iterator(),
                               [](const fs::directory_entry& e) { return is_result(e.path()); });
}

/// The kept result of a scenario: the folder itself if it is one of it, or else the one of its name
/// below. There may be none of one scenario among `several`, or where others have one.
std::optional<report::KeptRun> kept_run_of(const std::string& scenario, const fs::path& folder,
                                           bool several) {
  const fs::path below = folder / scenario;
  std::error_code error;
  if (is_result(folder)) {
    report::KeptRun kept = report::read_kept_run(folder);
    if (kept.question.scenario == scenario || (!several && !is_result(below))) return kept;
  }
  if (fs::exists(below, error)) return report::read_kept_run(below);
  if (several || has_results_below(folder)) return std::nullopt;
  return report::read_kept_run(folder);  // says what is wrong with it
}

/// Reads the kept result of each scenario. Throws DamagedResult, and UsageError for one that the
/// scenario cannot be compared with.
void read_kept(const RunOptions& options, std::vector<PlannedRun>& planned) {
  if (options.against.empty()) return;
  for (PlannedRun& p : planned) {
    const Scenario& scenario = p.loaded.scenario;
    p.kept = kept_run_of(scenario.name, options.against, planned.size() > 1);
    if (!p.kept) continue;
    const fs::path folder = p.kept->folder;
    if (is_same_place(folder, p.folder)) {
      throw UsageError(fmt::format(
          "--against: this run's own result goes to {} and would replace what it is compared with; "
          "keep that elsewhere, or give another --out",
          folder.string()));
    }
    if (const std::string& other = p.kept->question.scenario; other != scenario.name) {
      throw UsageError(fmt::format(
          "--against: {} is a result of the scenario {}, and this one is {}; to compare "
          "them all the same, add --set 'name=\"{}\"'",
          folder.string(), scenario::printable_line(other), scenario.name,
          scenario::printable_line(other)));
    }
    if (p.kept->seed != scenario.seed) {
      throw UsageError(fmt::format(
          "--against: {} was run with seed {} and {} has {}, so that they meet different demand; "
          "add --seed {}",
          folder.string(), p.kept->seed, scenario.name, scenario.seed, p.kept->seed));
    }
    if (p.kept->replications < 2 || scenario.replications < 2) {
      throw UsageError(
          fmt::format("--against: {} has one replication; chance cannot be told from "
                      "a loss without two",
                      p.kept->replications < 2 ? folder.string() : scenario.name));
    }
  }
  const fs::path folder = options.against;
  if (!is_result(folder) && !has_results_below(folder)) {
    throw report::DamagedResult(folder, "has no result of any of these scenarios");
  }
  for (const PlannedRun& p : planned) {
    if (p.kept) continue;
    report::print_error("note: {} has no result of {}, which is compared with nothing\n",
                        options.against, p.loaded.scenario.name);
  }
}

/// Throws OutputError if an output file would replace another one, or a file of a result.
void check_outputs(const RunOptions& options, const std::vector<PlannedRun>& planned) {
  if (!options.junit.empty() && !options.access_log.empty() &&
      is_same_place(options.junit, options.access_log)) {
    throw report::OutputError(options.junit, "--junit and --access-log name the same file");
  }
  for (const std::string& file : {options.junit, options.access_log}) {
    if (file.empty() || !scenario::is_result_file(fs::path(file).filename().string())) continue;
    for (const PlannedRun& p : planned) {
      if (!is_same_place(fs::path(file), p.folder / fs::path(file).filename())) continue;
      throw report::OutputError(file, "a file of the result has this name; choose another one");
    }
  }
}

/// Collects the verdicts on all scenarios, one after the other.
class Gate {
 public:
  /// Throws OutputError if the JUnit file must not be written.
  Gate(const RunOptions& options, const std::vector<PlannedRun>& planned) : options_(options) {
    if (options.junit.empty()) return;
    std::vector<fs::path> reads;
    for (const PlannedRun& p : planned) {
      reads.push_back(p.loaded.file);
      reads.insert(reads.end(), p.loaded.input_files.begin(), p.loaded.input_files.end());
    }
    junit_.emplace(
        options.junit,
        report::Replaceable{
            [](const fs::path& file) { return report::begins_with(file, report::kJUnitHead); },
            "it is not a JUnit file of retrysim", options.force, std::move(reads)});
  }

  void add(report::JudgedScenario scenario) {
    if (scenario.checks.empty() && (junit_ || options_.annotations || options_.strict)) {
      report::print_error("note: {} has no expectation, so there is nothing to fail\n",
                          scenario.title);
    }
    print_misses(options_, scenario);
    passed_ &= std::ranges::none_of(scenario.checks, [&](const report::Check& check) {
      return report::is_failure(check, options_.strict);
    });
    scenarios_.push_back(std::move(scenario));
  }

  /// Writes the JUnit file; returns an exit status.
  int conclude() const {
    if (junit_) {
      if (const fs::path folder = fs::path(options_.junit).parent_path(); !folder.empty()) {
        std::error_code error;
        fs::create_directories(folder, error);
        if (error) throw report::OutputError(options_.junit, error.message());
      }
      junit_->write(report::junit_xml(scenarios_, options_.strict));
    }
    return passed_ ? kDone : kExpectationFailed;
  }

 private:
  const RunOptions& options_;
  std::optional<report::OutputFile> junit_;
  std::vector<report::JudgedScenario> scenarios_;
  bool passed_ = true;
};

void run_one(const RunOptions& options, const PlannedRun& planned, Session& session, Gate& gate,
             JsonOutput& json) {
  const std::string& name = planned.loaded.scenario.name;
  // The folder is made before the simulation, so that one that must not be written is reported at
  // once.
  report::ResultFolder folder(
      planned.folder, report::identity_of({&planned.loaded}, "run", run_options().asked(options)),
      options.force, keep_earlier(options, planned.folder));
  session.keep_units_beside(planned.folder);
  std::optional<report::OutputFile> access_log;
  if (!options.access_log.empty()) {
    access_log.emplace(
        options.access_log,
        report::Replaceable{report::is_access_log, "it is not an access log of retrysim",
                            options.force, folder.identity().reads});
  }
  report::ProgressBar bar = session.progress_bar(name);
  LoadedScenario loaded = planned.loaded;
  report::ResultSet results{loaded, "base", {}};
  session.simulate(name, bar, [&](ReplicationOptions run_options) {
    run_options.fingerprint = options.fingerprint;
    const bool has_twins = options.twin || !options.twin_parts.empty();
    const auto ask = [&] { return run_experiment(loaded.scenario, run_options); };
    Experiment experiment = has_twins ? execution::before_more(ask) : ask();
    if (experiment.warmup) take_warmup(loaded, *experiment.warmup);
    results.runs = std::move(experiment.runs);
    results.warmup = std::move(experiment.warmup);
    results.precision = std::move(experiment.precision);
    execution::SideBySide twins;
    if (options.twin) {
      twins.add([&] {
        results.storms_with_twins = std::make_shared<const std::vector<std::vector<stats::Storm>>>(
            experiment::storms_with_twins(loaded.scenario, results.runs.own(), run_options));
      });
    }
    for (const experiment::TwinPart& part : options.twin_parts) {
      Scenario twin = loaded.scenario;
      if (!part.remove(twin)) continue;  // the scenario lacks this part already
      std::vector<RunResult> runs;
      if (!twins.add([&] { runs = experiment::simulate_twin(twin, results.runs, run_options); })) {
        continue;
      }
      const std::vector<Verdict> said =
          twin_verdicts(loaded.scenario, results.runs, twin, runs, part.words);
      results.twin_verdicts.insert(results.twin_verdicts.end(), said.begin(), said.end());
    }
    twins.finish();
    if (access_log) write_access_log(*access_log, loaded.scenario, run_options);
  });
  const report::Evaluation evaluation(results);
  report::Document document = report::run_document(evaluation);
  if (options.twin) document.member("twin", true);
  report::JudgedScenario judged = report::judged(loaded, evaluation.expectations);
  if (planned.kept) {
    const report::Against found = report::against(*planned.kept, evaluation);
    report::add_against(document, found);
    for (report::Check& check : report::checks_of(found)) judged.checks.push_back(std::move(check));
  }
  document.write_files(folder);
  gate.add(std::move(judged));
  print_summary(options, evaluation, document, folder, json);
}

// --- Draws of what is uncertain ------------------------------------------------------------------

void check_uncertain(const RunOptions& o) {
  const std::pair<bool, std::string_view> others[] = {{o.fingerprint, "fingerprint"},
                                                      {!o.access_log.empty(), "access-log"},
                                                      {o.twin || !o.twin_parts.empty(), "twin"},
                                                      {!o.against.empty(), "against"},
                                                      {o.strict, "strict"},
                                                      {!o.junit.empty(), "junit"},
                                                      {o.annotations, "annotations"}};
  for (const auto& [given, name] : others) {
    if (!given) continue;
    throw UsageError(fmt::format(
        "--uncertain cannot be combined with --{}: that is about one scenario, and each draw is "
        "another one",
        name));
  }
}

/// Runs the draws of a scenario; false if there is no plan, after printing why.
bool run_uncertain(const RunOptions& options, const PlannedRun& planned, Session& session,
                   JsonOutput& json) {
  UncertainPlanResult plan =
      plan_uncertain({.scenario = planned.loaded.file, .edits = options.edits});
  print_errors(plan.errors);
  if (!plan.plan) return false;
  for (const UncertainKey& key : plan.plan->base.uncertain) {
    if (key.is_set) report::print_error("note: {} is set, and no longer uncertain\n", key.path);
  }
  report::ResultFolder folder(
      planned.folder, report::identity_of({&planned.loaded}, "run", run_options().asked(options)),
      options.force, keep_earlier(options, planned.folder));
  session.keep_units_beside(planned.folder);
  const std::string& name = planned.loaded.scenario.name;
  report::ProgressBar bar = session.progress_bar(name);
  std::optional<UncertainStudy> study;
  session.simulate(name, bar, [&](const ReplicationOptions& run) {
    study = study_uncertain(*std::move(plan.plan), run);
  });
  const report::Document document = report::uncertain_document(*study);
  document.write_files(folder);
  const bool with_separator = !options.quiet && options.format == "json";
  print_result(options, {folder.path(), "uncertain.csv", &document},
               with_separator ? json.separator() : "");
  return true;
}

constexpr const char* kRunUsage =
    "Usage: retrysim run SCENARIO... [options]\n\n"
    "Simulates each scenario, prints a summary and writes the result files. Example:\n"
    "  retrysim run scenarios/capacity-dip.toml --replications 50 \\\n"
    "      --set 'fault.*.duration=60s'\n"
    "\n"
    "An [expect.NAME] of a scenario holds if the whole 95 % interval of its metric\n"
    "keeps the bound, fails if none of it does (exit status 1), and is uncertain in\n"
    "between. No worse than last time? --against DIR compares with a kept result.\n";

int run(const Arguments& arguments) {
  const auto options = run_options().read(with_value_of_twin(arguments), kRunUsage, "scenario",
                                          &RunOptions::scenarios);
  if (!options) return kDone;
  if (options->scenarios.empty()) {
    throw UsageError("no scenario given; expected retrysim run SCENARIO...");
  }
  if (!options->access_log.empty() && options->scenarios.size() > 1) {
    throw UsageError("--access-log is for one scenario: each would replace the one before");
  }
  if (options->fingerprint && options->shard) {
    throw UsageError(
        "--shard cannot be combined with --fingerprint: what other tasks have simulated has none");
  }
  if (options->uncertain) check_uncertain(*options);
  return in_session({"run", arguments}, *options, [&](Session& session) -> int {
    auto planned = plan(*options);
    if (!planned) return kBadInput;
    try {
      read_kept(*options, *planned);
    } catch (const report::DamagedResult& e) {
      report::print_error("retrysim: error: --against: {}\n", e.what());
      return kBadInput;
    }
    if (options->uncertain) {
      JsonOutput json(planned->size());
      bool valid = true;
      execution::SideBySide runs;
      for (const PlannedRun& p : *planned) {
        runs.add([&] { valid = run_uncertain(*options, p, session, json) && valid; });
      }
      runs.finish();
      return valid ? kDone : kBadInput;
    }
    check_outputs(*options, *planned);
    Gate gate(*options, *planned);
    JsonOutput json(planned->size());
    execution::SideBySide runs;
    for (const PlannedRun& p : *planned) {
      runs.add([&] { run_one(*options, p, session, gate, json); });
    }
    runs.finish();
    return gate.conclude();
  });
}

constexpr Command kRunCommand{.name = "run",
                              .arguments = "SCENARIO...",
                              .purpose = "simulate; print a summary and write the result files",
                              .run = run};
RETRYSIM_COMMAND_ROW run_row = &kRunCommand;

}  // namespace
}  // namespace retrysim::cli
