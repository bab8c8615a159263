// `retrysim tip`: bisect for the smallest trigger that the system does not recover from.
//
// SPDX-License-Identifier: MIT
#include <retrysim/replications.hpp>
#include <retrysim/scenario_file.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/hysteresis.hpp"
#include "cli/session.hpp"
#include "cli/simulation_options.hpp"
#include "cli/trigger.hpp"
#include "experiment/twins.hpp"
#include "report/progress_bar.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"
#include "report/sink.hpp"
#include "report/terminal.hpp"
#include "report/tip_report.hpp"
#include "stats/storms.hpp"
#include "stats/tipping.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

constexpr const char* kTriggerOption = "--trigger";

struct TipOptions : SimulationSettings {
  std::string scenario;
  TriggerRange trigger;
  double tolerance = 0.01;
};

/// The trigger's value makes a scenario that is not valid; the mistakes have been printed.
struct BadTrigger {};

po::options_description describe_options() {
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
  options.add_options()("help", "print this text");
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

HysteresisOptions read_hysteresis_options(const po::variables_map& values) {
  for (const char* other : {"trigger", "tolerance"}) {
    if (values.count(other) == 0) continue;
    throw UsageError(fmt::format("--{} cannot be combined with --hysteresis", other));
  }
  HysteresisOptions o;
  static_cast<SimulationSettings&>(o) = read_simulation_settings(values);
  o.scenario = scenario_of(values);
  o.load = *text_of(values, "hysteresis");
  o.dwell = text_of(values, "dwell");
  return o;
}

TipOptions read_options(const po::variables_map& values) {
  TipOptions o;
  static_cast<SimulationSettings&>(o) = read_simulation_settings(values);
  o.scenario = scenario_of(values);
  if (values.count("dwell") != 0) throw UsageError("--dwell needs --hysteresis");
  const auto trigger = text_of(values, "trigger");
  if (!trigger) throw UsageError("--trigger is missing; expected PATH=LO:HI");
  o.trigger = parse_trigger(kTriggerOption, *trigger);
  if (const auto t = text_of(values, "tolerance")) o.tolerance = read_tolerance(*t);
  return o;
}

/// Runs the replications at one value after the other.
class Prober {
 public:
  Prober(const TipOptions& options, const Session& session)
      : options_(options), session_(session) {}

  /// Throws BadTrigger, having told why, if the scenario is wrong at this value.
  void check(double value) const { scenario_at(value); }

  std::vector<stats::Response> respond(double value) {
    const Scenario scenario = scenario_at(value);
    report::ProgressBar bar =
        session_.progress_bar(fmt::format("{}, value {}: {:.6g}", scenario.name, ++probes_, value));
    const auto runs = session_.run_replications(scenario, bar);
    session_.simulate(scenario.name, bar, [&](const ReplicationOptions& options) {
      twins_[value] = experiment::count_twins(scenario, runs, options);
    });
    bar.clear();
    std::vector<stats::Response> responses;
    for (const RunResult& run : runs) responses.push_back(response_of(scenario, run));
    return responses;
  }

  /// What the twins of those that tip there have shown; of a value that has been asked for.
  const experiment::TwinCounts& twins(double value) const { return twins_.at(value); }

  /// The shortest duration that would have let every run be judged; zero if all were.
  double duration_needed() const { return duration_needed_; }

 private:
  Scenario scenario_at(double value) const {
    LoadResult result =
        load_at(options_.scenario, options_.edits, options_.trigger, value, kTriggerOption);
    session_.print_errors(result.errors);
    if (!result.loaded) throw BadTrigger();
    return std::move(result.loaded->scenario);
  }

  stats::Response response_of(const Scenario& scenario, const RunResult& run) {
    const stats::Fate fate = stats::fate_of(scenario, run);
    if (fate.verdict == stats::StormVerdict::kTransient) return stats::Response::kRecovers;
    if (fate.verdict == stats::StormVerdict::kSustained) return stats::Response::kTips;
    const stats::Aftermath& after = *fate.aftermath;
    const double needed =
        after.trigger.end.in_seconds() + after.patience_s + scenario.recovery_hold.in_seconds();
    duration_needed_ = std::max(duration_needed_, needed);
    return stats::Response::kUnknown;
  }

  const TipOptions& options_;
  const Session& session_;
  int probes_ = 0;
  std::map<double, experiment::TwinCounts> twins_;
  double duration_needed_ = 0;
};

void add_twins(const Prober& prober, stats::TippingPoint& point) {
  for (stats::TippingProbe& probe : point.probes) {
    const experiment::TwinCounts& counts = prober.twins(probe.value);
    probe.twin_recovered = counts.recovered;
    probe.metastable = counts.metastable;
  }
}

void add_notes(report::TipResult& result, const Prober& prober) {
  const std::size_t n = result.point.thresholds.size();
  if (n < 20) {
    result.notes.push_back(fmt::format("{} replication{}: the result is rough; use at least 20", n,
                                       n == 1 ? "" : "s"));
  }
  std::size_t unknown = 0;
  for (const stats::TippingProbe& p : result.point.probes) {
    unknown += p.count(stats::Response::kUnknown);
  }
  if (unknown > 0) {
    result.notes.push_back(
        fmt::format("{} runs were too short to tell whether they recover; a duration of {:.4g} s "
                    "would be long enough",
                    unknown, std::ceil(prober.duration_needed())));
  }
}

void print_result(const TipOptions& options, const report::TipResult& result,
                  const report::ResultFolder& folder) {
  if (options.quiet) return;
  report::StandardOutput out(options.format);
  if (options.format == "csv") {
    report::write_tip_csv(out, result);
  } else if (options.format == "json") {
    report::write_tip_json(out, result, folder.files());
  } else {
    report::write_tip_text(out, result);
    out.write(fmt::format("\nResult files: {}\n", folder.path().string()));
  }
  out.flush();
}

int tip(const TipOptions& options, const LoadedScenario& loaded, const Session& session) {
  Prober prober(options, session);
  // A wrong trigger, and then a folder that must not be replaced, are reported before anything
  // runs.
  prober.check(options.trigger.first);
  prober.check(options.trigger.last);
  const auto folder = session.result_folder(
      report::identity_of({&loaded}, "tip",
                          {report::trigger_request(options.trigger.path, options.trigger.first,
                                                   options.trigger.last)}));
  if (loaded.scenario.precision > 0) {
    session.print_note(
        "precision has no effect on a search for a tipping point: every value has the number of "
        "replications that the scenario gives");
  }
  const TriggerRange& trigger = options.trigger;
  report::TipResult result{loaded, trigger.path, trigger.unit, {}, {}, {}};
  result.search = {trigger.first, trigger.last, options.tolerance, trigger.whole_numbers};
  result.point =
      stats::find_tipping_point(result.search, [&](double value) { return prober.respond(value); });
  if (!session.leads()) return kDone;
  add_twins(prober, result.point);
  add_notes(result, prober);
  report::write_tip_files(*folder, result);
  print_result(options, result, *folder);
  return result.point.outcome == stats::TippingOutcome::kFound ? kDone : kExpectationFailed;
}

int tip(const TipOptions& options, const Session& session) {
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

}  // namespace

int tip(const Arguments& arguments) {
  const po::options_description visible = describe_options();
  const po::variables_map values = parse_command_line(arguments, visible, "scenario");
  if (values.count("help") != 0) {
    report::print(
        "Usage: retrysim tip SCENARIO --trigger PATH=LO:HI [options]\n       retrysim "
        "tip SCENARIO --hysteresis PATH=LO:HI:STEP [options]\n\nFinds the smallest "
        "trigger that the system does not recover from. All replications run at LO, "
        "HI\nand the values that bisection picks, with the same random numbers; those "
        "that tip run again\nwithout retries from the end of the trigger on. "
        "Example:\n  retrysim tip scenarios/fifo-zombie.toml --trigger "
        "fault.outage.duration=0.9s:1.6s\n\nA run recovers if its goodput does after "
        "the last fault or surge; sim/stats/README.md says how\nlong that may take. "
        "Without faults and surges a run tips if fewer than recovery.share of "
        "the\nrequests in its last quarter succeed. Expectations of the scenario are "
        "not evaluated. Exit status\n1: half of the replications or more tip at LO "
        "already, or fewer than half tip at HI, or the runs\nare too short to "
        "tell.\n\n{}",
        help_text(visible));
    return kDone;
  }
  if (values.count("hysteresis") != 0) {
    const HysteresisOptions options = read_hysteresis_options(values);
    return in_session({"tip", arguments}, options,
                      [&](const Session& session) { return find_hysteresis(options, session); });
  }
  const TipOptions options = read_options(values);
  return in_session({"tip", arguments}, options,
                    [&](const Session& session) { return tip(options, session); });
}

}  // namespace retrysim::cli
