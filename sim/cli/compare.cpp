// `retrysim compare`: simulates every variant of a scenario on common random numbers, and says how
// each differs from the baseline.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/uncertain.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "experiment/variants.hpp"
#include "report/comparison.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"
#include "report/run/evaluation.hpp"
#include "report/run/files.hpp"
#include "report/uncertain.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

struct CompareCommand : SimulationSettings {
  std::vector<std::string> scenarios;
  std::vector<std::string> vary;
  std::vector<std::string> files;  ///< NAME=FILE
  std::string baseline;            ///< empty: the first variant
  std::vector<const MetricInfo*> metrics = headline_metrics();
  bool metrics_given = false;
  bool twin = false, variance = false, uncertain = false;

  const std::string& scenario() const { return scenarios.front(); }
};

std::string headline_names() {
  std::vector<std::string_view> names;
  for (const MetricInfo* metric : headline_metrics()) names.push_back(metric->name);
  return scenario::joined(names);
}

std::vector<const MetricInfo*> read_metrics(const std::string& text) {
  std::vector<const MetricInfo*> metrics;
  std::string_view rest = text;
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

Options<CompareCommand> compare_options() {
  using C = CompareCommand;
  Options<C> options = std::vector<Option<C>>{
      {{"vary", "PATH=V1,V2,...",
        "a key and the values it takes; also PATH=LO:HI:STEP, PATH=LO:HI:*N (N log-spaced), and "
        "A,B=(1,2),(3,4) for keys that move together. Given several times, all combinations",
        true},
       into(&C::vary),
       [](const C& c) { return vary_requests(c.vary); }},
      variant_option(&C::files),
      {{"baseline", "NAME",
        "the variant that the others are compared with, such as jitter=equal, or just equal; "
        "default: the first"},
       into(&C::baseline)},
      {{"metrics", "METRIC,...", "metrics to compare; default: " + headline_names()},
       [](C& c, const std::string& text) {
         c.metrics = read_metrics(text);
         c.metrics_given = true;
       }},
      {{"variance", "",
        "also show by what factor common random numbers reduce the variance of the differences"},
       into(&C::variance)},
      {{"twin", "",
        "as in run: repeat replications that do not recover, without retries from the end of the "
        "fault or surge on, and also compare the probability of metastable failures"},
       into(&C::twin),
       [](const C& c) -> std::vector<std::string> {
         if (!c.twin) return {};
         return {"--twin"};
       }},
      {{"uncertain", "",
        "draw the values of the keys that [uncertain.\"PATH\"] gives intervals for, the same for "
        "all variants: which one recovers in more of what the intervals allow? 100 draws, or as "
        "many as --replications says"},
       into(&C::uncertain),
       [](const C& c) {
         return c.uncertain ? std::vector<std::string>{"--uncertain"} : std::vector<std::string>();
       }}};
  options.add(shard_option());
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-compare. An earlier result of the same "
       "resolved scenario and variants is replaced (see --force)",
       "format of the comparison on standard output: table (default), csv or json"}));
}

/// Loads every variant; prints their mistakes, and returns no variants if there are any.
std::vector<NamedScenario> load_variants(const CompareCommand& options) {
  VariantsResult loaded = experiment::load_variants_and_files(
      options.scenario(), options.edits, options.vary, options.baseline, options.files);
  print_errors(loaded.errors);
  std::set<std::string> printed;
  for (NamedScenario& v : loaded.variants) {
    if (v.loaded.scenario.precision.target > 0) {
      v.loaded.notes.emplace_back(
          "precision has no effect on a comparison: every variant has the number of replications "
          "that the scenario gives");
    }
    for (const std::string& note : distinct_notes(v.loaded)) {
      if (printed.insert(note).second) report::print_error("note: {}\n", note);
    }
  }
  return std::move(loaded.variants);
}

/// An argument quoted for a shell, fit for a comment of a TOML file: without control characters and
/// invalid UTF-8.
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

/// The comment at the top of the scenario file of a variant.
std::string comment_of(const CompareCommand& options, const report::Evaluation& variant,
                       const std::string& baseline) {
  std::string text = fmt::format(
      "# Variant {} of a comparison; this file repeats its run exactly.\n#   retrysim compare {}",
      in_shell_quotes(variant.set.variant),
      in_shell_quotes(fs::path(options.scenario()).filename().string()));
  for (const std::string& vary : options.vary) text += " --vary " + in_shell_quotes(vary);
  for (const std::string& file : options.files) text += " --variant " + in_shell_quotes(file);
  for (const std::string& edit : options.edits) text += " --set " + in_shell_quotes(edit);
  if (options.twin) text += " --twin";
  return text + " --baseline " + in_shell_quotes(baseline) + "\n\n";
}

report::ResultIdentity identity(const CompareCommand& options,
                                const std::vector<NamedScenario>& variants) {
  std::vector<const LoadedScenario*> loaded;
  for (const NamedScenario& v : variants) loaded.push_back(&v.loaded);
  return report::identity_of(loaded, "compare", compare_options().asked(options));
}

void write_and_print(const CompareCommand& options, Comparison comparison,
                     report::ResultFolder& folder) {
  std::vector<report::ResultSet> sets;
  for (const ComparedVariant& v : comparison.variants) sets.push_back(report::result_set_of(v));
  const std::vector<report::Evaluation> evaluations(sets.begin(), sets.end());
  const report::ComparisonReport found{comparison, evaluations, options.metrics_given, options.vary,
                                       options.variance};
  report::Document document = report::comparison_document(found);
  if (options.twin) document.member("twin", true);
  for (const report::Evaluation& e : evaluations) {
    document.scenario_file(e.set.scenario, comment_of(options, e, comparison.baseline().name));
  }
  document.write_files(folder);
  print_result(options, {folder.path(), "compare.csv", &document});
}

