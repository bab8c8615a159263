// `retrysim risk`: how likely it is that something rare happens by itself: a collapse, a backlog, a
// minute in which too little succeeds.
//
// SPDX-License-Identifier: MIT
#include <retrysim/risk.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/folder/manifest.hpp"
#include "report/risk.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

struct RiskCommand : SimulationSettings {
  std::vector<std::string> scenarios;
  std::string per = "30d", repair;
  RiskRequest request;
};

Options<RiskCommand> risk_options() {
  using C = RiskCommand;
  using Texts = std::vector<std::string>;
  Options<C> options = std::vector<Option<C>>{
      {{"event", "EVENT",
        "what may happen: collapse (default): of the requests of all clients that end within ten "
        "times the longest attempt timeout, and at least 10 s, less than half succeed; "
        "service.NAME.in_system>=K: so many attempts wait or are served at once; "
        "client.NAME.success_rate<X/60s: less than the share X of the group's requests that end "
        "within a minute succeeds (NAME may be all); slo.NAME.budget>X: faults at random times "
        "use more than X times the error budget"},
       [](C& c, const std::string& text) { c.request.event = text; },
       [](const C& c) { return Texts{"--event " + c.request.event}; }},
      {{"per", "TIME", "the time within which it may happen, such as 30d (default), 12h or 365d"},
       into(&C::per),
       [](const C& c) { return Texts{"--per " + c.per}; }},
      {{"vary", "PATH=VALUES",
        "ask at each of these values of a key, as many combinations as several make: V1,V2,... or "
        "LO:HI:STEP or LO:HI:*N (N log-spaced), and A,B=(1,2),(3,4) for keys that move together",
        true},
       [](C& c, const std::string& text) { c.request.varying.push_back(text); },
       [](const C& c) { return vary_requests(c.request.varying); }},
      {{"precision", "REL",
        "half the width of the 95 % interval that is aimed at, as a share of the estimate; default "
        "0.25"},
       [](C& c, const std::string& text) { c.request.precision = number("precision", text); },
       [](const C& c) { return Texts{fmt::format("--precision {}", c.request.precision)}; }},
      {{"effort", "EVENTS",
        "events that may be simulated for each point, roughly; if they are too few, the interval "
        "is "
        "wider. A first look takes a quarter of it at most. Default 5e9, some minutes on one core"},
       [](C& c, const std::string& text) {
         const double events = number("effort", text);
         if (!(events >= 1e6 && events <= 1e18)) {
           throw UsageError("--effort: expected a number from 1e6 to 1e18");
         }
         c.request.effort = static_cast<std::uint64_t>(events);
       },
       [](const C& c) { return Texts{fmt::format("--effort {}", c.request.effort)}; }},
      {{"plain", "",
        "without splitting: as many runs as --effort allows, each of which shows the event or does "
        "not. For a budget: without skipping quiet times"},
       [](C& c, const std::string&) { c.request.plain = true; },
       [](const C& c) { return c.request.plain ? Texts{"--plain"} : Texts{}; }},
      {{"repair", "TIME",
        "for a budget: a collapse that does not end by itself is ended by somebody so long after "
        "the fault; default: it lasts to the end of the period"},
       into(&C::repair),
       [](const C& c) { return c.repair.empty() ? Texts{} : Texts{"--repair " + c.repair}; }}};
  options.add(shard_option());
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-risk. An earlier result of the same "
       "resolved scenario and request is replaced (see --force)",
       "format of standard output: table (default), csv (risk.csv) or json (result.json)"}));
}

int risk(const RiskCommand& command, Session& session) {
  RiskPlanResult planned = plan_risk(command.request);
  print_errors(planned.errors);
  if (!planned.plan) return kBadInput;
  const RiskPlan& plan = *planned.plan;
  print_notes(plan.base);
  std::vector<std::filesystem::path> reads = plan.inputs;
  reads.push_back(command.request.scenario);
  const auto folder = session.result_folder(
      report::identity_of(plan.base, reads, "risk", risk_options().asked(command)));
  if (plan.base.scenario.precision.target > 0) {
    report::print_error("note: the scenario's precision has no effect here; see --precision\n");
  }
  const std::string name = plan.base.scenario.name;
  std::optional<report::ProgressBar> bar;
  report::ProgressBar none(name, false);
  std::vector<RiskStudy> studies;
  session.simulate(name, none, [&](ReplicationOptions run) {
    run.progress = [&](double share) {
      if (bar) bar->show(share);
    };
    try {
      studies = find_risks(plan, run, [&](const RiskPoint& point, std::string_view stage) {
        bar.emplace(
            fmt::format("{}{}{}, {}", name, point.name.empty() ? "" : ", ", point.name, stage),
            session.shows_progress());
      });
    } catch (...) {
      if (bar) bar->clear();
      throw;
    }
  });
  if (bar) bar->clear();
  const report::Document document = report::risk_document(plan, studies);
  document.write_files(*folder);
  print_result(command, {folder->path(), "risk.csv", &document});
  return kDone;
}

constexpr const char* kRiskUsage =
    "Usage: retrysim risk SCENARIO [--event EVENT] [--per TIME] [options]\n"
    "\n"
    "How likely is it that something rare happens by itself, without any fault or\n"
    "surge? Finds how often a service tips over, or comes to the stated event, and\n"
    "the chance of that within some time, with 95 % intervals, also where no plain\n"
    "run would ever show it: runs that come nearer to the event than others are\n"
    "continued several times over (splitting). Faults and surges of the scenario are\n"
    "left out; its duration and number of replications do not matter.\n"
    "\n"
    "And how likely is it that the faults of a month use up an error budget? Months\n"
    "with faults at random times (per_year, mtbf) are drawn, and the time around each\n"
    "fault is simulated. Examples:\n"
    "  retrysim risk scenarios/spontaneous-collapse.toml --per 30d\n"
    "  retrysim risk scenarios/spontaneous-collapse.toml \\\n"
    "      --event 'service.api.in_system>=60' \\\n"
    "      --vary client.web.retry.max_attempts=1,4\n"
    "  retrysim risk scenarios/random-faults.toml --event 'slo.web.budget>1'\n"
    "\n"
    "Finished repetitions are kept if the search is interrupted.\n";

int risk(const Arguments& arguments) {
  auto command = risk_options().read(arguments, kRiskUsage, "scenario", &RiskCommand::scenarios);
  if (!command) return kDone;
  only_scenario(command->scenarios, "retrysim risk SCENARIO");
  command->request.scenario = command->scenarios.front();
  command->request.edits = command->edits;
  command->request.period = parse_period(command->per);
  if (!command->repair.empty()) command->request.repair = parse_period(command->repair, "repair");
  return in_session({"risk", arguments}, *command,
                    [&](Session& session) { return risk(*command, session); });
}

constexpr Command kRiskCommand{
    .name = "risk",
    .arguments = "SCENARIO --event EVENT",
    .purpose = "how likely it is that a service tips over by itself within a month",
    .run = risk,
    .after = "size"};
RETRYSIM_COMMAND_ROW risk_row = &kRiskCommand;

}  // namespace
}  // namespace retrysim::cli
