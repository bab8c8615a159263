// Strategies from outside the AWS SDKs that people compare the SDKs' with.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>

#include <span>
#include <string_view>

namespace retrysim::preset {

/// A row of mode "custom". `sdk` is the name of the software, or of the idea.
struct Comparison {
  std::string_view sdk;
  std::string_view source;
  void (*fill)(RetryRules& rules);  ///< changes the rules of plain mode "custom"
};

std::span<const Comparison> comparisons();

}  // namespace retrysim::preset
