// SPDX-License-Identifier: MIT
#include "report/document/document.hpp"

#include "kernel/stop.hpp"
#include "report/pictures/pictures.hpp"

#include "estimate/intervals.hpp"
#include "report/document/csv_writer.hpp"
#include "report/graph.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Cells.

Ranged ranged(const std::optional<Estimate>& e) {
  return e ? Ranged{e->mean, e->ci_low, e->ci_high} : Ranged{};
}

Ranged share(std::size_t count, std::size_t all) {
  if (all == 0) return {};
  const stats::ProportionInterval interval = stats::wilson_interval(count, all);
  return {static_cast<double>(count) / static_cast<double>(all), interval.low, interval.high};
}

std::string share_text(const Ranged& share, std::size_t width) {
  if (!share.value) return "";
  return fmt::format("{:>{}} ({} to {})", percent(*share.value), width, percent(*share.low),
                     percent(*share.high));
}

std::string n_of(std::size_t count, std::size_t all) { return fmt::format("{} of {}", count, all); }

std::string Cell::text() const {
  if (text_) return *text_;
  if (const auto* text = std::get_if<std::string>(&value_)) return *text;
  if (const auto* whole = std::get_if<std::uint64_t>(&value_)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value_)) return scenario::said_number(*real, 6);
  return "";
}

// Texts in columns.

namespace {

constexpr std::size_t kGap = 2;

std::string without_end_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Lays out a table: the widths of its columns, and then its lines.
class TableText {
 public:
  TableText(const TextTable& table, std::size_t columns)
      : table_(table), columns_(columns), widths_(table.columns.size()) {
    for (std::size_t c = 0; c < widths_.size(); ++c) {
      widths_[c] = table.columns[c].width;
      if (table.has_heading) {
        for (const std::string& word : split_at(table.columns[c].heading, '\n')) widen(c, word);
      }
    }
    for (const TextRow& row : table.rows) {
      for (std::size_t c = 0; c < row.cells.size(); ++c) {
        if (!sticks_out(row, c)) widen(c, row.cells[c].text);
      }
    }
  }

  std::string text() const {
    std::vector<std::size_t> all(widths_.size());
    std::iota(all.begin(), all.end(), 0u);
    if (table_.fixed == 0) return lines(all);
    std::string text;
    for (std::size_t from = table_.fixed; from < all.size();) {
      Selection some(all.begin(), all.begin() + static_cast<int>(table_.fixed));
      for (bool is_first = true; from < all.size(); is_first = false) {
        Selection more = some;
        std::size_t end = from;
        do {
          more.push_back(end++);
        } while (end < all.size() && table_.columns[end].joined);
        if (!is_first && width_of(more) > columns_) break;
        some = std::move(more);
        from = end;
      }
      const std::string part = lines(some);
      if (!text.empty() && !part.empty()) text += "\n";
      text += part;
    }
    return text;
  }

  /// Whether the last column has enough room beside the others.
  bool has_room() const {
    std::size_t used = table_.indent + std::min(widths_.back(), table_.room);
    for (std::size_t c = 0; c + 1 < widths_.size(); ++c) used += widths_[c] + kGap;
    return used <= columns_;
  }

 private:
  using Selection = std::vector<std::size_t>;  // numbers of columns

  void widen(std::size_t c, std::string_view text) {
    widths_[c] = std::max(widths_[c], columns_of(text));
  }

  bool sticks_out(const TextRow& row, std::size_t c) const {
    return c + 1 < widths_.size() && table_.columns[c].side == Side::kLeft &&
           std::all_of(row.cells.begin() + static_cast<int>(c) + 1, row.cells.end(),
                       [](const TextCell& cell) { return cell.text.empty(); });
  }

  std::size_t width_of(const Selection& selection) const {
    std::size_t width = table_.indent + kGap * (selection.size() - 1);
    for (const std::size_t c : selection) width += widths_[c];
    return width;
  }

  /// The heading and the rows, in the selected columns.
  std::string lines(const Selection& selection) const {
    stop_point();
    std::string rows;
    const TextRow* title = nullptr;
    StopCounter<128> stop;
    for (const TextRow& row : table_.rows) {
      stop.count();
      if (table_.fixed > 0 && row.cells.size() == 1) {
        title = &row;
      } else if (table_.fixed == 0 || says_something(row, selection)) {
        if (title != nullptr) rows += line(*title, selection);
        title = nullptr;
        rows += line(row, selection);
      }
    }
    if (rows.empty() && table_.fixed > 0) return "";
    return (table_.has_heading ? heading(selection) : "") + rows;
  }

