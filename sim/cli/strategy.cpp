// `retrysim strategy`: plays one client's retry strategy against a list of responses and prints
// every decision. It runs the strategy that the simulation runs, on rules that the scenario loader
// resolves, so that what it shows is what a scenario with the same keys does.
//
// SPDX-License-Identifier: MIT
#include <retrysim/presets.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario_file.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/describe_rules.hpp"
#include "cli/strategy_calls.hpp"
#include "cli/strategy_responses.hpp"
#include "cli/strategy_table.hpp"
#include "report/terminal.hpp"
#include "scenario/suggestions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;

struct StrategyOptions {
  std::string mode, revision, sdk, api;
  std::vector<Call> calls;
  std::optional<double> draw;
  std::optional<int> quota;
  std::vector<Time> at;  // one for each response; empty: each attempt answers at once
  bool long_poll = false;
  std::vector<std::string> edits;
  std::uint64_t seed = 1;
  DecisionFormat format = DecisionFormat::kTable;
};

// --- The command line ----------------------------------------------------------------------------

std::vector<Time> parse_times(std::string_view text, const std::vector<Call>& calls) {
  std::vector<Time> times;
  for (const std::string_view part : split(text, ',')) {
    const auto seconds = parse_number<double>(part);
    if (!seconds || !std::isfinite(*seconds) || *seconds < 0 || *seconds > 9e9) {
      throw UsageError(
          fmt::format("--at: '{}' is not a time in seconds; write --at 0.2,0.4", part));
    }
    times.push_back(Time::zero() + Duration::from_seconds(*seconds));
    if (times.size() > 1 && times.back() < times[times.size() - 2]) {
      throw UsageError(
          fmt::format("--at: {} comes after a later time; times must not go back", part));
    }
  }
  std::size_t responses = 0;
  for (const Call& call : calls) responses += call.size();
  if (times.size() != responses) {
    throw UsageError(fmt::format("--at gives {} times for {} responses; give one for each",
                                 times.size(), responses));
  }
  return times;
}

DecisionFormat parse_format(const std::string& text) {
  if (text == "table") return DecisionFormat::kTable;
  if (text == "csv") return DecisionFormat::kCsv;
  if (text == "json") return DecisionFormat::kJson;
  throw UsageError(fmt::format("--format: '{}' is none of table, csv, json", text));
}

po::options_description describe_strategy_options() {
  po::options_description options("Options");
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()  //
      ("mode", text()->value_name("MODE"),
       "none, legacy, standard, adaptive or custom; required, unless --sdk names a version, whose "
       "default it then is")  //
      ("responses", text()->value_name("LIST"),
       "answers to the attempts: responses separated by ',', calls by ';'. A response is an HTTP "
       "status with an optional error code and header (500, 400:ThrottlingException, "
       "500+retry-after=1500ms), or timeout, or connect")  //
      ("calls", text()->value_name("FILE"),
       "the calls from a CSV file instead ('-': standard input) with the columns call and response "
       "and, optionally, pause_s (time before a call), takes_s (time until the answer) and draw "
       "(replaces the random draws after it)")  //
      ("revision", text()->value_name("REVISION"),
       "revision of the standard rules: 2.0 (default, unless --sdk names a version), 2.1, smithy "
       "or "
       "smithy-2.1")  //
      ("sdk", text()->value_name("SDK"),
       "SDK whose rules apply, with its version if you like (botocore@1.44.0); botocore by "
       "default")                                                                                //
      ("api", text()->value_name("API"), "a service with numbers of its own, such as dynamodb")  //
      ("draw", text()->value_name("R"),
       "replace every random draw by R in [0,1]: 1 shows the longest delays")       //
      ("quota", text()->value_name("N"), "tokens in the retry quota at the start")  //
      ("at", text()->value_name("T,T,..."),
       "times of the responses in seconds, one for each; delays are then shown but "
       "not waited for. By default each attempt is sent after its delay and answered "
       "at once")                                                                //
      ("long-poll", po::bool_switch(), "the calls are long-polling operations")  //
      ("set", po::value<std::vector<std::string>>()->composing()->value_name("KEY=VALUE"),
       "change a key of [client.X.retry], such as max_attempts=5 or backoff.jitter=equal")  //
      ("seed", text()->value_name("N"), "random seed, 1 by default")                        //
      ("format", text()->value_name("table|csv|json"), "table (default), csv or json");
  return options;
}

