// `retrysim tip`: finds the smallest trigger that the system does not recover from (--trigger), for
// one case or for each combination of varied keys; or raises and lowers the load within one run
// (--hysteresis).
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>
#include <retrysim/sweep.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"
#include "report/hysteresis.hpp"
#include "report/tip.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {

// --- --hysteresis --------------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

struct TipCommand : SimulationSettings {
  std::vector<std::string> scenarios;
  std::optional<std::string> trigger;     ///< the trigger: "PATH=LO:HI"
  std::optional<std::string> hysteresis;  ///< the ramp: "PATH=LO:HI:STEP"
  std::optional<std::string> dwell;       ///< time at each step; empty: 20 rolling windows
  std::optional<std::string> tolerance;
  std::vector<std::string> vary;
  TipRequest request;
  bool resume = false;
};

int hysteresis(const TipCommand& options, Session& session) {
  const LoadKey key = parse_load(*options.hysteresis);
  const LoadResult result = load_at(options.scenarios.front(), options.edits, key);
  print_errors(result.errors);
  if (!result.loaded) return kBadInput;
  const LoadedScenario& loaded = *result.loaded;
  print_notes(loaded);
  if (loaded.scenario.precision.target > 0) {
    report::print_error(
        "note: precision has no effect on a hysteresis loop: it has the number of replications "
        "that "
        "the scenario gives\n");
  }
  std::optional<Duration> dwell;
  if (options.dwell) dwell = duration_above_zero("dwell", *options.dwell);
  const LoadRamp ramp = plan_ramp(loaded.scenario, key, dwell);
  const auto folder = session.result_folder(
      report::identity_of({&loaded}, "tip",
                          {fmt::format("--hysteresis {}={} --dwell {}s", key.path,
                                       fmt::join(ramp.loads, ","), ramp.dwell.in_seconds())}));
  report::ProgressBar bar = session.progress_bar(loaded.scenario.name);
  HysteresisLoop loop;
  session.simulate(loaded.scenario.name, bar, [&](const ReplicationOptions& run) {
    loop = find_hysteresis(loaded.scenario, key, {dwell, run});
  });
  const report::Document document = report::hysteresis_document(loaded, key, loop);
  document.write_files(*folder);
  print_result(options, {folder->path(), "hysteresis.csv", &document});
  return kDone;
}

// --- --trigger -----------------------------------------------------------------------------------

std::string_view csv_file_of(const TipCommand& options) {
  return options.request.varying.empty() ? "tip.csv" : "curve.csv";
}

Options<TipCommand> tip_options() {
  using C = TipCommand;
  using Texts = std::vector<std::string>;
  Options<C> options = std::vector<Option<C>>{
      {{"trigger", "PATH=LO:HI",
        "the key to bisect: a duration, rate, factor or number; the system should recover at LO "
        "and "
        "fail at HI; HI may be smaller than LO"},
       into(&C::trigger),
       [](const C& c) {
         const Trigger& t = c.request.trigger;
         return Texts{fmt::format("--trigger {}={}:{}", t.path, t.first, t.last)};
       }},
      {{"hysteresis", "PATH=LO:HI:STEP",
        "instead of --trigger: raise the rate of a client group step by step and lower it again "
        "within one run, to find where the system tips and where it recovers"},
       into(&C::hysteresis)},
      {{"dwell", "D",
        "with --hysteresis: time at each step, such as 60s or a number of seconds; only its second "
        "half is measured. Default: 20 rolling windows of attempt timeout + longest backoff"},
       into(&C::dwell)},
      {{"vary", "PATH=VALUES",
        "with --trigger: search at each of these values of another key: V1,V2,... or LO:HI:STEP or "
        "LO:HI:*N (N of them, log-spaced); keys that move together: A,B=(1,2),(3,4). Several make "
        "a "
        "grid: D50 is a curve over the first key of numbers, with a line for each combination of "
        "the others",
        true},
       into(&C::vary),
       [](const C& c) { return vary_requests(c.vary); }},
      {{"tolerance", "REL",
        "relative precision at which the search for the tipping point, and for the ends of its "
        "interval, stops; default 0.01"},
       into(&C::tolerance),
       [](const C& c) { return Texts{fmt::format("--tolerance {}", c.request.tolerance)}; }},
      {{"resume", "", kResumeHelp}, into(&C::resume)}};
  options.add(shard_option());
  return options.add(simulation_options(
      {"folder of the result files; default results/NAME-tip. An earlier result of the same "
       "resolved scenario, trigger and variations is replaced (see --force)",
       "format of standard output: table (default), csv (tip.csv, with --vary curve.csv) or json "
       "(result.json)"}));
}

/// Writes and prints the result of the search; returns an exit status.
int conclude_search(const TipCommand& options, const TipPlan& plan,
                    const std::vector<TipPoint>& points, report::ResultFolder& folder) {
  const bool is_curve = !options.request.varying.empty();
  const report::Document document =
      is_curve ? report::curve_document(plan, points) : report::tip_document(plan, points.front());
  document.write_files(folder);
  print_result(options, {folder.path(), csv_file_of(options), &document});
  const bool found = std::any_of(points.begin(), points.end(), [](const TipPoint& p) {
    return p.found.point.outcome == TippingOutcome::kFound;
  });
  return found ? kDone : kExpectationFailed;
}

