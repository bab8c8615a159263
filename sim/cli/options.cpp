// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include "report/document/text.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/program_options.hpp>
#include <stdexcept>

namespace retrysim::cli {

namespace po = boost::program_options;

std::string option_of_part(std::string_view part) {
  // Options of `fit` and `size` whose names differ from those in the library's messages.
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {{"columns", "--column"},
                                                                       {"duration_unit", "--unit"},
                                                                       {"format", "--log-format"},
                                                                       {"what", "PATH"}};
  for (const auto& [name, option] : kOthers) {
    if (name == part) return std::string(option);
  }
  std::string option = fmt::format("--{}", part);
  std::ranges::replace(option, '_', '-');
  return option;
}

CommandHelp help_of(const Command& command) {
  try {
    command.run({std::string(kDescribeCommand)});
  } catch (CommandHelp& help) {
    return std::move(help);
  } catch (const UsageError&) {  // the command took the argument for an option of its own
  }
  throw std::logic_error(fmt::format("`retrysim {}` does not describe itself", command.name));
}

namespace {

/// A hint, "; did you mean '--seed'?", if an option of nearly that name exists; else empty.
std::string similar_option(std::string_view name, const CommandHelp& help) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  if (name == "twin" || name.starts_with("twin=")) {
    return "; `retrysim run --twin` repeats a single scenario without a part of it";
  }
  std::vector<std::string_view> known;
  for (const OptionText& option : help.options) known.push_back(option.name);
  const std::string_view near = scenario::nearest(name, known);
  return near.empty() ? "" : "; did you mean '--" + std::string(near) + "'?";
}

po::variables_map parse(const Arguments& arguments, const CommandHelp& help) {
  namespace style = po::command_line_style;
  po::options_description all;
  po::positional_options_description words;
  for (const OptionText& option : help.options) {
    const char* name = option.name.c_str();
    if (option.value.empty()) {
      all.add_options()(name, po::bool_switch());
    } else if (option.repeats) {
      all.add_options()(name, po::value<std::vector<std::string>>()->composing());
    } else {
      all.add_options()(name, po::value<std::string>());
    }
  }
  if (!help.positional.empty()) {
    all.add_options()(help.positional.c_str(), po::value<std::vector<std::string>>());
    words.add(help.positional.c_str(), -1);
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
    throw UsageError(error.what() + similar_option(error.get_option_name(), help));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return values;
}

std::string help_text(const CommandHelp& help) {
  // Boost's own print of options is not used: it leaves blanks at the ends of lines, and only one
  // blank beside the longest name.
  constexpr std::size_t kLongestName = 26;  // longest name that shares its line
  const auto name_of = [](const OptionText& option) {
    return "  --" + option.name + (option.value.empty() ? "" : " " + option.value);
  };
  std::size_t width = 0;
  for (const OptionText& option : help.options) {
    const std::size_t length = name_of(option).size();
    if (length <= kLongestName) width = std::max(width, length);
  }
  std::string text = help.usage + "\nOptions:\n";
  for (const OptionText& option : help.options) {
    text += help_entry(name_of(option), option.help, width);
  }
  return text;
}

}  // namespace

std::optional<GivenOptions> read_given(const Arguments& arguments, CommandHelp help) {
  const std::size_t rows = help.options.size();
  help.options.push_back({"help", "", "print this text"});
  if (arguments.size() == 1 && arguments.front() == kDescribeCommand) throw help;
  const po::variables_map values = parse(arguments, help);
  if (values["help"].as<bool>()) {
    report::print(help_text(help));
    return std::nullopt;
  }
  GivenOptions given;
  for (std::size_t i = 0; i < rows; ++i) {
    const OptionText& option = help.options[i];
    std::vector<std::string>& texts = given.values.emplace_back();
    if (option.value.empty()) {
      if (values[option.name].as<bool>()) texts.emplace_back();
    } else if (values.count(option.name) == 0) {
      continue;
    } else if (option.repeats) {
      texts = values[option.name].as<std::vector<std::string>>();
    } else {
      texts.push_back(values[option.name].as<std::string>());
    }
  }
  if (!help.positional.empty() && values.count(help.positional) != 0) {
    given.words = values[help.positional].as<std::vector<std::string>>();
  }
  return given;
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

}  // namespace retrysim::cli
