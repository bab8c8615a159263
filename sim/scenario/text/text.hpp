// Text from users: trimming it, making it fit for a terminal, suggesting corrections of misspelt
// names, and reading whole files.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// `text` without blanks, tabs and carriage returns at its ends.
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// --- Fit for a terminal --------------------------------------------------------------------------

/// The bytes at the front of `text`, which must not be empty, that make up one character: a valid
/// UTF-8 sequence, or a single byte that begins no such sequence.
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
/// As `printable`, for a text on one line: a line feed becomes \n.
std::string printable_line(std::string_view text);

/// Number of columns that a text takes on a terminal: its UTF-8 characters, as `printable` shows
/// them.
std::size_t columns_of(std::string_view text);

// --- Suggestions ---------------------------------------------------------------------------------

/// The least number of insertions, deletions, replacements and swaps of neighbours that turn `a`
/// into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known`, the first of equally near ones; empty if none is near enough to be a
/// misspelling.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known);

/// At most the first ten words: "a, b, ... and 99,990 more". For messages about lists of any
/// length.
std::string joined_first(const std::vector<std::string_view>& words);

/// A number with commas between thousands, from five digits on: "9990", "99,990".
std::string grouped(std::size_t number);

// Numbers in sentences and tables, as people write them: with commas from five digits on, with
// "million" and so on where few digits are said, never with an exponent, and never "inf" or "nan".
// A number too large to be read is "more than 1000 trillion", one too small "less than
// 0.000000001", and NaN "an unknown number". Values that a reader may copy into a scenario or a
// command have no commas: `to_copy`.

/// A number with `digits` significant digits: "-0.5", "3120", "32,400", "55 million".
std::string said_number(double number, int digits = 3);
/// As `said_number`, of things: numbers below zero are 0.
std::string said_count(double number, int digits = 3);
/// A number with all digits before the point, and none behind it: "1,234,567".
std::string said_whole(double number);
/// A number with so many decimals at most, without zeros at the end: "12,345.6".
std::string said_decimals(double number, int decimals);
/// A number with `digits` significant digits, as scenarios and commands take it: "32400".
std::string to_copy(double number, int digits);
/// A small probability: "1 in 12 million".
std::string said_one_in(double probability, int digits = 2);
/// A time: "78 ms", "0.125 s", "8.5 minutes", "20 hours", "45 days", "2.5 years".
std::string said_time(double seconds, int digits = 3);
/// A share as a percentage; 100 % only if it is 1, and 0 % only if it is 0.
std::string said_share(double share);
/// A multiple of something: "1.9 times".
std::string said_times(double ratio);

/// A number with its noun: "1 run", "20 runs", "0.5 runs", "1 policy", "2 policies". `noun` is the
/// singular.
std::string said_things(std::string_view number, std::string_view noun);
std::string said_things(std::size_t number, std::string_view noun);
/// A part of things with their noun: "3 of 20 runs", "1 of 1 run".
std::string said_part(std::size_t part, std::size_t all, std::string_view noun);

/// `did you mean "x"?` if a known name is near, else `PREFIX: a, b, c` with the first ten known
/// names.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& known,
                       std::string_view prefix);

/// The name that a message suggests by `suggestion` for a misspelt one; empty if it suggests none.
std::string suggested(std::string_view message);

/// The SDK that `sdk` replaced, whose legacy mode people may mean; empty if there is none.
std::string_view predecessor(std::string_view sdk);

/// The presets with numbers of their own for an API, or for "default": "legacy: botocore, java-v1;
/// standard 2.0: dotnet; custom". Empty if there are none.
std::string presets_for(std::string_view api);

/// The words, separated by ", ".
std::string joined(const std::vector<std::string_view>& words);

// --- Files ---------------------------------------------------------------------------------------

/// A file, a device or a pipe, which is read piece by piece.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  /// A reader of an open file, which stays open.
  explicit InputFile(int descriptor);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  /// Whether the file is open; otherwise errno says why not.
  bool is_open() const { return descriptor_ >= 0; }
  /// Reads the next bytes and returns their number; 0 at the end, -1 with errno after an error. A
  /// stop point, also while nobody writes to a pipe: throws Interrupted.
  std::ptrdiff_t read(std::span<char> bytes) const;

 private:
  int descriptor_;
  bool closes_;
};

/// The bytes of a file of at most `most_bytes`; empty if it is larger or cannot be read, and
/// `error` says why ("cannot be read: ..."). A stop point, also while a pipe has no writer: throws
/// Interrupted.
std::optional<std::string> read_whole_file(const std::filesystem::path& path,
                                           std::uintmax_t most_bytes, std::string& error);

}  // namespace retrysim::scenario
