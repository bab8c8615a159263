// `retrysim size`: finds how big a retry budget, a queue, a timeout or a number of servers must be.
//
// SPDX-License-Identifier: MIT
#include <retrysim/size.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/size.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

struct SizeCommand : SimulationSettings {
  std::vector<std::string> words;
  std::vector<std::string> vary;
  SizeRequest request;
};

Options<SizeCommand> size_options() {
  using C = SizeCommand;
  using Texts = std::vector<std::string>;
  Options<C> options = std::vector<Option<C>>{
      {{"disturbance", "PATH=VALUES",
        "what may go wrong, as values of keys: every run is made with each of them, and has to be "
        "good with all. V1,V2,... or LO:HI:STEP or LO:HI:*N (N log-spaced), and A,B=(1,2),(3,4) "
        "for "
        "keys that move together; given several times, all combinations. Default: what the "
        "scenario "
        "says",
        true},
       [](C& c, const std::string& text) { c.request.disturbances.push_back(text); },
       [](const C& c) {
         Texts all;
         for (const std::string& d : c.request.disturbances) all.push_back("--disturbance " + d);
         return all;
       }},
      {{"vary", "PATH=VALUES",
        "search at each of these values of another key, as many combinations as several make: how "
        "big must a quota be, by how big the queue is? Values as for --disturbance",
        true},
       into(&C::vary),
       [](const C& c) { return vary_requests(c.vary); }},
      {{"slo", "LIMIT",
        "what a good run keeps besides recovering: METRIC>=VALUE or METRIC<=VALUE, in the unit of "
        "the metric, such as 'success_rate>=0.99' or 'error_budget_used<=0.05'. May be given "
        "several times",
        true},
       [](C& c, const std::string& text) {
         c.request.limits.push_back(parse_choice_limit(text, "slo"));
       },
       [](const C& c) {
         Texts all;
         for (const ChoiceLimit& limit : c.request.limits) all.push_back("--slo " + limit.text());
         return all;
       }},
      {{"expectations", "", "a good run keeps the expectations of the scenario, too"},
       [](C& c, const std::string&) { c.request.with_expectations = true; },
       [](const C& c) { return c.request.with_expectations ? Texts{"--expectations"} : Texts{}; }},
      {{"uncertain", "",
        "each run draws the values of the keys that [uncertain.\"PATH\"] gives intervals for: safe "
        "is what is good in --share of what they allow"},
       [](C& c, const std::string&) { c.request.uncertain = true; },
       [](const C& c) { return c.request.uncertain ? Texts{"--uncertain"} : Texts{}; }},
      {{"client", "NAME",
        "the client group whose metrics --slo is about; default: all clients together"},
       [](C& c, const std::string& text) { c.request.client = text; },
       [](const C& c) {
         return c.request.client == "all" ? Texts{} : Texts{"--client " + c.request.client};
       }},
      {{"share", "P", "share of the runs that must be good, above 0 and below 1; default 0.95"},
       [](C& c, const std::string& text) { c.request.share = number("share", text); },
       [](const C& c) { return Texts{fmt::format("--share {}", c.request.share)}; }},
      {{"confidence", "P", "probability that a value called safe is, at least 0.5; default 0.95"},
       [](C& c, const std::string& text) { c.request.confidence = number("confidence", text); },
       [](const C& c) { return Texts{fmt::format("--confidence {}", c.request.confidence)}; }},
      {{"largest", "",
        "where small values and large ones are safe: the largest that was tried. Where only small "
        "ones are, the largest is found anyway"},
       [](C& c, const std::string&) { c.request.wants_largest = true; },
       [](const C& c) { return c.request.wants_largest ? Texts{"--largest"} : Texts{}; }},
      {{"max-replications", "N",
        "runs of a value at most; what is not known by then is too close to tell; default 1000"},
       [](C& c, const std::string& text) {
         c.request.most_runs = whole_number("max-replications", text, 2);
       }}};
  options.add(shard_option());
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-size. An earlier result of the same "
       "resolved scenario and request is replaced (see --force)",
       "format of standard output: table (default), csv (size.csv, with --vary frontier.csv) or "
       "json "
       "(result.json)"}));
}

std::vector<std::string> asked(const SizeCommand& c, const SizePlan& plan) {
  std::vector<std::string> all = {
      fmt::format("{}={}:{}", plan.key.path, plan.key.first, plan.key.last)};
  for (std::string& text : size_options().asked(c)) all.push_back(std::move(text));
  return all;
}

/// The folder of the result, after notes on the scenario.
auto result_folder(const SizeCommand& command, Session& session, const LoadedScenario& base,
                   std::vector<std::filesystem::path> reads, const SizePlan& plan) {
  print_notes(base);
  reads.push_back(command.request.scenario);
  auto folder =
      session.result_folder(report::identity_of(base, reads, "size", asked(command, plan)));
  if (base.scenario.precision.target > 0) {
    report::print_error(
        "note: precision has no effect on a search for a size, which makes runs until it is "
        "sure\n");
  }
  return folder;
}

