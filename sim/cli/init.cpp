// `retrysim init`: writes a first scenario from five answers, given as options or on a terminal.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/retry_file.hpp"
#include "cli/session.hpp"
#include "fit/fit.hpp"
#include "kernel/stop.hpp"
#include "report/document/text.hpp"
#include "report/folder/output.hpp"
#include "scenario/first_scenario.hpp"
#include "scenario/keys/schema.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace retrysim::cli {
namespace {

struct InitCommand {
  std::map<std::string_view, std::string> given;  // answers by the option of the question
  std::string out = "service.toml";
  bool force = false, schema = false;
  std::optional<std::string> log, policy;
  std::optional<RetryFile> retry;
};

constexpr std::string_view kToStandardOutput = "-";

Options<InitCommand> init_options() {
  std::vector<Option<InitCommand>> rows;
  for (const scenario::FirstQuestion& q : scenario::first_questions()) {
    const bool is_required = q.usual({}).empty();
    rows.push_back({{std::string(q.option), std::string(q.value),
                     fmt::format("{}{}{}", q.asks, q.help,
                                 is_required ? "; it must be given without a terminal" : "")},
                    [&q](InitCommand& c, const std::string& text) { c.given[q.option] = text; }});
  }
  rows.push_back(
      {{"log", "FILE",
        "access log that gives the rate, the service time, the servers and the errors, where no "
        "option does; see `retrysim fit --help`"},
       [](InitCommand& c, const std::string& text) { c.log = text; }});
  rows.push_back({{"retry", "FILE", std::string(kRetryHelp)},
                  [](InitCommand& c, const std::string& text) { c.retry = retry_file(text); }});
  rows.push_back({{"policy", "NAME", std::string(kPolicyHelp)},
                  [](InitCommand& c, const std::string& text) { c.policy = text; }});
  rows.push_back(
      {{"out", "FILE",
        "the scenario; default service.toml in the current folder; - is standard output"},
       [](InitCommand& c, const std::string& text) { c.out = output_path(text, "file"); }});
  rows.push_back(
      {{"schema", "",
        "also write scenario.schema.json beside it and name it in its first line, so that "
        "editors with Taplo complete, explain and check keys"},
       into(&InitCommand::schema)});
  rows.push_back({{"force", "", "replace a file that exists"}, into(&InitCommand::force)});
  return rows;
}

constexpr const char* kInitUsage =
    "Usage: retrysim init [options]\n"
    "\n"
    "Writes a scenario of your service that runs, from five answers. On a terminal it\n"
    "asks for those that no option gives; elsewhere those left out are the defaults.\n"
    "Everything else in the file is a default too, and its comment says why and, for\n"
    "a client library, from which of its source files.\n"
    "\n"
    "Examples:\n"
    "  retrysim init --rate 200 --service-time 50ms --client botocore --out mine.toml\n"
    "  retrysim init --log access.log --retry envoy.yaml --out mine.toml\n";

/// Reads lines that are typed at the terminal.
class TypedLines {
 public:
  /// The next line without its line feed; empty at the end of the input. A stop point.
  std::optional<std::string> next() {
    while (true) {
      if (const std::size_t end = typed_.find('\n'); end != std::string::npos) {
        std::string line = typed_.substr(0, end);
        typed_.erase(0, end + 1);
        return line;
      }
      if (!read_more()) return std::nullopt;
    }
  }

 private:
  bool read_more() {
    constexpr int kLookMs = 100;
    while (true) {
      stop_point();
      pollfd ready{STDIN_FILENO, POLLIN, 0};
      const int n = ::poll(&ready, 1, kLookMs);
      if (n < 0 && errno != EINTR) return false;
      if (n <= 0) continue;
      char chunk[1024];
      const ssize_t got = ::read(STDIN_FILENO, chunk, sizeof chunk);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) return false;
      typed_.append(chunk, static_cast<std::size_t>(got));
      return true;
    }
  }
  std::string typed_;
};

/// Asks a question until the answer makes sense. Throws UsageError if the input ends before that.
void ask(const scenario::FirstQuestion& question, scenario::FirstAnswers& answers,
         TypedLines& lines) {
  const std::string usual = question.usual(answers);
  const std::vector<std::string_view> choices = question.choices();
  const auto show_choices = [&] {
    report::print_error(
        report::wrapped(scenario::joined(choices), {report::output_columns(), "  ", "  "}));
  };
  constexpr std::size_t kFew = 10;
  const bool many = choices.size() > kFew;
  std::string prompt(question.asks);
  prompt[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(prompt[0])));
  if (many) prompt += " (? for a list)";
  if (!choices.empty() && !many) show_choices();
  if (!usual.empty()) prompt += fmt::format(" [{}]", usual);
  while (true) {
    report::print_error("{}: ", prompt);
    const auto line = lines.next();
    if (!line) {
      report::print_error("\n");
      throw UsageError(
          fmt::format("the answers end before that to --{}; nothing is written", question.option));
    }
    std::string_view answer = scenario::trimmed(*line);
    if (answer == "?" && !choices.empty()) {
      show_choices();
      continue;
    }
    if (answer.empty()) answer = usual;
    if (answer.empty()) continue;
    try {
      question.read(answers, answer);
      return;
    } catch (const scenario::BadAnswer& bad) {
      report::print_error(report::wrapped(bad.what(), {report::output_columns(), "  ", "  "}));
    }
  }
}

