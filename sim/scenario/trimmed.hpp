// Text without the blanks around it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace retrysim::scenario {

/// `text` without blanks, tabs and carriage returns at its ends.
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace retrysim::scenario
