// The command line as data: the table of commands, the help of each, and reading options. The help,
// the manual pages and shell completion are made from it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/commands.hpp"

#include <boost/program_options.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

/// A row of the table of commands.
struct Command {
  std::string_view name, arguments, purpose;
  int (*run)(const Arguments&);
};

/// The text of `retrysim --help`, in its parts. Paragraphs are separated by empty lines.
struct Program {
  std::string_view introduction;
  std::span<const Command> commands;
  std::string_view closing;  ///< how to get more help, and the exit statuses
};

/// The description of a command.
struct CommandHelp {
  std::string usage;       ///< "Usage: ...", then paragraphs
  std::string positional;  ///< what its words without an option are: "scenario"; empty: it has none
  std::vector<boost::shared_ptr<boost::program_options::option_description>> options;
};

/// The help of `command`, which is not run. Throws std::logic_error for a command that does not
/// read its arguments with `read_command`.
CommandHelp help_of(const Command& command);

/// The argument with which `read_command` throws the CommandHelp of its command.
inline constexpr std::string_view kDescribeCommand = "--describe-command";

/// Whether the option is followed by a value.
bool takes_value(const boost::program_options::option_description& option);

/// "PATH=VALUE" of an option that takes a value.
std::string value_name(const boost::program_options::option_description& option);

// --- Reading options -----------------------------------------------------------------------------

// With Boost.Program_options, without guessing at abbreviations; every mistake is a UsageError.

/// Parses `arguments`. Words that are no option are collected under the name `positional` (see
/// `texts`); with an empty name they are mistakes.
boost::program_options::variables_map parse_command_line(
    const Arguments& arguments, const boost::program_options::options_description& options,
    const std::string& positional = "");

/// The same for a command that is described by `usage`. With --help, which it adds to `options`,
/// prints both and gives nothing. With kDescribeCommand it throws a CommandHelp instead: see
/// above.
std::optional<boost::program_options::variables_map> read_command(
    const Arguments& arguments, boost::program_options::options_description options,
    const std::string& positional, std::string_view usage);

/// The values of an option that may be given several times; empty if it was not.
std::vector<std::string> texts(const boost::program_options::variables_map& values,
                               const std::string& name);

/// A name and, from two columns beyond `width` on, what it means, in lines of 80 columns. A longer
/// name has a line of its own.
std::string help_entry(std::string name, std::string_view meaning, std::size_t width);

/// The list of options for --help.
std::string help_text(const boost::program_options::options_description& options);

}  // namespace retrysim::cli
