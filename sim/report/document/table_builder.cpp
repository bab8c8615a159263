// SPDX-License-Identifier: MIT
#include "report/document/table_builder.hpp"

#include <retrysim/metrics.hpp>

#include "report/document/csv_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <utility>

namespace retrysim {

namespace {

void check_type(const Column& column, ColumnType type) {
  if (column.type() == type) return;
  throw std::logic_error(
      fmt::format("column {} is {}, not {}", column.name(), name(column.type()), name(type)));
}

}  // namespace

// --- Columns and tables --------------------------------------------------------------------------

std::span<const double> Column::reals() const {
  check_type(*this, ColumnType::kReal);
  return reals_;
}

std::span<const std::int64_t> Column::integers() const {
  check_type(*this, ColumnType::kInteger);
  return integers_;
}

std::span<const std::int32_t> Column::codes() const {
  check_type(*this, ColumnType::kText);
  return codes_;
}

std::span<const std::uint8_t> Column::truths() const {
  check_type(*this, ColumnType::kTruth);
  return truths_;
}

std::string_view Column::text(std::size_t row) const {
  check_type(*this, ColumnType::kText);
  return has(row) ? category(static_cast<std::size_t>(codes_[row])) : std::string_view();
}

double Column::number(std::size_t row) const {
  if (type() == ColumnType::kReal) return reals_[row];
  check_type(*this, ColumnType::kInteger);
  return has(row) ? static_cast<double>(integers_[row]) : std::numeric_limits<double>::quiet_NaN();
}

bool Column::truth(std::size_t row) const {
  check_type(*this, ColumnType::kTruth);
  return (truths_[row / 8] >> row % 8 & 1) != 0;
}

std::string_view Column::category(std::size_t code) const {
  const auto begin = static_cast<std::size_t>(ends_.at(code));
  return std::string_view(bytes_).substr(begin,
                                         static_cast<std::size_t>(ends_.at(code + 1)) - begin);
}

const Column* Table::find(std::string_view name) const {
  const auto found = std::find_if(columns_.begin(), columns_.end(),
                                  [&](const Column& c) { return c.name() == name; });
  return found == columns_.end() ? nullptr : &*found;
}

const Column& Table::operator[](std::string_view name) const {
  if (const Column* column = find(name)) return *column;
  std::vector<std::string_view> names;
  for (const Column& c : columns_) names.push_back(c.name());
  throw std::out_of_range(
      fmt::format("there is no column {}; columns are {}", name, fmt::join(names, ", ")));
}

std::string to_csv(const Table& table) {
  report::StringSink sink;
  report::write_csv(sink, table);
  return sink.text();
}

Tables::Tables(std::vector<report::TableSource> sources)
    : sources_(std::make_shared<const std::vector<report::TableSource>>(std::move(sources))) {}

std::vector<std::string> Tables::names() const {
  std::vector<std::string> names;
  for (const report::TableSource& source : *sources_) names.push_back(source.name);
  return names;
}

bool Tables::has(std::string_view name) const {
  return std::any_of(sources_->begin(), sources_->end(),
                     [&](const report::TableSource& s) { return s.name == name; });
}

Table Tables::operator[](std::string_view name) const {
  for (const report::TableSource& source : *sources_) {
    if (source.name == name) return report::table_of(source);
  }
  throw std::out_of_range(
      fmt::format("there is no table {}; tables are {}", name, fmt::join(names(), ", ")));
}

namespace report {

// --- Building ------------------------------------------------------------------------------------

namespace {

/// Rows of a batch: few enough for the processor's cache, many enough for the rows to cost more
/// than the batch.
constexpr std::size_t kRowsOfBatch = 1024;

void add_bit(std::vector<std::uint8_t>& bits, std::size_t at, bool bit) {
  if (at % 8 == 0) bits.push_back(0);
  if (bit) bits[at / 8] = static_cast<std::uint8_t>(bits[at / 8] | 1u << at % 8);
}

}  // namespace

TableBuilder::TableBuilder(std::vector<ColumnInfo> columns, Take take)
    : codes_(columns.size()), take_(std::move(take)) {
  table_.columns_.reserve(columns.size());
  for (ColumnInfo& info : columns) table_.columns_.push_back(Column(std::move(info)));
}

void TableBuilder::wrong(ColumnType type) const {
  throw std::logic_error(
      at_ >= table_.columns_.size()
          ? fmt::format("a row has more than the {} cells of its columns", table_.columns_.size())
          : fmt::format("a cell of column {} is {}, not {}", table_.columns_[at_].name(),
                        name(type), name(table_.columns_[at_].type())));
}

void TableBuilder::add_validity(Column& column, bool has) {
  if (column.validity_.empty()) {  // all rows so far have a value
    for (std::size_t row = 0; row < column.size_; ++row) add_bit(column.validity_, row, true);
  }
  add_bit(column.validity_, column.size_, has);
  column.missing_ += !has;
}

/// The code of a text in a column. Rows mostly repeat the text of the row above, or go through the
/// same texts in the same order, so these two are tried first.
std::int32_t TableBuilder::code_of(Column& column, std::size_t number, std::string_view text) {
  if (!column.codes_.empty()) {
    const std::int32_t last = column.codes_.back();
    const auto count = static_cast<std::int32_t>(column.categories());
    if (last < count && column.category(static_cast<std::size_t>(last)) == text) return last;
    const std::int32_t after = last + 1 < count ? last + 1 : 0;
    if (after < count && column.category(static_cast<std::size_t>(after)) == text) return after;
  }
  Codes& codes = codes_[number];
  const auto found = codes.find(text);
  if (found != codes.end()) return found->second;
  if (column.bytes_.size() + text.size() > std::numeric_limits<std::int32_t>::max()) {
    throw std::length_error(
        fmt::format("the texts of column {} take more than 2 GiB", column.name()));
  }
  const auto code = static_cast<std::int32_t>(column.categories());
  column.bytes_ += text;
  column.ends_.push_back(static_cast<std::int32_t>(column.bytes_.size()));
  codes.emplace(text, code);
  return code;
}

TableBuilder& TableBuilder::text(std::string_view value) {
  const std::size_t number = at_;
  Column& column = next(ColumnType::kText);
  column.codes_.push_back(value.empty() ? 0 : code_of(column, number, value));
  ended(column, !value.empty());
  return *this;
}

TableBuilder& TableBuilder::integer(std::uint64_t value) {
  Column& column = next(ColumnType::kInteger);
  column.integers_.push_back(static_cast<std::int64_t>(value));
  ended(column, true);
  return *this;
}

TableBuilder& TableBuilder::real(double value) {
  Column& column = next(ColumnType::kReal);
  column.reals_.push_back(value);
  ended(column, !std::isnan(value));
  return *this;
}

TableBuilder& TableBuilder::six_digits(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return missing();
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), *value + 0.0,
                                          std::chars_format::general, 6);
  double rounded = 0;
  std::from_chars(text.data(), end, rounded);
  return real(rounded);
}

