// Rows of comma-separated values.
//
// SPDX-License-Identifier: MIT
#include "report/csv_writer.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace retrysim::report {
namespace {

/// Whether a spreadsheet would take the cell for a formula. Numbers are none: "-5", "+1e3".
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
  return fmt::format("{}", value + 0.0);  // no negative zero
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
  if (needs_quotes(value) || is_formula(value)) {
    row_ += csv_cell(value);
  } else {
    row_ += value;
  }
  return *this;
}

CsvWriter& CsvWriter::integer(std::uint64_t value) {
  separate();
  append(value);
  return *this;
}

CsvWriter& CsvWriter::real(double value) {
  separate();
  if (!std::isfinite(value)) return *this;
  constexpr double kMostWhole = 1e15;  // well below where number() changes to powers of ten
  if (value >= 0 && value < kMostWhole) {
    const auto whole = static_cast<std::uint64_t>(value);
    if (static_cast<double>(whole) == value) {
      append(whole);
      return *this;
    }
  }
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

CsvWriter& CsvWriter::six_digits(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return empty();
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), *value + 0.0,
                                          std::chars_format::general, 6);
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  if (digits.find('e') == std::string_view::npos) return cells(digits);
  double rounded = 0;
  std::from_chars(text.data(), end, rounded);
  return real(rounded);
}

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

void CsvWriter::append(std::uint64_t value) {
  std::array<char, 20> text;  // of the largest one
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  row_.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

void CsvWriter::separate() {
  if (row_has_cells_) row_ += ',';
  row_has_cells_ = true;
}

}  // namespace retrysim::report
