// SPDX-License-Identifier: MIT
#include "cli/retry_file.hpp"

#include <retrysim/scenario.hpp>

#include "cli/commands.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/problems.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace retrysim::cli {

namespace {

constexpr std::uintmax_t kMaxConfigurationBytes = std::uintmax_t{16} << 20;

std::vector<std::string_view> policy_names(const ImportedConfiguration& imported) {
  std::vector<std::string_view> names;
  for (const ImportedPolicy& p : imported.policies) names.push_back(p.name);
  return names;
}

}  // namespace

RetryFile retry_file(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool is_kind =
      colon != std::string::npos &&
      std::ranges::any_of(import_kinds(), [&](const ImportKind& k) { return k.name == kind; });
  RetryFile file;
  if (is_kind) file.kind = kind;
  file.path = is_kind ? text.substr(colon + 1) : text;
  if (file.path.empty()) throw UsageError("--retry: name a file");
  return file;
}

ReadConfiguration read_configuration(const RetryFile& file) {
  const std::string name = file.path == "-" ? "standard input" : file.path;
  std::string error;
  const auto text = scenario::read_whole_file(file.path == "-" ? "/dev/stdin" : file.path,
                                              kMaxConfigurationBytes, error);
  if (!text) throw BadConfiguration({.file = name, .message = error, .source_line = {}});
  ReadConfiguration read;
  read.kind = file.kind.empty() ? std::string(import_kind_of(*text, name)) : file.kind;
  read.imported = import_configuration(read.kind, *text, name);
  read.name = fmt::format("{} ({})", scenario::printable_line(name), read.kind);
  return read;
}

const ImportedPolicy& chosen_policy(const ImportedConfiguration& imported, const RetryFile& file) {
  const std::vector<std::string_view> names = policy_names(imported);
  if (!file.policy) {
    if (names.size() == 1) return imported.policies.front();
    throw UsageError(fmt::format("{} has {} policies ({}); choose one with --policy NAME",
                                 file.path, names.size(), scenario::joined_first(names)));
  }
  const auto found = std::ranges::find(imported.policies, *file.policy, &ImportedPolicy::name);
  if (found != imported.policies.end()) return *found;
  throw UsageError(fmt::format("--policy: {} has no policy '{}'; {}", file.path, *file.policy,
                               scenario::suggestion(*file.policy, names, "it has")));
}

ImportedPolicy with_all_timeouts(ImportedPolicy policy, std::string_view kind) {
  constexpr std::string_view kComplete[] = {"envoy", "istio", "gateway-api", "linkerd", "grpc"};
  if (std::ranges::find(kComplete, kind) == std::end(kComplete)) return policy;
  for (const char* key : {"attempt_timeout", "deadline"}) {
    if (std::ranges::find(policy.keys, key, &ImportedKey::path) != policy.keys.end()) continue;
    policy.keys.push_back({key, "\"none\"", "the configuration has none"});
  }
  return policy;
}

