// `retrysim compare`: every variant of a scenario on common random numbers, and how each differs
// from the baseline.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario_file.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/variation.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "cli/simulation_options.hpp"
#include "experiment/twins.hpp"
#include "report/comparison.hpp"
#include "report/comparison_table.hpp"
#include "report/comparison_words.hpp"
#include "report/evaluation.hpp"
#include "report/progress_bar.hpp"
#include "report/result_files.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"
#include "report/result_json.hpp"
#include "report/sink.hpp"
#include "report/terminal.hpp"
#include "scenario/suggestions.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

/// More than people can read; `sweep` is for that.
constexpr std::size_t kMostVariants = 1000;

struct CompareOptions : SimulationSettings {
  std::string scenario;
  std::vector<std::string> vary;
  std::string baseline;  ///< empty: the first variant
  std::vector<const MetricInfo*> metrics;
  bool metrics_given = false;
  bool twin = false;
};

/// A variant that is ready to run.
struct Planned {
  std::string name;
  LoadedScenario loaded;
};

std::string headline_names() {
  std::vector<std::string_view> names;
  for (const MetricInfo* metric : report::headline_metrics()) names.push_back(metric->name);
  return scenario::joined(names);
}

po::options_description describe_options() {
  const std::string metrics_help = "metrics to compare; default: " + headline_names();
  po::options_description options("Options");
  options.add_options()  //
      ("vary", po::value<std::vector<std::string>>()->composing()->value_name("PATH=V1,V2,..."),
       "a key and the values it takes; also PATH=LO:HI:STEP, PATH=LO:HI:*N (N log-spaced), and "
       "A,B=(1,2),(3,4) for keys that move together. Given several times, all combinations")  //
      ("baseline", po::value<std::string>()->value_name("NAME"),
       "the variant that the others are compared with, such as jitter=equal, or just equal; "
       "default: the first")                                                              //
      ("metrics", po::value<std::string>()->value_name("A,B,..."), metrics_help.c_str())  //
      ("twin", po::bool_switch(),
       "as in run: repeat replications that do not recover, without retries from the end of the "
       "fault or surge on, and also compare the probability of metastable failures");
  add_simulation_options(
      options, {"folder of the result files; default results/NAME. An earlier result of the same "
                "resolved scenario and variants is replaced (see --force)",
                "of the comparison on standard output: table (default), csv or json"});
  options.add_options()("help", "print this text");
  return options;
}

std::vector<const MetricInfo*> read_metrics(const po::variables_map& values) {
  const auto text = text_of(values, "metrics");
  if (!text) return report::headline_metrics();
  std::vector<const MetricInfo*> metrics;
  std::string_view rest = *text;
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    const MetricInfo* metric = find_metric(name);
    if (metric == nullptr) {
      const auto names = metric_names();
      throw UsageError(fmt::format("--metrics: there is no metric '{}'; {}", name,
                                   scenario::nearest(name, names).empty()
                                       ? "`retrysim list metrics` names them"
                                       : scenario::suggestion(name, names, "")));
    }
    if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) {
      metrics.push_back(metric);
    }
    if (comma == std::string_view::npos) return metrics;
    rest.remove_prefix(comma + 1);
  }
}

CompareOptions read_options(const po::variables_map& values) {
  CompareOptions o;
  const std::vector<std::string> scenarios = texts(values, "scenario");
  if (scenarios.empty())
    throw UsageError("no scenario given; expected retrysim compare SCENARIO --vary PATH=V1,V2,...");
  if (scenarios.size() > 1) {
    throw UsageError("compare takes one scenario; use --vary to make variants");
  }
  static_cast<SimulationSettings&>(o) = read_simulation_settings(values);
  o.scenario = scenarios.front();
  o.vary = texts(values, "vary");
  if (o.vary.empty()) {
    throw UsageError(
        "nothing to compare; expected --vary, such as --vary "
        "'client.*.retry.mode=legacy,standard'");
  }
  o.baseline = text_of(values, "baseline").value_or("");
  o.metrics = read_metrics(values);
  o.metrics_given = values.count("metrics") != 0;
  o.twin = values["twin"].as<bool>();
  const MetricInfo* metastable = find_metric("metastable_probability");
  if (o.twin && !o.metrics_given) o.metrics.push_back(metastable);
  return o;
}

