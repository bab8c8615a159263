// `retrysim check`: validates scenarios and prints each with every default filled in and the origin
// of every value. Its output loads back to the same scenario. Warnings of the facts go to standard
// error. With --since it prints instead what an earlier release made of the scenario, as far as
// that differs.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>

#include "cli/commands.hpp"
#include "cli/list.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "scenario/since.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {
namespace {

constexpr const char* kCheckUsage =
    "Usage: retrysim check SCENARIO... [--set PATH=VALUE]...\n"
    "       retrysim check SCENARIO... --since RELEASE\n"
    "\n"
    "Validates scenario files and prints each with every default filled in; a comment\n"
    "names the origin of each value, and the first ones give the memory and events\n"
    "of a run (if every request succeeds at its first attempt). Warnings on standard\n"
    "error name known problems before anything runs, the keys that cause them and\n"
    "what would help; they do not change the exit status: 0 all are valid, 3 one is\n"
    "not.\n"
    "\n"
    "With --since it prints which keys and defaults of each file mean something else\n"
    "since that release, with the lines that keep the old meaning; add them to the\n"
    "file, or write them in place of what it has.\n"
    "\n"
    "Examples: retrysim check dip.toml --set 'client.*.retry.mode=none'\n"
    "          retrysim check dip.toml --since 0.2\n";

struct CheckCommand {
  std::vector<std::string> scenarios, edits;
  int jobs = default_jobs();
  std::optional<Duration> timeout;
  std::string_view since;  ///< one of scenario::known_releases; empty: none
};

Options<CheckCommand> check_options() {
  using C = CheckCommand;
  return std::vector<Option<C>>{
      {{"set", "PATH=VALUE",
        "change any key before it is checked; TOML syntax, bare words allowed; * in PATH matches "
        "any one name",
        true},
       into(&C::edits)},
      {{"since", "RELEASE",
        "print what has changed in the meaning of the files since this release of retrysim, such "
        "as 0.2, in place of the scenarios"},
       [](C& c, const std::string& text) { c.since = scenario::known_release(text); }},
      {{"jobs", "N", "threads of the run whose memory is estimated; default: one per processor"},
       [](C& c, const std::string& text) { c.jobs = number_of_jobs(text); }},
      {{"timeout", "D", "give up after this much real time, such as 10s (exit status 5)"},
       [](C& c, const std::string& text) { c.timeout = duration_above_zero("timeout", text); }}};
}

std::string count_text(double count) {
  return count < 1e6 ? scenario::said_whole(count) : scenario::said_number(count);
}

/// Comments that say how much memory `retrysim run` takes.
std::string needs_text(const Scenario& scenario, std::size_t jobs, std::size_t columns) {
  const std::vector<const Scenario*> runs(static_cast<std::size_t>(scenario.replications),
                                          &scenario);
  const MemoryPlan plan = plan_memory(runs, jobs, ~std::uint64_t{0});
  const double events = needs_of(scenario).events * scenario.replications;
  const auto comment = [&](std::string_view indent, const std::string& sentence) {
    const std::string others = fmt::format("{}  ", indent);
    return report::wrapped(sentence, {columns, indent, others});
  };
  std::string text = comment(
      "# ", fmt::format("A run takes about {} of memory and {} events: {} replication{}, {} at "
                        "once.",
                        to_text_of_bytes(plan.total), count_text(events), runs.size(),
                        runs.size() == 1 ? "" : "s", plan.at_once));
  constexpr double kLarge = 0.1;
  for (const MemoryPart& part : plan.parts) {
    if (static_cast<double>(part.bytes) < kLarge * static_cast<double>(plan.total)) continue;
    text += comment("#   ", fmt::format("{} for {} (see {})", to_text_of_bytes(part.bytes),
                                        part.what, part.keys));
  }
  return text;
}

// --- What has changed ----------------------------------------------------------------------------

using Changes = std::vector<scenario::ChangeSince>;

std::string_view heading_of(scenario::ReleaseChangeKind kind) {
  using Kind = scenario::ReleaseChangeKind;
  switch (kind) {
    case Kind::kName:
      return "Names";
    case Kind::kDefault:
      return "Defaults";
    case Kind::kPreset:
      return "Rules of SDKs";
    case Kind::kRule:
      return "Keys that do something else";
    case Kind::kFigure:
      break;
  }
  return "Figures of the same events: the old ones were mistakes, and no key brings them back";
}

/// A key that has changed, where it stands, and its value before and now.
std::string key_text(const scenario::ChangeSince& change) {
  std::string text = change.key;
  if (!change.place.empty()) text += fmt::format(" ({})", change.place);
  if (!change.row->was.empty()) {
    text += fmt::format(": {} before, {} now", change.row->was, change.value);
  }
  return text;
}

/// The most keys and tables of one change that are named.
constexpr std::size_t kMaxNamed = 10;

/// The tables to which the lines of a change belong: ", in [client.a] and in [client.b]".
std::string tables_text(const Changes& changes) {
  if (changes.front().table.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(changes.size(), kMaxNamed); ++i) {
    text += fmt::format("{} in [{}]", i == 0 ? "," : " and", changes[i].table);
  }
  return changes.size() > kMaxNamed ? text + " and so on" : text;
}

/// One row of the table of changes with all keys of the scenario that it is about.
std::string change_text(const Changes& changes, std::size_t columns) {
  const scenario::ReleaseChange& row = *changes.front().row;
  std::string text;
  for (std::size_t i = 0; i < std::min(changes.size(), kMaxNamed); ++i) {
    text += report::wrapped(key_text(changes[i]), {columns, "  ", "    "});
  }
  if (changes.size() > kMaxNamed) {
    text += fmt::format("  and {} others\n", changes.size() - kMaxNamed);
  }
  text += report::wrapped(row.says, {columns, "    ", "    "});
  if (!row.keeps.empty()) {
    text += report::wrapped(fmt::format("As before{}:", tables_text(changes)),
                            {columns, "    ", "    "});
    text += fmt::format("      {}\n", row.keeps);
  } else if (!row.cannot.empty()) {
    text += report::wrapped(fmt::format("Not as before in any way: {}.", row.cannot),
                            {columns, "    ", "    "});
  }
  return text;
}

std::string since_text(const std::string& path, const LoadedScenario& loaded,
                       std::string_view release, std::size_t columns) {
  const Changes all = scenario::changes_since(loaded, release);
  const std::string file = scenario::printable_line(path);
  std::string text;
  if (all.empty()) {
    text = report::wrapped(
        fmt::format("{}: nothing that it says has changed since {}.", file, release), {columns});
  } else {
    text = report::wrapped(fmt::format("{}: what has changed for it since {}", file, release),
                           {columns});
  }
  for (auto at = all.begin(); at != all.end();) {
    const auto end =
        std::find_if(at, all.end(), [&](const auto& change) { return change.row != at->row; });
    const bool begins = at == all.begin() || std::prev(at)->row->kind != at->row->kind;
    if (begins) text += fmt::format("\n{}\n", heading_of(at->row->kind));
    text += change_text({at, end}, columns);
    at = end;
  }
  return text + "\n" + report::wrapped(scenario::changes_of_all(release), {columns, "", ""});
}

// --- The command ---------------------------------------------------------------------------------

// Checks one scenario and prints what has changed since a release; false if it is not valid.
bool check_since(const std::string& path, const CheckCommand& command,
                 report::StandardOutput& out) {
  const LoadResult result = load_scenario_file(path, command.edits);
  print_errors(result.errors);
  if (!result.loaded) return false;
  out.write(since_text(path, *result.loaded, command.since, report::output_columns()));
  return true;
}

// Checks one scenario and prints it; false if it is not valid.
bool check_one(const std::string& path, const std::vector<std::string>& edits, std::size_t jobs,
               report::StandardOutput& out) {
  const LoadResult result = load_scenario_file(path, edits);
  print_errors(result.errors);
  if (!result.loaded) return false;
  const std::size_t columns = report::output_columns();
  out.write(fmt::format("# {}\n{}{}", scenario::printable_line(path),
                        needs_text(result.loaded->scenario, jobs, columns),
                        to_toml(*result.loaded, true, columns)));
  for (const std::string& note : result.loaded->notes) {
    report::print_error(report::wrapped(fmt::format("{}: note: {}", path, note), {columns}));
  }
  if (const std::string note = version_note(*result.loaded); !note.empty()) {
    report::print_error(report::wrapped(fmt::format("{}: note: {}", path, note), {columns}));
  }
  for (const Warning& w : facts_of(result.loaded->scenario).warnings) {
    report::print_error(
        report::wrapped(fmt::format("{}: warning: {} {}", path, w.message, w.remedy), {columns}) +
        report::wrapped(fmt::format("(keys: {})", w.keys), {columns, "  ", "    "}));
  }
  return true;
}

int check(const Arguments& arguments) {
  const auto command =
      check_options().read(arguments, kCheckUsage, "scenario", &CheckCommand::scenarios);
  if (!command) return kDone;
  if (command->scenarios.empty()) {
    throw UsageError("no scenario given; expected retrysim check SCENARIO...");
  }
  return interruptible(command->timeout, [&]() -> int {
    report::StandardOutput out(report::StandardOutput::For::kPeople);
    bool good = true;
    bool first = true;
    for (const std::string& path : command->scenarios) {
      if (!first) out.write("\n");
      first = false;
      const bool valid =
          command->since.empty()
              ? check_one(path, command->edits, static_cast<std::size_t>(command->jobs), out)
              : check_since(path, *command, out);
      good = valid && good;
      out.flush();
    }
    return good ? kDone : kBadInput;
  });
}

constexpr Command kCheckCommand{
    .name = "check",
    .arguments = "SCENARIO...",
    .purpose = "validate, and print the scenario with every default filled in",
    .run = check,
    .after = "map"};
RETRYSIM_COMMAND_ROW check_row = &kCheckCommand;

}  // namespace
}  // namespace retrysim::cli
