// `retrysim check`: validates scenarios and prints each with every default filled in and the origin
// of every value. What it prints loads back to the same scenario.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario_file.hpp>

#include "cli/commands.hpp"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <sstream>

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

po::variables_map parse(const Arguments& arguments, const po::options_description& shown) {
  po::options_description all;
  all.add(shown).add_options()("scenario", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("scenario", -1);
  using Style = po::command_line_style::style_t;
  const int style = po::command_line_style::default_style & ~Style::allow_guessing;
  po::variables_map values;
  try {
    po::store(
        po::command_line_parser(arguments).options(all).positional(positional).style(style).run(),
        values);
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
  return values;
}

std::vector<std::string> texts(const po::variables_map& values, const char* name) {
  return values.count(name) ? values[name].as<std::vector<std::string>>()
                            : std::vector<std::string>();
}

// Whether the scenario is valid.
bool check_one(const std::string& path, const std::vector<std::string>& edits) {
  const LoadResult result = load_scenario_file(path, edits);
  for (const Diagnostic& d : result.errors) fmt::print(stderr, "{}\n", to_string(d));
  if (!result.loaded) return false;
  fmt::print("# {}\n{}", path, to_toml(*result.loaded, true));
  for (const std::string& note : result.loaded->notes) {
    fmt::print(stderr, "{}: note: {}\n", path, note);
  }
  return true;
}

}  // namespace

int check(const Arguments& arguments) {
  const po::options_description options = describe_options();
  const po::variables_map values = parse(arguments, options);
  if (values.count("help")) {
    std::ostringstream text;
    text << options;
    fmt::print("{}\n{}", kUsage, text.str());
    return kDone;
  }
  const auto paths = texts(values, "scenario");
  if (paths.empty()) throw UsageError("no scenario given; expected retrysim check SCENARIO...");
  const auto edits = texts(values, "set");
  bool good = true;
  bool first = true;
  for (const std::string& path : paths) {
    if (!first) fmt::print("\n");
    first = false;
    good = check_one(path, edits) && good;
  }
  return good ? kDone : kBadInput;
}

}  // namespace retrysim::cli