  bool says_something(const TextRow& row, const Selection& selection) const {
    return std::any_of(selection.begin() + static_cast<int>(table_.fixed), selection.end(),
                       [&](std::size_t c) { return !row.cells[c].is_quiet; });
  }

  /// The heading of the selected columns; words above each other end on the last line.
  std::string heading(const Selection& selection) const {
    std::vector<std::vector<std::string>> words;
    std::size_t height = 0;
    for (const TextColumn& column : table_.columns) {
      words.push_back(split_at(column.heading, '\n'));
      height = std::max(height, words.back().size());
    }
    std::string text;
    for (std::size_t h = 0; h < height; ++h) {
      TextRow row;
      for (const auto& of_column : words) {
        const std::size_t above = height - of_column.size();
        row.cells.emplace_back(h < above ? "" : of_column[h - above]);
      }
      text += line(row, selection);
    }
    return text;
  }

  std::string line(const TextRow& row, const Selection& selection) const {
    if (table_.room == 0) return without_end_blanks(cells(row, selection)) + "\n";
    Selection front(selection.begin(), selection.end() - 1);
    const std::size_t last = selection.back(), alone = table_.alone;
    const auto text = [&](std::size_t c) {
      return c < row.cells.size() ? row.cells[c].text : std::string();
    };
    std::string above;
    if (!has_room()) {
      if (alone == last) {
        std::string before(table_.indent, ' ');
        for (const std::size_t c : front) before += text(c) + std::string(kGap, ' ');
        const std::string indent(table_.indent + kGap, ' ');
        before = without_end_blanks(before) + "\n";
        return text(last).empty() ? before
                                  : before + wrapped(text(last), {columns_, indent, indent});
      }
      std::erase(front, alone);
      above = wrapped(text(alone), {columns_, "", "  "});
    }
    const std::string begin = cells(row, front) + std::string(kGap, ' ');
    if (text(last).empty()) return above + without_end_blanks(begin) + "\n";
    return above + wrapped(text(last), {columns_, begin, std::string(columns_of(begin), ' ')});
  }

  /// The selected cells of a row beside each other, padded to their widths.
  std::string cells(const TextRow& row, const Selection& selection) const {
    std::string text(table_.indent, ' ');
    if (!text.empty()) text.front() = row.mark;
    for (const std::size_t c : selection) {
      if (c != selection.front()) text.append(kGap, ' ');
      const std::string_view cell = c < row.cells.size() ? row.cells[c].text : std::string_view();
      const bool left = table_.columns[c].side == Side::kLeft;
      text += left ? pad_right(cell, widths_[c]) : pad_left(cell, widths_[c]);
    }
    return text;
  }

  const TextTable& table_;
  std::size_t columns_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string text_of(const TextTable& table, std::size_t columns) {
  return TableText(table, columns).text();
}

// Tables.

namespace {

/// The numbers that a `Ranged` is in files.
std::array<std::optional<double>, 3> parts_of(const Ranged& r) { return {r.value, r.low, r.high}; }

/// The number that a text is as a whole; empty if it is none.
std::optional<double> cell_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

Json json_of(const Cell::Value& value) {
  return std::visit(
      [](const auto& v) -> Json {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::same_as<V, std::monostate> || std::same_as<V, Ranged>) {
          return nullptr;
        } else {
          return v;
        }
      },
      value);
}

}  // namespace

ColumnInfo cell_column(const std::string& name, std::span<const std::string> cells) {
  const bool numbers =
      !cells.empty() && std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
        const std::optional<double> read = cell_number(cell);
        return read && number(*read) == cell;
      });
  return {name, "", numbers ? ColumnType::kReal : ColumnType::kText};
}

ColumnInfo key_column(const std::string& name, std::span<const std::string> values) {
  std::vector<std::string> cells;
  for (const std::string& value : values) cells.push_back(key_cell(value));
  ColumnInfo column = cell_column(name, cells);
  const bool durations = column.type == ColumnType::kReal &&
                         std::all_of(values.begin(), values.end(), [](const std::string& value) {
                           return scenario::parse_duration(value).has_value();
                         });
  if (durations) column.unit = "s";
  return column;
}

std::string key_cell(const std::string& value) {
  const auto parsed = scenario::parse_duration(value);
  return parsed ? number(parsed->duration.in_seconds()) : value;
}