TableBuilder& TableBuilder::truth(bool value) {
  Column& column = next(ColumnType::kTruth);
  add_bit(column.truths_, column.size_, value);
  ended(column, true);
  return *this;
}

TableBuilder& TableBuilder::missing() {
  if (at_ >= table_.columns_.size()) wrong(ColumnType::kText);
  Column& column = table_.columns_[at_++];
  switch (column.type()) {
    case ColumnType::kReal:
      column.reals_.push_back(std::numeric_limits<double>::quiet_NaN());
      break;
    case ColumnType::kInteger:
      column.integers_.push_back(0);
      break;
    case ColumnType::kText:
      column.codes_.push_back(0);
      break;
    case ColumnType::kTruth:
      add_bit(column.truths_, column.size_, false);
      break;
  }
  ended(column, false);
  return *this;
}

void TableBuilder::end_row() {
  if (at_ != table_.columns_.size()) {
    throw std::logic_error(fmt::format("a row ends before column {}", table_.columns_[at_].name()));
  }
  at_ = 0;
  if (++rows_ == kRowsOfBatch && take_) hand_over();
}

void TableBuilder::add_rows(const Table& table) {
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (const Column& column : table.columns()) {
      if (!column.has(row)) {
        missing();
      } else if (column.type() == ColumnType::kReal) {
        real(column.reals_[row]);
      } else if (column.type() == ColumnType::kText) {
        text(column.text(row));
      } else if (column.type() == ColumnType::kInteger) {
        integer(static_cast<std::uint64_t>(column.integers_[row]));
      } else {
        truth(column.truth(row));
      }
    }
    end_row();
  }
}

