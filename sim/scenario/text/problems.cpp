// Makes diagnostics of places: the excerpt of the source line and the caret below it.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/problems.hpp"

#include "scenario/text/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace retrysim {
namespace scenario {
namespace {

// Columns of source text shown; a longer line is cut to this width around the caret.
constexpr std::size_t kExcerptWidth = 76;
constexpr std::string_view kCut = "...";

// One character as an excerpt shows it: a tab becomes a blank, so that the caret stays below its
// place, and characters that a terminal might obey or cannot show become question marks.
std::string_view in_one_column(std::string_view character) {
  if (character == "\t") return " ";
  return is_printable(character) ? character : "?";
}

// The code points [from, to) of `text`, made printable.
std::string slice(std::string_view text, std::size_t from, std::size_t to) {
  std::string result;
  for (std::size_t i = 0; i < to && !text.empty(); ++i) {
    const std::string_view character = first_character(text);
    if (i >= from) result += in_one_column(character);
    text.remove_prefix(character.size());
  }
  return result;
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_character(text).size());
  return count;
}

void excerpt(std::string_view line, int column, Diagnostic& d) {
  const std::size_t size = code_points(line);
  const std::size_t at = column > 0 ? static_cast<std::size_t>(column) - 1 : 0;
  std::size_t from = 0;
  if (size > kExcerptWidth && at >= kExcerptWidth / 2) {
    from = std::min(at - kExcerptWidth / 2, size - kExcerptWidth);
  }
  const std::size_t to = std::min(size, from + kExcerptWidth);
  d.source_line = slice(line, from, to);
  if (from > 0) d.source_line.insert(0, kCut);
  if (to < size) d.source_line += kCut;
  if (column > 0 && !line.empty())
    d.caret = static_cast<int>(at - from + (from > 0 ? kCut.size() : 0)) + 1;
}

}  // namespace

int Sources::add(std::string file, std::string text) {
  sources_.push_back({std::move(file), std::move(text)});
  return static_cast<int>(sources_.size()) - 1;
}

std::string_view Sources::line(int source, int line) const {
  std::string_view rest = text(source);
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  for (int i = 1; i < line; ++i) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

namespace {

/// The key to which a line of TOML gives a value: the text before its first equals sign. Empty if
/// there is none, as within a value of several lines.
std::string_view key_of_line(std::string_view line) {
  const std::size_t equals = line.find('=');
  const std::string_view key = trimmed(line.substr(0, equals));
  const bool is_key =
      equals != std::string_view::npos && key.find_first_of("[]{}#,()") == std::string_view::npos;
  return is_key ? key : std::string_view();
}

/// The table that a line is the heading of: "client.web" for "[client.web]"; empty if it is none.
std::string_view table_of_line(std::string_view line) {
  const std::string_view text = trimmed(line.substr(0, line.find('#')));
  const bool is_heading = text.size() > 2 && text.starts_with('[') && text.ends_with(']') &&
                          text.find_first_of("=,") == std::string_view::npos;
  return is_heading ? trimmed(text.substr(1, text.size() - 2)) : std::string_view();
}

/// The full path of the key whose name or value is at a place; at the heading of a table, the
/// table's path.
std::string key_at(const Sources& sources, Place place) {
  if (place.source != 0) return {};  // the place is in a CSV input
  const std::string_view at = sources.line(place.source, place.line);
  if (at.empty()) return {};
  const std::string& whole = sources.text(place.source);
  std::string_view before(whole.data(), static_cast<std::size_t>(at.data() - whole.data()));
  std::string_view key;
  for (std::string_view line = at;;) {  // goes upwards, to the heading of the table
    if (const std::string_view table = table_of_line(line); !table.empty()) {
      return std::string(table) + (key.empty() ? "" : ".") + std::string(key);
    }
    if (key.empty()) key = key_of_line(line);
    if (before.empty()) return std::string(key);
    before.remove_suffix(1);  // the line feed
    const std::size_t begin = before.rfind('\n') + 1;
    line = before.substr(begin);
    before = before.substr(0, begin);
  }
}

}  // namespace

bool Problems::wants(Place place) const {
  return found_.size() < kMost || place < found_.rbegin()->first;
}

void Problems::add(Place place, std::string message) {
  if (!wants(place)) return;
  found_.emplace(place, std::move(message));
  if (found_.size() > kMost) found_.erase(std::prev(found_.end()));
}

std::vector<Diagnostic> Problems::diagnostics() const {
  std::vector<Diagnostic> result;
  for (const auto& [place, message] : found_) {
    Diagnostic d;
    d.file = sources_->file(place.source);
    d.message = message;
    d.nearest = suggested(message);
    if (is_edit(d.file)) {                         // the argument of the edit is the place
      d.file = std::string(part_of_edit(d.file));  // a copy: the view points into `d.file`
      d.in_request = true;
      const std::string& text = sources_->text(place.source);
      d.key = trimmed(text.substr(0, text.find('=')));
      excerpt(text, place.column, d);
    } else if (place.line > 0) {
      d.line = place.line;
      d.column = place.column;
      d.key = key_at(*sources_, place);
      excerpt(sources_->line(place.source, place.line), place.column, d);
    }
    result.push_back(std::move(d));
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "\"";
  for (std::size_t i = 0; i < kLongest && !text.empty(); ++i) {
    const std::string_view character = first_character(text);
    result += printable_line(character);
    text.remove_prefix(character.size());
  }
  if (!text.empty()) result += kCut;
  return result + "\"";
}

}  // namespace scenario

std::string to_string(const Diagnostic& d) {
  std::string result = d.file;
  if (d.line > 0) result += ":" + std::to_string(d.line);
  if (d.line > 0 && d.column > 0) result += ":" + std::to_string(d.column);
  result += ": error: " + d.message;
  if (d.source_line.empty() && d.caret == 0) return result;
  result += "\n" + d.source_line;
  if (d.caret > 0) result += "\n" + std::string(static_cast<std::size_t>(d.caret) - 1, ' ') + "^";
  return result;
}

}  // namespace retrysim
