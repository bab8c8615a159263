// `retrysim run`: simulate scenarios, write their result files, print their summaries.
//
// SPDX-License-Identifier: MIT
#include <retrysim/experiment.hpp>
#include <retrysim/scenario_file.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "report/evaluation.hpp"
#include "report/progress_bar.hpp"
#include "report/result_files.hpp"
#include "report/result_folder.hpp"
#include "report/result_json.hpp"
#include "report/result_tables.hpp"
#include "report/sink.hpp"
#include "report/text_table.hpp"
#include "scenario/values.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

struct RunOptions {
  std::vector<std::string> scenarios, edits;
  int jobs = 1;
  std::string out;
  bool force = false, fingerprint = false, quiet = false, progress = true;
  std::string format = "table";
  std::uint64_t max_events = ~std::uint64_t{0};
  std::optional<Duration> timeout;
};

/// One scenario with the place of its results.
struct Planned {
  LoadedScenario loaded;
  fs::path folder;
};

po::options_description describe_options() {
  po::options_description options("Options");
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()  //
      ("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
       "change a key before the scenario is validated; '*' matches any one name: "
       "--set 'client.*.retry.backoff.jitter=equal'. May be given several times")  //
      ("seed", text()->value_name("N"), "random seed, instead of the scenario's")  //
      ("replications", text()->value_name("N"),
       "independent replications, instead of the scenario's number; the fewest, if it has a "
       "precision")  //
      ("jobs", text()->value_name("N"),
       "threads; changes nothing but the time it takes. Default: one a processor")  //
      ("out", text()->value_name("DIR"),
       "folder of the result files; default results/NAME, with several scenarios DIR/NAME each. An "
       "earlier result of the same scenario is replaced")                          //
      ("force", po::bool_switch(), "also replace the result of another scenario")  //
      ("format", text()->value_name("F"),
       "of the summary on standard output: table (default), csv or json (with several scenarios "
       "an array)")  //
      ("fingerprint", po::bool_switch(),
       "print a 64-bit hash of the sequence of events (on standard error with csv and json)")  //
      ("max-events", text()->value_name("N"), "give up after so many events (exit status 5)")  //
      ("timeout", text()->value_name("D"),
       "give up after this time by the clock, such as 10min or a number of seconds (exit status "
       "5)")                                                                         //
      ("quiet", po::bool_switch(), "no summary on standard output")                  //
      ("no-progress", po::bool_switch(), "no progress bar, not even on a terminal")  //
      ("help", "print this text");
  return options;
}

std::uint64_t whole_number(const std::string& option, const std::string& text, std::uint64_t min) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min) {
    throw UsageError(
        fmt::format("--{}: '{}' is not a whole number of at least {}", option, text, min));
  }
  return value;
}

RunOptions read_options(const po::variables_map& values) {
  RunOptions o;
  const auto text = [&](const char* name) -> std::optional<std::string> {
    if (values.count(name) == 0) return std::nullopt;
    return values[name].as<std::string>();
  };
  o.scenarios = texts(values, "scenario");
  if (o.scenarios.empty()) throw UsageError("name a scenario file to run");
  o.edits = texts(values, "set");
  if (const auto seed = text("seed")) {
    o.edits.push_back(fmt::format("seed={}", whole_number("seed", *seed, 0)));
  }
  if (const auto n = text("replications")) {
    o.edits.push_back(fmt::format("replications={}", whole_number("replications", *n, 1)));
  }
  o.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (const auto jobs = text("jobs")) {
    o.jobs = static_cast<int>(std::min<std::uint64_t>(1024, whole_number("jobs", *jobs, 1)));
  }
  o.out = text("out").value_or("");
  if (values.count("out") != 0 && o.out.empty()) throw UsageError("--out: name a folder");
  o.force = values["force"].as<bool>();
  o.fingerprint = values["fingerprint"].as<bool>();
  o.quiet = values["quiet"].as<bool>();
  o.progress = !values["no-progress"].as<bool>();
  o.format = text("format").value_or("table");
  if (o.format != "table" && o.format != "csv" && o.format != "json") {
    throw UsageError(fmt::format("--format: '{}' is none of table, csv, json", o.format));
  }
  if (const auto n = text("max-events")) o.max_events = whole_number("max-events", *n, 1);
  if (const auto d = text("timeout")) {
    // As in scenarios a bare number is seconds.
    const bool bare = !d->empty() && (d->back() == '.' || (d->back() >= '0' && d->back() <= '9'));
    const auto parsed = scenario::parse_duration(bare ? *d + "s" : *d);
    if (!parsed || parsed->duration == Duration::zero()) {
      throw UsageError(
          fmt::format("--timeout: '{}' is not a duration such as 90s or 10min, or a number of "
                      "seconds above 0",
                      *d));
    }
    o.timeout = parsed->duration;
  }
  return o;
}

