// The environment's settings for retries, read as SDKs read them: AWS_RETRY_MODE, AWS_MAX_ATTEMPTS,
// AWS_NEW_RETRIES_2026, and retry_mode and max_attempts of a profile in the shared AWS config file.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace retrysim::scenario {

/// A setting, and where it was found: "AWS_RETRY_MODE", "~/.aws/config [profile ci]".
struct EnvironmentSetting {
  std::string text;
  std::string origin;
};

struct RetryEnvironment {
  std::optional<EnvironmentSetting> mode;
  std::optional<EnvironmentSetting> max_attempts;  ///< the first attempt included
  std::string new_retries_2026;                    ///< AWS_NEW_RETRIES_2026

  /// Whether `new_retries_2026` switches an SDK to revision 2.1, and to standard mode by default:
  /// it is "true" in upper or lower case; PHP and Go require lower case.
  bool new_retries_for(std::string_view sdk) const;
};

/// A question for the setting that a key takes from the environment.
struct EnvironmentQuery {
  const RetryEnvironment& environment;
  std::string_view sdk;   ///< the SDK as written; botocore if it is not
  std::string_view mode;  ///< the mode as resolved; empty before
};

/// Reads variables and config file (AWS_CONFIG_FILE, else ~/.aws/config; profile AWS_PROFILE, else
/// "default"). Variables override the file. A setting that is missing or cannot be read stays
/// empty.
RetryEnvironment read_retry_environment();

/// The value of `key` in a profile, from the text of a config file; empty if it is not set.
/// Sections are [default] and [profile NAME]; comments begin with # or ;; indented lines belong to
/// the setting above them.
std::optional<std::string> find_in_profile(std::string_view text, std::string_view profile,
                                           std::string_view key);

}  // namespace retrysim::scenario
