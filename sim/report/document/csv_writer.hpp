// Rows of comma-separated values as RFC 4180 has them, except that lines end with a line feed
// alone. Numbers are the shortest that read back as the same double; a value that does not exist is
// an empty cell.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/table.hpp>

#include "report/folder/output.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace retrysim::report {

/// The shortest decimal text that reads back as `value`; in plain notation from 1e-4 to below
/// 1e16. Empty if `value` is not finite.
std::string number(double value);

/// `value` as a cell: quoted if it holds a comma, a quote, a line break or a blank at its edge.
/// Text that a spreadsheet would take for a formula (it begins with = + - @, a tab or a carriage
/// return and is not a number) gets an apostrophe in front.
std::string csv_cell(std::string_view value);

class CsvWriter {
 public:
  explicit CsvWriter(Sink& sink) : sink_(sink) {}

  /// Adds cells that many rows share, ready made: `csv_cell`s with commas between them.
  CsvWriter& cells(std::string_view ready);
  /// Adds a text as a `csv_cell`.
  CsvWriter& text(std::string_view value);
  CsvWriter& integer(std::uint64_t value);
  CsvWriter& real(double value);
  CsvWriter& empty();
  void end_row();
  /// Writes all rows of a table.
  void rows(const Table& table);

 private:
  static constexpr std::size_t kNumber = 32;  // characters that suffice for any number

  /// Makes room for the next `size` characters of the row; returns where they go.
  char* room(std::size_t size);
  /// Makes room for a cell of at most this size, after the comma that it may need.
  char* begin_cell(std::size_t size);
  /// Ends the cell, and so the row for now, at `end`.
  void end_cell(const char* end);

  Sink& sink_;
  std::string row_;  // the row: its first `used_` characters
  std::size_t used_ = 0;
  bool row_has_cells_ = false;
  double real_ = 0;  // the last number written that was not whole, and its text
  std::array<char, kNumber> real_text_{};
  std::size_t real_size_ = 0;
};

}  // namespace retrysim::report
