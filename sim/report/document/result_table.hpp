// A table of a result with the name of its file, for those that draw it and for pages: as it was
// computed, or read from a CSV file, whose columns are known only once its header has been read.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/table.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace retrysim::report {

/// The cell as a CSV file has it, without quotes; empty if it is missing.
std::string text_at(const Column& column, std::size_t row);
/// The number in a cell, which may be written as a text; nothing if there is none, or if it is not
/// finite.
std::optional<double> number_at(const Column& column, std::size_t row);

class ResultTable {
 public:
  /// `file` is for messages.
  ResultTable(std::filesystem::path file, Table table);
  ResultTable(ResultTable&&) = default;
  ResultTable& operator=(ResultTable&&) = default;

  const std::filesystem::path& file() const { return file_; }
  std::size_t rows() const { return table_.rows(); }
  std::span<const Column> columns() const { return table_.columns(); }
  /// Null if there is none.
  const Column* find(std::string_view column) const;
  /// A column that the table must have; else throws DamagedResult.
  const Column& operator[](std::string_view column) const;
  /// As `number_at`, but throws DamagedResult if the cell has something else.
  std::optional<double> number(const Column& column, std::size_t row) const;

 private:
  std::filesystem::path file_;
  Table table_;
  std::map<std::string, const Column*, std::less<>> by_name_;
};

/// The table in a CSV file as RFC 4180 has it. A column is one of numbers if each of its cells is a
/// number as the program writes it, and else one of texts: so `text_at` gives what the file has.
/// Damage is reported as `DamagedResult` with file and line.
ResultTable read_csv(const std::filesystem::path& file, std::string_view content);

}  // namespace retrysim::report
