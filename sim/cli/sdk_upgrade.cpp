// `retrysim sdk-upgrade`: shows what a new release of an SDK changes in one client and in the
// fleet.
//
// SPDX-License-Identifier: MIT
#include <retrysim/sdk_upgrade.hpp>

#include "cli/commands.hpp"
#include "cli/list.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"
#include "report/run/evaluation.hpp"
#include "report/sdk_upgrade.hpp"
#include "scenario/first_scenario.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

struct SdkUpgradeCommand : SimulationSettings {
  std::vector<std::string> words;
  std::map<std::string_view, std::string> given;  ///< answers by the option of the question
  std::string attempt_timeout;                    ///< empty: the SDK's default
  std::string mode;                               ///< empty: the default of each release

  // Taken from the words.
  std::vector<std::string> upgrades;
  std::optional<fs::path> scenario;
};

constexpr std::string_view kAllSdks = "all";
/// The name of what is about several upgrades.
constexpr std::string_view kSeveral = "several";
/// The answers for the service that is an example if none is described.
constexpr std::pair<std::string_view, std::string_view> kAssumed[] = {{"rate", "200"},
                                                                      {"service-time", "50ms"}};

std::string_view assumed(std::string_view option) {
  const auto found = std::ranges::find(kAssumed, option, [](const auto& a) { return a.first; });
  return found == std::end(kAssumed) ? std::string_view() : found->second;
}

/// The questions about a service that options answer; the client is the SDK that is upgraded.
std::vector<const scenario::FirstQuestion*> questions() {
  std::vector<const scenario::FirstQuestion*> asked;
  for (const scenario::FirstQuestion& q : scenario::first_questions()) {
    if (q.option != "client") asked.push_back(&q);
  }
  return asked;
}

Options<SdkUpgradeCommand> sdk_upgrade_options() {
  using C = SdkUpgradeCommand;
  std::vector<Option<C>> rows;
  for (const scenario::FirstQuestion* q : questions()) {
    const std::string_view example = assumed(q->option);
    rows.push_back(
        {{std::string(q->option), std::string(q->value),
          fmt::format(
              "without a scenario: {}{}{}", q->asks, q->help,
              example.empty() ? "" : fmt::format("; without it, {} as an example", example))},
         [q](C& c, const std::string& text) { c.given[q->option] = text; }});
  }
  rows.push_back({{"attempt-timeout", "D",
                   "without a scenario: how long a client waits for an answer; default: the SDK's "
                   "own"},
                  [](C& c, const std::string& text) {
                    duration_above_zero("attempt-timeout", text);
                    c.attempt_timeout = text;
                  }});
  rows.push_back({{"mode", "legacy|standard|adaptive",
                   "the retry mode that you have set, so that an upgrade does not change it; "
                   "default: none, and each release has its own default"},
                  into(&C::mode)});
  Options<C> options = rows;
  options.add(shard_option());
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-sdk-upgrade. An earlier result of the "
       "same resolved scenario and upgrades is replaced (see --force)",
       "format of standard output: table (default), csv (upgrade.csv) or json (result.json)"}));
}

/// Sorts the words into upgrades and, if one of them is a file, the scenario.
void sort_words(SdkUpgradeCommand& o) {
  for (const std::string& word : o.words) {
    if (word.ends_with(".toml") || word.find('/') != word.npos) {
      if (o.scenario) throw UsageError("sdk-upgrade takes one scenario");
      o.scenario = word;
    } else if (word == kAllSdks) {
      for (std::string& sdk : upgraded_sdks()) o.upgrades.push_back(std::move(sdk));
    } else {
      o.upgrades.push_back(word);
    }
  }
  if (o.upgrades.empty()) {
    throw UsageError(fmt::format(
        "no SDK given; expected retrysim sdk-upgrade SDK[@FROM..TO], such as botocore or "
        "botocore@1.43.0..1.44.0, or {}",
        kAllSdks));
  }
  if (o.scenario && (!o.given.empty() || !o.attempt_timeout.empty())) {
    const std::string option =
        o.given.empty() ? "attempt-timeout" : std::string(o.given.begin()->first);
    throw UsageError(fmt::format(
        "--{} describes a service where there is no scenario; {} is one, which --set changes",
        option, o.scenario->string()));
  }
  if (o.scenario && o.upgrades.size() > 1) {
    throw UsageError(
        "a scenario says which SDK its clients have: give one SDK with it, or several without");
  }
}

