// `retrysim choose`: finds the best policy, with a stated confidence.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "experiment/variants.hpp"
#include "report/choice.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kChooseCsv = "choose.csv";

struct ChooseCommand : SimulationSettings {
  std::vector<std::string> scenarios;
  std::vector<std::string> vary;
  std::vector<std::string> files;  ///< NAME=FILE
  std::string highest, lowest, client = "all";
  ChooseOptions choice;

  const std::string& scenario() const { return scenarios.front(); }
};

ChoiceAim aim_of(const ChooseCommand& command) {
  const std::string &highest = command.highest, &lowest = command.lowest;
  if (highest.empty() && lowest.empty()) {
    throw UsageError(
        "the aim is missing; expected --maximize METRIC or --minimize METRIC, such as --maximize "
        "goodput");
  }
  if (!highest.empty() && !lowest.empty()) {
    throw UsageError(
        "--maximize and --minimize cannot be combined; use --subject-to for other conditions");
  }
  ChoiceAim aim;
  aim.maximize = !highest.empty();
  aim.client = command.client;
  const std::string& name = aim.maximize ? highest : lowest;
  aim.metric = find_metric(name);
  if (aim.metric == nullptr) {
    const auto names = metric_names();
    throw UsageError(fmt::format(
        "--{}: there is no metric '{}'; {}", aim.maximize ? "maximize" : "minimize", name,
        scenario::nearest(name, names).empty() ? "`retrysim list metrics` names them"
                                               : scenario::suggestion(name, names, "")));
  }
  return aim;
}

ChoiceProcedure procedure_named(const std::string& text) {
  for (const ChoiceProcedure p : {ChoiceProcedure::kBounds, ChoiceProcedure::kNormal}) {
    if (text == name(p)) return p;
  }
  throw UsageError(fmt::format("--procedure: '{}' is neither bounds nor normal", text));
}

std::vector<std::string> aim_requests(const ChooseCommand& c) {
  const ChoiceAim& aim = c.choice.aim;
  std::vector<std::string> requests = {
      fmt::format("--{} {}", aim.maximize ? "maximize" : "minimize", aim.metric->name)};
  if (aim.client != "all") requests.push_back("--client " + aim.client);
  return requests;
}

std::vector<std::string> limit_requests(const ChooseCommand& c) {
  std::vector<std::string> requests;
  for (const ChoiceLimit& limit : c.choice.limits) {
    requests.push_back("--subject-to " + limit.text() +
                       (limit.tolerance ? fmt::format("+-{}", *limit.tolerance) : ""));
  }
  return requests;
}

