// Reading a subcommand's options with Boost.Program_options: no guessing at abbreviations, every
// mistake a UsageError.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/commands.hpp"

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

/// Parses `arguments`. Words that are no option are collected under the name `positional` (see
/// `texts`); with an empty name they are mistakes.
boost::program_options::variables_map parse_command_line(
    const Arguments& arguments, const boost::program_options::options_description& options,
    const std::string& positional = "");

/// The same for a command that is described by `usage`. With --help, which it adds to `options`,
/// prints both and gives nothing. With kDescribeCommand it throws a CommandHelp instead: see
/// command_help.hpp.
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
