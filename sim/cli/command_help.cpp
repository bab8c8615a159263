// SPDX-License-Identifier: MIT
#include "cli/command_help.hpp"

#include <fmt/format.h>
#include <stdexcept>

namespace retrysim::cli {

namespace po = boost::program_options;

CommandHelp help_of(const Command& command) {
  try {
    command.run({std::string(kDescribeCommand)});
  } catch (CommandHelp& help) {
    return std::move(help);
  } catch (const UsageError&) {  // it took the argument for an option of its own
  }
  throw std::logic_error(fmt::format("`retrysim {}` does not describe itself", command.name));
}

bool takes_value(const po::option_description& option) {
  return option.semantic()->max_tokens() > 0;
}

std::string value_name(const po::option_description& option) {
  const std::string text = option.format_parameter();
  return text.substr(0, text.find(" (="));
}

}  // namespace retrysim::cli
