// The output of a command, described once. A report describes its result as a `Document`:
// paragraphs, tables with typed cells, figures and notes. The text on a terminal, the CSV tables
// and result.json are renderings of it, which do not know the command. (One exception: of a sweep,
// only the first point is kept for pictures over time.)
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/table.hpp>

#include "report/document/heading.hpp"
#include "report/document/json.hpp"
#include "report/document/table_builder.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace retrysim::report {

// Cells.

/// A number with the ends of its interval; each of them may be missing.
struct Ranged {
  std::optional<double> value, low, high;
};
Ranged ranged(const std::optional<Estimate>& estimate);
/// A share with Wilson's interval; empty if `all` is 0.
Ranged share(std::size_t count, std::size_t all);
/// A share as text: "12 % (3 % to 30 %)", the share itself in at least `width` columns. Empty if
/// there is no value.
std::string share_text(const Ranged& share, std::size_t width = 0);

/// A value, and the text as which people read it.
template <class T>
struct Shown {
  T value;
  std::string text;
};
template <class T>
Shown(T, std::string) -> Shown<T>;

/// The value of a row in a column. Files get the value; people get its text, if it is a `Shown`.
class Cell {
 public:
  using Value = std::variant<std::monostate, std::string, std::uint64_t, double, bool, Ranged,
                             nlohmann::ordered_json>;

  Cell() = default;
  Cell(const std::convertible_to<std::string_view> auto& text)
      : value_(std::string(std::string_view(text))) {}
  Cell(double value) : value_(value) {}
  template <class T>
  Cell(const std::optional<T>& value) {
    if (value) *this = Cell(*value);
  }
  template <class T>
  Cell(const Shown<T>& shown) : Cell(Cell(shown.value), shown.text) {}
  Cell(std::same_as<bool> auto value) : value_(value) {}
  Cell(std::unsigned_integral auto value) requires(!std::same_as<decltype(value), bool>)
      : value_(std::uint64_t{value}) {}
  Cell(Ranged value) : value_(value) {}
  Cell(nlohmann::ordered_json value) : value_(std::move(value)) {}
  Cell(const Cell& value, std::string text) : value_(value.value_), text_(std::move(text)) {}

  const Value& value() const { return value_; }
  /// The text for people. Numbers have six significant digits.
  std::string text() const;

 private:
  Value value_;
  std::optional<std::string> text_;
};

/// A part of a number of things: "3 of 20".
std::string n_of(std::size_t count, std::size_t all);

// Texts in columns.

enum class Side { kLeft, kRight };

struct TextColumn {
  std::string heading = {};  ///< line breaks stack its words above the column
  Side side = Side::kRight;
  std::size_t width = 0;  ///< least width, columns
  bool joined = false;    ///< is not parted from the column before it (TextTable::fixed)
};

/// A text in a table.
struct TextCell {
  TextCell(std::string cell) : text(std::move(cell)), is_quiet(text.empty()) {}
  TextCell(const char* cell) : TextCell(std::string(cell)) {}
  TextCell(std::string cell, bool quiet) : text(std::move(cell)), is_quiet(quiet) {}

  std::string text;
  bool is_quiet;  ///< whether the cell alone does not make its row appear
};

struct TextRow {
  std::vector<TextCell> cells;  ///< cells at the end may be missing
  char mark = ' ';              ///< a mark at the left edge of an indented table
};

/// A table as people read it. A text at the left that is the last of its row may stick out over the
/// columns behind it.
struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<TextRow> rows;
  std::size_t indent = 0;
  bool has_heading = true;
  /// Least width of the last column, whose texts are broken into lines if the others leave this
  /// much room. Otherwise column `alone` gets lines of its own: the last column below its row,
  /// another one above it.
  std::size_t room = 0;
  std::size_t alone = 0;
  /// Number of columns at the front that are repeated: if there are any, as many of the other
  /// columns as there is room for stand beside each other, and the rest in further tables that
  /// repeat the fixed columns. A table leaves out rows that are empty in all its other columns;
  /// rows of a single cell are titles of the rows that follow.
  std::size_t fixed = 0;
};
std::string text_of(const TextTable& table, std::size_t columns);

/// Things with several properties each. Every row has as many cells as there are columns.
struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::size_t names = 1;   ///< number of columns at the front that name a row
  std::string prose = {};  ///< the column that is a sentence and needs no name of its own, if any
};

/// The listing for a terminal of `columns` columns. It is an aligned table if the last column,
/// whose cells are broken into lines, keeps enough room beside the others. Else each row is a
/// block: its names; then, indented, its prose and those of its other cells that are not empty.
std::string listing_text(const Listing& listing, std::size_t columns);
/// The listing in blocks, whatever the columns.
std::string listing_in_blocks(const Listing& listing, std::size_t columns);

/// The parts of a text between the separators, at least one.
std::vector<std::string> split_at(std::string_view text, char separator);

