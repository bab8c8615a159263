// Retry configurations of other software (proxies, gateways, libraries), translated into the keys
// of a client group. What cannot be translated is named with the reason, so that nothing is lost
// in silence.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

/// A key with the field that its value comes from.
struct ImportedKey {
  std::string path;    ///< below the client group: "retry.max_retries"
  std::string value;   ///< as TOML
  std::string source;  ///< "retry_policy.num_retries", "Envoy's default"
};

/// A field that has no counterpart, and why.
struct LeftOutField {
  std::string field;  ///< its path in the file
  std::string why;
};

/// The retry policy of one route, method or instance.
struct ImportedPolicy {
  std::string name;  ///< a name for the client group, such as "api_service"; never empty
  std::string from;  ///< where it stands in the file; empty: the file is one policy
  std::vector<ImportedKey> keys;
};

struct ImportedConfiguration {
  std::vector<ImportedPolicy> policies;  ///< at least one, in the order of the file
  std::vector<LeftOutField> left_out;    ///< every field that no key was made of
};

/// What can be imported.
struct ConfigurationKind {
  std::string_view name;   ///< "envoy"
  std::string_view reads;  ///< "route and cluster configuration (YAML or JSON)"
};
std::span<const ConfigurationKind> configuration_kinds();

/// The file is no such configuration, or a value in it makes no sense. The message begins with the
/// place: "envoy.yaml:12:5: error: ...".
class BadConfiguration : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Translates `text`, read from the file that `file` names. `kind` is the name of one of the kinds.
/// Throws BadConfiguration.
ImportedConfiguration import_configuration(std::string_view kind, const std::string& file,
                                           const std::string& text);

/// The policies as TOML tables of a scenario, each line with its source as a comment; below them,
/// as comments, what was left out.
std::string to_toml(const ImportedConfiguration& imported, std::string_view heading);

}  // namespace retrysim::cli
