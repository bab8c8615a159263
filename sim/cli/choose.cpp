// `retrysim choose`: race policies for the best one, with a stated probability of being right.
//
// SPDX-License-Identifier: MIT
#include <retrysim/choose.hpp>
#include <retrysim/experiment.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/simulation.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "report/choice.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct ChooseCommand : SimulationSettings {
  std::string scenario;
  std::vector<std::string> vary;
  ChooseOptions choice;
  bool resume = false;
};

po::options_description describe_choose_options() {
  po::options_description options("Options");
  const auto text = [] { return po::value<std::string>(); };
  const auto texts_value = [] { return po::value<std::vector<std::string>>()->composing(); };
  options.add_options()  //
      ("vary", texts_value()->value_name("PATH=V1,V2,..."),
       "a key and the values to choose from; also PATH=LO:HI:STEP, PATH=LO:HI:*N (N log-spaced), "
       "and A,B=(1,2),(3,4) for keys that move together. Given several times, all combinations")  //
      ("maximize", text()->value_name("METRIC"), "the best policy has the highest METRIC")        //
      ("minimize", text()->value_name("METRIC"), "the best policy has the lowest METRIC")         //
      ("client", text()->value_name("NAME"),
       "the client group whose metrics count; default: all clients together")  //
      ("subject-to", texts_value()->value_name("LIMIT"),
       "only policies with METRIC>=VALUE or METRIC<=VALUE, in the unit of the metric, such as "
       "'success_rate>=0.999'. Means within a tolerance of VALUE may be judged either way: a tenth "
       "of the distance to 0 or 1 for shares, else 1 %, or what follows +-, as in "
       "'latency_p99_s<=0.5+-0.01'. May be given several times")  //
      ("indifference", text()->value_name("D"),
       "a difference that does not matter, in the unit of the metric; default: 1 % of the best "
       "mean of the first stage, or more if --max-replications would not tell that apart")  //
      ("procedure", text()->value_name("bounds|normal"),
       "bounds: assumes nothing about the distribution, for shares and probabilities (the default "
       "for these); normal: assumes normally distributed values, takes fewer replications")  //
      ("confidence", text()->value_name("P"),
       "probability that no policy is better than the chosen one by more than the indifference "
       "(with normal: if none is nearer to the best than that); default 0.95")  //
      ("batch", text()->value_name("M"),
       "an observation is the average of M replications, which is nearer to the normal "
       "distribution that is assumed; default 1")  //
      ("max-replications", text()->value_name("N"),
       "give up, undecided, after N replications of a policy (exit status 1); default 1000")  //
      ("resume", po::bool_switch(),
       "resume a race that was interrupted; if there is none, start it");
  add_simulation_options(
      options,
      {"folder of the result files; default results/NAME-choose. An earlier result of the same "
       "resolved scenario and request is replaced (see --force)",
       "format of standard output: table (default), csv (choose.csv) or json (result.json)"});
  return options;
}

double read_number(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    throw UsageError(fmt::format("--{}: '{}' is not a number", option, text));
  }
  return value;
}

ChoiceAim read_aim(const po::variables_map& values) {
  const auto highest = text_of(values, "maximize"), lowest = text_of(values, "minimize");
  if (!highest && !lowest) {
    throw UsageError(
        "nothing says what is best; expected --maximize METRIC or --minimize METRIC, such as "
        "--maximize goodput");
  }
  if (highest && lowest) {
    throw UsageError(
        "--maximize and --minimize cannot be combined; use --subject-to for what else matters");
  }
  ChoiceAim aim;
  aim.maximize = highest.has_value();
  aim.client = text_of(values, "client").value_or("all");
  const std::string& name = highest ? *highest : *lowest;
  aim.metric = find_metric(name);
  if (aim.metric == nullptr) {
    const auto names = metric_names();
    throw UsageError(fmt::format(
        "--{}: there is no metric '{}'; {}", highest ? "maximize" : "minimize", name,
        scenario::nearest(name, names).empty() ? "`retrysim list metrics` names them"
                                               : scenario::suggestion(name, names, "")));
  }
  return aim;
}

