// Text from users made fit for a terminal.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace retrysim::scenario {

/// The bytes at the front of `text`, which must not be empty, that make up one character: a valid
/// UTF-8 sequence, or a single byte that begins none.
std::string_view first_character(std::string_view text);

/// Whether `character`, one of those that `first_character` yields, is valid UTF-8.
bool is_character(std::string_view character);
/// The number that Unicode gives to a character that is valid UTF-8.
std::uint32_t code_point(std::string_view character);

/// Whether a terminal may show `character`, one of those that `first_character` yields. It must not
/// show control characters (C0 with the tab, DEL, C1), characters that change the direction of the
/// text around them or break lines (Unicode's bidirectional and line controls), and bytes that are
/// not UTF-8.
bool is_printable(std::string_view character);

/// `text` with everything that is not printable written as an escape: \t, \r, \x1B, \u202E. Line
/// feeds stay.
std::string printable(std::string_view text);
/// The same for a piece of one line: a line feed becomes \n.
std::string printable_line(std::string_view text);

/// Number of columns that a text takes on a terminal: its UTF-8 characters, as `printable` shows
/// them.
std::size_t columns_of(std::string_view text);

}  // namespace retrysim::scenario