StrategyOptions options_of(const po::variables_map& values) {
  const auto text = [&values](const char* name) {
    return values.count(name) != 0 ? values[name].as<std::string>() : std::string();
  };
  const auto given = [&values](const char* name) { return values.count(name) != 0; };
  StrategyOptions options;
  options.mode = text("mode");
  options.sdk = text("sdk");
  if (options.mode.empty() && !has_version(options.sdk))
    throw UsageError("--mode is missing; expected one such as --mode standard");
  if (!given("responses") && !given("calls")) {
    throw UsageError("--responses is missing; expected some, such as --responses '500,200'");
  }
  for (const char* other : {"responses", "at"}) {
    if (!given("calls") || !given(other)) continue;
    throw UsageError(fmt::format("--calls and --{} cannot be used together", other));
  }
  options.revision = text("revision");
  options.api = text("api");
  options.calls = given("calls") ? read_calls(text("calls")) : parse_calls(text("responses"));
  if (given("draw")) {
    options.draw = parse_number<double>(text("draw"));
    if (!options.draw || !(*options.draw >= 0 && *options.draw <= 1)) {
      throw UsageError(fmt::format("--draw: '{}' is not a number from 0 to 1", text("draw")));
    }
  }
  if (given("quota")) {
    options.quota = parse_number<int>(text("quota"));
    if (!options.quota || *options.quota < 0) {
      throw UsageError(fmt::format("--quota: '{}' is not a whole number of tokens", text("quota")));
    }
  }
  if (given("at")) options.at = parse_times(text("at"), options.calls);
  options.long_poll = values["long-poll"].as<bool>();
  if (given("set")) options.edits = values["set"].as<std::vector<std::string>>();
  if (given("seed")) {
    const auto seed = parse_number<std::uint64_t>(text("seed"));
    if (!seed) throw UsageError(fmt::format("--seed: '{}' is not a whole number", text("seed")));
    options.seed = *seed;
  }
  if (given("format")) options.format = parse_format(text("format"));
  return options;
}

// --- The rules -----------------------------------------------------------------------------------

/// The keys of a group that the command line gives, in the form of a scenario. Everything beyond
/// [client.x.retry] is there only because a scenario needs it.
std::string scenario_text(const StrategyOptions& options) {
  std::string text =
      "name = \"strategy\"\nduration = \"1s\"\n"
      "[service.s]\nservice_time = \"1ms\"\n"
      "[client.x]\narrivals = { process = \"poisson\", rate = 1 }\n[client.x.retry]\n";
  const auto add = [&text](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("{} = \"{}\"\n", key, value);
  };
  add("mode", options.mode);
  add("revision", options.revision);
  add("sdk", options.sdk);
  add("api", options.api);
  return text;
}

/// An error of the loader in the words of this command, whose keys have no path in front.
std::string in_own_words(std::string message) {
  constexpr std::string_view kPath = "client.x.retry.";
  for (std::size_t i = 0; (i = message.find(kPath)) != std::string::npos;) {
    message.erase(i, kPath.size());
  }
  return message;
}

RetryRules resolve_rules(const StrategyOptions& options) {
  for (const std::string& word : {options.mode, options.revision, options.sdk, options.api}) {
    if (word.find_first_of("\"\\\n") != std::string::npos) {
      throw UsageError(fmt::format("'{}' is not a name", word));
    }
  }
  const std::string mode =
      options.mode.empty() ? std::string(release_mode(options.sdk)) : options.mode;
  if (const std::string problem = version_problem(options.sdk); !problem.empty()) {
    throw UsageError("--sdk: " + problem);
  }
  if (!find_preset(mode, options.revision, options.sdk, options.api)) {
    const std::array asked = {mode, options.revision, options.sdk};
    std::string combination;
    for (const std::string& word : asked) {
      if (!word.empty()) combination += (combination.empty() ? "" : " ") + word;
    }
    const std::string_view before =
        mode == "legacy" ? scenario::predecessor(options.sdk) : std::string_view();
    throw UsageError(fmt::format(
        "there are no rules for '{}'{}; there are: {}", combination,
        before.empty() ? "" : fmt::format(" (the predecessor of {} is {})", options.sdk, before),
        scenario::presets_for("default")));
  }
  std::vector<std::string> edits;
  for (const std::string& edit : options.edits) edits.push_back("client.x.retry." + edit);
  const LoadResult result = load_scenario_text(scenario_text(options), "strategy", ".", edits);
  if (!result.loaded) {
    std::string messages;
    for (const Diagnostic& error : result.errors) {
      if (!messages.empty()) messages += "\n";
      messages += (error.file == "--set" ? "--set: " : "") + in_own_words(error.message);
    }
    throw UsageError(messages);
  }
  for (const std::string& note : result.loaded->notes) {
    report::print_error("note: {}\n", in_own_words(note));
  }
  if (const std::string note = version_note(*result.loaded); !note.empty()) {
    report::print_error("note: {}\n", note);
  }
  RetryRules rules = result.loaded->scenario.clients.at(0).retry;
  if (options.quota) {
    if (!rules.quota.enabled) throw UsageError("--quota: these rules have no retry quota");
    if (*options.quota > rules.quota.capacity) {
      throw UsageError(fmt::format("--quota: {} is more than the quota's capacity of {}",
                                   *options.quota, rules.quota.capacity));
    }
    rules.quota.initial = *options.quota;
  }
  const auto is_random = [](const Distribution& d) { return !d.is_constant(); };
  if (options.draw &&
      std::any_of(rules.backoff.delays.begin(), rules.backoff.delays.end(), is_random)) {
    throw UsageError("--draw has no meaning for delays that are distributions");
  }
  return rules;
}

// --- The play ------------------------------------------------------------------------------------

