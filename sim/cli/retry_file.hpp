// A retry configuration that an option names, for the commands that put it into a scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/import.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

/// The file of a configuration, and the policy that is meant.
struct RetryFile {
  std::string kind;  ///< empty: recognized from the text
  std::string path;  ///< the file's path; "-" is standard input
  std::optional<std::string> policy;
};

/// Reads the value of --retry: FILE, or KIND:FILE.
RetryFile retry_file(const std::string& text);

/// An imported configuration, with its name for comments: "envoy.yaml (envoy)".
struct ReadConfiguration {
  ImportedConfiguration imported;
  std::string kind, name;
};

/// Reads a configuration. Throws BadConfiguration, also if the file cannot be read.
ReadConfiguration read_configuration(const RetryFile& file);

/// The policy that is meant: the one of that name, or the only one. Throws UsageError.
const ImportedPolicy& chosen_policy(const ImportedConfiguration& imported, const RetryFile& file);

/// The policy with all timeouts written out, as a scenario with other timeouts needs it: proxies
/// and gRPC without a timeout in the file have none.
ImportedPolicy with_all_timeouts(ImportedPolicy policy, std::string_view kind);

/// The text of a scenario with the policy put into the client group `client`. Throws
/// BadConfiguration if the scenario then does not load.
std::string joined_scenario(const std::string& scenario, const std::string& path,
                            const std::string& client, const ImportedPolicy& policy,
                            const std::string& from);

/// The two options of commands that take such a file: --retry and --policy.
inline constexpr std::string_view kRetryHelp =
    "retry configuration of the clients, such as envoy.yaml; see `retrysim import --help`. Where "
    "its kind cannot be told: envoy:FILE";
inline constexpr std::string_view kPolicyHelp = "which policy of that file, if it has several";

}  // namespace retrysim::cli
