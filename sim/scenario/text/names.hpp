// What can name a scenario, and how large a grid of --vary may be.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/text/text.hpp"

#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace retrysim::scenario {

/// What to say of a name that cannot be that of a scenario, behind it.
inline constexpr std::string_view kNoScenarioName =
    "cannot name a folder; expected 1 to 100 bytes of text, not only blanks, without /, \\ and "
    "control characters, not starting with . = + - or @";

/// Whether `name` can be that of a scenario, and so of a folder and in spreadsheets. See
/// `kNoScenarioName`.
inline bool can_name_scenario(std::string_view name) {
  // =, +, - and @ begin a formula in spreadsheets that open the result files.
  constexpr std::string_view kBadStarts = ".=+-@", kBadAnywhere = "/\\\x7F";
  constexpr std::size_t kMostBytes = 100;
  if (trimmed(name).empty() || kBadStarts.find(name.front()) != std::string_view::npos ||
      name.size() > kMostBytes) {
    return false;
  }
  while (!name.empty()) {
    const std::string_view character = first_character(name);
    if (!is_character(character) || code_point(character) < 0x20 ||
        kBadAnywhere.find(character) != std::string_view::npos) {
      return false;
    }
    name.remove_prefix(character.size());
  }
  return true;
}

/// A grid has more combinations than a list of them may have.
class GridTooLarge : public std::length_error {
 public:
  using std::length_error::length_error;
};

}  // namespace retrysim::scenario
