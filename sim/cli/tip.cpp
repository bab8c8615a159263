// `retrysim tip --hysteresis`: the load goes up and down again within one run.
//
// SPDX-License-Identifier: MIT
#include <retrysim/hysteresis.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/tip.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"
#include "report/hysteresis.hpp"
#include "report/tip.hpp"

#include <fmt/format.h>
#include <boost/program_options.hpp>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {

struct HysteresisCommand : SimulationSettings {
  std::string scenario;
  std::string load;                  ///< "PATH=LO:HI:STEP"
  std::optional<std::string> dwell;  ///< time at each step; empty: 20 rolling windows
};

/// Simulates, writes and prints; an ExitStatus. Throws UsageError.
int hysteresis(const HysteresisCommand& options, const Session& session);

int hysteresis(const HysteresisCommand& options, const Session& session) {
  const LoadKey key = parse_load(options.load);
  const LoadResult result = load_at(options.scenario, options.edits, key);
  session.print_errors(result.errors);
  if (!result.loaded) return kBadInput;
  const LoadedScenario& loaded = *result.loaded;
  session.print_notes(loaded);
  session.agree_on(loaded);
  if (loaded.scenario.precision.target > 0) {
    session.print_note(
        "precision has no effect on a hysteresis loop: it has the number of replications that the "
        "scenario gives");
  }
  std::optional<Duration> dwell;
  if (options.dwell) dwell = duration_above_zero("dwell", *options.dwell);
  const LoadRamp ramp = plan_ramp(loaded.scenario, key, dwell);
  const auto folder = session.result_folder(report::identity_of(
      {&loaded}, "tip",
      {report::hysteresis_request(key.path, ramp.loads, ramp.dwell.in_seconds())}));
  report::ProgressBar bar = session.progress_bar(loaded.scenario.name);
  HysteresisLoop loop;
  session.simulate(loaded.scenario.name, bar, [&](const ReplicationOptions& run) {
    loop = find_hysteresis(loaded.scenario, key, {dwell, run});
  });
  if (!session.leads()) return kDone;
  const report::Document document = report::hysteresis_document(loaded, key, loop);
  document.write_files(*folder);
  print_result(options, {folder->path(), "hysteresis.csv", &document});
  return kDone;
}

// `retrysim tip --trigger`: one search, or one for each combination of varied keys, from which an
// interrupted command goes on.

struct TipCommand : SimulationSettings {
  TipRequest request;
  bool resume = false;
};

/// Searches, writes and prints; an ExitStatus. Throws UsageError.
int search_for_tipping_points(const TipCommand& options, const Session& session);

