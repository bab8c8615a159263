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

/// Four significant digits, without zeros at the end.
std::string format_plain(double value);

/// A share as a percentage with three significant digits: "3.14 %".
std::string percent(double share);

/// An empty line and a line for each note; nothing if there are none.
std::string notes_text(const std::vector<std::string>& notes);

/// Number of columns that a text takes: its UTF-8 characters, as `scenario::printable` shows them.
std::size_t columns_of(std::string_view text);
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

}  // namespace retrysim::report
