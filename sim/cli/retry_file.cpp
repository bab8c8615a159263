// SPDX-License-Identifier: MIT
#include "cli/retry_file.hpp"

#include <retrysim/scenario.hpp>

#include "cli/commands.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>

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

std::string joined_scenario(const std::string& scenario, const std::string& path,
                            const std::string& client, const ImportedPolicy& policy,
                            const std::string& from) {
  std::string text = with_policy(scenario, client, policy, from);
  const LoadResult result =
      load_scenario_text(text, path, std::filesystem::path(path).parent_path());
  if (!result.loaded) {
    throw BadConfiguration({.file = path,
                            .message = fmt::format("it does not load with the policy {}: {}",
                                                   policy.name, result.errors.front().message),
                            .source_line = {}});
  }
  return text;
}

}  // namespace retrysim::cli
