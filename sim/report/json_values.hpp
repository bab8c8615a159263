// Numbers that may be absent, in JSON.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include <optional>

namespace retrysim::report {

/// The number, or null if there is none.
inline nlohmann::ordered_json optional_number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace retrysim::report