std::vector<ColumnInfo> table_columns(const std::vector<CellColumn>& columns) {
  std::vector<ColumnInfo> infos;
  for (const CellColumn& column : columns) {
    infos.insert(infos.end(), column.csv.begin(), column.csv.end());
  }
  return infos;
}

void add_row(TableBuilder& table, const std::vector<CellColumn>& columns,
             const std::vector<Cell>& cells) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].csv.empty()) continue;
    const Cell::Value& value = cells[c].value();
    if (const auto* text = std::get_if<std::string>(&value)) {
      if (columns[c].csv.front().type == ColumnType::kReal) {  // a column of a varied key
        table.real(cell_number(*text));
      } else {
        table.text(*text);
      }
    } else if (const auto* whole = std::get_if<std::uint64_t>(&value)) {
      table.integer(*whole);
    } else if (const auto* real = std::get_if<double>(&value)) {
      table.real(*real);
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      table.truth(*truth);
    } else if (const auto* three = std::get_if<Ranged>(&value)) {
      for (const std::optional<double>& part : parts_of(*three)) table.real(part);
    } else {
      for (std::size_t i = 0; i < columns[c].csv.size(); ++i) table.missing();
    }
  }
  table.end_row();
}

TableSource source_of(std::string name, CellTable cells) {
  std::vector<ColumnInfo> columns = table_columns(cells.columns);
  return {std::move(name), std::move(columns), [cells = std::move(cells)](TableBuilder& table) {
            for (const std::vector<Cell>& row : cells.rows) add_row(table, cells.columns, row);
          }};
}

Json rows_json(const CellTable& table) {
  Json rows = Json::array();
  for (const std::vector<Cell>& cells : table.rows) {
    Json& row = rows.emplace_back(Json::object());
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::vector<std::string>& names = table.columns[c].json;
      const auto* json = std::get_if<Json>(&cells[c].value());
      if (json != nullptr && json->is_discarded()) continue;
      const auto* three = std::get_if<Ranged>(&cells[c].value());
      for (std::size_t i = 0; i < names.size(); ++i) {
        append_member(
            row, names[i],
            three != nullptr ? optional_json(parts_of(*three)[i]) : json_of(cells[c].value()));
      }
    }
  }
  return rows;
}

TextTable shown(const CellTable& table) {
  std::vector<std::size_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), 0u);
  return shown(table, order);
}

TextTable shown(const CellTable& table, const std::vector<std::size_t>& order) {
  TextTable text;
  for (const CellColumn& column : table.columns) {
    if (column.shown) text.columns.push_back(*column.shown);
  }
  for (const std::size_t i : order) {
    TextRow& row = text.rows.emplace_back();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].shown) row.cells.emplace_back(table.rows[i][c].text());
    }
  }
  return text;
}

// Lists of things that have several properties each.

namespace {

/// Whether a cell has no content.
bool is_blank(const std::string& cell) { return cell.empty() || cell == "-"; }

/// A row of a listing as a block: its names; then, indented, its prose and its other cells.
std::string block_of(const Listing& listing, const std::vector<std::string>& row,
                     std::size_t columns) {
  std::string heading, prose, line, fields;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (is_blank(row[i])) continue;
    if (i < listing.names) {
      heading += (heading.empty() ? "" : "  ") + row[i];
    } else if (listing.columns[i] == listing.prose) {
      prose = wrapped(row[i], {columns, "  ", "  "});
    } else {
      const std::string field = listing.columns[i] + ": " + row[i];
      constexpr std::string_view kBetween = "   ";
      if (!line.empty() && columns_of(line) + kBetween.size() + columns_of(field) > columns) {
        fields += wrapped(line, {columns, "", "    "});
        line.clear();
      }
      line += (line.empty() ? "  " : std::string(kBetween)) + field;
    }
  }
  if (!line.empty()) fields += wrapped(line, {columns, "", "    "});
  return wrapped(heading, {columns, "", "  "}) + prose + fields;
}

}  // namespace

std::string listing_text(const Listing& listing, std::size_t columns) {
  TextTable table;
  table.room = 30;  // with less room, sentences in the last column become tall and thin
  for (const std::string& column : listing.columns) table.columns.push_back({column, Side::kLeft});
  for (const std::vector<std::string>& row : listing.rows) {
    table.rows.push_back({{row.begin(), row.end()}});
  }
  const TableText layout(table, columns);
  return layout.has_room() ? layout.text() : listing_in_blocks(listing, columns);
}