ChooseCommand read_choose_options(const po::variables_map& values) {
  ChooseCommand o;
  const std::vector<std::string> scenarios = texts(values, "scenario");
  if (scenarios.size() != 1) {
    throw UsageError(
        "expected one scenario: retrysim choose SCENARIO --vary PATH=V1,V2,... --maximize METRIC");
  }
  static_cast<SimulationSettings&>(o) = read_simulation_settings(values);
  o.scenario = scenarios.front();
  o.vary = texts(values, "vary");
  if (o.vary.empty()) {
    throw UsageError(
        "nothing to choose from; expected --vary, such as --vary "
        "'client.*.retry.max_attempts=1,2,3'");
  }
  o.choice.aim = read_aim(values);
  for (const std::string& text : texts(values, "subject-to")) {
    o.choice.limits.push_back(parse_choice_limit(text));
  }
  if (const auto zone = text_of(values, "indifference")) {
    o.choice.indifference = read_number("indifference", *zone);
  }
  if (const auto text = text_of(values, "procedure")) {
    for (const ChoiceProcedure p : {ChoiceProcedure::kBounds, ChoiceProcedure::kNormal}) {
      if (*text == name(p)) o.choice.procedure = p;
    }
    if (!o.choice.procedure) {
      throw UsageError(fmt::format("--procedure: '{}' is neither bounds nor normal", *text));
    }
  }
  if (const auto p = text_of(values, "confidence")) {
    o.choice.confidence = read_number("confidence", *p);
  }
  if (const auto n = text_of(values, "batch")) o.choice.batch = whole_number("batch", *n, 1);
  if (const auto n = text_of(values, "max-replications")) {
    o.choice.max_replications = whole_number("max-replications", *n, 1);
  }
  o.resume = values["resume"].as<bool>();
  return o;
}

/// What is asked for beside the scenario, as `ResultIdentity` has it.
std::vector<std::string> requests_of(const ChooseCommand& options) {
  const ChooseOptions& o = options.choice;
  std::vector<std::string> requests;
  for (const std::string& vary : options.vary) requests.push_back("--vary " + vary);
  requests.push_back(
      fmt::format("--{} {}", o.aim.maximize ? "maximize" : "minimize", o.aim.metric->name));
  if (o.aim.client != "all") requests.push_back("--client " + o.aim.client);
  for (const ChoiceLimit& limit : o.limits) {
    requests.push_back("--subject-to " + limit.text() +
                       (limit.tolerance ? fmt::format("+-{}", *limit.tolerance) : ""));
  }
  if (o.indifference) requests.push_back(fmt::format("--indifference {}", *o.indifference));
  if (o.procedure) requests.push_back(fmt::format("--procedure {}", name(*o.procedure)));
  requests.push_back(fmt::format("--confidence {}", o.confidence));
  if (o.batch > 1) requests.push_back(fmt::format("--batch {}", o.batch));
  return requests;
}

/// Loads every policy; says what is wrong with them. Then there are none.
std::vector<NamedScenario> load_policies(const ChooseCommand& options, const Session& session) {
  VariantsResult loaded = load_variants(options.scenario, options.edits, options.vary);
  session.print_errors(loaded.errors);
  for (const NamedScenario& v : loaded.variants) session.print_notes(v.loaded);
  if (!loaded.variants.empty() && loaded.variants.front().loaded.scenario.precision.target > 0) {
    session.print_note(
        "precision has no effect on a choice: the race has its own rule for when "
        "to stop");
  }
  return std::move(loaded.variants);
}

void note_direction(const ChoiceAim& aim, const Session& session) {
  const MetricBetter better = aim.metric->display.better;
  if (better == (aim.maximize ? MetricBetter::kLower : MetricBetter::kHigher)) {
    session.print_note(fmt::format("{} {} is usually the better one; this looks for the {}",
                                   aim.maximize ? "a lower" : "a higher", aim.metric->label(),
                                   aim.maximize ? "highest" : "lowest"));
  }
}

/// The exit status that this very race, finished earlier in `folder`, ended with. Nothing if a file
/// of it is gone or damaged.
std::optional<int> status_of_finished_race(const fs::path& folder, std::uint64_t id) {
  try {
    const auto json = report::read_sealed(folder);
    std::optional<int> status;
    report::read_members(folder / report::kResultJson, [&] {
      if (!json.contains("choice") ||
          json.at("choice").value("id", "") != fmt::format("{:016x}", id)) {
        return;
      }
      for (const auto& record : report::file_records(json, folder / report::kResultJson)) {
        if (!report::fault_of(folder, record).empty()) return;
      }
      const bool chosen = json.at("choice").at("outcome") == name(ChoiceOutcome::kChosen);
      status = chosen ? kDone : kExpectationFailed;
    });
    return status;
  } catch (const report::DamagedResult&) {
    return std::nullopt;
  }
}

