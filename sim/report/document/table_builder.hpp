// Builders of result tables, row by row: whole tables, or batches that are written to a file and
// forgotten, so that a table of any length takes no memory. Both come from the same source, which
// names the columns once.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/table.hpp>

#include "report/folder/output.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

/// Takes the cells of a row from left to right. A cell of another type than its column throws
/// std::logic_error.
class TableBuilder {
 public:
  using Take = std::function<void(const Table&)>;

  /// With a `take` that is not empty, rows are handed over in batches.
  explicit TableBuilder(std::vector<ColumnInfo> columns, Take take = {});

  /// Adds a text; an empty one is a missing cell.
  TableBuilder& text(std::string_view value);
  TableBuilder& integer(std::uint64_t value);
  TableBuilder& real(double value);  ///< NaN: missing
  TableBuilder& real(std::optional<double> value) { return value ? real(*value) : missing(); }
  /// Adds a number rounded to six digits: a picture shows no more.
  TableBuilder& six_digits(std::optional<double> value);
  TableBuilder& truth(bool value);
  TableBuilder& missing();
  void end_row();
  /// Adds the rows of a table with the same columns.
  void add_rows(const Table& table);

  /// Finishes the table. Without `take`, returns all of it; otherwise hands over the rest, and
  /// returns an empty table.
  Table finish();

 private:
  using Codes = std::map<std::string, std::int32_t, std::less<>>;

  Column& next(ColumnType type) {
    if (at_ >= table_.columns_.size() || table_.columns_[at_].type() != type) wrong(type);
    return table_.columns_[at_++];
  }
  [[noreturn]] void wrong(ColumnType type) const;
  void add_validity(Column& column, bool has);
  void ended(Column& column, bool has) {
    if (!has || !column.validity_.empty()) add_validity(column, has);
    ++column.size_;
  }
  std::int32_t code_of(Column& column, std::size_t number, std::string_view text);
  void hand_over();

  Table table_;
  std::vector<Codes> codes_;  ///< codes of the categories of each column
  Take take_;
  std::size_t at_ = 0;  ///< index of the next cell's column
  std::size_t rows_ = 0;
};

/// A table that is made on demand: whole for the library, in batches for a file.
struct TableSource {
  std::string name;  ///< the file's name, without ".csv"
  std::vector<ColumnInfo> columns;
  std::function<void(TableBuilder&)> fill;
};

/// The name of a file's table: "summary" for the file "summary.csv".
std::string table_name(std::string_view file);
/// The name of a table's file: "summary.csv" for the table "summary".
std::string file_name(const TableSource& source);

/// The sources, which then keep `owner` alive.
template <class Owner>
std::vector<TableSource> kept_with(std::shared_ptr<const Owner> owner,
                                   std::vector<TableSource> sources) {
  for (TableSource& source : sources) {
    source.fill = [owner, fill = std::move(source.fill)](TableBuilder& table) { fill(table); };
  }
  return sources;
}

Table table_of(const TableSource& source);
/// Writes a table as CSV. `seen`, if it is not empty, is given each batch, too.
void write_csv(Sink& sink, const TableSource& source, const TableBuilder::Take& seen = {});
void write_csv(Sink& sink, const Table& table);

/// The unit of numbers in a column of this name: that of the metric of this name, or what the end
/// of the name says ("_s", "_per_s", "_share", ...). Empty if neither tells.
std::string_view unit_of_column(std::string_view name);

/// A column whose unit follows from its name.
ColumnInfo named_column(std::string_view name, ColumnType type);
ColumnInfo text_column(std::string_view name);
/// Columns of numbers; `unit` as in ColumnInfo.
ColumnInfo real_column(std::string_view name, std::string_view unit);
ColumnInfo integer_column(std::string_view name, std::string_view unit);
/// Adds the columns NAME, NAME_ci_low and NAME_ci_high.
void add_with_interval(std::vector<ColumnInfo>& columns, std::string_view name,
                       std::string_view unit);

}  // namespace retrysim::report