// The table of options. The limit on replications is not part of the question: a race may go on
// with another limit.
Options<ChooseCommand> choose_options() {
  using C = ChooseCommand;
  using Texts = std::vector<std::string>;
  Options<C> options = std::vector<Option<C>>{
      {{"vary", "PATH=V1,V2,...",
        "a key and the values to choose from; also PATH=LO:HI:STEP, PATH=LO:HI:*N (N log-spaced), "
        "and A,B=(1,2),(3,4) for keys that move together. Given several times, all combinations",
        true},
       into(&C::vary),
       [](const C& c) { return vary_requests(c.vary); }},
      variant_option(&C::files),
      {{"maximize", "METRIC", "the best policy has the highest METRIC"},
       into(&C::highest),
       aim_requests},
      {{"minimize", "METRIC", "the best policy has the lowest METRIC"}, into(&C::lowest)},
      {{"client", "NAME", "the client group whose metrics count; default: all clients together"},
       into(&C::client)},
      {{"subject-to", "LIMIT",
        "only policies with METRIC>=VALUE or METRIC<=VALUE, in the unit of the metric, such as "
        "'success_rate>=0.999'. Means within a tolerance of VALUE may be judged either way: a "
        "tenth "
        "of the distance to 0 or 1 for shares, else 1 %, or what follows +-, as in "
        "'latency_p99<=0.5+-0.01'. May be given several times",
        true},
       [](C& c, const std::string& text) { c.choice.limits.push_back(parse_choice_limit(text)); },
       limit_requests},
      {{"indifference", "D",
        "a difference that does not matter, in the unit of the metric; default: 1 % of the best "
        "mean of the first stage, or more if --max-replications cannot resolve that"},
       [](C& c, const std::string& text) { c.choice.indifference = number("indifference", text); },
       [](const C& c) {
         return c.choice.indifference
                    ? Texts{fmt::format("--indifference {}", *c.choice.indifference)}
                    : Texts{};
       }},
      {{"procedure", "bounds|normal",
        "bounds: assumes nothing about the distribution, for shares and probabilities (the default "
        "for these); normal: assumes normally distributed values, takes fewer replications"},
       [](C& c, const std::string& text) { c.choice.procedure = procedure_named(text); },
       [](const C& c) {
         return c.choice.procedure ? Texts{fmt::format("--procedure {}", name(*c.choice.procedure))}
                                   : Texts{};
       }},
      {{"confidence", "P",
        "probability that no policy is better than the chosen one by more than the indifference "
        "(with normal: if none is nearer to the best than that); default 0.95"},
       [](C& c, const std::string& text) { c.choice.confidence = number("confidence", text); },
       [](const C& c) { return Texts{fmt::format("--confidence {}", c.choice.confidence)}; }},
      {{"batch", "M",
        "an observation is the average of M replications, which is closer to the assumed normal "
        "distribution; default 1"},
       [](C& c, const std::string& text) { c.choice.batch = whole_number("batch", text, 1); },
       [](const C& c) {
         return c.choice.batch > 1 ? Texts{fmt::format("--batch {}", c.choice.batch)} : Texts{};
       }},
      {{"max-replications", "N",
        "give up, undecided, after N replications of a policy (exit status 1); default 1000"},
       [](C& c, const std::string& text) {
         c.choice.max_replications = whole_number("max-replications", text, 1);
       }},
      {{"resume", "", kResumeHelp}, [](C&, const std::string&) {}}};
  options.add(shard_option());
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-choose. An earlier result of the same "
       "resolved scenario and request is replaced (see --force)",
       "format of standard output: table (default), csv (choose.csv) or json (result.json)"}));
}

/// Loads every policy; prints their mistakes, and returns no policies if there are any.
std::vector<NamedScenario> load_policies(const ChooseCommand& options) {
  VariantsResult loaded = experiment::load_variants_and_files(options.scenario(), options.edits,
                                                              options.vary, "", options.files);
  print_errors(loaded.errors);
  return std::move(loaded.variants);
}

