// What the program can be asked to do, as data: the table of commands, and what each command says
// of itself under --help. The help, the manual pages and the shell's completion are made from it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/commands.hpp"

#include <boost/program_options.hpp>
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

/// What `retrysim --help` says, in its parts. Paragraphs are separated by empty lines.
struct Program {
  std::string_view introduction;
  std::span<const Command> commands;
  std::string_view closing;  ///< how to get more help, and the exit statuses
};

/// What a command says of itself.
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

}  // namespace retrysim::cli
