// Which texts can be names, of anything or of a scenario, and the paths of tables that follow from
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

/// Whether a character is not drawn: blanks (also those of Hangul and Braille) and Unicode's
/// Default_Ignorable_Code_Point.
inline bool is_invisible(std::uint32_t point) {
  struct Points {
    std::uint32_t first, last;
  };
  constexpr std::array<Points, 22> kInvisible = {
      {{' ', ' '},         {0xA0, 0xA0},      {0xAD, 0xAD},     {0x34F, 0x34F},
       {0x61C, 0x61C},     {0x115F, 0x1160},  {0x1680, 0x1680}, {0x17B4, 0x17B5},
       {0x180B, 0x180F},   {0x2000, 0x200F},  {0x2028, 0x202F}, {0x205F, 0x206F},
       {0x2800, 0x2800},   {0x3000, 0x3000},  {0x3164, 0x3164}, {0xFE00, 0xFE0F},
       {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},  {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3},
       {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}}};
  return std::ranges::any_of(kInvisible,
                             [=](const Points& r) { return r.first <= point && point <= r.last; });
}

/// Whether a text can be seen as a name: some character is drawn, and none is a control character
/// (of writing direction included) or invalid UTF-8.
inline bool can_be_name(std::string_view text) {
  bool blank = true;
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    if (!is_printable(character)) return false;
    blank = blank && is_invisible(code_point(character));
    text.remove_prefix(character.size());
  }
  return !blank;
}

/// The end of a message about a name that cannot be that of a scenario.
inline constexpr std::string_view kNoScenarioName =
    "cannot name a folder; expected 1 to 100 bytes of UTF-8 text, not only blanks, without /, \\ "
    "and control characters, not starting with . = + - or @";

/// Whether `name` can name a scenario, and so a folder, and is safe in spreadsheets. See
/// `kNoScenarioName`.
inline bool can_name_scenario(std::string_view name) {
  // =, +, - and @ begin a formula in spreadsheets that open the result files.
  constexpr std::string_view kBadStarts = ".=+-@", kBadAnywhere = "/\\";
  constexpr std::size_t kMaxBytes = 100;
  return can_be_name(name) && name.size() <= kMaxBytes &&
         kBadStarts.find(name.front()) == std::string_view::npos &&
         name.find_first_of(kBadAnywhere) == std::string_view::npos;
}

/// The path of a group's table in the scenario: "client.web", "service.front.calls.db".
inline std::string path_of(const ClientSpec& client) {
  const std::size_t dot = client.name.find('.');  // names of services have none
  if (dot == std::string::npos) return "client." + client.name;
  return "service." + client.name.substr(0, dot) + ".calls." + client.name.substr(dot + 1);
}

}  // namespace retrysim::scenario
