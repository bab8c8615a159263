// Results as tables: named columns, each of one type and with a unit. A table has the columns and
// rows of the CSV file that the program writes of the same result, in the same order, because the
// file is written from it.
//
//     const Table summary = tables(run)["summary"];
//     const std::span<const double> means = summary["mean"].reals();
//     for (std::size_t row = 0; row < summary.rows(); ++row) {
//       ... summary["metric"].text(row), means[row], summary["unit"].text(row) ...
//     }
//
// Values lie as Apache Arrow has them (columnar format 1.0), so that they can be handed on without
// a copy: numbers one behind the other, texts as codes of categories, truth values and validity as
// bits, the lowest of each byte first.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

namespace report {
class TableBuilder;
struct TableSource;
}  // namespace report

enum class ColumnType : std::uint8_t {
  kReal,     ///< double
  kInteger,  ///< 64 bits with a sign
  kText,     ///< a code of 32 bits into the column's categories
  kTruth,    ///< one bit
};
template <>
inline constexpr std::string_view kWords<ColumnType> = "real|integer|text|truth";
static_assert(words_end_with(ColumnType::kTruth));

/// What a column is.
struct ColumnInfo {
  std::string name;  ///< as in the first line of the CSV file; unique in its table
  /// The unit of numbers: "s", "1/s", "1" (shares, ratios, indices), or what is counted
  /// ("requests"). Empty where the column `unit` of the table has it for each row, where a key's
  /// values have it, and for texts and truth values.
  std::string unit = {};
  ColumnType type = ColumnType::kReal;
};

/// The values of a column, one for each row. A value may be missing: then `has` is false, a real is
/// NaN, an integer 0, a text empty, and the cell of the CSV file empty. Only missing values are NaN
/// or empty texts. An end of an interval may be infinite; its cell in the file is empty, too.
class Column {
 public:
  const ColumnInfo& info() const { return info_; }
  const std::string& name() const { return info_.name; }
  const std::string& unit() const { return info_.unit; }
  ColumnType type() const { return info_.type; }

  std::size_t size() const { return size_; }
  std::size_t missing() const { return missing_; }
  bool has(std::size_t row) const {
    return validity_.empty() || (validity_[row / 8] >> row % 8 & 1) != 0;
  }

  // The values. Each throws std::logic_error for a column of another type. Spans are valid as long
  // as the table is neither changed nor gone; a moved table keeps them.

  std::span<const double> reals() const;
  std::span<const std::int64_t> integers() const;
  /// By row, the place of the text among the categories; 0 if it is missing.
  std::span<const std::int32_t> codes() const;
  /// Bits, `size()` of them.
  std::span<const std::uint8_t> truths() const;

  /// The text of a row; empty if it is missing.
  std::string_view text(std::size_t row) const;
  /// The number of a row as a double, also of an integer; NaN if it is missing.
  double number(std::size_t row) const;
  bool truth(std::size_t row) const;

  /// The different texts of the column, in the order of their first rows.
  std::size_t categories() const { return ends_.size() - 1; }
  std::string_view category(std::size_t code) const;

  // For Arrow.

  /// Whether each row has a value, as bits; empty if no value is missing.
  std::span<const std::uint8_t> validity() const { return validity_; }
  /// Where each category begins among the bytes of all, and last where they end: one more than
  /// there are categories.
  std::span<const std::int32_t> category_offsets() const { return ends_; }
  std::string_view category_bytes() const { return bytes_; }

 private:
  friend class report::TableBuilder;
  explicit Column(ColumnInfo info) : info_(std::move(info)) {}

  ColumnInfo info_;
  std::size_t size_ = 0, missing_ = 0;
  std::vector<double> reals_;
  std::vector<std::int64_t> integers_;
  std::vector<std::int32_t> codes_;
  std::vector<std::uint8_t> truths_, validity_;
  std::vector<std::int32_t> ends_ = {0};
  std::string bytes_;
};

/// Columns of equal length.
class Table {
 public:
  std::size_t rows() const { return columns_.empty() ? 0 : columns_.front().size(); }
  std::span<const Column> columns() const { return columns_; }
  /// The column of that name; throws std::out_of_range, with the names that there are.
  const Column& operator[](std::string_view name) const;
  /// The column of that name; null if there is none.
  const Column* find(std::string_view name) const;

 private:
  friend class report::TableBuilder;

  std::vector<Column> columns_;
};

/// The table as the program writes it to a file: RFC 4180 with lines that end in a line feed.
/// Numbers are the shortest that read back as the same double.
std::string to_csv(const Table& table);

/// The tables of one result, each called like the CSV file without ".csv". They refer to the
/// result, which must outlive this object. Not for use by several threads at once.
class Tables {
 public:
  /// In the order in which the program writes the files.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;
  /// The table of that name, made anew at each call: keep it. Throws std::out_of_range, with the
  /// names that there are.
  Table operator[](std::string_view name) const;

  explicit Tables(std::vector<report::TableSource> sources);  ///< for the library

 private:
  std::shared_ptr<const std::vector<report::TableSource>> sources_;
};

}  // namespace retrysim
