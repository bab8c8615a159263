// `retrysim check`: validates scenarios and prints each with every default filled in and the origin
// of every value. Its output loads back to the same scenario. Warnings of the facts go to standard
// error.
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
#include "scenario/text/text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace retrysim::cli {
namespace {

constexpr const char* kCheckUsage =
    "Usage: retrysim check SCENARIO... [--set PATH=VALUE]...\n"
    "\n"
    "Validates scenario files and prints each with every default filled in; a comment\n"
    "names the origin of each value, and the first ones give the memory and events\n"
    "of a run (if every request succeeds at its first attempt). Warnings on standard\n"
    "error name known problems before anything runs, the keys that cause them and\n"
    "what would help; they do not change the exit status: 0 all are valid, 3 one is\n"
    "not.\n"
    "\n"
    "Example: retrysim check dip.toml --set 'client.*.retry.mode=none'\n";

struct CheckCommand {
  std::vector<std::string> scenarios, edits;
  int jobs = default_jobs();
  std::optional<Duration> timeout;
};

Options<CheckCommand> check_options() {
  using C = CheckCommand;
  return std::vector<Option<C>>{
      {{"set", "PATH=VALUE",
        "change any key before it is checked; TOML syntax, bare words allowed; * in PATH matches "
        "any one name",
        true},
       into(&C::edits)},
      {{"jobs", "N", "threads of the run whose memory is estimated; default: one per processor"},
       [](C& c, const std::string& text) { c.jobs = number_of_jobs(text); }},
      {{"timeout", "D", "give up after this much real time, such as 10s (exit status 5)"},
       [](C& c, const std::string& text) { c.timeout = duration_above_zero("timeout", text); }}};
}

std::string count_text(double count) {
  return count < 1e6 ? fmt::format("{:.0f}", count) : fmt::format("{:.3g} million", count / 1e6);
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
      good = check_one(path, command->edits, static_cast<std::size_t>(command->jobs), out) && good;
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
