// `retrysim check`: validates scenarios and prints each with every default filled in and the origin
// of every value. What it prints loads back to the same scenario.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario_file.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "report/terminal.hpp"
#include "scenario/printable.hpp"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* kUsage =
    "Usage: retrysim check SCENARIO... [--set PATH=VALUE]...\n"
    "\n"
    "Validates scenario files and prints each with every default filled in; a comment names the\n"
    "origin of each value. Exit status: 0 all are valid, 3 one is not.\n"
    "\n"
    "Example: retrysim check dip.toml --set 'client.*.retry.mode=none'\n";

po::options_description describe_options() {
  po::options_description options("Options");
  options.add_options()  //
      ("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
       "change any key before it is checked; TOML syntax, bare words allowed; * in PATH matches "
       "any one name")  //
      ("help", "print this text");
  return options;
}

// Whether the scenario is valid.
bool check_one(const std::string& path, const std::vector<std::string>& edits) {
  const LoadResult result = load_scenario_file(path, edits);
  for (const Diagnostic& d : result.errors) report::print_error("{}\n", to_string(d));
  if (!result.loaded) return false;
  report::print("# {}\n{}", scenario::printable_line(path), to_toml(*result.loaded, true));
  for (const std::string& note : result.loaded->notes) {
    report::print_error("{}: note: {}\n", path, note);
  }
  return true;
}

}  // namespace

int check(const Arguments& arguments) {
  const po::options_description options = describe_options();
  const po::variables_map values = parse_command_line(arguments, options, "scenario");
  if (values.count("help")) {
    report::print("{}\n{}", kUsage, help_text(options));
    return kDone;
  }
  const auto paths = texts(values, "scenario");
  if (paths.empty()) throw UsageError("no scenario given; expected retrysim check SCENARIO...");
  const auto edits = texts(values, "set");
  const Interruption interruption;  // ends the wait for a pipe
  bool good = true;
  bool first = true;
  for (const std::string& path : paths) {
    if (!first) report::print("\n");
    first = false;
    good = check_one(path, edits) && good;
  }
  return good ? kDone : kBadInput;
}

}  // namespace retrysim::cli
