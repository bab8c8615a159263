// Presets: the retry rules that a (mode, revision, SDK, API) stands for, with their sources.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace retrysim {

/// One row of the table of presets.
struct Preset {
  std::string_view mode;      ///< "none", "legacy", "standard", "adaptive", "custom"
  std::string_view revision;  ///< "2.0", "2.1"; empty: the mode has none
  std::string_view sdk;       ///< empty: the mode does not depend on it
  std::string_view api;       ///< "default", or a service with numbers of its own
  RetryRules rules;
  std::string_view source;    ///< where the constants come from
};

/// Every preset that exists.
std::span<const Preset> presets();

/// The preset for a combination; an API without numbers of its own uses those of "default".
/// Null if the combination does not exist.
const Preset* find_preset(std::string_view mode, std::string_view revision, std::string_view sdk,
                          std::string_view api);

}  // namespace retrysim
