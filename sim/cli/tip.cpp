// `retrysim tip`: bisect for the smallest trigger that the system does not recover from.
//
// SPDX-License-Identifier: MIT
#include <retrysim/tip.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/hysteresis.hpp"
#include "cli/session.hpp"
#include "cli/simulation_options.hpp"
#include "cli/tip_search.hpp"

#include <fmt/format.h>
#include <boost/program_options.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace retrysim::cli {
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
