// The command line as data: the table of commands, and each command's table of options. A row of an
// options table says everything about an option: its name, its help, how its value gets into the
// command's settings, and what it adds to the question that a result answers. Parsing, --help, the
// shell's completion and the identity of a resumed search read these tables.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/commands.hpp"

#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {

/// A row of the table of commands.
struct Command {
  std::string_view name, arguments, purpose;
  /// Called with the arguments after the command's name; returns an ExitStatus.
  int (*run)(const Arguments&);
  /// The command above this one in `retrysim --help`; empty: it is first.
  std::string_view after = {};
  /// Advice if there is not enough memory.
  std::string_view less_memory = "simulate fewer clients, bins or replications";
};

/// Adds a command to the program: a file of `sim/cli` with such a row at its end needs no further
/// registration. The linker puts the rows of all files side by side, so that nothing has to run
/// before main:
///
///     constexpr Command kTip{.name = "tip", .arguments = ..., .run = tip};
///     RETRYSIM_COMMAND_ROW tip_row = &kTip;
#define RETRYSIM_COMMAND_ROW [[gnu::used, gnu::section("retrysim_commands")]] const Command* const

/// The commands in the order of `retrysim --help`; commands that are `after` the same one by name,
/// those without followers first.
std::span<const Command> commands();

/// The visible part of an option.
struct OptionText {
  std::string name;   ///< name without the dashes
  std::string value;  ///< placeholder of its value: "PATH=VALUE"; empty: it is a flag
  std::string help;
  bool repeats = false;  ///< may be given several times
};

/// A command's help.
struct CommandHelp {
  std::string usage;                ///< "Usage: ...", then paragraphs
  std::string positional;           ///< name of words without an option: "scenario"; empty: none
  std::vector<OptionText> options;  ///< options, --help included
};

/// The help of `command`, which is not run. Throws std::logic_error for a command that does not
/// read its arguments with a table of options.
CommandHelp help_of(const Command& command);

/// The option that the library calls `part` in messages: "--trigger".
std::string option_of_part(std::string_view part);

/// The argument that makes reading the options of a command throw its CommandHelp.
inline constexpr std::string_view kDescribeCommand = "--describe-command";

/// An entry of help: a name and, from two columns beyond `width` on, its meaning, in lines of 80
/// columns. A longer name has a line of its own.
std::string help_entry(std::string name, std::string_view meaning, std::size_t width);

/// The options and words written on the command line.
struct GivenOptions {
  /// Values of each row's option; for a flag an empty value.
  std::vector<std::vector<std::string>> values;
  std::vector<std::string> words;  ///< words that belong to no option
};

/// Parses `arguments` with Boost.Program_options: abbreviations are not guessed, and every mistake
/// is a UsageError. With --help prints the help and returns nothing; with kDescribeCommand throws
/// the help.
std::optional<GivenOptions> read_given(const Arguments& arguments, CommandHelp help);

/// A row of a command's table of options. The table fills in `Settings`.
template <class Settings>
struct Option {
  OptionText text;
  /// Called with each value that was given; for a flag with an empty value. Throws UsageError.
  std::function<void(Settings&, const std::string&)> read;
  /// Returns what the option adds to `ResultIdentity::options`; empty: it does not change the
  /// question.
  std::function<std::vector<std::string>(const Settings&)> asked = {};
};

// `into(&Settings::member)` makes the usual reader of an option, which stores the value in a
// member.

inline void store(std::string& member, const std::string& text) { member = text; }
inline void store(bool& member, const std::string&) { member = true; }
inline void store(std::optional<std::string>& member, const std::string& text) { member = text; }
inline void store(std::vector<std::string>& member, const std::string& text) {
  member.push_back(text);
}
template <class Owner, class Member>
auto into(Member Owner::*member) {
  return [member](Owner& settings, const std::string& text) { store(settings.*member, text); };
}

/// A command's table of options. The values are read row by row, so that the same mistake of
/// several is always reported first.
template <class Settings>
class Options {
 public:
  using Row = Option<Settings>;

  Options(std::vector<Row> rows) : rows_(std::move(rows)) {}

  /// Adds the rows for a part of the settings.
  template <class Part>
  Options& add(const Options<Part>& part) {
    for (const Option<Part>& row : part.rows()) rows_.push_back({row.text, row.read, row.asked});
    return *this;
  }
  const std::vector<Row>& rows() const { return rows_; }

  /// The settings from `arguments`; empty if they ask for help, which is then printed. `words` gets
  /// the words without an option, called `positional` in messages. Throws UsageError.
  std::optional<Settings> read(const Arguments& arguments, std::string_view usage,
                               std::string positional = {},
                               std::vector<std::string> Settings::*words = nullptr) const {
    CommandHelp help{std::string(usage), std::move(positional), {}};
    for (const Row& row : rows_) help.options.push_back(row.text);
    std::optional<GivenOptions> given = read_given(arguments, std::move(help));
    if (!given) return std::nullopt;
    Settings settings;
    if (words != nullptr) settings.*words = std::move(given->words);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (const std::string& value : given->values[i]) rows_[i].read(settings, value);
    }
    return settings;
  }

  /// The part of the question that the settings add to the scenario, in the order of the rows.
  std::vector<std::string> asked(const Settings& settings) const {
    std::vector<std::string> all;
    for (const Row& row : rows_) {
      if (!row.asked) continue;
      std::vector<std::string> more = row.asked(settings);
      all.insert(all.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    }
    return all;
  }

 private:
  std::vector<Row> rows_;
};

/// `retrysim complete WORD...`: prints candidates for the last of the words, which follow the
/// program's name on a command line. scripts/completion.bash calls it.
///
/// One candidate a line. A line that begins with a colon says what else to offer: `:files toml`,
/// `:files`, `:folders`; or, with `:open`, that a candidate may go on, so that no blank follows it.
///
/// Returns an ExitStatus: kDone, also if there is nothing to offer.
int complete(const Arguments& words);

}  // namespace retrysim::cli
