// `retrysim fit`: makes a scenario that runs from an access log.
//
// SPDX-License-Identifier: MIT
#include "fit/fit.hpp"

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/retry_file.hpp"
#include "cli/session.hpp"
#include "fit/formats.hpp"
#include "fit/log.hpp"
#include "fit/whole_fit.hpp"
#include "report/document/text.hpp"
#include "report/fit.hpp"
#include "report/folder/result_folder.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

struct FitCommand {
  std::vector<std::string> logs;
  fit::LogOptions log{.part = option_of_part};
  std::vector<std::string> asked;  // options that change the answer
  std::string out, format = "table";
  std::optional<std::string> name;
  std::optional<fit::GivenServiceTime> service_time;
  bool force = false, quiet = false;
  std::optional<Duration> timeout;
  std::optional<RetryFile> retry;
  std::optional<std::string> policy;
};

template <class Enum>
Enum word_of(std::string_view option, std::string_view word) {
  const std::vector<std::string_view> words = scenario::split_words(kWords<Enum>);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  throw UsageError(fmt::format("--{}: there is no '{}'; {}", option, word,
                               scenario::suggestion(word, words, "expected one of")));
}

std::string spaced(std::string_view words) {
  return fmt::format("{}", fmt::join(scenario::split_words(words), ", "));
}

void read_log_format(FitCommand& c, const std::string& text) {
  if (fit::is_description(text)) {
    std::string why_not;
    if (!fit::described_format(text, why_not)) {
      throw UsageError(fmt::format("--log-format: {}", why_not));
    }
  } else {
    const std::vector<std::string_view> words = scenario::split_words(fit::format_words());
    if (std::find(words.begin(), words.end(), text) == words.end()) {
      throw UsageError(fmt::format("--log-format: there is no '{}'; {}",
                                   scenario::printable_line(text),
                                   scenario::suggestion(text, words, "expected one of")));
    }
  }
  c.log.format = text;
}

void read_column(FitCommand& c, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    throw UsageError(fmt::format("--column {}: expected ROLE=NAME, such as duration=ms", text));
  }
  const auto role = word_of<fit::Role>("column", std::string_view(text).substr(0, equals));
  c.log.columns[role] = text.substr(equals + 1);
}