PolicyChoice race(const ChooseCommand& options, std::vector<NamedScenario> policies,
                  ChoiceJournal* journal, const Session& session) {
  const std::string name = policies.front().loaded.scenario.name;
  std::optional<report::ProgressBar> bar;  // one for each stage
  report::ProgressBar none(name, false);
  ChooseOptions with_progress = options.choice;
  with_progress.journal = journal;
  with_progress.run = session.replication_options(none);
  with_progress.run.progress = [&](double share) {
    if (bar) bar->show(share);
  };
  with_progress.stage = [&](std::size_t stage, std::size_t racing) {
    bar.emplace(fmt::format("{}, stage {}: {} in the race", name, stage, racing),
                session.shows_progress());
  };
  // Gives how many replications are kept; a journal without any is not.
  const auto end_without_result = [&](bool keep) -> std::size_t {
    if (bar) bar->clear();
    if (journal == nullptr) return 0;
    if (keep && journal->kept() > 0) return journal->kept();
    journal->remove();
    return 0;
  };
  try {
    PolicyChoice choice = choose(std::move(policies), with_progress);
    if (bar) bar->clear();
    return choice;
  } catch (const Interrupted&) {
    const std::size_t kept = end_without_result(true);
    if (session.interruption().timed_out()) {
      throw LimitExceeded(fmt::format("\"{}\" took longer than --timeout allows{}", name,
                                      kept == 0 ? "" : "; " + kept_text(kept, "race")));
    }
    if (kept > 0) session.print_note(kept_text(kept, "race"));
    throw;
  } catch (const LimitExceeded&) {  // with another limit it may continue
    const std::size_t kept = end_without_result(true);
    if (kept > 0) session.print_note(kept_text(kept, "race"));
    throw;
  } catch (const RequestError&) {
    end_without_result(false);
    throw;
  } catch (...) {
    end_without_result(true);
    throw;
  }
}

/// What the process that leads writes and prints at the end.
int conclude(const ChooseCommand& options, const PolicyChoice& choice,
             const report::ResultIdentity& identity, std::uint64_t id, JournalFolder& folder,
             ChoiceJournal& journal) {
  report::ChoiceReport found{choice, {}, {}, identity.requests, identity.keys, id};
  const std::vector<Variation> variations = parse_variations(options.vary).variations;
  for (const Variation& v : variations) {
    found.paths.insert(found.paths.end(), v.paths.begin(), v.paths.end());
  }
  for (Variant& v : grid(variations)) found.values.push_back(std::move(v.values));
  const report::Document document = report::choice_document(found);
  document.write_files(folder.result());
  journal.remove();
  print_result(options, {folder.path(), "choose.csv", &document});
  return choice.outcome == ChoiceOutcome::kChosen ? kDone : kExpectationFailed;
}

int choose(const ChooseCommand& options, const Session& session) {
  std::vector<NamedScenario> policies = load_policies(options, session);
  if (policies.empty()) return kBadInput;
  for (const NamedScenario& p : policies) session.agree_on(p.loaded);
  note_direction(options.choice.aim, session);
  if (!session.leads()) {
    race(options, std::move(policies), nullptr, session);
    return kDone;
  }
  // Opened before the simulation, so that a folder that must not be written is reported at once.
  JournalFolder folder(options, options.resume,
                       result_path(options, policies.front().loaded.scenario.name, "choose"),
                       report::kChoiceJournal, "race");
  const std::uint64_t id = id_of_choice(policies, options.choice);
  if (options.resume && !folder.unfinished()) {
    if (const auto finished = status_of_finished_race(folder.path(), id)) {
      report::print_error("note: this race is already complete: {}\n", folder.path().string());
      print_result(options, {folder.path(), "choose.csv"});
      return *finished;
    }
  }
  std::vector<const LoadedScenario*> loaded;
  for (const NamedScenario& p : policies) loaded.push_back(&p.loaded);
  const auto identity = report::identity_of(loaded, "choose", requests_of(options));
  const fs::path file = folder.open(identity);
  const auto journal = open_journal(folder.path(), [&] {
    return std::make_unique<ChoiceJournal>(file, policies, options.choice, options.resume);
  });
  if (options.resume) print_what_was_kept(journal->found(), journal->dropped_bytes());
  const PolicyChoice choice = race(options, std::move(policies), journal.get(), session);
  return conclude(options, choice, identity, id, folder, *journal);
}

constexpr const char* kChooseUsage =
    "Usage: retrysim choose SCENARIO --vary PATH=V1,V2,... --maximize METRIC [options]\n"
    "       retrysim choose SCENARIO --vary PATH=V1,V2,... --minimize METRIC [options]\n\n"
    "Finds the best combination of the varied keys. All policies run the first stage\n"
    "(--replications) with the same random numbers; then those that are clearly worse leave, and\n"
    "the others go on until one is left, or until the rest is known to be no better by more than\n"
    "--indifference. For shares and probabilities this holds with --confidence whatever their\n"
    "distribution; for other metrics it assumes normally distributed values (procedure KN by Kim\n"
    "and Nelson). Expectations of the scenario are not evaluated. Example:\n"
    "  retrysim choose scenarios/capacity-dip.toml --vary "
    "client.standard.retry.max_attempts=1,2,3,5 \\\n"
    "      --vary client.standard.retry.backoff.jitter=none,full --maximize goodput --client "
    "standard\n\n"
    "Exit status 1: no policy keeps the limits of --subject-to, or the race is undecided.\n";

}  // namespace

int choose(const Arguments& arguments) {
  const auto values = read_command(arguments, describe_choose_options(), "scenario", kChooseUsage);
  if (!values) return kDone;
  const ChooseCommand options = read_choose_options(*values);
  return in_session({"choose", arguments}, options,
                    [&](const Session& session) { return choose(options, session); });
}

}  // namespace retrysim::cli