namespace {

namespace fs = std::filesystem;

std::string_view csv_file_of(const TipCommand& options) {
  return options.request.varying.empty() ? "tip.csv" : "curve.csv";
}

std::vector<std::string> tip_requests(const TipRequest& request) {
  const Trigger& trigger = request.trigger;
  std::vector<std::string> requests = {
      report::trigger_request(trigger.path, trigger.first, trigger.last)};
  for (const std::string& vary : request.varying) requests.push_back("--vary " + vary);
  requests.push_back(report::tolerance_request(request.tolerance));
  return requests;
}

/// The exit status that this very search, finished earlier in `folder`, ended with. Nothing if a
/// file of it is gone or damaged.
std::optional<int> status_of_finished_search(const fs::path& folder, const TipPlan& plan) {
  try {
    const auto json = report::read_sealed(folder);
    std::optional<int> status;
    report::read_members(folder / report::kResultJson, [&] {
      if (!json.contains("search") ||
          json.at("search").at("id") != fmt::format("{:016x}", plan.id)) {
        return;
      }
      for (const auto& record : report::file_records(json, folder / report::kResultJson)) {
        if (!report::fault_of(folder, record).empty()) return;
      }
      const bool found = json.contains("curve")
                             ? json.at("curve").at("found").get<std::size_t>() > 0
                             : json.at("outcome") == name(TippingOutcome::kFound);
      status = found ? kDone : kExpectationFailed;
    });
    return status;
  } catch (const report::DamagedResult&) {
    return std::nullopt;
  }
}

/// Searches; on an interruption what is finished stays in the journal, and the message says so.
std::vector<TipPoint> run_searches(TipSearches& searches, const Session& session) {
  try {
    return searches.run();
  } catch (const Interrupted&) {
    const std::size_t kept = searches.replications_kept();
    const bool timed_out = session.interruption().timed_out();
    const std::string text = kept_text(kept, "search");
    if (kept == 0) searches.remove_journal();
    if (timed_out) {
      throw LimitExceeded(fmt::format("\"{}\" took longer than --timeout allows{}",
                                      searches.plan().base.scenario.name,
                                      kept == 0 ? "" : "; " + text));
    }
    if (kept > 0) session.print_note(text);
    throw;
  } catch (...) {
    if (searches.replications_kept() == 0) searches.remove_journal();
    throw;
  }
}

/// What the process that leads writes and prints at the end.
int conclude_search(const TipCommand& options, TipSearches& searches,
                    const std::vector<TipPoint>& points, JournalFolder& folder) {
  const TipPlan& plan = searches.plan();
  const bool is_curve = !options.request.varying.empty();
  const report::Document document =
      is_curve ? report::curve_document(plan, points) : report::tip_document(plan, points.front());
  document.write_files(folder.result());
  searches.remove_journal();
  print_result(options, {folder.path(), csv_file_of(options), &document});
  const bool found = std::any_of(points.begin(), points.end(), [](const TipPoint& p) {
    return p.found.point.outcome == TippingOutcome::kFound;
  });
  return found ? kDone : kExpectationFailed;
}

int search(const TipCommand& options, TipPlan plan, const Session& session) {
  std::optional<JournalFolder> folder;
  TipSearchOptions search_options;
  if (session.leads()) {
    folder.emplace(options, options.resume, result_path(options, plan.base.scenario.name, "tip"),
                   report::kTipJournal, "search");
    if (options.resume && !folder->unfinished()) {
      if (const auto finished = status_of_finished_search(folder->path(), plan)) {
        report::print_error("note: this search is already complete: {}\n", folder->path().string());
        print_result(options, {folder->path(), csv_file_of(options)});
        return *finished;
      }
    }
    search_options.journal =
        folder->open(report::identity_of({&plan.base}, "tip", tip_requests(options.request)));
    search_options.resume = options.resume;
  }
  if (plan.base.scenario.precision.target > 0) {
    session.print_note(
        "precision has no effect on a search for a tipping point: every value has the number of "
        "replications that the scenario gives");
  }
  const std::string name = plan.base.scenario.name;
  const bool several = !options.request.varying.empty();
  std::optional<report::ProgressBar> bar;  // one for each value
  report::ProgressBar none(name, false);
  search_options.run = session.replication_options(none);
  search_options.run.progress = [&](double share) { bar->show(share); };
  search_options.probing = [&](const std::string& point, int probe, double value) {
    bar.emplace(
        fmt::format("{}{}, value {}: {:.6g}", name, several ? ", " + point : "", probe, value),
        session.shows_progress());
  };
  const fs::path path = folder ? folder->path() : fs::path();
  TipSearches searches =
      open_journal(path, [&] { return TipSearches(std::move(plan), std::move(search_options)); });
  if (options.resume && session.leads()) {
    print_what_was_kept(searches.replications_found(), searches.dropped_bytes());
  }
  const std::vector<TipPoint> points = run_searches(searches, session);
  if (bar) bar->clear();
  return session.leads() ? conclude_search(options, searches, points, *folder) : kDone;
}

}  // namespace

int search_for_tipping_points(const TipCommand& options, const Session& session) {
  TipPlanResult planned = plan_tip(options.request);
  session.print_errors(planned.errors);
  if (!planned.plan) return kBadInput;
  session.print_notes(planned.plan->base);
  session.agree_on(planned.plan->base);
  return search(options, std::move(*planned.plan), session);
}

// `retrysim tip`: bisect for the smallest trigger that the system does not recover from.

namespace {

namespace po = boost::program_options;

po::options_description describe_tip_options() {
  po::options_description options("Options");
  options.add_options()  //
      ("trigger", po::value<std::string>()->value_name("PATH=LO:HI"),
       "the key to bisect: a duration, rate, factor or number; the system should recover at LO and "
       "not at HI, which may be the smaller")  //
      ("hysteresis", po::value<std::string>()->value_name("PATH=LO:HI:STEP"),
       "instead of --trigger: raise the rate of a client group step by step and lower it again "
       "within one run, to find where the system tips and where it recovers")  //
      ("dwell", po::value<std::string>()->value_name("D"),
       "with --hysteresis: time at each step, such as 60s or a number of seconds; only its second "
       "half is measured. Default: 20 rolling windows of attempt timeout + longest backoff")  //
      ("tolerance", po::value<std::string>()->value_name("REL"),
       "relative precision at which the search for the tipping point, and for the ends of its "
       "interval, stops; default 0.01");
  options.add_options()  //
      ("vary", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUES"),
       "with --trigger: search at each of these values of another key: V1,V2,... or LO:HI:STEP or "
       "LO:HI:*N (N of them, log-spaced); keys that move together: A,B=(1,2),(3,4). Several make a "
       "grid: D50 is a curve over the first key of numbers, with a line for each combination of "
       "the others")  //
      ("resume", po::bool_switch(),
       "resume a search that was interrupted; if there is none, start it");
  add_simulation_options(
      options,
      {"folder of the result files; default results/NAME-tip. An earlier result of the same "
       "resolved scenario, trigger and variations is replaced (see --force)",
       "format of standard output: table (default), csv (tip.csv, with --vary curve.csv) or json "
       "(result.json)"});
  return options;
}

double read_tolerance(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= 1e-6 && value <= 0.5)) {
    throw UsageError(fmt::format("--tolerance: '{}' is not a number from 1e-6 to 0.5", text));
  }
  return value;
}

