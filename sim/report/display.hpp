// Numbers and texts as terminals show them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// A unit for people and the number of its kind in one unit of the files.
struct DisplayUnit {
  double scale;
  std::string_view name;  ///< with the blank before it
};

/// The unit that suits a value of that size: times in ns to s, rates per second, else none.
DisplayUnit display_unit(double value, std::string_view unit);

/// Decimals that show `digits` significant digits of `value`; at most 9.
int decimals_for(double value, int digits);

/// Four significant digits, or as many as are asked for, without zeros at the end.
std::string format_plain(double value, int digits = 4);

/// A share as a percentage with three significant digits: "3.14 %".
std::string percent(double share);

/// An empty line and a line for each note, longer ones broken; nothing if there are none.
std::string notes_text(const std::vector<std::string>& notes, std::size_t columns);

/// Number of columns that a text takes: its UTF-8 characters, as `scenario::printable` shows them.
std::size_t columns_of(std::string_view text);
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

/// Columns of a terminal that is not known.
inline constexpr std::size_t kNarrowColumns = 80;

/// How sentences are broken into lines: at blanks only, so that a longer word sticks out.
struct Wrapping {
  std::size_t columns = kNarrowColumns;
  std::string_view first = "";     ///< in front of the first line,
  std::string_view others = "  ";  ///< and of all others
};

/// The text in lines, each with its line break.
std::string wrapped(std::string_view text, const Wrapping& wrapping);

}  // namespace retrysim::report
