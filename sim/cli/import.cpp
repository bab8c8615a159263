// `retrysim import`: turns the retry configuration of other software into keys of a scenario.
//
// SPDX-License-Identifier: MIT
#include <retrysim/import.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/output.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {
namespace {

constexpr std::uintmax_t kMostConfigurationBytes = std::uintmax_t{16} << 20;

struct ImportCommand {
  std::vector<std::string> words;
  std::optional<std::string> client;
  std::optional<Duration> timeout;
};

Options<ImportCommand> import_options() {
  return std::vector<Option<ImportCommand>>{
      {{"client", "NAME",
        "name of the client group; default: that of the route, method or instance"},
       [](ImportCommand& c, const std::string& text) {
         if (scenario::trimmed(text).empty()) throw UsageError("--client: name a client group");
         c.client = text;
       }},
      {{"timeout", "D", "give up after this much real time, such as 10s (exit status 5)"},
       [](ImportCommand& c, const std::string& text) {
         c.timeout = duration_above_zero("timeout", text);
       }}};
}

std::string usage() {
  std::string text =
      "Usage: retrysim import KIND FILE [options]\n\n"
      "Turns a retry configuration that you have into the tables of a client group,\n"
      "each line with the field that it comes from, and lists what has no counterpart.\n"
      "FILE may be -, standard input.\n\nKinds:\n";
  constexpr std::size_t kWidth = 16;
  for (const ImportKind& k : import_kinds()) {
    text += help_entry(fmt::format("  {}", k.name), k.reads, kWidth);
  }
  return text + "\nExample:\n  retrysim import envoy envoy.yaml > client.toml\n";
}

int import_policy(const ImportCommand& command) {
  const std::string &kind = command.words[0], &path = command.words[1];
  const std::string file = path == "-" ? "standard input" : path;
  std::string error;
  const auto text =
      scenario::read_whole_file(path == "-" ? "/dev/stdin" : path, kMostConfigurationBytes, error);
  if (!text) {
    report::print_error("{}: error: {}\n", file, error);
    return kBadInput;
  }
  try {
    ImportedConfiguration imported = import_configuration(kind, *text, file);
    if (command.client) {
      for (std::size_t i = 0; i < imported.policies.size(); ++i) {
        imported.policies[i].name =
            i == 0 ? *command.client : fmt::format("{}-{}", *command.client, i + 1);
      }
    }
    report::print("{}", to_toml(imported, fmt::format("Imported from {} ({}).",
                                                      scenario::printable_line(file), kind)));
    return kDone;
  } catch (const BadConfiguration& bad) {
    report::print_error("{}\n", bad.what());
    return kBadInput;
  }
}

}  // namespace

int import_policy(const Arguments& arguments) {
  const auto command =
      import_options().read(arguments, usage(), "kind and file", &ImportCommand::words);
  if (!command) return kDone;
  std::vector<std::string_view> kinds;
  for (const ImportKind& k : import_kinds()) kinds.push_back(k.name);
  if (command->words.size() != 2) {
    throw UsageError("expected a kind and a file: retrysim import KIND FILE");
  }
  const std::string& kind = command->words[0];
  if (std::ranges::count(kinds, kind) == 0) {
    throw UsageError(fmt::format("there is no kind '{}'; {}", kind,
                                 scenario::suggestion(kind, kinds, "kinds are")));
  }
  return interruptible(command->timeout, [&] { return import_policy(*command); });
}

}  // namespace retrysim::cli