namespace {

/// The names of the groups that a client group starts from (`like`), the nearest first; empty if
/// the text does not say so in a way that loads.
std::vector<std::string> bases_of(const std::string& text, const std::string& path,
                                  std::string client) {
  scenario::Sources sources;
  sources.add(path, text);
  scenario::Problems problems(sources);
  const std::optional<scenario::Node> root = scenario::parse_document(sources, 0, problems);
  const scenario::Member* groups = root ? root->find("client") : nullptr;
  std::vector<std::string> bases;
  while (groups != nullptr) {
    const scenario::Member* group = groups->value.find(client);
    const scenario::Member* like = group == nullptr ? nullptr : group->value.find("like");
    if (like == nullptr || std::ranges::count(bases, like->value.text) > 0) break;
    client = like->value.text;
    bases.push_back(client);
  }
  return bases;
}

using KeysOfGroup = std::map<std::string, std::string>;

/// The keys of a client group below its name, as TOML; empty, with the first error in `why_not`, if
/// the text does not load.
std::optional<KeysOfGroup> keys_of_group(const std::string& text, const std::string& path,
                                         const std::string& client, std::string& why_not) {
  const LoadResult result =
      load_scenario_text(text, path, std::filesystem::path(path).parent_path());
  if (!result.loaded) {
    why_not = result.errors.front().message;
    return std::nullopt;
  }
  const std::string start = fmt::format("client.{}.", scenario::render_name(client));
  KeysOfGroup keys;
  for (const ResolvedKey& key : result.loaded->keys) {
    if (key.path.starts_with(start)) keys[key.path.substr(start.size())] = key.toml;
  }
  return keys;
}

/// The policy with the other of the two keys for its limit on attempts, as a base of a group needs
/// it that has that one; empty if the policy has no number of attempts or retries.
std::optional<ImportedPolicy> with_other_limit(ImportedPolicy policy) {
  constexpr std::string_view kAttempts = "retry.max_attempts", kRetries = "retry.max_retries";
  for (ImportedKey& key : policy.keys) {
    if (key.path != kAttempts && key.path != kRetries) continue;
    unsigned number = 0;
    const char* const end = key.value.data() + key.value.size();
    const auto [rest, error] = std::from_chars(key.value.data(), end, number);
    const bool counts_first = key.path == kAttempts;
    if (error != std::errc() || rest != end || (counts_first && number == 0)) return std::nullopt;
    key.path = counts_first ? kRetries : kAttempts;
    key.value = std::to_string(counts_first ? number - 1 : number + 1);
    return policy;
  }
  return std::nullopt;
}

/// The names of keys of `keys` that `wanted` has not, or has otherwise.
std::vector<std::string> unlike(const KeysOfGroup& keys, const KeysOfGroup& wanted) {
  std::vector<std::string> names;
  for (const auto& [key, value] : keys) {
    const auto at = wanted.find(key);
    if (at == wanted.end() || at->second != value) names.push_back(key);
  }
  return names;
}

}  // namespace

std::string joined_scenario(const std::string& scenario, const std::string& path,
                            const std::string& client, const ImportedPolicy& imported,
                            const std::string& from) {
  ImportedPolicy policy = imported;
  std::string text = with_policy(scenario, client, policy, from), why_not;
  std::optional<KeysOfGroup> keys = keys_of_group(text, path, client, why_not);
  if (const auto other = with_other_limit(policy); !keys && other) {
    std::string ignored;
    const std::string otherwise = with_policy(scenario, client, *other, from);
    if ((keys = keys_of_group(otherwise, path, client, ignored))) policy = *other, text = otherwise;
  }
  if (!keys) {
    throw BadConfiguration(
        {.file = path,
         .message = fmt::format("it does not load with the policy {}: {}", policy.name, why_not),
         .source_line = {}});
  }
  const std::vector<std::string> bases = bases_of(text, path, client);
  if (bases.empty()) return text;
  // The policy alone makes this of the group: then its bases say nothing else of retries.
  std::string alone_text = text;
  for (const std::string& base : bases) alone_text = with_policy(alone_text, base, policy, from);
  const std::optional<KeysOfGroup> alone = keys_of_group(alone_text, path, client, why_not);
  if (alone == keys) return text;
  if (alone) {
    ImportedPolicy whole = policy;
    for (const std::string& key : unlike(*alone, *keys)) {
      whole.keys.push_back({key, alone->at(key), fmt::format("not as in {}", bases.front())});
    }
    text = with_policy(scenario, client, whole, from);
    if (keys_of_group(text, path, client, why_not) == alone) return text;
  }
  const std::vector<std::string> left =
      alone ? unlike(*keys, *alone) : std::vector<std::string>{"rules"};
  throw BadConfiguration(
      {.file = path,
       .message =
           fmt::format("client {} starts from {} (like), whose {} would stay beside the "
                       "policy {}; write the group without like, or take that out of {}",
                       client, bases.front(), fmt::join(left, ", "), policy.name, bases.front()),
       .source_line = {}});
}

}  // namespace retrysim::cli
