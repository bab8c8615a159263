// Reads the tables beside the conformance tests: every cell as text, by column name. Numbers are
// converted by the test that wants them, so that an empty cell is never silently a zero.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/text/csv_library.hpp"

#include <charconv>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::conformance {

/// One row of a table.
class CsvRow {
 public:
  explicit CsvRow(std::map<std::string, std::string, std::less<>> cells)
      : cells_(std::move(cells)) {}

  const std::string& text(std::string_view column) const { return cells_.find(column)->second; }
  bool empty(std::string_view column) const { return text(column).empty(); }
  double number(std::string_view column) const { return parse<double>(column); }
  int integer(std::string_view column) const { return parse<int>(column); }
  bool boolean(std::string_view column) const { return integer(column) != 0; }

 private:
  template <class Number>
  Number parse(std::string_view column) const {
    const std::string& cell = text(column);
    Number value{};
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc{} || end != cell.data() + cell.size()) {
      throw std::runtime_error("column " + std::string(column) + ": not a number: '" + cell + "'");
    }
    return value;
  }

  std::map<std::string, std::string, std::less<>> cells_;
};

/// All rows of `file`, whose header must have exactly the columns named.
template <class... Names>
std::vector<CsvRow> read_csv(const std::string& file, const Names&... names) {
  constexpr unsigned kColumns = sizeof...(Names);
  io::CSVReader<kColumns, io::trim_chars<' '>, io::double_quote_escape<',', '"'>,
                io::throw_on_overflow, io::single_and_empty_line_comment<'#'>>
      reader(std::string(RETRYSIM_TEST_DATA "/") + file);
  reader.read_header(io::ignore_no_column, names...);
  std::vector<CsvRow> rows;
  const auto read = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    const std::string columns[] = {names...};
    std::string cells[kColumns];
    while (reader.read_row(cells[kIndex]...)) {
      std::map<std::string, std::string, std::less<>> row;
      (row.emplace(columns[kIndex], std::move(cells[kIndex])), ...);
      rows.emplace_back(std::move(row));
    }
  };
  read(std::make_index_sequence<kColumns>{});
  return rows;
}

}  // namespace retrysim::conformance
