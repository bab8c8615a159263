// SPDX-License-Identifier: MIT
#include "report/document/csv_reader.hpp"

#include "report/folder/result_folder.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace retrysim::report {

CsvReader::CsvReader(const std::filesystem::path& file) : CsvReader(file, content_of(file)) {}

CsvReader::CsvReader(std::filesystem::path file, std::string content)
    : file_(std::move(file)), content_(std::move(content)) {
  if (!read_row()) fail("the header is missing");
  header_ = cells_;
}

bool CsvReader::has_column(std::string_view name) const {
  return std::find(header_.begin(), header_.end(), name) != header_.end();
}

std::size_t CsvReader::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) {
    throw DamagedResult(file_, fmt::format("has no column {}", name));
  }
  return static_cast<std::size_t>(found - header_.begin());
}

bool CsvReader::next() {
  if (!read_row()) return false;
  if (cells_.size() != header_.size()) {
    fail(fmt::format("has {} cells instead of {}", cells_.size(), header_.size()));
  }
  return true;
}

std::optional<double> CsvReader::number(std::size_t column) const {
  const std::string& cell = cells_[column];
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const char* const end = cell.data() + cell.size();
  const auto [rest, error] = std::from_chars(cell.data(), end, value);
  if (error != std::errc() || rest != end) {
    fail(fmt::format("'{}' in column {} is not a number", cell, header_[column]));
  }
  return value;
}

bool CsvReader::read_row() {
  if (at_ >= content_.size()) return false;
  row_line_ = ++line_;
  cells_.assign(1, "");
  bool quoted = false;
  for (; at_ < content_.size(); ++at_) {
    const char c = content_[at_];
    line_ += c == '\n' && quoted;
    if (c == '"') {
      const bool doubled = quoted && at_ + 1 < content_.size() && content_[at_ + 1] == '"';
      if (doubled) cells_.back() += content_[at_++];
      quoted = doubled || !quoted;
    } else if (quoted || (c != ',' && c != '\n')) {
      cells_.back() += c;
    } else if (c == ',') {
      cells_.emplace_back();
    } else {
      ++at_;
      return true;
    }
  }
  fail(quoted ? "a quote is not closed" : "the line has no end");
}

void CsvReader::fail(std::string_view what) const {
  throw DamagedResult(file_, fmt::format("is damaged: line {}: {}", row_line_, what));
}

}  // namespace retrysim::report