// Tables: each column is described once, with its name in every rendering and its cell of a row.

/// The type of a table's column for such cells.
template <class Value>
constexpr ColumnType column_type() {
  if constexpr (std::same_as<Value, bool>) {
    return ColumnType::kTruth;
  } else if constexpr (std::unsigned_integral<Value>) {
    return ColumnType::kInteger;
  } else if constexpr (std::same_as<Value, double> || std::same_as<Value, Ranged>) {
    return ColumnType::kReal;
  } else if constexpr (std::convertible_to<Value, std::string_view>) {
    return ColumnType::kText;
  } else if constexpr (requires(Value v) { v.text; }) {  // Shown
    return column_type<std::decay_t<decltype(std::declval<Value>().value)>>();
  } else {
    return column_type<typename Value::value_type>();  // std::optional
  }
}

/// A column of cells. In CSV files it is one column, or three for a `Ranged`. A column without
/// names is not in files, and one without a heading not in the text.
struct CellColumn {
  std::vector<ColumnInfo> csv;
  std::vector<std::string> json;
  std::optional<TextColumn> shown;
};

/// A column for cells that the user has written: of numbers if all cells are numbers.
ColumnInfo cell_column(const std::string& name, std::span<const std::string> cells);
/// A column for the values of a key that the user varies, whose cells are `key_cell`; its unit is s
/// if all values are durations.
ColumnInfo key_column(const std::string& name, std::span<const std::string> values);
/// The value of a varied key in a file: for a duration the seconds, as everywhere in files.
std::string key_cell(const std::string& value);

template <class Row>
class Columns {
 public:
  using CellOf = std::function<Cell(const Row&)>;

  /// Adds a column to both kinds of files, or to one of them, under names divided by blanks; with a
  /// heading also to the text. The type of the column in tables follows from the type of the cell.
  /// Its unit follows from its name (`unit_of_column`), or is set by `unit`.
  template <class F>
  Columns& files(std::string_view names, F cell) {
    return add(infos<F>(names), split(names), {}, std::move(cell));
  }
  template <class F>
  Columns& files(std::string_view names, TextColumn heading, F cell) {
    return add(infos<F>(names), split(names), std::move(heading), std::move(cell));
  }
  template <class F>
  Columns& csv(std::string_view names, F cell) {
    return add(infos<F>(names), {}, {}, std::move(cell));
  }
  template <class F>
  Columns& csv(std::string_view names, TextColumn heading, F cell) {
    return add(infos<F>(names), {}, std::move(heading), std::move(cell));
  }
  Columns& json(std::string_view names, CellOf cell) {
    return add({}, split(names), {}, std::move(cell));
  }
  /// Adds a column to CSV files only, a `key_column`; cells are texts.
  Columns& csv_key(ColumnInfo key, CellOf cell) {
    return add({std::move(key)}, {}, {}, std::move(cell));
  }
  Columns& csv_key(ColumnInfo key, TextColumn heading, CellOf cell) {
    return add({std::move(key)}, {}, std::move(heading), std::move(cell));
  }
  /// Adds a column to the text only.
  Columns& text(TextColumn heading, CellOf cell) {
    return add({}, {}, std::move(heading), std::move(cell));
  }
  /// Sets the unit of the column that was added last.
  Columns& unit(std::string_view unit) {
    for (ColumnInfo& info : columns_.back().csv) info.unit = unit;
    return *this;
  }

  const std::vector<CellColumn>& columns() const { return columns_; }
  std::vector<Cell> cells(const Row& row) const {
    std::vector<Cell> cells;
    for (const CellOf& cell : cells_) cells.push_back(cell(row));
    return cells;
  }

 private:
  using Names = std::vector<std::string>;

  static Names split(std::string_view names) { return split_at(names, ' '); }
  template <class F>
  static std::vector<ColumnInfo> infos(std::string_view names) {
    constexpr ColumnType kType = column_type<std::decay_t<std::invoke_result_t<F, const Row&>>>();
    std::vector<ColumnInfo> infos;
    for (const std::string& name : split(names)) {
      infos.push_back(named_column(name, kType));
      infos.back().unit = infos.front().unit;  // ends of an interval have the unit of the value
    }
    return infos;
  }
  Columns& add(std::vector<ColumnInfo> csv, Names json, std::optional<TextColumn> shown,
               CellOf cell) {
    columns_.push_back({std::move(csv), std::move(json), std::move(shown)});
    cells_.push_back(std::move(cell));
    return *this;
  }

  std::vector<CellColumn> columns_;
  std::vector<CellOf> cells_;
};

/// A column with the same cell in every row.
template <class T>
auto always(T value) {
  return [value = std::move(value)](const auto&) { return value; };
}

/// Rows of cells, for all renderings.
struct CellTable {
  template <class Row, class Rows>
  CellTable(const Columns<Row>& described, const Rows& content) : columns(described.columns()) {
    for (const Row& row : content) rows.push_back(described.cells(row));
  }

