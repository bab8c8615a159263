// `retrysim import`: turns the retry configuration of other software into keys of a scenario.
//
// SPDX-License-Identifier: MIT
#include <retrysim/import.hpp>
#include <retrysim/scenario.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/retry_file.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/output.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

struct ImportCommand {
  std::vector<std::string> words;
  std::optional<std::string> client, policy, into;
  std::optional<Duration> timeout;
  std::optional<std::uint64_t> memory;
  bool verbose = false;
};

Options<ImportCommand> import_options() {
  return std::vector<Option<ImportCommand>>{
      {{"client", "NAME",
        "name of the client group; default: that of the route, method or instance; with --into the "
        "only group of the scenario, or that of the policy's name"},
       [](ImportCommand& c, const std::string& text) {
         if (scenario::trimmed(text).empty()) throw UsageError("--client: name a client group");
         c.client = text;
       }},
      {{"into", "FILE",
        "put the policy into this scenario, in place of what its client group says of retries and "
        "of limits on what it sends"},
       [](ImportCommand& c, const std::string& text) { c.into = output_path(text, "file"); }},
      {{"policy", "NAME", "only this policy of the file"},
       [](ImportCommand& c, const std::string& text) { c.policy = text; }},
      {{"verbose", "", "list the fields that are not about retries, too"},
       into(&ImportCommand::verbose)},
      {{"timeout", "D", "give up after this much real time, such as 10s (exit status 5)"},
       [](ImportCommand& c, const std::string& text) {
         c.timeout = duration_above_zero("timeout", text);
       }},
      {{"max-memory", "SIZE",
        "give up if it takes more memory than this, such as 1GiB (exit "
        "status 5)"},
       [](ImportCommand& c, const std::string& text) {
         c.memory = parse_bytes(text);
         if (c.memory) return;
         throw UsageError(fmt::format(
             "--max-memory: '{}' is not a size such as 512MiB, 4GiB or a number of bytes above 0",
             text));
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
  return text +
         "\nExamples:\n"
         "  retrysim import envoy envoy.yaml > client.toml\n"
         "  retrysim import envoy envoy.yaml --into service.toml\n";
}

/// The policies, each with the client group of the scenario that it is for. Throws UsageError.
std::vector<std::pair<const ImportedPolicy*, std::string>> places_in(
    const ImportCommand& command, const RetryFile& file, const ImportedConfiguration& imported,
    const Scenario& scenario) {
  std::vector<std::string_view> groups;
  for (const ClientSpec& client : scenario.clients) groups.push_back(client.name);
  std::vector<std::pair<const ImportedPolicy*, std::string>> places;
  if (!command.client && !command.policy) {
    for (const ImportedPolicy& p : imported.policies) {
      if (std::ranges::count(groups, p.name) > 0) places.emplace_back(&p, p.name);
    }
    if (!places.empty()) return places;
  }
  const ImportedPolicy& policy = chosen_policy(imported, file);
  std::string client = command.client.value_or("");
  if (client.empty() && std::ranges::count(groups, policy.name) > 0) client = policy.name;
  if (client.empty() && groups.size() == 1) client = groups.front();
  if (client.empty() || std::ranges::count(groups, client) == 0) {
    throw UsageError(fmt::format("--client: which client group of {}? It has {}", *command.into,
                                 scenario::joined_first(groups)));
  }
  places.emplace_back(&policy, client);
  return places;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string all;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(what), text.size());
    all += text.substr(0, at);
    if (at < text.size()) all += with;
    text.remove_prefix(std::min(text.size(), at + what.size()));
  }
  return all;
}

int put_into(const ImportCommand& command, const RetryFile& file, const ReadConfiguration& read) {
  const std::string& path = *command.into;
  std::string error;
  auto text = scenario::read_whole_file(path, scenario::kMaxScenarioBytes, error);
  if (!text) {
    report::print_error("{}: error: {}\n", path, error);
    return kBadInput;
  }
  // The lines end as most of the file do.
  const std::string plain = replaced(*text, "\r\n", "\n");
  const auto returns = static_cast<std::ptrdiff_t>(text->size() - plain.size());
  const bool has_returns = 2 * returns > std::ranges::count(plain, '\n');
  text = plain;
  const LoadResult scenario =
      load_scenario_text(*text, path, std::filesystem::path(path).parent_path());
  for (const Diagnostic& d : scenario.errors) report::print_error("{}\n", to_string(d));
  if (!scenario.loaded) return kBadInput;
  const auto places = places_in(command, file, read.imported, scenario.loaded->scenario);
  for (const auto& [policy, client] : places) {
    text = joined_scenario(*text, path, client, with_all_timeouts(*policy, read.kind), read.name);
  }
  if (has_returns) text = replaced(*text, "\n", "\r\n");
  const auto is_ours = [](const std::filesystem::path&) { return true; };
  report::OutputFile(path, report::Replaceable{is_ours, "it exists", true, {file.path}})
      .write(*text);
  for (const auto& [policy, client] : places) {
    report::print("{}: client {} retries as {} says, policy {}.\n", path, client, read.name,
                  policy->name);
  }
  report::print("What was left out: retrysim import {} {}. To see what happens: retrysim run {}\n",
                read.kind, file.path, path);
  return kDone;
}

int import_policy(const ImportCommand& command) {
  RetryFile file;
  file.kind = command.words[0];
  file.path = command.words[1];
  file.policy = command.policy;
  try {
    ReadConfiguration read = read_configuration(file);
    ImportedConfiguration& imported = read.imported;
    if (command.into) return put_into(command, file, read);
    if (command.policy) imported.policies = {chosen_policy(imported, file)};
    if (command.client) {
      for (std::size_t i = 0; i < imported.policies.size(); ++i) {
        imported.policies[i].name =
            i == 0 ? *command.client : fmt::format("{}-{}", *command.client, i + 1);
      }
    }
    ImportText how;
    how.heading = fmt::format("Imported from {}.", read.name);
    how.lists_unrelated = command.verbose;
    how.how_to_list = " (--verbose lists them)";
    if (file.path != "-") {
      how.closing = fmt::format(
          "Next: retrysim init --rate N --service-time D --retry {0}, or, into a "
          "scenario, retrysim import {1} {0} --into FILE",
          file.path, read.kind);
    }
    report::print("{}", to_toml(imported, how));
    return kDone;
  } catch (const BadConfiguration& bad) {
    report::print_error("{}\n", bad.what());
    return kBadInput;
  }
}

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
  return interruptible(
      command->timeout, [&] { return import_policy(*command); }, command->memory);
}

constexpr Command kImportCommand{
    .name = "import",
    .arguments = "KIND FILE",
    .purpose = "turn a retry configuration of Envoy, gRPC, Resilience4j, ... into scenario keys",
    .run = import_policy,
    .after = "init",
    .less_memory = "import the configuration in parts"};
RETRYSIM_COMMAND_ROW import_row = &kImportCommand;

}  // namespace
}  // namespace retrysim::cli
