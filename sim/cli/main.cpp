// The program `retrysim`: finds the subcommand, and turns every way of failing into a message and
// an exit status.
//
// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"

#include <retrysim/experiment.hpp>

#include "cli/launch.hpp"
#include "report/output_error.hpp"
#include "scenario/suggestions.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <vector>

namespace retrysim::cli {
namespace {

struct Command {
  std::string_view name, arguments, purpose;
  int (*run)(const Arguments&);
};

constexpr std::array<Command, 8> kCommands = {{
    {"run", "SCENARIO...", "simulate; print a summary and write the result files", run},
    {"compare", "SCENARIO --vary PATH=V1,V2",
     "variants on common random numbers: paired differences with intervals", compare},
    {"tip", "SCENARIO --trigger PATH=LO:HI",
     "bisect for the smallest trigger that the system does not recover from", tip},
    {"sweep", "SCENARIO --vary PATH=...", "simulate the grid of all combinations, resumable",
     sweep},
    {"merge", "DIR... --out DIR", "join the shards of a sweep", merge},
    {"check", "SCENARIO...", "validate, and print the scenario with every default filled in",
     check},
    {"list", "WHAT", "what exists: modes, sdks, distributions, metrics, keys", list},
    {"strategy", "--mode M --responses LIST",
     "play one client's retry strategy and print every decision", strategy},
}};

void print_help() {
  fmt::print(
      "retrysim simulates what the retries of many clients do to an overloaded service.\n\n"
      "Usage: retrysim COMMAND [options]\n\nCommands:\n");
  for (const Command& c : kCommands) {
    fmt::print("  {:<38}{}\n", fmt::format("{} {}", c.name, c.arguments), c.purpose);
  }
  fmt::print(
      "\n`retrysim COMMAND --help` explains a command; `retrysim --version` names the version.\n"
      "\nExit status: 0 done, 1 an expectation failed, 2 bad command line, 3 bad scenario or "
      "input\n"
      "file, 4 output could not be written, 5 a limit was hit, 70 internal check failed,\n"
      "130 interrupted.\n");
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) throw UsageError("a command is missing");
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return kDone;
  }
  if (name == "--version") {
    fmt::print("retrysim {}\n", RETRYSIM_VERSION);
    return kDone;
  }
  std::vector<std::string_view> names;
  for (const Command& c : kCommands) {
    names.push_back(c.name);
    if (c.name != name) continue;
    const Arguments rest(arguments.begin() + 1, arguments.end());
    const bool asks_for_help = std::find(rest.begin(), rest.end(), "--help") != rest.end();
    return asks_for_help && another_rank_speaks(rest) ? kDone : c.run(rest);
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

}  // namespace
}  // namespace retrysim::cli

int main(int argc, char** argv) {
  using namespace retrysim;
  using namespace retrysim::cli;
  const Arguments arguments(argv + 1, argv + argc);
  auto failed = [](ExitStatus status, std::string_view message) {
    std::fflush(stdout);
    fmt::print(stderr, "retrysim: error: {}\n", message);
    return static_cast<int>(status);
  };
  try {
    const int status = dispatch(arguments);
    if (std::fflush(stdout) != 0) return failed(kOutputFailed, "cannot write standard output");
    return status;
  } catch (const UsageError& e) {
    if (another_rank_speaks(arguments)) return kBadCommandLine;
    failed(kBadCommandLine, e.what());
    fmt::print(stderr, "Try: retrysim{} --help\n", hint(arguments));
    return kBadCommandLine;
  } catch (const report::OutputError& e) {
    return failed(kOutputFailed, e.what());
  } catch (const LimitExceeded& e) {
    return failed(kLimitHit, e.what());
  } catch (const WarmupNotFound& e) {
    return failed(kBadInput, e.what());
  } catch (const Interrupted&) {
    return failed(kInterrupted, "interrupted; what was under way is not written");
  } catch (const std::system_error& e) {  // what fmt throws if standard output takes no more
    return failed(kOutputFailed, e.what());
  } catch (const std::bad_alloc&) {
    return failed(kLimitHit, "out of memory; simulate fewer clients, bins or replications");
  } catch (const std::exception& e) {
    return failed(kInternalError, e.what());
  }
}