/// Takes answers that no option gives from a log.
void read_log(const InitCommand& command, scenario::FirstAnswers& answers) {
  if (!command.log) return;
  const std::string name = *command.log == "-" ? "standard input" : *command.log;
  const fit::Fit found = fit::fit_log(fit::read_log({*command.log}, {.part = option_of_part}));
  answers.log = scenario::printable_line(name);
  const auto rounded = [](double value) { return std::stod(fmt::format("{:.4g}", value)); };
  if (answers.rate == 0) answers.rate = rounded(found.arrivals.rate.value);
  if (answers.service_time == Duration{} && found.service_time) {
    answers.service_time = Duration::from_seconds(rounded(found.service_time->mean.value));
  }
  if (answers.servers == 0 && found.capacity && found.capacity->servers) {
    answers.servers = static_cast<std::uint32_t>(*found.capacity->servers);
  }
  if (answers.service_time == Duration{}) {
    throw UsageError(fmt::format(
        "--service-time is missing: {} does not tell how long a request is served", answers.log));
  }
  std::size_t lines = 0;
  for (const fit::StatusCount& s : found.statuses) lines += s.lines;
  for (const fit::StatusCount& s : found.statuses) {
    constexpr int kLastStatus = 599;  // largest status of a scenario
    if (!fit::is_error(s.status) || s.status > kLastStatus) continue;
    answers.errors.emplace_back(s.status, rounded(static_cast<double>(s.lines) /
                                                  static_cast<double>(std::max(lines, s.lines))));
  }
}

/// All answers. Those of options are read first, so that nobody types four answers to hear that an
/// option is wrong.
scenario::FirstAnswers answers_of(const InitCommand& command, bool on_terminal) {
  scenario::FirstAnswers answers;
  const auto read = [&](const scenario::FirstQuestion& question, const std::string& text) {
    try {
      question.read(answers, text);
    } catch (const scenario::BadAnswer& bad) {
      throw UsageError(fmt::format("--{}: {}", question.option, bad.what()));
    }
  };
  for (const scenario::FirstQuestion& question : scenario::first_questions()) {
    const auto given = command.given.find(question.option);
    if (given != command.given.end()) read(question, given->second);
  }
  if (command.retry) {
    if (!answers.client.empty()) {
      throw UsageError("--client and --retry both say how clients retry; leave one of them");
    }
    answers.client = scenario::kNoRetryClient;  // until the policy replaces it
  }
  read_log(command, answers);
  const auto is_known = [&](std::string_view option) {
    return (option == "rate" && answers.rate > 0) ||
           (option == "service-time" && answers.service_time > Duration{}) ||
           (option == "servers" && answers.servers > 0) ||
           (option == "client" && !answers.client.empty());
  };
  TypedLines lines;
  bool first = true;
  for (const scenario::FirstQuestion& question : scenario::first_questions()) {
    if (command.given.contains(question.option) || is_known(question.option)) continue;
    if (on_terminal) {
      if (first) report::print_error("Enter takes what stands in brackets; Ctrl-C ends.\n");
      first = false;
      ask(question, answers, lines);
    } else if (const std::string usual = question.usual(answers); !usual.empty()) {
      read(question, usual);
    } else {
      throw UsageError(fmt::format("--{} is missing: {}", question.option, question.asks));
    }
  }
  return answers;
}

/// The JSON Schema beside a scenario, which names the schema in its first line. A name without a
/// file would be worse than none: Taplo then fails instead of checking only the syntax.
class SchemaBeside {
 public:
  /// Throws UsageError if there is no place for the schema, and OutputError. `reads`: the files
  /// that the command reads, which a schema does not replace.
  SchemaBeside(const InitCommand& command, const std::vector<std::filesystem::path>& reads)
      : path_(std::filesystem::path(command.out).parent_path() / scenario::kSchemaFile) {
    const bool has_place = command.out != kToStandardOutput;
    if (command.schema) {
      if (!has_place || path_ == std::filesystem::path(command.out)) {
        throw UsageError("--schema writes a file beside the scenario; give --out another file");
      }
      const auto is_ours = [](const std::filesystem::path& file) {
        return report::begins_with(file, scenario::kSchemaHead);
      };
      file_.emplace(path_, report::Replaceable{is_ours, "it is not a schema of retrysim",
                                               command.force, reads});
    }
    is_named_ = command.schema || (has_place && report::begins_with(path_, scenario::kSchemaHead));
  }