/// Notes on the policies and on the aim, to be printed before the race, each once.
std::vector<std::string> notes_on(const std::vector<NamedScenario>& policies,
                                  const ChoiceAim& aim) {
  std::vector<std::string> notes;
  for (const NamedScenario& policy : policies) {
    for (const std::string& note : distinct_notes(policy.loaded)) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  if (policies.front().loaded.scenario.precision.target > 0) {
    notes.emplace_back(
        "precision has no effect on a choice: the race has its own rule for when to stop");
  }
  const MetricBetter better = aim.metric->display.better;
  if (better == (aim.maximize ? MetricBetter::kLower : MetricBetter::kHigher)) {
    notes.push_back(fmt::format("{} {} is usually the better one; this looks for the {}",
                                aim.maximize ? "a lower" : "a higher", aim.metric->label(),
                                aim.maximize ? "highest" : "lowest"));
  }
  return notes;
}

PolicyChoice race(const ChooseCommand& options, std::vector<NamedScenario> policies,
                  const Session& session) {
  const std::string name = policies.front().loaded.scenario.name;
  std::optional<report::ProgressBar> bar;  // a new bar for each stage
  report::ProgressBar none(name, false);
  ChooseOptions with_progress = options.choice;
  with_progress.stage = [&](std::size_t stage, std::size_t racing) {
    bar.emplace(fmt::format("{}, stage {}: {} in the race", name, stage, racing),
                session.shows_progress());
  };
  PolicyChoice choice;
  session.simulate(name, none, [&](const ReplicationOptions& run) {
    with_progress.run = run;
    with_progress.run.progress = [&](double share) {
      if (bar) bar->show(share);
    };
    try {
      choice = choose(std::move(policies), with_progress);
    } catch (...) {
      if (bar) bar->clear();
      throw;
    }
  });
  if (bar) bar->clear();
  return choice;
}

/// Writes and prints the result of the race; returns an exit status.
int conclude(const ChooseCommand& options, const PolicyChoice& choice, std::uint64_t id,
             report::ResultFolder& folder, const std::vector<std::string>& notes) {
  const report::ResultIdentity& identity = folder.identity();
  const report::ChoiceReport found{choice, identity.options, identity.keys, id, notes};
  const report::Document document = report::choice_document(found);
  document.write_files(folder);
  print_result(options, {folder.path(), kChooseCsv, &document});
  return choice.outcome == ChoiceOutcome::kChosen ? kDone : kExpectationFailed;
}

int choose(const ChooseCommand& options, Session& session) {
  std::vector<NamedScenario> policies = load_policies(options);
  if (policies.empty()) return kBadInput;
  const std::vector<std::string> notes = notes_on(policies, options.choice.aim);
  for (const std::string& note : notes) report::print_error("note: {}\n", note);
  const std::uint64_t id = id_of_choice(policies, options.choice);
  std::vector<const LoadedScenario*> loaded;
  for (const NamedScenario& p : policies) loaded.push_back(&p.loaded);
  // The folder is made before the simulation, so that one that must not be written is reported at
  // once.
  const auto folder =
      session.result_folder(report::identity_of(loaded, "choose", choose_options().asked(options)));
  const PolicyChoice choice = race(options, std::move(policies), session);
  return conclude(options, choice, id, *folder, notes);
}

constexpr const char* kChooseUsage =
    "Usage: retrysim choose SCENARIO --vary PATH=V1,V2 --maximize METRIC [options]\n"
    "       retrysim choose SCENARIO --vary PATH=V1,V2 --minimize METRIC [options]\n"
    "\n"
    "Finds the best combination of the varied keys. All policies run the first stage\n"
    "(--replications) with the same random numbers; then those that are clearly worse\n"
    "leave, and the others go on until one is left, or until the rest is known to be\n"
    "no better by more than --indifference. For shares and probabilities this holds\n"
    "with --confidence for any distribution; for other metrics it assumes normally\n"
    "distributed values (procedure KN by Kim and Nelson), and times are not decided\n"
    "before 59 replications. Without --indifference, policies that are equal in each\n"
    "of 59 replications end the race. Expectations of the scenario are not\n"
    "evaluated. Example:\n"
    "  retrysim choose scenarios/capacity-dip.toml \\\n"
    "      --vary client.standard.retry.max_attempts=1,2,3,5 \\\n"
    "      --vary client.standard.retry.backoff.jitter=none,full \\\n"
    "      --maximize goodput --client standard\n"
    "\n"
    "Exit status 1: no policy keeps the limits of --subject-to, or the race is\n"
    "undecided.\n";

int choose(const Arguments& arguments) {
  auto command =
      choose_options().read(arguments, kChooseUsage, "scenario", &ChooseCommand::scenarios);
  if (!command) return kDone;
  only_scenario(command->scenarios,
                "retrysim choose SCENARIO --vary PATH=V1,V2,... --maximize METRIC");
  if (command->vary.empty() && command->files.empty()) {
    throw UsageError(
        "nothing to choose from; expected --vary, such as --vary "
        "'client.*.retry.max_attempts=1,2,3', or --variant NAME=FILE");
  }
  command->choice.aim = aim_of(*command);
  return in_session({"choose", arguments}, *command,
                    [&](Session& session) { return choose(*command, session); });
}

constexpr Command kChooseCommand{.name = "choose",
                                 .arguments = "SCENARIO --vary ... --maximize M",
                                 .purpose = "find the best policy, with a stated confidence",
                                 .run = choose,
                                 .after = "tip"};
RETRYSIM_COMMAND_ROW choose_row = &kChooseCommand;

}  // namespace
}  // namespace retrysim::cli
