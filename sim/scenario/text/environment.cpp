// Reading the environment. Source of the rules: the AWS SDKs and Tools Reference Guide, "Shared
// config and credentials files" and "Retry behavior".
//
// SPDX-License-Identifier: MIT
#include "scenario/text/environment.hpp"

#include <retrysim/retry_rules.hpp>

#include "scenario/text/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace retrysim::scenario {
namespace {

constexpr std::size_t kMaxConfigBytes = 1 << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_true(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text == "true";
}

/// The profile that a section header names; empty if it is a header of another kind.
std::optional<std::string_view> profile_of(std::string_view header) {
  header = trimmed(header);
  constexpr std::string_view kPrefix = "profile";
  if (header == "default") return header;
  if (!header.starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = header.substr(kPrefix.size());
  if (rest.empty() || (rest.front() != ' ' && rest.front() != '\t')) return std::nullopt;
  return trimmed(rest);
}

}  // namespace

std::optional<std::string> find_in_profile(std::string_view text, std::string_view profile,
                                           std::string_view key) {
  bool inside = false;
  std::optional<std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      const std::size_t close = content.find(']');
      const auto name = profile_of(content.substr(1, close == content.npos ? close : close - 1));
      inside = name && *name == profile;
      continue;
    }
    if (!inside || line.front() == ' ' || line.front() == '\t') continue;
    const std::size_t equals = content.find('=');
    if (equals == content.npos || trimmed(content.substr(0, equals)) != key) continue;
    std::string_view value = content.substr(equals + 1);
    for (const std::string_view comment : {" #", " ;", "\t#", "\t;"}) {
      value = value.substr(0, value.find(comment));
    }
    found = trimmed(value);  // of repeated settings the last counts
  }
  return found;
}

bool RetryEnvironment::new_retries_for(std::string_view sdk) const {
  const std::string_view name = canonical_sdk(sdk);
  const bool exact = name == "php" || name == "go-v2";
  return exact ? new_retries_2026 == "true" : is_true(new_retries_2026);
}

RetryEnvironment read_retry_environment() {
  RetryEnvironment result;
  result.new_retries_2026 = variable("AWS_NEW_RETRIES_2026");
  std::string file = variable("AWS_CONFIG_FILE");
  std::string shown = file;
  if (file.empty()) {
    file = variable("HOME") + "/.aws/config";
    shown = "~/.aws/config";
  }
  std::string profile = variable("AWS_PROFILE");
  if (profile.empty()) profile = "default";
  // A file that cannot be read is ignored, as SDKs do.
  std::string ignored;
  const std::string text = read_whole_file(file, kMaxConfigBytes, ignored).value_or("");

  const auto setting = [&](const char* name, std::string_view key) {
    std::optional<EnvironmentSetting> found;
    if (std::string value = variable(name); !value.empty()) {
      found = {std::move(value), name};
    } else if (auto in_file = find_in_profile(text, profile, key)) {
      found = {*std::move(in_file), shown + " [" + profile + "]"};
    }
    return found;
  };
  result.mode = setting("AWS_RETRY_MODE", "retry_mode");
  result.max_attempts = setting("AWS_MAX_ATTEMPTS", "max_attempts");
  return result;
}

}  // namespace retrysim::scenario