/// Plays the calls one after the other and keeps what was decided.
class Player {
 public:
  Player(const StrategyOptions& options, const RetryRules& rules)
      : options_(options), strategy_(rules, RandomKey(options.seed, 0)) {
    strategy_.fix_draws(options.draw);
  }

  std::vector<Decision> play() {
    for (const Call& call : options_.calls) {
      ++call_;
      const std::size_t next_response = response_ + call.size();
      play_call(call);
      response_ = next_response;  // also those that the call did not get to
    }
    return std::move(rows_);
  }

 private:
  void play_call(const Call& call) {
    clock_ = clock_ + call.front().pause;
    RetryToken token = strategy_.acquire_initial_token(clock_);
    for (std::size_t i = 0; i < call.size(); ++i, ++response_) {
      Decision& row = rows_.emplace_back();
      row.call = call_;
      row.attempt = token.attempt();
      if (!send(token, row)) {
        describe_state(row);
        return note_unused(call, i, row.decision);
      }
      row.response = call[i].text;
      if (options_.at.empty()) clock_ = row.time = clock_ + call[i].takes;
      answer(call[i], token, row);
      describe_state(row);
      if (row.decision != Outcome::kRetry) return note_unused(call, i + 1, row.decision);
    }
    strategy_.abandon(std::move(token));  // the list of responses ends here
  }

  /// Sleeps the delay, waits for a send token, and sets the clock to when the answer comes. False
  /// if the strategy does not let the attempt go.
  bool send(RetryToken& token, Decision& row) {
    const bool timed = !options_.at.empty();
    const Time at = timed ? options_.at[response_] : Time::max();
    Time sent = std::min(clock_ + token.delay(), at);
    Duration waited;
    for (;;) {
      const Duration wait = strategy_.acquire_send_token(token, sent);
      if (!token.may_send()) {
        clock_ = row.time = sent;
        row.decision = Outcome::kNoSendToken;
        return false;
      }
      if (wait == Duration::zero()) break;
      if (wait == Duration::max()) {
        report::print_error(
            "retrysim strategy: note: attempt {} of call {} waits forever: it needs more "
            "send tokens than the bucket holds\n",
            token.attempt(), call_);
        row.decision = Outcome::kNoSendToken;
        clock_ = row.time = sent;
        strategy_.abandon(std::move(token));
        return false;
      }
      // The answer comes at the time that was given, even if the attempt would have had to wait.
      if (sent + wait > at) break;
      waited += wait;
      sent = sent + wait;
    }
    if (strategy_.limiter() != nullptr) row.send_wait = waited;
    clock_ = row.time = timed ? at : sent;
    return true;
  }

  void answer(const ListedResponse& listed, RetryToken& token, Decision& row) {
    strategy_.fix_draws(listed.draw ? listed.draw : options_.draw);
    Failure failure = strategy_.failure_of(listed.response);
    failure.long_poll = options_.long_poll;
    row.response_class = name(failure.error.response_class);
    if (failure.error.response_class == ResponseClass::kSuccess) {
      strategy_.record_success(std::move(token), clock_);
      row.decision = Outcome::kSuccess;
      return;
    }
    token = strategy_.refresh_retry_token(std::move(token), failure, clock_);
    row.decision = token.outcome();
    if (token.may_send() || token.delay() > Duration::zero()) row.delay = token.delay();
    if (!token.may_send()) clock_ = clock_ + token.delay();
  }

  void describe_state(Decision& row) {
    row.quota = strategy_.quota();
    if (const SendRateLimiter* limiter = strategy_.limiter()) {
      row.measured_rate = limiter->measured_rate();
      row.fill_rate = limiter->fill_rate();
    }
  }

  void note_unused(const Call& call, std::size_t used, Outcome decision) const {
    if (used == call.size()) return;
    report::print_error(
        "retrysim strategy: note: call {} ended with {}; {} of its responses {} not "
        "used\n",
        call_, name(decision), call.size() - used, call.size() - used == 1 ? "was" : "were");
  }

  const StrategyOptions& options_;
  RetryStrategy strategy_;
  std::vector<Decision> rows_;
  Time clock_;
  std::size_t call_ = 0;
  std::size_t response_ = 0;  // over all calls
};

constexpr const char* kStrategyUsage =
    "Usage: retrysim strategy --mode MODE --responses LIST [options]\n"
    "       retrysim strategy --mode MODE --calls FILE [options]\n\n"
    "Plays one client's retry strategy against responses and prints every decision. Example:\n"
    "  retrysim strategy --mode standard --revision 2.1 --draw 1 --responses "
    "'500,500,200;503:SlowDown,timeout,200'\n";

}  // namespace

int strategy(const Arguments& arguments) {
  const auto values = read_command(arguments, describe_strategy_options(), "", kStrategyUsage);
  if (!values) return kDone;
  try {
    const StrategyOptions options = options_of(*values);
    const RetryRules rules = resolve_rules(options);
    report::print(decision_table(Player(options, rules).play(), options.format));
    return kDone;
  } catch (const BadCallFile& error) {
    report::print_error("retrysim: error: {}\n", error.what());
    return kBadInput;
  }
}

}  // namespace retrysim::cli