  std::string first_line() const {
    return is_named_ ? fmt::format("#:schema {}\n", scenario::kSchemaFile) : "";
  }
  void write() const {
    if (file_) file_->write(scenario::json_schema());
  }

 private:
  std::filesystem::path path_;
  std::optional<report::OutputFile> file_;
  bool is_named_ = false;
};

/// The command that gives these answers.
std::string command_of(const scenario::FirstAnswers& a, const InitCommand& command) {
  std::string text = fmt::format("retrysim init --rate {} --service-time {} --servers {}", a.rate,
                                 a.service_law.empty() ? scenario::to_text(a.service_time)
                                                       : report::shell_word(a.service_percentiles),
                                 a.servers);
  const auto add = [&](std::string_view option, const std::string& value) {
    text += fmt::format(" --{} {}", option, report::shell_word(value));
  };
  if (!command.retry) add("client", a.client);
  if (command.retry) {
    const RetryFile& file = *command.retry;
    add("retry", file.kind.empty() ? file.path : fmt::format("{}:{}", file.kind, file.path));
  }
  if (command.policy) add("policy", *command.policy);
  add("fault", a.fault);
  if (command.log) add("log", *command.log);
  return scenario::printable_line(text);
}

int write_first_scenario(const InitCommand& command) {
  const bool to_standard_output = command.out == kToStandardOutput;
  std::vector<std::filesystem::path> reads;
  if (command.log) reads.emplace_back(*command.log);
  if (command.retry) reads.emplace_back(command.retry->path);
  std::optional<report::OutputFile> file;
  const auto take_place = [&] {
    const auto is_ours = [](const std::filesystem::path&) { return false; };
    file.emplace(command.out, report::Replaceable{is_ours, "it exists", command.force, reads});
  };
  if (!to_standard_output) take_place();
  const SchemaBeside schema(command, reads);
  scenario::FirstAnswers answers;
  ImportedPolicy policy;
  try {
    answers = answers_of(command, ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1);
  } catch (const Interrupted&) {
    report::print_error("\n");  // after the line of the question
    throw;
  }
  std::string name = std::filesystem::path(command.out).stem().string();
  if (to_standard_output || file->is_stream()) name = "service";
  if (!scenario::can_name_scenario(name)) {
    throw UsageError(fmt::format("--out: the file's name \"{}\" {}", scenario::printable_line(name),
                                 scenario::kNoScenarioName));
  }
  std::optional<ReadConfiguration> configuration;
  if (command.retry) {
    RetryFile retry = *command.retry;
    retry.policy = command.policy;
    configuration = read_configuration(retry);
    policy = with_all_timeouts(chosen_policy(configuration->imported, retry), configuration->kind);
  }
  const std::string made_by = command_of(answers, command);
  const std::filesystem::path folder =
      to_standard_output ? "" : std::filesystem::path(command.out).parent_path();
  scenario::name_files_from(answers, folder);
  std::string text = scenario::first_scenario(answers, name, made_by);
  if (configuration) {
    text = joined_scenario(text, command.out, "web", policy, configuration->name);
  }
  text.insert(0, schema.first_line());
  // The text is loaded, so that status 0 means that the written scenario loads.
  const LoadResult read = load_scenario_text(text, command.out, folder);
  if (!read.loaded) {
    throw UsageError(fmt::format("these answers make no scenario that loads: {}",
                                 to_string(read.errors.front())));
  }
  if (to_standard_output) {
    report::StandardOutput out(report::StandardOutput::For::kPrograms);
    out.write(text);
    out.flush();
    return kDone;
  }
  // Answers may name files, too: the histogram of a service time.
  const auto& inputs = read.loaded->input_files;
  reads.insert(reads.end(), inputs.begin(), inputs.end());
  take_place();
  file->write(text);
  schema.write();
  if (!file->is_stream()) {
    report::print("{} is written. To see what happens: retrysim run {}\n", command.out,
                  command.out);
  }
  return kDone;
}

int init(const Arguments& arguments) {
  const auto command = init_options().read(arguments, kInitUsage);
  if (!command) return kDone;
  if (command->policy && !command->retry) throw UsageError("--policy goes with --retry");
  return interruptible(std::nullopt, [&]() -> int {
    try {
      return write_first_scenario(*command);
    } catch (const BadConfiguration& bad) {
      report::print_error("{}\n", bad.what());
    } catch (const fit::BadLog& bad) {
      report::print_error("retrysim: error: {}\n", bad.what());
    }
    return kBadInput;
  });
}

constexpr Command kInitCommand{.name = "init",
                               .arguments = "[options]",
                               .purpose = "make a first scenario of your service from five answers",
                               .run = init,
                               .after = "strategy"};
RETRYSIM_COMMAND_ROW init_row = &kInitCommand;

}  // namespace
}  // namespace retrysim::cli
