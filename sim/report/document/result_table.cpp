// SPDX-License-Identifier: MIT
#include "report/document/result_table.hpp"

#include <retrysim/simulation.hpp>

#include "report/document/csv_writer.hpp"
#include "report/document/table_builder.hpp"
#include "report/folder/manifest.hpp"

#include <fmt/format.h>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace fs = std::filesystem;

namespace {

/// The number that the whole text is; empty if it is none.
std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && rest == end && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

// --- Cells ---------------------------------------------------------------------------------------

std::string text_at(const Column& column, std::size_t row) {
  if (!column.has(row)) return {};
  switch (column.type()) {
    case ColumnType::kText:
      return std::string(column.text(row));
    case ColumnType::kTruth:
      return column.truth(row) ? "true" : "false";
    case ColumnType::kInteger:
      return fmt::format("{}", column.integers()[row]);
    case ColumnType::kReal:
      break;
  }
  return number(column.reals()[row]);
}

std::optional<double> number_at(const Column& column, std::size_t row) {
  if (!column.has(row) || column.type() == ColumnType::kTruth) return std::nullopt;
  if (column.type() == ColumnType::kText) return number_of(column.text(row));
  const double value = column.number(row) + 0.0;  // avoids a negative zero
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// --- Tables --------------------------------------------------------------------------------------

ResultTable::ResultTable(fs::path file, Table table)
    : file_(std::move(file)), table_(std::move(table)) {
  for (const Column& column : table_.columns()) by_name_.emplace(column.name(), &column);
}

const Column* ResultTable::find(std::string_view column) const {
  const auto found = by_name_.find(column);
  return found == by_name_.end() ? nullptr : found->second;
}

const Column& ResultTable::operator[](std::string_view column) const {
  if (const Column* found = find(column)) return *found;
  throw DamagedResult(file_, fmt::format("has no column {}", column));
}

std::optional<double> ResultTable::number(const Column& column, std::size_t row) const {
  const std::optional<double> value = number_at(column, row);
  if (!value && column.type() == ColumnType::kText && column.has(row)) {
    throw DamagedResult(file_, fmt::format("is damaged: row {}: '{}' in column {} is not a number",
                                           row + 1, column.text(row), column.name()));
  }
  return value;
}

// --- CSV files -----------------------------------------------------------------------------------

namespace {

/// Reads the rows of a text one after the other.
class CsvRows {
 public:
  CsvRows(const fs::path& file, std::string_view content) : file_(file), content_(content) {}

  const std::vector<std::string>& cells() const { return cells_; }
  bool next();
  [[noreturn]] void fail(std::string_view what) const {
    throw DamagedResult(file_, fmt::format("is damaged: line {}: {}", row_line_, what));
  }

 private:
  const fs::path& file_;
  std::string_view content_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;      ///< line with which the next row begins, from 0
  std::size_t row_line_ = 0;  ///< line of the present row, from 1
  std::vector<std::string> cells_;
  StopCounter<> stop_;
};

bool CsvRows::next() {
  if (at_ >= content_.size()) return false;
  stop_.count();
  row_line_ = ++line_;
  std::size_t cell = 0;
  const auto begin_cell = [&] {
    if (cells_.size() <= cell) cells_.emplace_back();
    cells_[cell++].clear();
  };
  begin_cell();
  bool quoted = false;
  for (; at_ < content_.size(); ++at_) {
    const char c = content_[at_];
    line_ += c == '\n' && quoted;
    if (c == '"') {
      const bool doubled = quoted && at_ + 1 < content_.size() && content_[at_ + 1] == '"';
      if (doubled) cells_[cell - 1] += content_[at_++];
      quoted = doubled || !quoted;
    } else if (quoted || (c != ',' && c != '\n')) {
      cells_[cell - 1] += c;
    } else if (c == ',') {
      begin_cell();
    } else {
      ++at_;
      cells_.resize(cell);
      return true;
    }
  }
  fail(quoted ? "a quote is not closed" : "the line has no end");
}

/// Calls `take` with each row below the header, which must have as many cells; returns the header.
template <class Take>
std::vector<std::string> for_each_row(const fs::path& file, std::string_view content, Take take) {
  CsvRows rows(file, content);
  if (!rows.next()) rows.fail("the header is missing");
  const std::vector<std::string> header = rows.cells();
  while (rows.next()) {
    if (rows.cells().size() != header.size()) {
      rows.fail(fmt::format("has {} cells instead of {}", rows.cells().size(), header.size()));
    }
    take(rows.cells());
  }
  return header;
}

bool is_as_written(const std::string& cell) {
  const std::optional<double> value = number_of(cell);
  return value && number(*value) == cell;
}

}  // namespace

ResultTable read_csv(const fs::path& file, std::string_view content) {
  std::vector<bool> has_texts;
  const std::vector<std::string> header =
      for_each_row(file, content, [&](const std::vector<std::string>& cells) {
        has_texts.resize(cells.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
          if (!has_texts[i] && !cells[i].empty()) has_texts[i] = !is_as_written(cells[i]);
        }
      });
  has_texts.resize(header.size());
  std::vector<ColumnInfo> columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    columns.push_back({header[i], "", has_texts[i] ? ColumnType::kText : ColumnType::kReal});
  }
  TableBuilder builder(std::move(columns));
  for_each_row(file, content, [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (has_texts[i]) {
        builder.text(cells[i]);
      } else {
        builder.real(number_of(cells[i]));
      }
    }
    builder.end_row();
  });
  return {file, builder.finish()};
}

}  // namespace retrysim::report
