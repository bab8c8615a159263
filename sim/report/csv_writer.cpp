// Rows of comma-separated values.
//
// SPDX-License-Identifier: MIT
#include "report/csv_writer.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

namespace retrysim::report {
namespace {

bool needs_quotes(std::string_view text) {
  if (text.empty()) return false;
  return text.find_first_of(",\"\r\n") != std::string_view::npos || text.front() == ' ' ||
         text.back() == ' ';
}

}  // namespace

std::string number(double value) {
  if (!std::isfinite(value)) return {};
  return fmt::format("{}", value + 0.0);  // no negative zero
}

std::string csv_cell(std::string_view value) {
  if (!needs_quotes(value)) return std::string(value);
  std::string cell = "\"";
  for (const char c : value) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell += '"';
}

void CsvWriter::header(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) text(name);
  end_row();
}

CsvWriter& CsvWriter::cells(std::string_view ready) {
  separate();
  row_ += ready;
  return *this;
}

CsvWriter& CsvWriter::text(std::string_view value) {
  separate();
  if (needs_quotes(value)) {
    row_ += csv_cell(value);
  } else {
    row_ += value;
  }
  return *this;
}

CsvWriter& CsvWriter::integer(std::uint64_t value) {
  separate();
  fmt::format_to(std::back_inserter(row_), "{}", value);
  return *this;
}

CsvWriter& CsvWriter::real(double value) {
  separate();
  if (!std::isfinite(value)) return *this;
  // With one replication mean, smallest and largest value are the same.
  if (real_text_.empty() || value != real_) {
    std::array<char, 32> text;
    char* end = fmt::format_to(text.data(), FMT_COMPILE("{}"), value + 0.0);
    real_text_.assign(text.data(), end);
    real_ = value;
  }
  row_ += real_text_;
  return *this;
}

CsvWriter& CsvWriter::real(std::optional<double> value) { return value ? real(*value) : empty(); }

CsvWriter& CsvWriter::empty() {
  separate();
  return *this;
}

void CsvWriter::end_row() {
  row_ += '\n';
  sink_.write(row_);
  row_.clear();
  row_has_cells_ = false;
}

void CsvWriter::separate() {
  if (row_has_cells_) row_ += ',';
  row_has_cells_ = true;
}

}  // namespace retrysim::report