int search_for_tipping_points(const TipCommand& options, Session& session) {
  const TipPlanResult planned = plan_tip(options.request);
  print_errors(planned.errors);
  if (!planned.plan) return kBadInput;
  const TipPlan& plan = *planned.plan;
  print_notes(plan.base);
  for (const std::string& note : notes_before(plan)) report::print_error("note: {}\n", note);
  std::vector<fs::path> reads = plan.inputs;
  reads.push_back(options.request.scenario);
  const auto folder = session.result_folder(
      report::identity_of(plan.base, reads, "tip", tip_options().asked(options)));
  if (plan.base.scenario.precision.target > 0) {
    report::print_error(
        "note: precision has no effect on a search for a tipping point: every value has the number "
        "of replications that the scenario gives\n");
  }
  const std::string name = plan.base.scenario.name;
  const bool several = !options.request.varying.empty();
  std::optional<report::ProgressBar> bar;  // a new bar for each value
  report::ProgressBar none(name, false);
  TipSearchOptions search;
  search.probing = [&](const std::string& point, int probe, double value) {
    bar.emplace(fmt::format("{}{}, value {}: {}", name, several ? ", " + point : "", probe,
                            scenario::said_number(value, 6)),
                session.shows_progress());
  };
  std::vector<TipPoint> points;
  session.simulate(name, none, [&](const ReplicationOptions& run) {
    search.run = run;
    search.run.progress = [&](double share) { bar->show(share); };
    try {
      points = find_tipping_points(plan, search);
    } catch (...) {
      if (bar) bar->clear();
      throw;
    }
  });
  if (bar) bar->clear();
  return conclude_search(options, plan, points, *folder);
}

// --- The command ---------------------------------------------------------------------------------

double read_tolerance(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= 1e-6 && value <= 0.5)) {
    throw UsageError(fmt::format("--tolerance: '{}' is not a number from 1e-6 to 0.5", text));
  }
  return value;
}

/// Completes options that depend on each other, and refuses those that cannot be combined.
void settle(TipCommand& o) {
  only_scenario(o.scenarios, "retrysim tip SCENARIO --trigger PATH=LO:HI");
  if (o.hysteresis) {
    const std::pair<std::string_view, bool> others[] = {{"trigger", o.trigger.has_value()},
                                                        {"tolerance", o.tolerance.has_value()},
                                                        {"vary", !o.vary.empty()}};
    for (const auto& [option, given] : others) {
      if (given) throw UsageError(fmt::format("--{} cannot be combined with --hysteresis", option));
    }
    if (!o.resume) return;
    throw UsageError("--resume cannot be combined with --hysteresis, which is a single step");
  }
  if (o.dwell) throw UsageError("--dwell needs --hysteresis");
  if (!o.trigger) throw UsageError("--trigger is missing; expected PATH=LO:HI");
  o.request.scenario = o.scenarios.front();
  o.request.edits = o.edits;
  o.request.varying = o.vary;
  o.request.trigger = parse_trigger(*o.trigger);
  if (o.tolerance) o.request.tolerance = read_tolerance(*o.tolerance);
}

constexpr const char* kTipUsage =
    "Usage: retrysim tip SCENARIO --trigger PATH=LO:HI [--vary PATH=VALUES]...\n"
    "       retrysim tip SCENARIO --hysteresis PATH=LO:HI:STEP [options]\n"
    "\n"
    "Finds the smallest trigger that the system does not recover from. All\n"
    "replications run at LO, HI and the values that bisection picks, with the same\n"
    "random numbers; those that tip run again without retries from the end of the\n"
    "trigger on. Example:\n"
    "  retrysim tip scenarios/fifo-zombie.toml \\\n"
    "      --trigger fault.outage.duration=0.9s:1.6s\n"
    "\n"
    "With --vary there is a search for each combination of the varied keys, which\n"
    "shows how the tipping point moves with the load, and with the policy. Example:\n"
    "  retrysim tip scenarios/fifo-zombie.toml \\\n"
    "      --trigger fault.outage.duration=0.8s:2s \\\n"
    "      --vary client.web.arrivals.total_rate=300:450:50 \\\n"
    "      --vary client.web.retry.max_attempts=2,3\n"
    "\n"
    "A run recovers if its goodput comes back soon enough after the last fault or\n"
    "surge; sim/measure/README.md says how soon. Without a fault or surge, a run tips\n"
    "if fewer than recovery.share of the requests in its last quarter succeed.\n"
    "Expectations of the scenario are not evaluated. Exit status 1: half of the\n"
    "replications or more already tip at LO, or fewer than half tip at HI, or the\n"
    "runs are too short to tell; with --vary: that is so at every point. Finished\n"
    "replications are kept if the search is interrupted.\n";

int tip(const Arguments& arguments) {
  auto command = tip_options().read(arguments, kTipUsage, "scenario", &TipCommand::scenarios);
  if (!command) return kDone;
  settle(*command);
  return in_session({"tip", arguments}, *command, [&](Session& session) {
    return command->hysteresis ? hysteresis(*command, session)
                               : search_for_tipping_points(*command, session);
  });
}

constexpr Command kTipCommand{
    .name = "tip",
    .arguments = "SCENARIO --trigger PATH=LO:HI",
    .purpose = "find the smallest disturbance that the system does not recover from",
    .run = tip,
    .after = "compare"};
RETRYSIM_COMMAND_ROW tip_row = &kTipCommand;

}  // namespace
}  // namespace retrysim::cli