// All scenarios are validated before anything runs; every mistake of every one is reported.
std::optional<std::vector<Planned>> plan(const RunOptions& options) {
  std::vector<Planned> planned;
  bool failed = false;
  for (const std::string& path : options.scenarios) {
    LoadResult result = load_scenario_file(path, options.edits);
    for (const Diagnostic& d : result.errors) fmt::print(stderr, "{}\n", to_string(d));
    if (!result.loaded) {
      failed = true;
      continue;
    }
    std::vector<std::string> notes = result.loaded->notes;  // a file used twice is noted once
    std::sort(notes.begin(), notes.end());
    notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
    for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
    const std::string name = result.loaded->scenario.name;
    for (const Planned& p : planned) {
      if (p.loaded.scenario.name != name) continue;
      throw UsageError(fmt::format(
          "two of the scenarios are named \"{}\"; their results would share a folder", name));
    }
    const fs::path folder = options.scenarios.size() > 1
                                ? fs::path(options.out.empty() ? "results" : options.out) / name
                            : options.out.empty() ? fs::path("results") / name
                                                  : fs::path(options.out);
    planned.push_back({std::move(*result.loaded), folder});
  }
  if (failed) return std::nullopt;
  return planned;
}

std::uint64_t combined_fingerprint(const std::vector<RunResult>& runs) {
  std::uint64_t h = 0;
  for (const RunResult& r : runs) {
    h = (h ^ r.fingerprint) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return h;
}

/// The JSON documents of several scenarios as one array; that of a single one as it is. What has
/// been printed is a whole document whenever the object goes away, be it by an exception.
class JsonOutput {
 public:
  explicit JsonOutput(std::size_t scenarios) : array_(scenarios > 1) {}
  ~JsonOutput() {
    if (array_ && printed_ > 0) std::fputs("]\n", stdout);
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
                   const report::ResultFolder& folder, JsonOutput& json) {
  report::DescriptorSink out(STDOUT_FILENO, "standard output");
  if (!options.quiet) {
    const report::Evaluations one(&evaluation, 1);
    if (options.format == "csv") {
      report::write_summary_csv(out, one);
    } else if (options.format == "json") {
      out.write(json.separator());
      report::write_result_json(out, one, folder.files());
    } else {
      report::write_text_table(out, evaluation);
      out.write(fmt::format("\nResult files: {}\n", folder.path().string()));
    }
  }
  if (options.fingerprint) {
    const std::string line = fmt::format("fingerprint {} {:016x}\n", evaluation.scenario().name,
                                         combined_fingerprint(evaluation.set.runs));
    if (options.format == "table") {
      out.write(line);
    } else {
      fmt::print(stderr, "{}", line);
    }
  }
  out.flush();
}

/// What scenario.toml says beside the value.
std::string origin_of(const FoundWarmup& warmup) {
  return fmt::format("\"auto\": MSER-5 of {} in {} pilot run{}", warmup.decided_by,
                     warmup.pilot_runs, warmup.pilot_runs == 1 ? "" : "s");
}

bool run_one(const RunOptions& options, const Planned& planned, Interruption& interruption,
             JsonOutput& json) {
  const Scenario& scenario = planned.loaded.scenario;
  // Made before the simulation: a folder that must not be written is said at once.
  report::ResultFolder folder(planned.folder, scenario.name, options.force);
  report::ProgressBar bar(scenario.name, options.progress);
  ReplicationOptions run_options;
  run_options.jobs = options.jobs;
  run_options.fingerprint = options.fingerprint;
  run_options.max_events = options.max_events;
  run_options.stop = interruption.flag();
  if (bar.visible()) run_options.progress = [&bar](double share) { bar.show(share); };
  LoadedScenario loaded = planned.loaded;
  report::ResultSet results{loaded, "base", {}};
  try {
    Experiment experiment = run_experiment(loaded.scenario, run_options);
    if (experiment.warmup) {
      set_found_warmup(loaded, experiment.warmup->warmup, origin_of(*experiment.warmup));
    }
    results.runs = std::move(experiment.runs);
    results.warmup = std::move(experiment.warmup);
    results.precision = std::move(experiment.precision);
  } catch (const Interrupted&) {
    bar.clear();
    if (!interruption.timed_out()) throw;
    throw LimitExceeded(fmt::format("\"{}\" took longer than --timeout allows", scenario.name));
  }
  bar.clear();
  const report::Evaluation evaluation(results);
  report::write_result_files(folder, report::Evaluations(&evaluation, 1));
  print_summary(options, evaluation, folder, json);
  return evaluation.all_expectations_hold();
}

}  // namespace

int run(const Arguments& arguments) {
  const po::options_description visible = describe_options();
  const po::variables_map values = parse_command_line(arguments, visible, "scenario");
  if (values.count("help") != 0) {
    fmt::print(
        "Usage: retrysim run SCENARIO... [options]\n\n"
        "Simulates each scenario, prints a summary and writes the result files. Example:\n"
        "  retrysim run scenarios/capacity-dip.toml --replications 50 --set "
        "fault.*.duration=60s\n\n{}",
        help_text(visible));
    return kDone;
  }
  const RunOptions options = read_options(values);
  const auto planned = plan(options);
  if (!planned) return kBadInput;
  Interruption interruption(options.timeout);
  JsonOutput json(planned->size());
  bool all_hold = true;
  for (const Planned& p : *planned) all_hold &= run_one(options, p, interruption, json);
  return all_hold ? kDone : kExpectationFailed;
}

}  // namespace retrysim::cli