int compare(const CompareCommand& options, Session& session) {
  std::vector<NamedScenario> variants = load_variants(options);
  if (variants.empty()) return kBadInput;
  // The folder is made before the simulation, so that one that must not be written is reported at
  // once.
  const auto folder = session.result_folder(identity(options, variants));
  const std::string name = variants.front().loaded.scenario.name;
  report::ProgressBar bar = session.progress_bar(name);
  std::optional<Comparison> comparison;
  session.simulate(name, bar, [&](const ReplicationOptions& run) {
    comparison = retrysim::compare(std::move(variants), {options.metrics, options.twin, run});
  });
  write_and_print(options, *std::move(comparison), *folder);
  return kDone;
}

// --- Draws of what is uncertain ------------------------------------------------------------------

int compare_draws(const CompareCommand& options, Session& session) {
  UncertainVariantsResult planned = plan_uncertain_variants({.scenario = options.scenario(),
                                                             .edits = options.edits,
                                                             .vary = options.vary,
                                                             .baseline = options.baseline,
                                                             .files = options.files});
  print_errors(planned.errors);
  if (!planned.errors.empty()) return kBadInput;
  std::vector<const LoadedScenario*> loaded;
  std::set<std::string> printed;
  for (const UncertainVariant& v : planned.variants) {
    loaded.push_back(&v.plan.base);
    for (const std::string& note : distinct_notes(v.plan.base)) {
      if (printed.insert(note).second) report::print_error("note: {}\n", note);
    }
  }
  const auto folder = session.result_folder(
      report::identity_of(loaded, "compare", compare_options().asked(options)));
  const std::string name = loaded.front()->scenario.name;
  report::ProgressBar bar = session.progress_bar(name);
  std::optional<UncertainComparison> comparison;
  session.simulate(name, bar, [&](const ReplicationOptions& run) {
    CompareOptions how{.run = run};
    if (options.metrics_given) how.metrics = options.metrics;
    comparison = compare_uncertain(std::move(planned.variants), how);
  });
  const report::Document document = report::uncertain_comparison_document(*comparison);
  document.write_files(*folder);
  print_result(options, {folder->path(), "compare.csv", &document});
  return kDone;
}

constexpr const char* kCompareUsage =
    "Usage: retrysim compare SCENARIO --vary PATH=V1,V2,... [options]\n"
    "       retrysim compare SCENARIO --variant NAME=FILE [options]\n"
    "\n"
    "Simulates every variant with the same random numbers, so that all meet the same\n"
    "demand, and says how each differs from the baseline, in sentences and as paired\n"
    "differences with 95 % intervals and significance by Holm's test. Expectations of\n"
    "the scenario are not evaluated. Examples:\n"
    "  retrysim compare scenarios/thundering-herd.toml \\\n"
    "      --vary 'client.*.retry.backoff.jitter=full,equal'\n"
    "\n"
    "Choices with keys of their own are whole tables:\n"
    "  retrysim compare scenarios/thundering-herd.toml \\\n"
    "      --vary 'client.*.retry={mode=\"none\"},{mode=\"standard\",max_attempts=2}'\n"
    "\n"
    "or files, such as what `retrysim import` has made of tomorrow's configuration:\n"
    "--variant tomorrow=tomorrow.toml.\n"
    "\n"
    "Where the scenario gives intervals for what it does not know for sure, such as\n"
    "one by `retrysim fit`, --uncertain says whether the change helps in what they\n"
    "allow.\n";

/// Replaces `--twin=retries` by `--twin`: the twins of a comparison are always about retries. The
/// effect of another part is a comparison itself.
Arguments with_plain_twin(Arguments arguments) {
  constexpr std::string_view kPart = "--twin=";
  for (std::string& argument : arguments) {
    if (!argument.starts_with(kPart)) continue;
    if (argument != "--twin=retries") {
      throw UsageError(
          fmt::format("{}: compare has twins without retries only (--twin); for those without "
                      "another part use `retrysim run {}`",
                      argument, argument));
    }
    argument = "--twin";
  }
  return arguments;
}

int compare(const Arguments& arguments) {
  auto command = compare_options().read(with_plain_twin(arguments), kCompareUsage, "scenario",
                                        &CompareCommand::scenarios);
  if (!command) return kDone;
  if (command->scenarios.empty())
    throw UsageError("no scenario given; expected retrysim compare SCENARIO --vary PATH=V1,V2,...");
  if (command->scenarios.size() > 1) {
    throw UsageError("compare takes one scenario; use --vary to make variants");
  }
  if (command->vary.empty() && command->files.empty()) {
    throw UsageError(
        "nothing to compare; expected --vary, such as --vary "
        "'client.*.retry.mode=legacy,standard', or --variant NAME=FILE");
  }
  if (command->uncertain && (command->twin || command->variance)) {
    throw UsageError(
        fmt::format("--uncertain cannot be combined with --{}: that is about one scenario for each "
                    "variant, and each draw is another one",
                    command->twin ? "twin" : "variance"));
  }
  if (command->twin && !command->metrics_given) {
    command->metrics.push_back(find_metric("metastable_probability"));
  }
  return in_session({"compare", arguments}, *command, [&](Session& session) {
    return command->uncertain ? compare_draws(*command, session) : compare(*command, session);
  });
}

constexpr Command kCompareCommand{
    .name = "compare",
    .arguments = "SCENARIO --vary PATH=V1,V2",
    .purpose = "compare variants on common random numbers: paired differences with intervals",
    .run = compare,
    .after = "run"};
RETRYSIM_COMMAND_ROW compare_row = &kCompareCommand;

}  // namespace
}  // namespace retrysim::cli
