// The tables of a result, whose columns are known only once their header has been read.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// The rows of a table as RFC 4180 has them. Damage is reported as `DamagedResult` with file and
/// line.
class CsvReader {
 public:
  /// Reads the file and its header.
  explicit CsvReader(const std::filesystem::path& file);
  /// The same of a text; `file` is for messages.
  CsvReader(std::filesystem::path file, std::string content);

  const std::filesystem::path& file() const { return file_; }
  const std::vector<std::string>& header() const { return header_; }
  bool has_column(std::string_view name) const;
  /// The place of a column that the table must have.
  std::size_t column(std::string_view name) const;
  /// Goes to the next row; false at the end.
  bool next();

  const std::string& text(std::size_t column) const { return cells_[column]; }
  /// The number in a cell; nothing if it is empty.
  std::optional<double> number(std::size_t column) const;

 private:
  bool read_row();
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path file_;
  std::string content_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;      ///< that the next row begins with, from 0
  std::size_t row_line_ = 0;  ///< of the row at hand, from 1
  std::vector<std::string> header_, cells_;
};

}  // namespace retrysim::report
