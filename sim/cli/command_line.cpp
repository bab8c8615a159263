// Reading options, and collecting a command's help.
//
// SPDX-License-Identifier: MIT
#include "cli/command_line.hpp"

#include "report/document/text.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
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

namespace po = boost::program_options;

namespace {

/// "; did you mean '--seed'?" if an option of nearly that name exists.
std::string similar_option(std::string_view name, const po::options_description& options) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::vector<std::string_view> known;
  for (const auto& option : options.options()) known.push_back(option->long_name());
  const std::string_view near = scenario::nearest(name, known);
  return near.empty() ? "" : "; did you mean '--" + std::string(near) + "'?";
}

}  // namespace

po::variables_map parse_command_line(const Arguments& arguments,
                                     const po::options_description& options,
                                     const std::string& positional) {
  namespace style = po::command_line_style;
  po::options_description all;
  all.add(options);
  po::positional_options_description words;
  if (!positional.empty()) {
    all.add_options()(positional.c_str(), po::value<std::vector<std::string>>());
    words.add(positional.c_str(), -1);
  }
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments)
                  .options(all)
                  .positional(words)
                  .style(style::default_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::unknown_option& error) {
    throw UsageError(error.what() + similar_option(error.get_option_name(), options));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return values;
}

std::optional<po::variables_map> read_command(const Arguments& arguments,
                                              po::options_description options,
                                              const std::string& positional,
                                              std::string_view usage) {
  options.add_options()("help", "print this text");
  if (arguments.size() == 1 && arguments.front() == kDescribeCommand) {
    throw CommandHelp{std::string(usage), positional, options.options()};
  }
  po::variables_map values = parse_command_line(arguments, options, positional);
  if (values.count("help") == 0) return values;
  report::print("{}\n{}", usage, help_text(options));
  return std::nullopt;
}

std::vector<std::string> texts(const po::variables_map& values, const std::string& name) {
  if (values.count(name) == 0) return {};
  return values[name].as<std::vector<std::string>>();
}

std::string help_entry(std::string name, std::string_view meaning, std::size_t width) {
  const std::string indent(width + 2, ' ');
  std::string text;
  if (name.size() > width) {
    text = name + "\n";
    name.clear();
  }
  name.resize(indent.size(), ' ');
  return text + report::wrapped(meaning, {report::kNarrowColumns, name, indent});
}

std::string help_text(const po::options_description& options) {
  // Not as Boost prints them: it leaves blanks at the ends of lines, and but one blank beside the
  // longest name.
  constexpr std::size_t kLongestName = 26;  // a longer one has a line of its own
  const auto name_of = [](const po::option_description& option) {
    const std::string value = takes_value(option) ? " " + value_name(option) : "";
    return "  --" + option.long_name() + value;
  };
  std::size_t width = 0;
  for (const auto& option : options.options()) {
    const std::size_t length = name_of(*option).size();
    if (length <= kLongestName) width = std::max(width, length);
  }
  std::string text = "Options:\n";
  for (const auto& option : options.options()) {
    text += help_entry(name_of(*option), option->description(), width);
  }
  return text;
}

}  // namespace retrysim::cli
