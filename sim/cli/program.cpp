// What the program does: finds the subcommand, and turns every way of failing into a message and
// an exit status.
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
#include <array>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace retrysim::cli {

// Each takes the arguments after its name, and returns an ExitStatus.
int run(const Arguments& arguments);
int compare(const Arguments& arguments);
int tip(const Arguments& arguments);
int choose(const Arguments& arguments);
int advise(const Arguments& arguments);
int sweep(const Arguments& arguments);
int merge(const Arguments& arguments);
int report(const Arguments& arguments);
int verify(const Arguments& arguments);
int predict(const Arguments& arguments);
int map(const Arguments& arguments);
int check(const Arguments& arguments);
int list(const Arguments& arguments);
int strategy(const Arguments& arguments);
int sdk_upgrade(const Arguments& arguments);
int init(const Arguments& arguments);
int import_policy(const Arguments& arguments);
int fit(const Arguments& arguments);

namespace {

constexpr auto kCommands = std::to_array<Command>({
    {"run", "SCENARIO...", "simulate; print a summary and write the result files", cli::run},
    {"compare", "SCENARIO --vary PATH=V1,V2",
     "compare variants on common random numbers: paired differences with intervals", cli::compare},
    {"tip", "SCENARIO --trigger PATH=LO:HI",
     "find the smallest disturbance that the system does not recover from", cli::tip},
    {"choose", "SCENARIO --vary ... --maximize M", "find the best policy, with a stated confidence",
     cli::choose},
    {"sdk-upgrade", "SDK[@FROM..TO]... [SCENARIO]",
     "what a new release of an SDK does to a fleet: before and after", cli::sdk_upgrade},
    {"advise", "SCENARIO", "try the usual remedies and rank them: what would help most?",
     cli::advise},
    {"sweep", "SCENARIO --vary PATH=...", "simulate the grid of all combinations, resumable",
     cli::sweep},
    {"merge", "DIR... --out DIR", "join the shards of a sweep", cli::merge},
    {"report", "DIR...", "write results as one HTML page to read and share", cli::report},
    {"verify", "DIR...", "check the files of results against their checksums", cli::verify},
    {"predict", "SCENARIO", "estimates from theory, without simulating: facts, fluid, Markov chain",
     cli::predict},
    {"map", "SCENARIO --vary X=... --vary ...",
     "chart where a service is safe, vulnerable, overloaded or dead (fluid)", cli::map},
    {"check", "SCENARIO...", "validate, and print the scenario with every default filled in",
     cli::check},
    {"list", "WHAT", "print modes, sdks, defects, distributions, metrics, keys or verdicts",
     cli::list},
    {"strategy", "--mode M --responses LIST",
     "play one client's retry strategy and print every decision", cli::strategy},
    {"init", "[options]", "make a first scenario of your service from five answers", cli::init},
    {"import", "KIND FILE",
     "turn a retry configuration of Envoy, gRPC, Resilience4j, ... into scenario keys",
     cli::import_policy},
    {"fit", "LOG... --out DIR", "make a scenario from access logs, with intervals", cli::fit},
});

constexpr Program kProgram = {
    "retrysim simulates what the retries of many clients do to an overloaded service.", kCommands,
    "`retrysim help COMMAND` (or COMMAND --help, or -h) explains a command;\n"
    "`retrysim --version` names the version.\n"
    "\n"
    "Exit status: 0 done, 1 an expectation failed or a search found nothing (help\n"
    "COMMAND says what), 2 bad command line, 3 a scenario, an input file or a result\n"
    "to read is missing or wrong, 4 output could not be written (files, or standard\n"
    "output) or must not replace an existing result, 5 a limit was reached, 70 an\n"
    "internal check failed, 130 interrupted, 141 the reader of the output closed it\n"
    "early.\n"};

void print_help() {
  constexpr std::size_t kWidth = 38;
  std::string text =
      fmt::format("{}\n\nUsage: retrysim COMMAND [options]\n\nCommands:\n", kProgram.introduction);
  for (const Command& c : kProgram.commands) {
    text += help_entry(fmt::format("  {} {}", c.name, c.arguments), c.purpose, kWidth);
  }
  report::print("{}\n{}", text, kProgram.closing);
}

/// What is asked for in one of three ways: COMMAND --help, COMMAND -h, help COMMAND.
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
  // For the shell; --help is silent about it.
  if (name == "complete") return complete(kProgram, rest);
  std::vector<std::string_view> names;
  for (const Command& c : kCommands) {
    names.push_back(c.name);
    if (c.name != name) continue;
    const bool asks_for_help = std::find(rest.begin(), rest.end(), "--help") != rest.end();
    return asks_for_help && is_silent_rank(rest) ? kDone : c.run(rest);
  }
  throw UsageError(fmt::format("there is no command '{}'; {}", name,
                               scenario::suggestion(name, names, "commands are")));
}

std::string hint(const Arguments& arguments) {
  for (const Command& c : kCommands) {
    if (!arguments.empty() && c.name == arguments.front()) return fmt::format(" {}", c.name);
  }
  return "";
}

/// What to do if a command needs more memory than there is.
std::string_view less_memory(const Arguments& arguments) {
  const std::string_view command = arguments.empty() ? "" : std::string_view(arguments.front());
  if (command == "fit") return "fit a shorter part of the log";
  if (command == "import") return "import the configuration in parts";
  if (command == "report" || command == "merge" || command == "verify") {
    return "name fewer results, or results with fewer points";
  }
  if (command == "map") return "give --vary fewer values";
  return "simulate fewer clients, bins or replications";
}

}  // namespace

std::string limit_text(const LimitExceeded& error) {
  std::string text = error.what();
  const std::string_view option = error.kind() == LimitKind::kMemory   ? " (--max-memory)"
                                  : error.kind() == LimitKind::kEvents ? " (--max-events)"
                                                                       : "";
  return text.insert(std::min(text.find('\n'), text.size()), option);  // lines of details follow
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
    // As `| head` ends other programs; a page for a pipe is not whole, though.
    return e.path() == report::kStandardOutput ? kOutputClosed : failed(kOutputFailed, e.what());
  } catch (const report::OutputError& e) {
    return failed(kOutputFailed, e.what());
  } catch (const LimitExceeded& e) {
    return failed(kLimitHit, limit_text(e));
  } catch (const WarmupNotFound& e) {
    return failed(kBadInput, e.what());
  } catch (const Interrupted&) {
    return failed(kInterrupted, "interrupted; unfinished work is not written");
  } catch (const std::system_error& e) {  // of the first thread, say
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
