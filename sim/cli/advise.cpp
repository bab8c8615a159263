// `retrysim advise`: which of the usual remedies would help a scenario most.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/advice.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

struct AdviseCommand : SimulationSettings {
  std::vector<std::string> scenarios;
};

Options<AdviseCommand> advise_options() {
  Options<AdviseCommand> options = std::vector<Option<AdviseCommand>>{};
  options.add(shard_option());
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-advise. An earlier result of the same "
       "resolved scenario is replaced (see --force)",
       "format of the advice on standard output: table (default), csv (advice.csv) or json "
       "(result.json)"}));
}

int advise(const AdviseCommand& options, Session& session) {
  const std::string& file = options.scenarios.front();
  RemediesResult read = load_remedies(file, options.edits);
  print_errors(read.errors);
  if (!read.scenario) return kBadInput;
  print_notes(*read.scenario);
  // The folder is made before the simulation, so that one that must not be written is reported at
  // once.
  const auto folder = session.result_folder(
      report::identity_of({&*read.scenario}, "advise", advise_options().asked(options)));
  const std::string name = read.scenario->scenario.name;
  report::ProgressBar bar = session.progress_bar(name);
  std::optional<Advice> advice;
  session.simulate(name, bar, [&](const ReplicationOptions& run) {
    advice = retrysim::advise(*std::move(read.scenario), std::move(read.remedies), run);
  });
  const report::AdviceReport found{*advice, file, options.edits};
  const report::Document document = report::advice_document(found);
  document.write_files(*folder);
  print_result(options, {folder->path(), "advice.csv", &document});
  return kDone;
}

constexpr const char* kAdviseUsage =
    "Usage: retrysim advise SCENARIO [options]\n"
    "\n"
    "Tries the usual remedies one by one on the scenario, with the same random\n"
    "numbers: a bounded or short queue, shedding, dropping what clients have given\n"
    "up, adaptive LIFO, outlier ejection, one attempt more, fewer attempts or none, a\n"
    "retry quota or budget, a retry breaker, circuit breakers, a bulkhead, a rate at\n"
    "which clients send, a client-side throttle, full jitter, a longer backoff,\n"
    "adaptive mode, no hedging, a longer timeout, a larger connection pool and waits\n"
    "for it, deadlines and retries of calls between services. Where services call\n"
    "each other, also at each caller alone (no-retries@front.back). Ranks them by\n"
    "what they do for success, recovery and the latency of successes, with 95 %\n"
    "intervals for all remedies together, and says what each costs elsewhere. A\n"
    "remedy that is in place or does not fit is named with the reason. The --set\n"
    "options of each remedy are printed, to go on with. Expectations of the scenario\n"
    "are not evaluated. Example:\n"
    "  retrysim advise scenarios/deploy.toml\n";

int advise(const Arguments& arguments) {
  auto command =
      advise_options().read(arguments, kAdviseUsage, "scenario", &AdviseCommand::scenarios);
  if (!command) return kDone;
  only_scenario(command->scenarios, "retrysim advise SCENARIO");
  return in_session({"advise", arguments}, *command,
                    [&](Session& session) { return advise(*command, session); });
}

constexpr Command kAdviseCommand{
    .name = "advise",
    .arguments = "SCENARIO",
    .purpose = "try the usual remedies and rank them: what would help most?",
    .run = advise,
    .after = "sdk-upgrade"};
RETRYSIM_COMMAND_ROW advise_row = &kAdviseCommand;

}  // namespace
}  // namespace retrysim::cli