std::string scenario_of(const po::variables_map& values) {
  const std::vector<std::string> scenarios = texts(values, "scenario");
  if (scenarios.size() != 1)
    throw UsageError("expected one scenario: retrysim tip SCENARIO --trigger PATH=LO:HI");
  return scenarios.front();
}

HysteresisCommand read_hysteresis_options(const po::variables_map& values) {
  for (const char* other : {"trigger", "tolerance", "vary"}) {
    if (values.count(other) == 0) continue;
    throw UsageError(fmt::format("--{} cannot be combined with --hysteresis", other));
  }
  if (values["resume"].as<bool>()) {
    throw UsageError("--resume cannot be combined with --hysteresis, which is a single step");
  }
  HysteresisCommand o;
  static_cast<SimulationSettings&>(o) = read_simulation_settings(values);
  o.scenario = scenario_of(values);
  o.load = *text_of(values, "hysteresis");
  o.dwell = text_of(values, "dwell");
  return o;
}

TipCommand read_tip_options(const po::variables_map& values) {
  TipCommand o;
  static_cast<SimulationSettings&>(o) = read_simulation_settings(values);
  o.request.scenario = scenario_of(values);
  o.request.edits = o.edits;
  o.request.varying = texts(values, "vary");
  o.resume = values["resume"].as<bool>();
  if (values.count("dwell") != 0) throw UsageError("--dwell needs --hysteresis");
  const auto trigger = text_of(values, "trigger");
  if (!trigger) throw UsageError("--trigger is missing; expected PATH=LO:HI");
  o.request.trigger = parse_trigger(*trigger);
  if (const auto t = text_of(values, "tolerance")) o.request.tolerance = read_tolerance(*t);
  return o;
}

constexpr const char* kTipUsage =
    "Usage: retrysim tip SCENARIO --trigger PATH=LO:HI [--vary PATH=VALUES]... [options]\n"
    "       retrysim tip SCENARIO --hysteresis PATH=LO:HI:STEP [options]\n\n"
    "Finds the smallest trigger that the system does not recover from. All replications run at "
    "LO, HI\n"
    "and the values that bisection picks, with the same random numbers; those that tip run again\n"
    "without retries from the end of the trigger on. Example:\n"
    "  retrysim tip scenarios/fifo-zombie.toml --trigger fault.outage.duration=0.9s:1.6s\n\n"
    "With --vary there is a search for each combination of the varied keys, which shows how the\n"
    "tipping point moves with the load, and with the policy. Example:\n"
    "  retrysim tip scenarios/fifo-zombie.toml --trigger fault.outage.duration=0.8s:2s \\\n"
    "      --vary client.web.arrivals.total_rate=300:450:50 --vary "
    "client.web.retry.max_attempts=2,3\n\n"
    "A run recovers if its goodput comes back soon enough after the last fault or surge;\n"
    "sim/measure/README.md says how soon. Without a fault or surge, a run tips if fewer than\n"
    "recovery.share of the requests in its last quarter succeed. Expectations of the scenario are\n"
    "not evaluated. Exit status 1: half of the replications or more tip at LO already, or fewer "
    "than\n"
    "half tip at HI, or the runs are too short to tell; with --vary: that is so at every point.\n"
    "Finished replications are kept if the search is interrupted.\n";

}  // namespace

int tip(const Arguments& arguments) {
  const auto values = read_command(arguments, describe_tip_options(), "scenario", kTipUsage);
  if (!values) return kDone;
  if (values->count("hysteresis") != 0) {
    const HysteresisCommand options = read_hysteresis_options(*values);
    return in_session({"tip", arguments}, options,
                      [&](const Session& session) { return hysteresis(options, session); });
  }
  const TipCommand options = read_tip_options(*values);
  return in_session({"tip", arguments}, options, [&](const Session& session) {
    return search_for_tipping_points(options, session);
  });
}

}  // namespace retrysim::cli