void TableBuilder::hand_over() {
  take_(table_);
  rows_ = 0;
  for (std::size_t c = 0; c < codes_.size(); ++c) {
    Column& column = table_.columns_[c];
    column.size_ = column.missing_ = 0;
    column.reals_.clear();
    column.integers_.clear();
    column.codes_.clear();
    column.truths_.clear();
    column.validity_.clear();
    column.ends_.resize(1);
    column.bytes_.clear();
    codes_[c].clear();
  }
}

Table TableBuilder::finish() {
  if (take_) hand_over();
  return std::move(table_);
}

// --- Sources and files ---------------------------------------------------------------------------

std::string table_name(std::string_view file) {
  return std::string(file.substr(0, file.rfind('.')));
}

std::string file_name(const TableSource& source) { return source.name + ".csv"; }

Table table_of(const TableSource& source) {
  TableBuilder builder(source.columns);
  source.fill(builder);
  return builder.finish();
}

namespace {

void write_names(CsvWriter& csv, const std::vector<ColumnInfo>& columns) {
  for (const ColumnInfo& column : columns) csv.text(column.name);
  csv.end_row();
}

}  // namespace

void write_csv(Sink& sink, const TableSource& source, const TableBuilder::Take& seen) {
  CsvWriter csv(sink);
  write_names(csv, source.columns);
  TableBuilder builder(source.columns, [&](const Table& batch) {
    csv.rows(batch);
    if (seen) seen(batch);
  });
  source.fill(builder);
  builder.finish();
}

void write_csv(Sink& sink, const Table& table) {
  CsvWriter csv(sink);
  std::vector<ColumnInfo> columns;
  for (const Column& column : table.columns()) columns.push_back(column.info());
  write_names(csv, columns);
  csv.rows(table);
}

std::string_view unit_of_column(std::string_view name) {
  for (const std::string_view end : {"_ci_low", "_ci_high", "_difference", "_mean"}) {
    if (find_metric(name) == nullptr && name.ends_with(end)) name.remove_suffix(end.size());
  }
  if (const MetricInfo* metric = find_metric(name)) return metric->unit;
  constexpr std::pair<std::string_view, std::string_view> kEnds[] = {
      {"_per_s", "1/s"},
      {"_s", "s"},
      {"_share", "1"},
      {"_ratio", "1"},
      {"probability", "1"},
      {"correlation", "1"},
      {"replications", "replications"},
      {"replication", "1"}};
  for (const auto& [end, unit] : kEnds) {
    if (name.ends_with(end)) return unit;
  }
  return "";
}

ColumnInfo named_column(std::string_view name, ColumnType type) {
  const bool is_number = type == ColumnType::kReal || type == ColumnType::kInteger;
  return {std::string(name), is_number ? std::string(unit_of_column(name)) : "", type};
}

ColumnInfo text_column(std::string_view name) { return {std::string(name), "", ColumnType::kText}; }

ColumnInfo real_column(std::string_view name, std::string_view unit) {
  return {std::string(name), std::string(unit), ColumnType::kReal};
}

ColumnInfo integer_column(std::string_view name, std::string_view unit) {
  return {std::string(name), std::string(unit), ColumnType::kInteger};
}

void add_with_interval(std::vector<ColumnInfo>& columns, std::string_view name,
                       std::string_view unit) {
  columns.push_back(real_column(name, unit));
  columns.push_back(real_column(std::string(name) + "_ci_low", unit));
  columns.push_back(real_column(std::string(name) + "_ci_high", unit));
}

}  // namespace report

}  // namespace retrysim
