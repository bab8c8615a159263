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
  std::string raw;              ///< an edit's value as typed: `2.0` may be meant as text
  std::vector<Member> members;  ///< of a table or (without names) an array

  bool is_table() const { return kind == Kind::kTable; }
  bool is_text() const { return kind == Kind::kText; }
  const Member* find(std::string_view name) const;
  Member* find(std::string_view name);
};

struct Member {
  std::string name;
  Place place;  ///< of the name
  Node value;
};

/// "a table", "text", "a whole number": for messages.
std::string_view describe(Node::Kind kind);

/// Parses TOML. A syntax error goes to `problems` and yields nothing.
std::optional<Node> parse_document(const Sources& sources, int source, Problems& problems);

/// Parses one TOML value, such as a default or the right side of an edit; nothing if it is not one.
/// Places are those of the whole value.
std::optional<Node> parse_value(std::string_view text, Place place);

/// The value as TOML on one line; reading it back gives the same value.
std::string render(const Node& node);

/// `text` as a TOML string, and `name` as a TOML key (quoted only if it must be).
std::string render_text(std::string_view text);
std::string render_name(std::string_view name);
/// The shortest TOML number that reads back as `value`; always a float.
std::string render_number(double value);

/// A value as someone typed it, for people: text that could not be mistaken without its quotes.
std::string shown_value(std::string_view typed);

/// Whether `name` may be written without quotes: letters, digits, `_` and `-`.
bool is_bare_name(std::string_view name);

/// The names on a dotted path; quoted ones may contain dots. Nothing if the path is malformed.
std::optional<std::vector<std::string>> split_path(std::string_view path);

/// Where the first name of a path ends, which may be quoted.
std::size_t end_of_name(std::string_view path);

/// Where the first equals sign outside quotes stands (a quoted name may contain one); npos if there
/// is none.
std::size_t find_equals(std::string_view text);

}  // namespace retrysim::scenario