std::string listing_in_blocks(const Listing& listing, std::size_t columns) {
  std::string text;
  for (const std::vector<std::string>& row : listing.rows) text += block_of(listing, row, columns);
  return text;
}

// Documents.

Document& Document::say(std::string sentences, std::string first, std::string others) {
  return say(std::move(sentences), std::move(first), std::move(others), Emphasis::kNone);
}

Document& Document::say(std::string sentences, std::string first, std::string others,
                        Emphasis emphasis) {
  if (!sentences.empty()) {
    text_.emplace_back(
        Paragraph{std::move(sentences), std::move(first), std::move(others), emphasis});
  }
  return *this;
}

Document& Document::answer(std::string sentence) {
  return say(std::move(sentence), "", "  ", Emphasis::kAnswer);
}

Document& Document::answer_first(const std::vector<std::string>& sentences) {
  for (std::size_t i = 0; i < sentences.size(); ++i)
    i == 0 ? answer(sentences[i]) : say(sentences[i]);
  return *this;
}

Document& Document::lines(std::string ready) {
  text_.emplace_back(std::move(ready));
  return *this;
}

Document& Document::lines(LinesOfWidth ready) {
  text_.emplace_back(std::move(ready));
  return *this;
}

Document& Document::title(const Heading& heading, std::string_view what) {
  return say(fmt::format("{}: {}", heading.title, what)).say(heading.description, "", "");
}

Document& Document::show(TextTable table) {
  text_.emplace_back(std::move(table));
  return *this;
}

Document& Document::notes(const std::vector<std::string>& notes) {
  if (!notes.empty()) gap();
  for (const std::string& note : notes) say(note, "note: ");
  return *this;
}

Document& Document::member(std::string name, Json value) {
  return streamed_member(std::move(name),
                         [value = std::move(value)](JsonText& text) { text.json(value); });
}

Document& Document::streamed_member(std::string name, JsonMember write) {
  members_.emplace_back(std::move(name), std::move(write));
  return *this;
}

Document& Document::members(const Json& object) {
  for (const auto& [name, value] : object.items()) member(name, value);
  return *this;
}

Document& Document::head(std::string_view command, const Heading& heading, const Scenario& scenario,
                         std::size_t replications) {
  return members(result_head(command, heading, scenario, replications));
}

Document& Document::scenario_members(const LoadedScenario& scenario) {
  member("scenario_notes", distinct_notes(scenario));
  members(graph_json(scenario.scenario, scenario.keys));
  return member("keys", keys_json(scenario));
}

Document& Document::table(TableSource source) {
  if (!scenario::is_result_file(file_name(source)))
    throw std::logic_error(file_name(source) + " is not in the table of files");
  tables_.push_back(std::move(source));
  return *this;
}

Document& Document::tables(const std::vector<TableSource>& sources) {
  for (const TableSource& source : sources) table(source);
  return *this;
}

Document& Document::scenario_file(const LoadedScenario& scenario, std::string comment) {
  scenarios_.push_back({&scenario, std::move(comment)});
  return *this;
}

void Document::write_file(Sink& sink, std::string_view name) const {
  for (const TableSource& source : tables_) {
    if (file_name(source) == name) write_csv(sink, source);
  }
}

std::string Document::text_of_part(const Part& part, std::size_t columns) {
  struct Writer {
    std::size_t columns;
    std::string operator()(const Paragraph& p) const {
      return wrapped(p.text, {columns, p.first, p.others});
    }
    std::string operator()(const std::string& lines) const { return lines; }
    std::string operator()(const TextTable& table) const { return text_of(table, columns); }
    std::string operator()(const LinesOfWidth& lines) const { return lines(columns); }
  };
  return std::visit(Writer{columns}, part);
}

void Document::write_text(Sink& sink, std::size_t columns) const {
  for (const Part& part : text_) sink.write(text_of_part(part, columns));
}

void Document::write_part(StandardOutput& out, const Part& part, std::size_t columns) {
  const std::string text = text_of_part(part, columns);
  const auto* paragraph = std::get_if<Paragraph>(&part);
  if (paragraph == nullptr || paragraph->emphasis == Emphasis::kNone) return out.write(text);
  const std::string& first = paragraph->first;
  const std::size_t end = first.empty() ? text.size() - 1 : first.size();  // without the line feed
  out.emphasize(paragraph->emphasis);
  out.write(std::string_view(text).substr(0, end));
  out.emphasize(Emphasis::kNone);
  out.write(std::string_view(text).substr(end));
}

