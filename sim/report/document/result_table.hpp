// A table of a result with the name of its file, for pictures and pages: as it was computed, or
// read from a CSV file, whose columns are known only once its header has been read.
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

/// A cell as in a CSV file, without quotes; empty if it is missing.
std::string text_at(const Column& column, std::size_t row);
/// The number in a cell, which may be written as a text; empty if there is none, or if it is not
/// finite.
std::optional<double> number_at(const Column& column, std::size_t row);

class ResultTable {
 public:
  /// `file` names the table in messages.
  ResultTable(std::filesystem::path file, Table table);
  ResultTable(ResultTable&&) = default;
  ResultTable& operator=(ResultTable&&) = default;

  const std::filesystem::path& file() const { return file_; }
  std::size_t rows() const { return table_.rows(); }
  std::span<const Column> columns() const { return table_.columns(); }
  /// The column of that name; null if there is none.
  const Column* find(std::string_view column) const;
  /// A column that the table must have; else throws DamagedResult.
  const Column& operator[](std::string_view column) const;
  /// As `number_at`, but throws DamagedResult if the cell holds something other than a number.
  std::optional<double> number(const Column& column, std::size_t row) const;

 private:
  std::filesystem::path file_;
  Table table_;
  std::map<std::string, const Column*, std::less<>> by_name_;
};

/// Reads the table in a CSV file (RFC 4180). A column has numbers if each of its cells is a number
/// as the program writes it, and otherwise texts: so `text_at` gives what the file has. Throws
/// DamagedResult, with file and line, if the file is damaged.
ResultTable read_csv(const std::filesystem::path& file, std::string_view content);

}  // namespace retrysim::report