  std::vector<CellColumn> columns;
  std::vector<std::vector<Cell>> rows;
};

/// The columns of CSV files, from those of `columns`; `add_row` adds the cells of a row in them.
std::vector<ColumnInfo> table_columns(const std::vector<CellColumn>& columns);
void add_row(TableBuilder& table, const std::vector<CellColumn>& columns,
             const std::vector<Cell>& cells);
/// Makes a source of a table; `name` is the file's name without ".csv".
TableSource source_of(std::string name, CellTable table);
/// The rows as an array of objects; a cell of discarded JSON is left out.
nlohmann::ordered_json rows_json(const CellTable& table);
/// The table as text, with the columns that have headings; with all rows, or those in `order`.
TextTable shown(const CellTable& table);
TextTable shown(const CellTable& table, const std::vector<std::size_t>& order);

// Documents.

/// Writes the value of a member of result.json.
using JsonMember = std::function<void(JsonText&)>;

class Document {
 public:
  /// Adds text, in the order of the calls. Sentences are broken into lines, with `first` in front
  /// of the first line and `others` in front of the rest. Empty `sentences` add nothing.
  Document& say(std::string sentences, std::string first = "", std::string others = "  ");
  /// As above, with `first` (or all, if that is empty) standing out by `emphasis`.
  Document& say(std::string sentences, std::string first, std::string others, Emphasis emphasis);
  /// Adds the sentence that the reader came for. It stands out, and is repeated below a text that
  /// is longer than the terminal.
  Document& answer(std::string sentence);
  /// Adds sentences, of which the first is the answer and the others explain it.
  Document& answer_first(const std::vector<std::string>& sentences);
  /// Adds finished lines; or a function that gives them for a terminal of `columns` columns.
  Document& lines(std::string ready);
  Document& lines(std::function<std::string(std::size_t columns)> ready);
  /// Adds the subject of the result: its title and `what`, and its description.
  Document& title(const Heading& heading, std::string_view what);
  Document& gap() { return lines("\n"); }
  Document& show(TextTable table);
  /// Adds notes, each with "note: " in front, after an empty line; nothing if there are none.
  Document& notes(const std::vector<std::string>& notes);

  /// Adds members of result.json, in the order of the calls.
  Document& member(std::string name, nlohmann::ordered_json value);
  Document& streamed_member(std::string name, JsonMember write);
  /// Adds the members of `object`.
  Document& members(const nlohmann::ordered_json& object);
  /// Adds the first members of result.json (`result_head`), and the scenario's members at its end.
  Document& head(std::string_view command, const Heading& heading, const Scenario& scenario,
                 std::size_t replications);
  Document& scenario_members(const LoadedScenario& scenario);

  /// Adds CSV files beside result.json, in the order of the calls. Throws std::logic_error if the
  /// name is not in the table of result files (scenario/text/result_names.hpp). The first scenario
  /// becomes scenario.toml, the second scenario-2.toml, each with its CSV inputs and with `comment`
  /// at its top. The document keeps a reference to the scenario.
  Document& table(TableSource source);
  Document& tables(const std::vector<TableSource>& sources);
  Document& scenario_file(const LoadedScenario& scenario, std::string comment = "");

  void write_text(Sink& sink, std::size_t columns) const;
  /// Writes the text on standard output, with `closing` below it; then the answers again if the
  /// first of them is out of sight.
  void write_text(StandardOutput& out, std::size_t columns, std::string_view closing = "") const;
  /// Writes the file of a table that was added.
  void write_file(Sink& sink, std::string_view name) const;
  const std::vector<TableSource>& tables() const { return tables_; }
  void write_json(Sink& sink, const ResultIdentity& answers,
                  const std::vector<FileRecord>& files) const;
  /// Writes all files, and commits the folder.
  void write_files(ResultFolder& folder) const;

 private:
  struct Paragraph {
    std::string text, first, others;
    Emphasis emphasis = Emphasis::kNone;  ///< emphasis of `first`, or of the whole if that is empty
  };
  struct ScenarioFile {
    const LoadedScenario* scenario;
    std::string comment;
  };

  using LinesOfWidth = std::function<std::string(std::size_t)>;
  using Part = std::variant<Paragraph, std::string, TextTable, LinesOfWidth>;
  /// The members as an object without its end, but those named in `without`.
  JsonText members_text(std::span<const std::string_view> without = {}) const;
  static std::string text_of_part(const Part& part, std::size_t columns);
  static void write_part(StandardOutput& out, const Part& part, std::size_t columns);

  std::vector<Part> text_;
  std::vector<std::pair<std::string, JsonMember>> members_;
  std::vector<TableSource> tables_;
  std::vector<ScenarioFile> scenarios_;
};

}  // namespace retrysim::report