void Document::write_text(StandardOutput& out, std::size_t columns,
                          std::string_view closing) const {
  std::vector<const Part*> answers;
  std::size_t lines_before = 0;
  for (const Part& part : text_) {
    const auto* paragraph = std::get_if<Paragraph>(&part);
    if (paragraph != nullptr && paragraph->emphasis == Emphasis::kAnswer) {
      if (answers.empty()) lines_before = out.lines();
      answers.push_back(&part);
    }
    write_part(out, part, columns);
  }
  out.write(closing);
  if (answers.empty() || !out.is_out_of_sight(out.lines() - lines_before)) return;
  out.write("\n");
  for (const Part* answer : answers) write_part(out, *answer, columns);
}

JsonText Document::members_text(std::span<const std::string_view> without) const {
  JsonText text;
  text.begin_object();
  for (const auto& [name, write] : members_) {
    if (std::ranges::find(without, name) != without.end()) continue;
    text.key(name);
    write(text);
  }
  return text;
}

void Document::write_json(Sink& sink, const ResultIdentity& answers,
                          const std::vector<FileRecord>& files) const {
  sink.write(sealed(members_text(), answers, files));
}

namespace {

/// Writes the tables of a result, and keeps the tables from which pictures are concluded, as far as
/// a picture can show them.
class KeptTables {
 public:
  explicit KeptTables(bool is_sweep) : is_sweep_(is_sweep) {}

  void write(ResultFolder& folder, const TableSource& source) {
    const std::string name = file_name(source);
    folder.write(name, [&](Sink& sink) {
      if (is_for_pictures(name)) {
        write_kept(sink, source, name);
      } else {
        write_csv(sink, source);
      }
    });
  }

  const ResultTable* find(std::string_view name) const {
    const auto found = tables_.find(name);
    return found == tables_.end() ? nullptr : &found->second;
  }

 private:
  void write_kept(Sink& sink, const TableSource& source, const std::string& name) {
    const bool is_first = is_sweep_ && is_over_time(name);
    const std::size_t most = is_first ? kCellsOfFirstPoint : kMaxCells;
    TableBuilder kept(source.columns);
    std::size_t cells = 0;
    write_csv(sink, source, [&](const Table& batch) {
      if (cells < most) kept.add_rows(batch);
      cells += batch.rows() * source.columns.size();
    });
    const bool is_too_much = cells >= most && !is_first;
    tables_.insert_or_assign(
        name,
        ResultTable(name, is_too_much ? TableBuilder(source.columns).finish() : kept.finish()));
  }

  bool is_sweep_;
  std::map<std::string, ResultTable, std::less<>> tables_;
};

/// Members that repeat tables, from which pictures take them: most of a run's text.
constexpr std::array<std::string_view, 2> kSaidInTables = {"summary", "phases"};

}  // namespace

void Document::write_files(ResultFolder& folder) const {
  const bool is_sweep = std::any_of(members_.begin(), members_.end(),
                                    [](const auto& member) { return member.first == "sweep"; });
  KeptTables tables(is_sweep);
  for (const TableSource& source : tables_) tables.write(folder, source);
  std::vector<std::filesystem::path> copied;
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    const ScenarioFile& file = scenarios_[i];
    folder.write(i == 0 ? "scenario.toml" : fmt::format("scenario-{}.toml", i + 1),
                 [&](Sink& sink) { sink.write(file.comment + to_toml(*file.scenario, false)); });
    for (const std::filesystem::path& input : file.scenario->input_files) {
      // A file that several keys name is copied once; two files of one name are an error.
      if (std::find(copied.begin(), copied.end(), input) != copied.end()) continue;
      folder.copy(input);
      copied.push_back(input);
    }
  }
  folder.write(std::string(kResultJson), [&](Sink& sink) {
    JsonText text = members_text();
    auto members = json_in(kResultJson, members_text(kSaidInTables).end_object().take());
    auto pictures = pictures_of(members, [&](std::string_view name) { return tables.find(name); });
    text.key("pictures").json(pictures);
    take_apart(pictures);
    take_apart(members);
    sink.write(sealed(std::move(text), folder.identity(), folder.files()));
  });
  folder.commit();
}

}  // namespace retrysim::report