/// A bar for each stage of a search, which `search` is given with what is called before one.
template <class Search>
void with_bars(Session& session, const std::string& name, const Search& search) {
  std::optional<report::ProgressBar> bar;
  report::ProgressBar none(name, false);
  session.simulate(name, none, [&](ReplicationOptions run) {
    run.progress = [&](double share) {
      if (bar) bar->show(share);
    };
    try {
      search(run, [&](const std::string& at, double value, std::size_t runs) {
        bar.emplace(fmt::format("{}{}, value {} after {} runs", name, at,
                                scenario::said_number(value, 6), runs),
                    session.shows_progress());
      });
    } catch (...) {
      if (bar) bar->clear();
      throw;
    }
  });
  if (bar) bar->clear();
}

bool has_safe_value(const SizeStudy& study) {
  switch (study.answer.outcome) {
    case SizeOutcome::kFound:
    case SizeOutcome::kBracket:
    case SizeOutcome::kAllSafe:
    case SizeOutcome::kWindow:
      return true;
    case SizeOutcome::kNoneSafe:
    case SizeOutcome::kNotMonotone:
    case SizeOutcome::kOpen:
      break;
  }
  return false;
}

int size(const SizeCommand& command, Session& session) {
  SizePlanResult planned = plan_size(command.request);
  print_errors(planned.errors);
  if (!planned.plan) return kBadInput;
  const SizePlan& plan = *planned.plan;
  const auto folder = result_folder(command, session, plan.base, plan.inputs, plan);
  SizeStudy study;
  with_bars(session, plan.base.scenario.name, [&](const ReplicationOptions& run, auto stage) {
    study = find_size(plan, run,
                      [&](double value, std::size_t runs) { stage(std::string(), value, runs); });
  });
  const report::Document document = report::size_document(plan, study);
  document.write_files(*folder);
  print_result(command, {folder->path(), "size.csv", &document});
  return has_safe_value(study) ? kDone : kExpectationFailed;
}

int frontier(const SizeCommand& command, Session& session) {
  SizeFrontierPlanResult planned = plan_size_frontier(command.request, command.vary);
  print_errors(planned.errors);
  if (!planned.plan) return kBadInput;
  const SizeFrontierPlan& plan = *planned.plan;
  std::set<std::filesystem::path> inputs;
  for (const SizePoint& p : plan.points) inputs.insert(p.plan.inputs.begin(), p.plan.inputs.end());
  const auto folder = result_folder(command, session, plan.base, {inputs.begin(), inputs.end()},
                                    plan.points.front().plan);
  std::vector<SizeStudy> studies;
  with_bars(session, plan.base.scenario.name, [&](const ReplicationOptions& run, auto stage) {
    studies = find_sizes(plan, run, [&](const SizePoint& point, double value, std::size_t runs) {
      stage(", " + point.name, value, runs);
    });
  });
  const report::Document document = report::frontier_document(plan, studies);
  document.write_files(*folder);
  print_result(command, {folder->path(), "frontier.csv", &document});
  return std::ranges::any_of(studies, has_safe_value) ? kDone : kExpectationFailed;
}

constexpr const char* kSizeUsage =
    "Usage: retrysim size PATH[=LO:HI] SCENARIO [options]\n"
    "\n"
    "How big must it be? Finds the smallest safe value of a key with numbers or\n"
    "durations (a retry quota, a queue, a limit, a pool, servers), or the largest\n"
    "where small ones are safe (a timeout, a load). A value is safe if at least 95 %\n"
    "of runs are good, with 95 % confidence; a run is good if it recovers and keeps\n"
    "what --slo says. Without a range: from a tenth of the scenario's own value, or 0\n"
    "where the key takes it, to ten times that. Examples:\n"
    "  retrysim size service.api.servers scenarios/deploy.toml\n"
    "  retrysim size client.web.retry.quota.capacity=0:1000 \\\n"
    "      scenarios/fifo-zombie.toml --disturbance fault.outage.duration=1s,10s,30s\n"
    "\n"
    "The values have steps of at most 20 %, or 1. Some over the whole range are tried\n"
    "first, each with the scenario's number of replications, then those around the\n"
    "edge; all on common random numbers. Where the curve is not monotone, or too flat\n"
    "to tell, the answer is no single number. With --vary there is a search at each\n"
    "value of other keys; with --uncertain runs draw what the scenario does not know\n"
    "for sure. Exit status 1: no value is safe, or there is no answer. Finished\n"
    "replications are kept if the search is interrupted.\n";

int size(const Arguments& arguments) {
  auto command = size_options().read(arguments, kSizeUsage, "size", &SizeCommand::words);
  if (!command) return kDone;
  if (command->words.size() != 2) {
    throw UsageError("expected a key and a scenario: retrysim size PATH[=LO:HI] SCENARIO");
  }
  // The key and the scenario may come in either order.
  std::vector<std::string>& words = command->words;
  if (words[0].ends_with(".toml") && !words[1].ends_with(".toml")) std::swap(words[0], words[1]);
  command->request.what = words[0];
  command->request.scenario = words[1];
  command->request.edits = command->edits;
  return in_session({"size", arguments}, *command, [&](Session& session) {
    return command->vary.empty() ? size(*command, session) : frontier(*command, session);
  });
}

constexpr Command kSizeCommand{.name = "size",
                               .arguments = "PATH[=LO:HI] SCENARIO",
                               .purpose =
                                   "how big a retry budget, a queue, a limit or a fleet must "
                                   "be to survive what is stated",
                               .run = size,
                               .after = "tip"};
RETRYSIM_COMMAND_ROW size_row = &kSizeCommand;

}  // namespace
}  // namespace retrysim::cli