/// What the fleet is, as its description: nobody is to take an example for a fleet of theirs.
std::string fleet_in_words(const SdkUpgradeCommand& o, const scenario::FirstAnswers& answers) {
  std::vector<std::string> missing;
  for (const auto& [option, value] : kAssumed) {
    if (!o.given.contains(option)) missing.push_back(fmt::format("--{}", option));
  }
  std::string text;
  if (!missing.empty()) {
    text = fmt::format("An example and not your fleet, because there is no {} and no scenario: ",
                       fmt::join(missing, ", no "));
  }
  text += fmt::format("{} a second of {} each, {}",
                      scenario::said_things(scenario::said_number(answers.rate, 6), "request"),
                      scenario::to_text(answers.service_time),
                      scenario::said_things(std::size_t{answers.servers}, "server"));
  if (!o.attempt_timeout.empty()) text += ", attempt timeout " + o.attempt_timeout;
  text += "; what goes wrong: " + answers.fault;
  for (const std::string& edit : o.edits) {
    if (!scenario::describes_system(edit.substr(0, edit.find('=')))) continue;
    text += "; " + scenario::printable_line(edit);
  }
  return text + ".";
}

/// The service that the options describe, with clients of the upgraded SDK.
FleetScenario described_fleet(const SdkUpgradeCommand& o, const SdkUpgrade& upgrade) {
  scenario::FirstAnswers answers;
  const auto read = [&](const scenario::FirstQuestion& q, const std::string& text) {
    try {
      q.read(answers, text);
    } catch (const scenario::BadAnswer& bad) {
      throw UsageError(fmt::format("--{}: {}", q.option, bad.what()));
    }
  };
  answers.client = upgrade.from.sdk;
  for (const scenario::FirstQuestion* q : questions()) {
    const std::string_view example = assumed(q->option);
    const auto given = o.given.find(q->option);
    read(*q, given != o.given.end() ? given->second
             : example.empty()      ? q->usual(answers)
                                    : std::string(example));
  }
  std::vector<std::string> edits = {"description=" +
                                    scenario::render_text(fleet_in_words(o, answers))};
  if (!o.attempt_timeout.empty()) {
    edits.push_back(fmt::format("client.web.attempt_timeout=\"{}\"", o.attempt_timeout));
  }
  edits.insert(edits.end(), o.edits.begin(), o.edits.end());
  const std::string name(upgrade.sdk());
  return {name + ".toml", scenario::first_scenario(answers, name), std::move(edits)};
}

/// Everything about one upgrade, at addresses that do not change.
struct Upgraded {
  UpgradeStudy study;
  UpgradeResult result;
  std::vector<report::ResultSet> sets;
  std::vector<report::Evaluation> evaluations;
};

std::string name_of_several(const SdkUpgradeCommand& o) {
  return std::string(std::ranges::find(o.words, kAllSdks) != o.words.end() ? kAllSdks : kSeveral);
}

report::ResultIdentity identity(const SdkUpgradeCommand& o,
                                const std::vector<std::unique_ptr<Upgraded>>& all) {
  std::vector<const LoadedScenario*> loaded;
  for (const auto& one : all) {
    loaded.push_back(&one->study.from.loaded);
    loaded.push_back(&one->study.to.loaded);
  }
  auto identity = report::identity_of(loaded, "sdk-upgrade", sdk_upgrade_options().asked(o));
  if (all.size() > 1) identity.scenario = name_of_several(o);
  return identity;
}

