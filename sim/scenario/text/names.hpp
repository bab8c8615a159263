// What can be a name, of anything and of a scenario; and the paths of tables that follow from
// names.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/text/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace retrysim::scenario {

/// Whether a reader can see that it is a name: something in it is not blank, and it has neither
/// control characters (C0, DEL, C1) nor bytes that are not UTF-8.
inline bool can_be_name(std::string_view text) {
  constexpr std::array<std::uint32_t, 6> kBlanks = {' ', 0xA0, 0x1680, 0x202F, 0x205F, 0x3000};
  constexpr std::uint32_t kFirstSpace = 0x2000, kLastSpace = 0x200F, kWordJoiner = 0x2060,
                          kByteOrderMark = 0xFEFF, kDelete = 0x7F, kLastControl = 0x9F;
  bool blank = true;
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    if (!is_character(character)) return false;
    const std::uint32_t point = code_point(character);
    if (point < ' ' || (point >= kDelete && point <= kLastControl)) return false;
    blank = blank && (std::find(kBlanks.begin(), kBlanks.end(), point) != kBlanks.end() ||
                      (point >= kFirstSpace && point <= kLastSpace) || point == kWordJoiner ||
                      point == kByteOrderMark);
    text.remove_prefix(character.size());
  }
  return !blank;
}

/// What to say of a name that cannot be that of a scenario, behind it.
inline constexpr std::string_view kNoScenarioName =
    "cannot name a folder; expected 1 to 100 bytes of UTF-8 text, not only blanks, without /, \\ "
    "and control characters, not starting with . = + - or @";

/// Whether `name` can be that of a scenario, and so of a folder and in spreadsheets. See
/// `kNoScenarioName`.
inline bool can_name_scenario(std::string_view name) {
  // =, +, - and @ begin a formula in spreadsheets that open the result files.
  constexpr std::string_view kBadStarts = ".=+-@", kBadAnywhere = "/\\";
  constexpr std::size_t kMostBytes = 100;
  return can_be_name(name) && name.size() <= kMostBytes &&
         kBadStarts.find(name.front()) == std::string_view::npos &&
         name.find_first_of(kBadAnywhere) == std::string_view::npos;
}

/// The table of a group in the scenario: "client.web", "service.front.calls.db".
inline std::string path_of(const ClientSpec& client) {
  const std::size_t dot = client.name.find('.');  // names of services have none
  if (dot == std::string::npos) return "client." + client.name;
  return "service." + client.name.substr(0, dot) + ".calls." + client.name.substr(dot + 1);
}

}  // namespace retrysim::scenario
