// Writes rows of comma-separated values.
//
// SPDX-License-Identifier: MIT
#include "report/document/csv_writer.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {
namespace {

/// Whether a spreadsheet would take the cell for a formula. Numbers such as "-5" or "+1e3" are not
/// formulas.
bool is_formula(std::string_view text) {
  constexpr std::string_view kStarts = "=+-@\t\r";
  if (text.empty() || kStarts.find(text.front()) == std::string_view::npos) return false;
  if (text.starts_with("+-")) return true;
  const std::string_view digits = text.substr(text.front() == '+' ? 1 : 0);
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  return error != std::errc() || rest != end || !std::isfinite(value);
}

bool needs_quotes(std::string_view text) {
  if (text.empty()) return false;
  return text.find_first_of(",\"\r\n") != std::string_view::npos || text.front() == ' ' ||
         text.back() == ' ';
}

}  // namespace

std::string number(double value) {
  if (!std::isfinite(value)) return {};
  return fmt::format("{}", value + 0.0);  // avoids a negative zero
}

std::string csv_cell(std::string_view value) {
  const std::string plain = (is_formula(value) ? "'" : "") + std::string(value);
  if (!needs_quotes(plain)) return plain;
  std::string cell = "\"";
  for (const char c : plain) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell += '"';
}

CsvWriter& CsvWriter::cells(std::string_view ready) {
  char* const begin = begin_cell(ready.size());
  end_cell(std::copy(ready.begin(), ready.end(), begin));
  return *this;
}

CsvWriter& CsvWriter::text(std::string_view value) {
  return needs_quotes(value) || is_formula(value) ? cells(csv_cell(value)) : cells(value);
}

CsvWriter& CsvWriter::integer(std::uint64_t value) {
  char* const begin = begin_cell(kNumber);
  end_cell(std::to_chars(begin, begin + kNumber, value).ptr);
  return *this;
}

CsvWriter& CsvWriter::real(double value) {
  if (!std::isfinite(value)) return empty();
  // Well below the first number that `number` writes as a power of ten.
  constexpr double kMaxWhole = 1e15;
  if (value >= 0 && value < kMaxWhole) {
    const auto whole = static_cast<std::uint64_t>(value);
    if (static_cast<double>(whole) == value) return integer(whole);
  }
  // The last text is kept: with one replication mean, smallest and largest value are the same.
  if (real_size_ == 0 || value != real_) {
    char* const end = fmt::format_to(real_text_.data(), FMT_COMPILE("{}"), value + 0.0);
    real_size_ = static_cast<std::size_t>(end - real_text_.data());
    real_ = value;
  }
  // The whole array is copied: a fixed number of bytes is faster.
  char* const begin = begin_cell(kNumber);
  std::copy(real_text_.begin(), real_text_.end(), begin);
  end_cell(begin + real_size_);
  return *this;
}

CsvWriter& CsvWriter::empty() {
  end_cell(begin_cell(0));
  return *this;
}

void CsvWriter::end_row() {
  *room(1) = '\n';
  ++used_;
  sink_.write(std::string_view(row_).substr(0, used_));
  used_ = 0;
  row_has_cells_ = false;
}

namespace {

/// A column prepared for writing rows: its values, and its texts as cells.
struct ColumnCells {
  explicit ColumnCells(const Column& c) : column(c), has_gaps(c.missing() > 0) {
    if (column.type() == ColumnType::kReal) reals = column.reals().data();
    if (column.type() == ColumnType::kInteger) integers = column.integers().data();
    if (column.type() == ColumnType::kText) codes = column.codes().data();
    for (std::size_t code = 0; code < column.categories(); ++code) {
      texts.push_back(csv_cell(column.category(code)));
    }
  }

  const Column& column;
  bool has_gaps;
  const double* reals = nullptr;
  const std::int64_t* integers = nullptr;
  const std::int32_t* codes = nullptr;
  std::vector<std::string> texts;
};

}  // namespace

void CsvWriter::rows(const Table& table) {
  const std::vector<ColumnCells> columns(table.columns().begin(), table.columns().end());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (const ColumnCells& c : columns) {
      if (c.has_gaps && !c.column.has(row)) {
        empty();
      } else if (c.reals != nullptr) {
        real(c.reals[row]);
      } else if (c.integers != nullptr) {
        integer(static_cast<std::uint64_t>(c.integers[row]));
      } else if (c.codes != nullptr) {
        cells(c.texts[static_cast<std::size_t>(c.codes[row])]);
      } else {
        cells(c.column.truth(row) ? "true" : "false");
      }
    }
    end_row();
  }
}

char* CsvWriter::room(std::size_t size) {
  if (row_.size() - used_ < size) [[unlikely]]
    row_.resize(std::max(2 * row_.size(), used_ + size));
  return row_.data() + used_;
}

char* CsvWriter::begin_cell(std::size_t size) {
  char* begin = room(size + 1);
  if (row_has_cells_) *begin++ = ',';
  row_has_cells_ = true;
  return begin;
}

void CsvWriter::end_cell(const char* end) { used_ = static_cast<std::size_t>(end - row_.data()); }

}  // namespace retrysim::report