int sdk_upgrade(const SdkUpgradeCommand& o, Session& session) {
  std::vector<std::unique_ptr<Upgraded>> all;
  for (const std::string& text : o.upgrades) {
    const SdkUpgrade upgrade = parse_sdk_upgrade(text, o.mode);
    const FleetScenario fleet =
        o.scenario ? FleetScenario{*o.scenario, {}, o.edits} : described_fleet(o, upgrade);
    all.push_back(std::make_unique<Upgraded>());
    UpgradeStudy& study = all.back()->study;
    study = load_upgrade(upgrade, fleet);
    if (!o.scenario) {  // there is no file that they could be changes from: see the description
      study.from.loaded.changes.clear();
      study.to.loaded.changes.clear();
    }
    print_notes(all.back()->study.from.loaded);
  }
  const auto folder = session.result_folder(identity(o, all));
  std::optional<report::ProgressBar> bar;
  report::ProgressBar none("", false);
  std::vector<report::UpgradeReport> reports;
  for (const auto& one : all) {
    const std::string name = one->study.upgrade.to.name();
    bar.emplace(name, session.shows_progress());
    session.simulate(name, none, [&](ReplicationOptions run) {
      run.progress = [&](double share) { bar->show(share); };
      try {
        one->result = study_upgrade(one->study, run, [&](const std::string& of, double seconds) {
          bar.emplace(fmt::format("{}, a fault of {} s", of, scenario::said_number(seconds)),
                      session.shows_progress());
        });
      } catch (...) {
        bar->clear();
        throw;
      }
    });
    bar->clear();
    for (const ComparedVariant& v : one->result.comparison.variants) {
      one->sets.push_back(report::result_set_of(v));
    }
    for (const report::ResultSet& set : one->sets) one->evaluations.emplace_back(set);
    reports.push_back(
        {one->study, one->result, rules_in_words(one->study.upgrade), one->evaluations});
  }
  report::Document document = reports.size() == 1
                                  ? report::upgrade_document(reports.front())
                                  : report::upgrades_document(reports, name_of_several(o));
  for (const report::UpgradeReport& r : reports) {
    for (const report::Evaluation& e : r.evaluations) {
      document.scenario_file(
          e.set.scenario,
          fmt::format("# The fleet with {}, as in `retrysim sdk-upgrade`.\n\n", e.set.variant));
    }
  }
  document.write_files(*folder);
  print_result(o, {folder->path(), "upgrade.csv", &document});
  return kDone;
}

constexpr const char* kSdkUpgradeUsage =
    "Usage: retrysim sdk-upgrade SDK[@FROM[..TO]]... [options]\n"
    "       retrysim sdk-upgrade SDK[@FROM[..TO]] SCENARIO [options]\n"
    "       retrysim sdk-upgrade all [options]\n"
    "\n"
    "Says what an upgrade of an AWS SDK changes for those who configure nothing: in\n"
    "one client, with the same failures played by both releases, and in a fleet, on\n"
    "common random numbers, with the shortest fault that it does not recover from.\n"
    "Without releases: the last one before the defaults changed, and the newest one.\n"
    "The same release twice: opting in to the rules of November 2026. `all` is a\n"
    "table of the SDKs whose defaults have changed. Examples:\n"
    "  retrysim sdk-upgrade botocore --rate 560 --service-time 50ms --servers 40 \\\n"
    "      --attempt-timeout 1s\n"
    "  retrysim sdk-upgrade botocore@1.43.0..1.44.0 scenarios/sdk-upgrade.toml\n"
    "  retrysim sdk-upgrade all --attempt-timeout 1s --fault outage\n"
    "\n"
    "The fleet is that of the scenario, all of whose clients and calls that have the\n"
    "SDK are upgraded; or a service described by options, as in `retrysim init`.\n"
    "Without both it is an example, as its first lines say.\n"
    "`retrysim list releases` names the releases that changed something.\n";

int sdk_upgrade(const Arguments& arguments) {
  auto command =
      sdk_upgrade_options().read(arguments, kSdkUpgradeUsage, "sdk", &SdkUpgradeCommand::words);
  if (!command) return kDone;
  sort_words(*command);
  return in_session({"sdk-upgrade", arguments}, *command,
                    [&](Session& session) { return sdk_upgrade(*command, session); });
}

constexpr Command kSdkUpgradeCommand{
    .name = "sdk-upgrade",
    .arguments = "SDK[@FROM..TO]... [SCENARIO]",
    .purpose = "what a new release of an SDK does to a fleet: before and after",
    .run = sdk_upgrade,
    .after = "choose"};
RETRYSIM_COMMAND_ROW sdk_upgrade_row = &kSdkUpgradeCommand;

}  // namespace
}  // namespace retrysim::cli
