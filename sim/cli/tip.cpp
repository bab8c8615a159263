// `retrysim tip`: bisect for the smallest trigger that the system does not recover from.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario_file.hpp>
#include <retrysim/tip.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/hysteresis.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/simulation_options.hpp"
#include "report/progress_bar.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"
#include "report/tip_report.hpp"

#include <fmt/format.h>
#include <boost/program_options.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;

struct TipCommand : SimulationSettings {
  std::string scenario;
  Trigger trigger;
  double tolerance = 0.01;
};

/// The trigger's value makes a scenario that is not valid; the mistakes have been printed.
struct BadTrigger {};

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
  add_simulation_options(
      options, {"folder of the result files; default results/NAME. An earlier result of the same "
                "resolved scenario and trigger is replaced (see --force)",
                "of standard output: table (default), csv (tip.csv) or json (result.json)"});
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
  for (const char* other : {"trigger", "tolerance"}) {
    if (values.count(other) == 0) continue;
    throw UsageError(fmt::format("--{} cannot be combined with --hysteresis", other));
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
  o.scenario = scenario_of(values);
  if (values.count("dwell") != 0) throw UsageError("--dwell needs --hysteresis");
  const auto trigger = text_of(values, "trigger");
  if (!trigger) throw UsageError("--trigger is missing; expected PATH=LO:HI");
  o.trigger = parse_trigger(*trigger);
  if (const auto t = text_of(values, "tolerance")) o.tolerance = read_tolerance(*t);
  return o;
}

/// Throws BadTrigger, having told why, if the scenario is wrong at this value.
Scenario scenario_at(double value, const TipCommand& options, const Session& session) {
  LoadResult result = load_at(options.scenario, options.edits, options.trigger, value);
  session.print_errors(result.errors);
  if (!result.loaded) throw BadTrigger();
  return std::move(result.loaded->scenario);
}

TipResult search(const TipCommand& options, const std::string& name, const Session& session) {
  const Trigger& trigger = options.trigger;
  std::optional<report::ProgressBar> bar;  // one for each value
  report::ProgressBar none(name, false);
  TipResult result;
  session.simulate(name, none, [&](const ReplicationOptions& run) {
    TipOptions tip_options{run, {}};
    tip_options.run.progress = [&](double share) { bar->show(share); };
    tip_options.probing = [&](int probe, double value) {
      bar.emplace(fmt::format("{}, value {}: {:.6g}", name, probe, value),
                  session.shows_progress());
    };
    result = find_tipping_point(
        [&](double value) { return scenario_at(value, options, session); },
        {trigger.first, trigger.last, options.tolerance, trigger.whole_numbers}, tip_options);
  });
  return result;
}

int tip(const TipCommand& options, const LoadedScenario& loaded, const Session& session) {
  const Trigger& trigger = options.trigger;
  // A wrong trigger, and then a folder that must not be replaced, are reported before anything
  // runs.
  scenario_at(trigger.first, options, session);
  scenario_at(trigger.last, options, session);
  const auto folder = session.result_folder(report::identity_of(
      {&loaded}, "tip", {report::trigger_request(trigger.path, trigger.first, trigger.last)}));
  if (loaded.scenario.precision > 0) {
    session.print_note(
        "precision has no effect on a search for a tipping point: every value has the number of "
        "replications that the scenario gives");
  }
  const TipResult result = search(options, loaded.scenario.name, session);
  if (!session.leads()) return kDone;
  const report::TipReport found{loaded, trigger, result};
  report::write_tip_files(*folder, found);
  print_result(options, {folder->path(), "tip.csv",
                         [&](report::Sink& sink) { report::write_tip_text(sink, found); }});
  return result.point.outcome == TippingOutcome::kFound ? kDone : kExpectationFailed;
}

int tip(const TipCommand& options, const Session& session) {
  const LoadResult result = load_scenario_file(options.scenario, options.edits);
  session.print_errors(result.errors);
  if (!result.loaded) return kBadInput;
  session.print_notes(*result.loaded);
  session.agree_on(*result.loaded);
  if (result.loaded->scenario.warmup_is_auto) {
    throw UsageError(
        "warmup = \"auto\" needs a steady state, which a search for a tipping point is not; set "
        "the warm-up with --set warmup=30s");
  }
  try {
    return tip(options, *result.loaded, session);
  } catch (const BadTrigger&) {
    return kBadInput;
  }
}

constexpr const char* kTipUsage =
    "Usage: retrysim tip SCENARIO --trigger PATH=LO:HI [options]\n"
    "       retrysim tip SCENARIO --hysteresis PATH=LO:HI:STEP [options]\n\n"
    "Finds the smallest trigger that the system does not recover from. All replications run at "
    "LO, HI\n"
    "and the values that bisection picks, with the same random numbers; those that tip run again\n"
    "without retries from the end of the trigger on. Example:\n"
    "  retrysim tip scenarios/fifo-zombie.toml --trigger fault.outage.duration=0.9s:1.6s\n\n"
    "A run recovers if its goodput comes back soon enough after the last fault or surge;\n"
    "sim/measure/README.md says how soon. Without a fault or surge, a run tips if fewer than\n"
    "recovery.share of the requests in its last quarter succeed. Expectations of the scenario are\n"
    "not evaluated. Exit status 1: half of the replications or more tip at LO already, or fewer "
    "than\n"
    "half tip at HI, or the runs are too short to tell.\n";

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
  return in_session({"tip", arguments}, options,
                    [&](const Session& session) { return tip(options, session); });
}

}  // namespace retrysim::cli
