// A scenario file as a tree of values in which every name and value knows where it was written.
// toml++ does the parsing; its own nodes lose their places when they are copied, which inheritance
// (`like`) and edits must do, so they are turned into these.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/text/problems.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

struct Member;

/// One TOML value. A table's members are in the order in which they were written.
struct Node {
  enum class Kind : std::uint8_t { kTable, kArray, kText, kInteger, kReal, kBoolean, kDate };

  Kind kind = Kind::kTable;
  Place place;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::string raw;              ///< the value of an edit as typed: `2.0` may be meant as text
  std::vector<Member> members;  ///< members of a table, or without names of an array

  bool is_table() const { return kind == Kind::kTable; }
  bool is_text() const { return kind == Kind::kText; }
  const Member* find(std::string_view name) const;
  Member* find(std::string_view name);
};

struct Member {
  std::string name;
  Place place;  ///< place of the name
  Node value;
};

/// The kind in words, for messages: "a table", "text", "a whole number".
std::string_view describe(Node::Kind kind);

/// Parses TOML. A syntax error is added to `problems`; the result is then empty.
std::optional<Node> parse_document(const Sources& sources, int source, Problems& problems);

/// Parses one TOML value, such as a default or the right side of an edit; empty if the text is
/// none. All places within it are `place`.
std::optional<Node> parse_value(std::string_view text, Place place);

/// The value as TOML on one line; reading it back gives the same value.
std::string render(const Node& node);

/// `text` as a TOML string, and `name` as a TOML key (quoted only if it must be).
std::string render_text(std::string_view text);
std::string render_name(std::string_view name);
/// The shortest TOML number that reads back as `value`; always a float.
std::string render_number(double value);

/// A value as typed, for people: text is shown without quotes where it cannot be mistaken.
std::string shown_value(std::string_view typed);

/// Whether `name` may be written without quotes: letters, digits, `_` and `-`.
bool is_bare_name(std::string_view name);

/// The names on a dotted path; quoted names may contain dots. Empty if the path is malformed.
std::optional<std::vector<std::string>> split_path(std::string_view path);

/// The position at which the first name of a path ends; the name may be quoted.
std::size_t end_of_name(std::string_view path);

/// The position of the first equals sign outside quotes (a quoted name may contain one); npos if
/// there is none.
std::size_t find_equals(std::string_view text);

}  // namespace retrysim::scenario