void read_unit(FitCommand& c, const std::string& text) {
  constexpr std::pair<std::string_view, double> kDurationUnits[] = {
      {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  for (const auto& [name, seconds] : kDurationUnits) {
    if (name == text) c.log.duration_unit_s = seconds;
  }
  if (!c.log.duration_unit_s) {
    throw UsageError(fmt::format("--unit {}: expected s, ms, us or ns", text));
  }
}

void read_time_of(FitCommand& c, const std::string& text) {
  if (text != "start" && text != "end") {
    throw UsageError(fmt::format("--time-of {}: expected start or end", text));
  }
  c.log.time_is_start = text == "start";
}

/// Reads a service time: a duration, or a distribution as in scenarios. It is checked by loading a
/// scenario with it.
void read_service_time(FitCommand& c, const std::string& text) {
  const bool is_table = text.find_first_of("{\"") != std::string::npos;
  const std::string value = is_table ? text : '"' + text + '"';
  const bool is_line = text.find_first_of("\n\r") == std::string::npos;
  const LoadResult result = load_scenario_text(
      fmt::format("name = \"given\"\nduration = \"1s\"\n[service.service]\nservice_time = {}\n"
                  "[client.clients]\narrivals.process = \"poisson\"\narrivals.total_rate = 1\n"
                  "retry.mode = \"none\"\n",
                  is_line ? value : ""),
      "--service-time", ".");
  if (!result.loaded) {
    throw UsageError(fmt::format(
        "--service-time {}: expected a duration such as 30ms, or a distribution such as "
        "{{ distribution = \"lognormal\", mean = \"30ms\", cv = 0.8 }}",
        scenario::printable_line(text)));
  }
  c.service_time = {value, result.loaded->scenario.services[0].service_time.mean_seconds(),
                    "--service-time"};
}

Options<FitCommand> fit_options() {
  using C = FitCommand;
  // Each value is also noted in `asked`: it changes the answer.
  const auto noted = [](std::string_view option, auto read) {
    return [name = std::string(option), read](C& c, const std::string& text) {
      read(c, text);
      c.asked.push_back(fmt::format("--{} {}", name, text));
    };
  };
  return std::vector<Option<C>>{
      {{"out", "DIR",
        "folder of the scenario and the report; it must be given. An earlier fit of the same log "
        "is "
        "replaced (see --force)"},
       [](C& c, const std::string& text) { c.out = output_path(text); }},
      {{"log-format", "FORMAT",
        fmt::format("format of the log; default auto: told from the first lines. Otherwise a name "
                    "({}), or, with $ or %, a description: the log_format of nginx, the LogFormat "
                    "of Apache, the pattern of Tomcat (tomcat:%h ...), the format of Envoy or "
                    "HAProxy, gunicorn's access_log_format",
                    spaced(fit::format_words()))},
       noted("log-format", read_log_format)},
      {{"column", "ROLE=NAME",
        "CSV, W3C and JSON: the column that is the time, duration, status, request, service, "
        "client "
        "or path, where its name is not a usual one; members in objects with dots, such as "
        "http.latency",
        true},
       noted("column", read_column)},
      {{"unit", "s|ms|us|ns",
        "unit of durations; default: that of the format, or of the column's name (_ms, _us, _ns); "
        "where neither tells, the only one that makes sense"},
       noted("unit", read_unit)},
      {{"time-of", "start|end",
        "whether a line has the time when the request came or when it was answered; default: as "
        "the "
        "format has it; CSV and JSON: end, but a column start_time is the start"},
       noted("time-of", read_time_of)},
      {{"service-time", "TIME",
        "how long a server works on a request, where the log does not tell (or tells otherwise): a "
        "duration, or a distribution as scenarios have it"},
       noted("service-time", read_service_time)},
      {{"service", "NAME", "only the lines of this service; needed if the log has several"},
       noted("service", [](C& c, const std::string& text) { c.log.service = text; })},
      {{"allow-bad-lines", "SHARE",
        "share of lines that may be unreadable, from 0 to 1; default 0.01"},
       [](C& c, const std::string& text) {
         c.log.bad_lines = number("allow-bad-lines", text);
         if (c.log.bad_lines < 0 || c.log.bad_lines > 1) {
           throw UsageError("--allow-bad-lines: expected a share from 0 to 1");
         }
       }},
      {{"name", "NAME", "name of the scenario; default: that of the folder"},
       [](C& c, const std::string& text) { c.name = text; }},
      {{"retry", "FILE", std::string(kRetryHelp)},
       noted("retry", [](C& c, const std::string& text) { c.retry = retry_file(text); })},
      {{"policy", "NAME", std::string(kPolicyHelp)},
       noted("policy", [](C& c, const std::string& text) { c.policy = text; })},
      {{"force", "", "also replace another result there"}, into(&C::force)},
      {{"format", "table|csv|json",
        "format of standard output: table (default), csv (fit.csv) or json (result.json)"},
       [](C& c, const std::string& text) { c.format = format_word(text); }},
      {{"timeout", "D", "give up after this much real time, such as 10s (exit status 5)"},
       [](C& c, const std::string& text) { c.timeout = duration_above_zero("timeout", text); }},
      {{"quiet", "", "print nothing"}, into(&C::quiet)}};
}

constexpr const char* kFitUsage =
    "Usage: retrysim fit LOG... --out DIR [options]\n"
    "\n"
    "Reads access logs (CSV, JSON lines, nginx, Apache, Tomcat, Envoy, Istio,\n"
    "Traefik, Caddy, HAProxy, IIS, CloudFront, AWS load balancers, any other by\n"
    "--log-format; as they are or from Docker, Kubernetes, syslog; packed with gzip\n"
    "or not; - is standard input) and writes a scenario that runs: when requests\n"
    "arrive, how long they are served, how many servers there are, how many fail.\n"
    "Results of load tests (JMeter, k6, vegeta, hey, oha) are read as such.\n"
    "Each figure has an interval, and what cannot be told from the log is said.\n"
    "Stretches with an outage or a slow service become faults. Of a line nothing but\n"
    "times, status and a hash of the request's name (or client and path) is kept.\n"
    "\n"
    "Example:\n"
    "  retrysim fit access.log.gz --out mine && retrysim run mine/scenario.toml\n"
    "\n"
    "Exit status: 3 if the log cannot be read, or more of its lines than\n"
    "--allow-bad-lines allows.\n";

/// Puts the retry policy of a configuration into the scenario, in place of what the log shows about
/// retries.
void put_policy(const FitCommand& command,
                std::vector<std::pair<std::string, std::string>>& files) {
  RetryFile retry = *command.retry;
  retry.policy = command.policy;
  const ReadConfiguration read = read_configuration(retry);
  const ImportedPolicy policy = with_all_timeouts(chosen_policy(read.imported, retry), read.kind);
  std::string& scenario = files.front().second;
  scenario = with_policy(scenario, "clients", policy, read.name);
}

/// The name of the scenario: `--name`, or that of the folder.
std::string name_of(const FitCommand& command) {
  namespace fs = std::filesystem;
  if (command.name) {
    if (scenario::can_name_scenario(*command.name)) return *command.name;
    throw UsageError(fmt::format("--name \"{}\" {}", scenario::printable_line(*command.name),
                                 scenario::kNoScenarioName));
  }
  std::error_code error;
  const fs::path whole = fs::absolute(command.out, error);
  const fs::path out = (error ? fs::path(command.out) : whole).lexically_normal();
  std::string name = (out.has_filename() ? out : out.parent_path()).filename().string();
  if (scenario::can_name_scenario(name)) return name;
  throw UsageError(fmt::format("the folder's name \"{}\" {}; give --name",
                               scenario::printable_line(name), scenario::kNoScenarioName));
}

void print_fit(const FitCommand& command, const report::ResultFolder& folder,
               const report::Document& document) {
  if (command.quiet) return;
  SimulationSettings shown;
  shown.format = command.format;
  print_result(shown, {folder.path(), "fit.csv", &document});
  if (command.format == "table") {
    report::print("To see what happens: retrysim run {}\n",
                  (std::filesystem::path(command.out) / "scenario.toml").string());
  }
}

int fit_logs(const FitCommand& command) {
  namespace fs = std::filesystem;
  const fs::path out = command.out;
  const std::string name = name_of(command);
  report::ResultIdentity identity(name);
  identity.version = RETRYSIM_VERSION;
  identity.command = "fit";
  identity.options = command.asked;
  for (const std::string& log : command.logs) {
    identity.options.push_back("log " + log);
    if (log != "-") identity.reads.emplace_back(log);
  }
  report::ResultFolder folder(out, identity, command.force);
  try {
    fit::WholeFit whole = fit::fit_files(command.logs, command.log);
    if (command.service_time) fit::give_service_time(whole.fit, *command.service_time);
    auto files = fit::scenario_files(whole.fit, name, fit::source_of(command.logs, whole.log));
    if (command.retry) put_policy(command, files);
    fit::load_files(files);  // so that status 0 means that the written scenario loads
    for (const auto& [file, content] : files) {
      folder.write(file, [&text = content](report::Sink& sink) { sink.write(text); });
    }
    const report::Document document = report::fit_document(
        {whole.fit, whole.backtest, whole.why_untested, whole.log, name, command.logs});
    document.write_files(folder);
    print_fit(command, folder, document);
  } catch (const fit::BadLog& bad) {
    report::print_error("retrysim: error: {}\n", bad.what());
    return kBadInput;
  } catch (const BadConfiguration& bad) {
    report::print_error("{}\n", bad.what());
    return kBadInput;
  }
  return kDone;
}

int fit(const Arguments& arguments) {
  const auto command = fit_options().read(arguments, kFitUsage, "log", &FitCommand::logs);
  if (!command) return kDone;
  if (command->logs.empty()) {
    throw UsageError("no log given; expected retrysim fit LOG... --out DIR");
  }
  if (command->policy && !command->retry) throw UsageError("--policy goes with --retry");
  if (command->out.empty()) throw UsageError("--out is missing: where the scenario goes");
  return interruptible(command->timeout, [&] { return fit_logs(*command); });
}

constexpr Command kFitCommand{.name = "fit",
                              .arguments = "LOG... --out DIR",
                              .purpose = "make a scenario from access logs, with intervals",
                              .run = fit,
                              .after = "import",
                              .less_memory = "fit a shorter part of the log"};
RETRYSIM_COMMAND_ROW fit_row = &kFitCommand;

}  // namespace
}  // namespace retrysim::cli
