// The environment's settings for retries, read as SDKs read them: AWS_RETRY_MODE, AWS_MAX_ATTEMPTS,
// AWS_NEW_RETRIES_2026, and retry_mode and max_attempts of a profile in the shared AWS config file.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace retrysim::scenario {

/// A setting with where it was found: "AWS_RETRY_MODE", "~/.aws/config [profile ci]".
struct EnvironmentSetting {
  std::string text;
  std::string origin;
};

struct RetryEnvironment {
  std::optional<EnvironmentSetting> mode;
  std::optional<EnvironmentSetting> max_attempts;  ///< the first attempt included
  std::string new_retries_2026;                    ///< AWS_NEW_RETRIES_2026

  /// Whether that switches an SDK to revision 2.1, and to standard mode by default: if it is
  /// "true", in any case; PHP and Go require exactly that.
  bool new_retries_for(std::string_view sdk) const;
};

/// The setting that a key takes from the environment.
struct EnvironmentQuery {
  const RetryEnvironment& environment;
  std::string_view sdk;   ///< as written; botocore if it is not
  std::string_view mode;  ///< as resolved; empty before it is
};

/// Reads variables and config file (AWS_CONFIG_FILE, else ~/.aws/config; profile AWS_PROFILE, else
/// "default"). Variables override the file. A setting that is missing, or cannot be read, is not
/// set.
RetryEnvironment read_retry_environment();

/// `key` of a profile in the text of a config file. Sections are [default] and [profile NAME];
/// comments begin with # or ;; indented lines belong to the setting above them.
std::optional<std::string> find_in_profile(std::string_view text, std::string_view profile,
                                           std::string_view key);

}  // namespace retrysim::scenario
