// The program: finds the subcommand, and turns every failure into a message and an exit status.
//
// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/output.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// The linker's names for the ends of the section of the rows.
extern "C" {
extern const retrysim::cli::Command* const __start_retrysim_commands[];  // NOLINT
extern const retrysim::cli::Command* const __stop_retrysim_commands[];   // NOLINT
}

namespace retrysim::cli {

namespace {

constexpr std::string_view kIntroduction =
    "retrysim simulates what the retries of many clients do to an overloaded service.";
constexpr std::string_view kClosing =
    "`retrysim help COMMAND` (or COMMAND --help, or -h) explains a command;\n"
    "`retrysim --version` names the version.\n"
    "\n"
    "Exit status: 0 done, 1 an expectation failed or a search found nothing (help\n"
    "COMMAND says what), 2 bad command line, 3 a scenario, an input file or a result\n"
    "to read is missing or wrong, 4 output could not be written (files, or standard\n"
    "output) or must not replace an existing result, 5 a limit was reached, 6 a task\n"
    "of an array (--shard) has done its part of a round, 70 an internal check failed,\n"
    "130 interrupted, 141 the reader of the output closed it early.\n";

void print_help() {
  constexpr std::size_t kWidth = 38;
  std::string text =
      fmt::format("{}\n\nUsage: retrysim COMMAND [options]\n\nCommands:\n", kIntroduction);
  for (const Command& c : commands()) {
    text += help_entry(fmt::format("  {} {}", c.name, c.arguments), c.purpose, kWidth);
  }
  report::print("{}\n{}", text, kClosing);
}

/// The arguments with all ways of asking for help as COMMAND --help: also COMMAND -h and help
/// COMMAND.
Arguments with_one_way_to_ask_for_help(Arguments arguments) {
  const bool is_help = arguments.front() == "help" || arguments.front() == "--help";
  if (is_help && arguments.size() > 1) return {arguments[1], "--help"};
  std::replace(arguments.begin() + 1, arguments.end(), std::string("-h"), std::string("--help"));
  return arguments;
}

int dispatch(const Arguments& given) {
  if (given.empty()) throw UsageError("a command is missing");
  const Arguments arguments = with_one_way_to_ask_for_help(given);
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return kDone;
  }
  if (name == "--version") {
    report::print("retrysim {}\n", RETRYSIM_VERSION);
    return kDone;
  }
  const Arguments rest(arguments.begin() + 1, arguments.end());
  // This command is for the shell; --help does not list it.
  if (name == "complete") return complete(rest);
  std::vector<std::string_view> names;
  for (const Command& c : commands()) {
    names.push_back(c.name);
    if (c.name != name) continue;
    const bool asks_for_help = std::find(rest.begin(), rest.end(), "--help") != rest.end();
    return asks_for_help && is_silent_rank(rest) ? kDone : c.run(rest);
  }
  throw UsageError(fmt::format("there is no command '{}'; {}", name,
                               scenario::suggestion(name, names, "commands are")));
}

/// The row of the requested command; null if there is none.
const Command* command_in(const Arguments& arguments) {
  const auto is_asked = [&](const Command& c) {
    return !arguments.empty() && c.name == arguments.front();
  };
  const auto found = std::ranges::find_if(commands(), is_asked);
  return found == commands().end() ? nullptr : &*found;
}

std::string hint(const Arguments& arguments) {
  const Command* const command = command_in(arguments);
  return command == nullptr ? "" : fmt::format(" {}", command->name);
}

/// The advice for a command that needs more memory than there is.
std::string_view less_memory(const Arguments& arguments) {
  const Command* const command = command_in(arguments);
  return command == nullptr ? Command{}.less_memory : command->less_memory;
}

/// The rows of all files of the program, in the linker's order.
std::span<const Command* const> listed() {
  return {__start_retrysim_commands, __stop_retrysim_commands};
}

bool is_followed(const Command& command) {
  return std::ranges::any_of(listed(), [&](const Command* c) { return c->after == command.name; });
}

/// Appends the commands that follow `name`, each with its own followers. Among several, a command
/// with followers comes last, so that all commands stand close below `name`.
void append_after(std::string_view name, std::vector<Command>& ordered) {
  std::vector<Command> next;
  for (const Command* c : listed()) {
    if (c->after == name) next.push_back(*c);
  }
  std::ranges::sort(next, {}, [](const Command& c) { return std::pair(is_followed(c), c.name); });
  for (const Command& c : next) {
    ordered.push_back(c);
    append_after(c.name, ordered);
  }
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> ordered = [] {
    std::vector<Command> rows;
    append_after("", rows);
    if (rows.size() != listed().size()) {
      throw std::logic_error("a command is listed after one that does not exist");
    }
    return rows;
  }();
  return ordered;
}

std::string limit_text(const LimitExceeded& error) {
  std::string text = error.what();
  const std::string_view option = error.kind() == LimitKind::kMemory   ? " (--max-memory)"
                                  : error.kind() == LimitKind::kEvents ? " (--max-events)"
                                                                       : "";
  // Lines of details follow the first line.
  return text.insert(std::min(text.find('\n'), text.size()), option);
}

int program(const Arguments& arguments) {
  auto failed = [](ExitStatus status, std::string_view message) {
    report::print_error("retrysim: error: {}\n", message);
    return static_cast<int>(status);
  };
  try {
    return dispatch(arguments);
  } catch (const RequestError& e) {
    if (is_silent_rank(arguments)) return kBadCommandLine;
    failed(kBadCommandLine, e.text(option_of_part));
    report::print_error("Try: retrysim{} --help\n", hint(arguments));
    return kBadCommandLine;
  } catch (const GridTooLarge& e) {
    failed(kBadCommandLine, fmt::format("--vary: {}; give fewer values", e.what()));
    report::print_error("Try: retrysim{} --help\n", hint(arguments));
    return kBadCommandLine;
  } catch (const report::OutputClosed& e) {
    // The status is that of programs that `| head` ends; a page for a pipe is not whole, though.
    return e.path() == report::kStandardOutput ? kOutputClosed : failed(kOutputFailed, e.what());
  } catch (const report::OutputError& e) {
    return failed(kOutputFailed, e.what());
  } catch (const LimitExceeded& e) {
    return failed(kLimitHit, limit_text(e));
  } catch (const WarmupNotFound& e) {
    return failed(kBadInput, e.what());
  } catch (const Interrupted&) {
    return failed(kInterrupted, "interrupted; unfinished work is not written");
  } catch (const std::system_error& e) {  // for instance when the first thread cannot be started
    if (e.code() == std::errc::resource_unavailable_try_again) {
      return failed(kLimitHit, "the system has no memory for a thread, or too many processes");
    }
    return failed(kOutputFailed, e.what());
  } catch (const std::bad_alloc&) {
    return failed(kLimitHit, fmt::format("out of memory; {}", less_memory(arguments)));
  } catch (const std::exception& e) {
    return failed(kInternalError, e.what());
  }
}

}  // namespace retrysim::cli