/// The variants with the baseline first; it may be named by its values alone.
std::vector<Variant> baseline_first(std::vector<Variant> variants, const std::string& baseline) {
  if (baseline.empty()) return variants;
  auto found = std::find_if(variants.begin(), variants.end(),
                            [&](const Variant& v) { return v.name == baseline; });
  if (found == variants.end()) {
    const auto has_values = [&](const Variant& v) {
      return fmt::format("{}", fmt::join(v.values, " ")) == baseline;
    };
    found = std::find_if(variants.begin(), variants.end(), has_values);
  }
  if (found == variants.end()) {
    std::vector<std::string_view> names;
    for (const Variant& v : variants) names.push_back(v.name);
    if (names.size() > 10) names.resize(10);
    throw UsageError(fmt::format("--baseline: there is no variant '{}'; {}", baseline,
                                 scenario::suggestion(baseline, names, "there are")));
  }
  std::rotate(variants.begin(), found, found + 1);
  return variants;
}

/// Loads every variant. A mistake that several of them have is printed once.
std::optional<std::vector<Planned>> plan(const CompareOptions& options, const Session& session) {
  const VariationsResult parsed = parse_variations(options.vary);
  session.print_errors(parsed.errors);
  if (!parsed.errors.empty()) return std::nullopt;
  std::size_t size = 1;
  for (const Variation& v : parsed.variations) {
    size = std::min(size * v.choices.size(), kMostVariants + 1);
  }
  if (size > kMostVariants) {
    throw UsageError(
        fmt::format("--vary makes more than {} variants; use retrysim sweep", kMostVariants));
  }
  if (size < 2) throw UsageError("--vary makes only one variant; give at least two values");
  std::vector<Planned> planned;
  std::vector<Diagnostic> errors;
  std::set<std::tuple<std::string, int, int, std::string>> seen;
  std::set<std::string> notes;
  for (const Variant& v : baseline_first(grid(parsed.variations), options.baseline)) {
    LoadResult result = load_scenario_file(options.scenario, options.edits, v.edits);
    for (const Diagnostic& d : result.errors) {
      constexpr std::size_t kMostErrors = 20;
      const bool is_new = seen.emplace(d.file, d.line, d.column, d.message).second;
      if (is_new && errors.size() < kMostErrors) errors.push_back(d);
    }
    if (!result.loaded) continue;
    auto& own = result.loaded->notes;
    own.erase(std::remove_if(own.begin(), own.end(),
                             [&](const std::string& n) { return !notes.insert(n).second; }),
              own.end());
    planned.push_back({v.name, std::move(*result.loaded)});
  }
  session.print_errors(errors);
  if (!errors.empty()) return std::nullopt;
  for (const Planned& p : planned) session.print_notes(p.loaded);
  if (planned.front().loaded.scenario.precision > 0) {
    session.print_note(
        "precision has no effect on a comparison: every variant has the number of replications "
        "that the scenario gives");
  }
  return planned;
}

/// With `warmup = "auto"` all variants are measured over the same stretch of time.
void find_common_warmup(std::vector<Planned>& planned, const Session& session,
                        report::ProgressBar& bar) {
  std::vector<Scenario> scenarios;
  for (const Planned& p : planned) {
    if (p.loaded.scenario.warmup_is_auto) scenarios.push_back(p.loaded.scenario);
  }
  if (scenarios.empty()) return;
  session.simulate(scenarios.front().name, bar, [&](const ReplicationOptions& options) {
    const FoundWarmup found = find_warmup(scenarios, options);
    for (Planned& p : planned) {
      if (p.loaded.scenario.warmup_is_auto) take_warmup(p.loaded, found);
    }
  });
}

/// The replications of all variants, side by side.
std::vector<report::ResultSet> simulate_variants(const CompareOptions& options,
                                                 std::vector<Planned>& planned,
                                                 const Session& session) {
  const std::string& name = planned.front().loaded.scenario.name;
  report::ProgressBar bar = session.progress_bar(name);
  find_common_warmup(planned, session, bar);
  std::vector<RunSpec> specs;
  for (const Planned& p : planned) {
    const Scenario& scenario = p.loaded.scenario;
    for (int r = 0; r < scenario.replications; ++r) {
      specs.push_back({&scenario, static_cast<std::uint32_t>(r)});
    }
  }
  std::vector<RunResult> runs;
  session.simulate(name, bar, [&](const ReplicationOptions& o) { runs = simulate_all(specs, o); });
  std::vector<report::ResultSet> results;
  results.reserve(planned.size());
  auto next = runs.begin();
  for (const Planned& p : planned) {
    results.push_back({p.loaded, p.name, {}});
    const auto end = next + p.loaded.scenario.replications;
    results.back().runs.assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
  for (report::ResultSet& set : results) {
    if (!options.twin) break;
    session.simulate(name, bar, [&](const ReplicationOptions& run_options) {
      set.storms_with_twins =
          experiment::storms_with_twins(set.scenario.scenario, set.runs, run_options);
    });
  }
  bar.clear();
  return results;
}

/// An argument as a shell takes it, fit for a comment of a TOML file: no control characters, and
/// nothing that might be no UTF-8.
std::string in_shell_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c >= 0x20 && c < 0x7F ? c : '?';
    }
  }
  return result + "'";
}

/// What the scenario file of a variant says about itself.
std::string comment_of(const CompareOptions& options, const report::Evaluation& variant,
                       const std::string& baseline) {
  std::string text = fmt::format(
      "# Variant {} of a comparison; this file repeats its run exactly.\n#   "
      "retrysim compare {}",
      in_shell_quotes(variant.set.variant),
      in_shell_quotes(fs::path(options.scenario).filename().string()));
  for (const std::string& vary : options.vary) text += " --vary " + in_shell_quotes(vary);
  for (const std::string& edit : options.edits) text += " --set " + in_shell_quotes(edit);
  if (options.twin) text += " --twin";
  return text + " --baseline " + in_shell_quotes(baseline) + "\n\n";
}

void print(const CompareOptions& options, const report::Comparison& comparison,
           const std::vector<report::JsonSection>& sections, const report::ResultFolder& folder) {
  if (options.quiet) return;
  report::StandardOutput out(options.format);
  if (options.format == "csv") {
    report::write_comparison_csv(out, comparison);
  } else if (options.format == "json") {
    report::write_result_json(out, comparison.evaluations, folder.files(), sections);
  } else {
    report::write_comparison_table(out, comparison);
    out.write(fmt::format("\nResult files: {}\n", folder.path().string()));
  }
  out.flush();
}

report::ResultIdentity identity(const CompareOptions& options,
                                const std::vector<Planned>& planned) {
  std::vector<const LoadedScenario*> variants;
  for (const Planned& p : planned) variants.push_back(&p.loaded);
  std::vector<std::string> requests;
  for (const std::string& vary : options.vary) requests.push_back("--vary " + vary);
  return report::identity_of(variants, "compare", requests);
}

int compare(const CompareOptions& options, const Session& session) {
  auto planned = plan(options, session);
  if (!planned) return kBadInput;
  for (const Planned& p : *planned) session.agree_on(p.loaded);
  // Made before the simulation, so that a folder that must not be written is reported at once.
  const auto folder = session.result_folder(identity(options, *planned));
  const std::vector<report::ResultSet> results = simulate_variants(options, *planned, session);
  if (!session.leads()) return kDone;
  std::vector<report::Evaluation> evaluations;
  evaluations.reserve(results.size());
  for (const report::ResultSet& set : results) evaluations.emplace_back(set);
  report::Comparison comparison = report::compare(evaluations, options.metrics);
  comparison.vary = options.vary;
  comparison.was_asked_for = options.metrics_given;
  report::ResultAdditions additions;
  additions.comment = [&](const report::Evaluation& variant) {
    return comment_of(options, variant, evaluations.front().set.variant);
  };
  additions.sections = {{"comparison", report::comparison_json(comparison)}};
  additions.tables = {
      {"compare.csv", [&](report::Sink& sink) { report::write_comparison_csv(sink, comparison); }}};
  report::write_result_files(*folder, evaluations, additions);
  print(options, comparison, additions.sections, *folder);
  return kDone;
}

}  // namespace

int compare(const Arguments& arguments) {
  const po::options_description visible = describe_options();
  const po::variables_map values = parse_command_line(arguments, visible, "scenario");
  if (values.count("help") != 0) {
    report::print(
        "Usage: retrysim compare SCENARIO --vary PATH=V1,V2,... [options]\n\nSimulates "
        "every variant with the same random numbers, so that all meet the same demand, "
        "and\nprints how each differs from the baseline: paired differences with 95 % "
        "intervals, significance\nby Holm's test, the variance that common random "
        "numbers save, and a summary in words.\nExpectations of the scenario are not "
        "evaluated. Example:\n  retrysim compare scenarios/thundering-herd.toml --vary "
        "'client.*.retry.backoff.jitter=full,equal'\n\n{}",
        help_text(visible));
    return kDone;
  }
  const CompareOptions options = read_options(values);
  return in_session({"compare", arguments}, options,
                    [&](const Session& session) { return compare(options, session); });
}

}  // namespace retrysim::cli
