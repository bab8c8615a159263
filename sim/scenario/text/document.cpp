// Turns TOML text into `Node` trees, and back.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/document.hpp"

#include "kernel/stop.hpp"
#include "scenario/text/portions.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace retrysim::scenario {
namespace {

// The deepest nesting that is read. No key is deeper; toml++ itself limits nested arrays and inline
// tables to 256 levels.
constexpr int kDeepest = 64;

// The most dots in a name. toml++ puts no limit on dotted names and destroys its tables
// recursively: a name of a hundred thousand parts would overflow the stack. No name of a real
// scenario comes near this many dots.
constexpr std::size_t kMaxDots = 2000;

Place place_of(const toml::source_region& region, int source) {
  return {source, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

class Converter {
 public:
  Converter(int source, std::optional<Place> fixed) : source_(source), fixed_(fixed) {}

  // Converts a value. False if it is nested too deeply; `too_deep` is then its place.
  bool convert(const toml::node& from, Node& to, int depth) {
    to.place = place(from.source());
    values_.count();
    if (depth > kDeepest) {
      too_deep = to.place;
      return false;
    }
    if (const auto* table = from.as_table()) return convert_table(*table, to, depth);
    if (const auto* array = from.as_array()) return convert_array(*array, to, depth);
    if (const auto* text = from.as_string()) {
      to.kind = Node::Kind::kText;
      to.text = text->get();
    } else if (const auto* integer = from.as_integer()) {
      to.kind = Node::Kind::kInteger;
      to.integer = integer->get();
      to.real = static_cast<double>(integer->get());
    } else if (const auto* real = from.as_floating_point()) {
      to.kind = Node::Kind::kReal;
      to.real = real->get();
    } else if (const auto* boolean = from.as_boolean()) {
      to.kind = Node::Kind::kBoolean;
      to.boolean = boolean->get();
    } else {
      to.kind = Node::Kind::kDate;
    }
    return true;
  }

  Place too_deep;

 private:
  bool convert_table(const toml::table& table, Node& to, int depth) {
    to.kind = Node::Kind::kTable;
    for (auto&& [key, value] : table) {
      Member& member = to.members.emplace_back();
      member.name = std::string(key.str());
      member.place = place(key.source());
      if (!convert(value, member.value, depth + 1)) return false;
    }
    // Members are sorted by place, as in the file; toml++ sorts by name.
    std::stable_sort(to.members.begin(), to.members.end(),
                     [](const Member& a, const Member& b) { return a.place < b.place; });
    return true;
  }

  bool convert_array(const toml::array& array, Node& to, int depth) {
    to.kind = Node::Kind::kArray;
    for (const toml::node& value : array) {
      Member& member = to.members.emplace_back();
      if (!convert(value, member.value, depth + 1)) return false;
      member.place = member.value.place;
    }
    return true;
  }

  Place place(const toml::source_region& region) const {
    return fixed_ ? *fixed_ : place_of(region, source_);
  }

  int source_;
  std::optional<Place> fixed_;
  StopCounter<1024> values_;
};

/// The position behind the string that begins at `at`; the end of the text if it does not end.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool multi_line = text.substr(at).starts_with(three);
  const std::string_view close = multi_line ? std::string_view(three) : text.substr(at, 1);
  for (at += close.size(); at < text.size(); ++at) {
    if (text.substr(at).starts_with(close)) return at + close.size();
    if (text[at] == '\n' && !multi_line) return at;
    if (text[at] == '\\' && quote == '"') ++at;
  }
  return text.size();
}

/// The line (from 1) of a name with too many dots. Dots in strings, comments and numbers are
/// ignored.
int line_with_too_many_dots(std::string_view text) {
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots = 0;
    if (c == '.' && ++dots > kMaxDots) {
      return 1 + static_cast<int>(std::count(text.begin(),
                                             text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
    ++at;
  }
  return 0;
}

// Whether a line has text without quotes as its value, such as `jitter = full`. This is the
// commonest slip, which toml++ calls a malformed boolean.
bool looks_like_unquoted_text(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  const std::size_t start = line.find_first_not_of(" \t", equals + 1);
  if (start == std::string_view::npos) return false;
  const auto c = static_cast<unsigned char>(line[start]);
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  if (c < '0' || c > '9') return false;
  // A duration such as 250ms.
  const std::size_t unit = line.find_first_not_of("0123456789._ ", start);
  return unit != std::string_view::npos && line[unit] >= 'a' && line[unit] <= 'z';
}

}  // namespace

const Member* Node::find(std::string_view name) const {
  constexpr std::size_t kMany = 256;
  if (members.size() > kMany) stop_point();  // each member may be looked for
  const auto it =
      std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.name == name; });
  return kind == Kind::kTable && it != members.end() ? &*it : nullptr;
}

Member* Node::find(std::string_view name) {
  return const_cast<Member*>(std::as_const(*this).find(name));
}

std::string_view describe(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kTable:
      return "a table";
    case Node::Kind::kArray:
      return "a list";
    case Node::Kind::kText:
      return "text";
    case Node::Kind::kInteger:
      return "a whole number";
    case Node::Kind::kReal:
      return "a number";
    case Node::Kind::kBoolean:
      return "true or false";
    case Node::Kind::kDate:
      return "a date or time";
  }
  return "";
}

std::optional<Node> parse_document(const Sources& sources, int source, Problems& problems) {
  const std::string_view text = sources.text(source);
  if (const int line = line_with_too_many_dots(text)) {
    problems.add({source, line, 1}, "not a scenario: a name has more than " +
                                        std::to_string(kMaxDots) + " dots; expected TOML");
    return std::nullopt;
  }
  try {
    PortionedStream stream(text);
    const toml::table table = toml::parse(stream, std::string_view());
    Converter converter(source, std::nullopt);
    Node root;
    if (converter.convert(table, root, 0)) return root;
    problems.add(converter.too_deep,
                 "nested too deeply; no key has more than " + std::to_string(kDeepest) + " levels");
  } catch (const toml::parse_error& e) {
    stop_point();  // toml++ makes a parse_error of `Interrupted`
    const Place place = place_of(e.source(), source);
    constexpr std::size_t kLongest = 160;  // the message may quote a name of any length
    std::string message = "not valid TOML: " + std::string(e.description().substr(0, kLongest));
    message += looks_like_unquoted_text(sources.line(source, place.line))
                   ? "; text and durations are written in quotes: key = \"value\""
                   : "; expected lines such as key = \"value\" and [table]";
    problems.add(place, std::move(message));
  }
  return std::nullopt;
}

std::optional<Node> parse_value(std::string_view text, Place place) {
  if (text.find('\n') != std::string_view::npos || line_with_too_many_dots(text) != 0) {
    return std::nullopt;
  }
  try {
    const std::string line = "value = " + std::string(text);
    const toml::table table = toml::parse(std::string_view(line), std::string_view());
    Converter converter(place.source, place);
    Node node;
    if (!converter.convert(*table.get("value"), node, 0)) return std::nullopt;
    return node;
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

std::string render_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string result(buffer, end);
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

std::string render_text(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    if (character == "\"" || character == "\\") result += '\\';
    if (is_printable(character) || !is_character(character)) {
      result += character;
    } else {
      fmt::format_to(std::back_inserter(result), "\\u{:04X}",
                     static_cast<std::uint32_t>(code_point(character)));
    }
    text.remove_prefix(character.size());
  }
  return result + "\"";
}

bool is_bare_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

std::string render_name(std::string_view name) {
  return is_bare_name(name) ? std::string(name) : render_text(name);
}

std::string render(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kText:
      return render_text(node.text);
    case Node::Kind::kInteger:
      return std::to_string(node.integer);
    case Node::Kind::kReal:
      return render_number(node.real);
    case Node::Kind::kBoolean:
      return node.boolean ? "true" : "false";
    case Node::Kind::kDate:
      return "";
    case Node::Kind::kTable:
    case Node::Kind::kArray:
      break;
  }
  const bool table = node.is_table();
  std::string inside;
  for (const Member& member : node.members) {
    if (!inside.empty()) inside += ", ";
    if (table) inside += render_name(member.name) + " = ";
    inside += render(member.value);
  }
  if (table) return inside.empty() ? "{}" : "{ " + inside + " }";
  return "[" + inside + "]";
}

std::string shown_value(std::string_view typed) {
  const bool quoted = typed.size() > 2 && (typed.front() == '"' || typed.front() == '\'') &&
                      typed.back() == typed.front();
  if (!quoted) return std::string(typed);
  const std::string_view inside = typed.substr(1, typed.size() - 2);
  const bool plain = std::all_of(inside.begin(), inside.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:").find(c) != std::string_view::npos;
  });
  return std::string(plain ? inside : typed);
}

std::size_t find_equals(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && c == '=') return i;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
  }
  return std::string_view::npos;
}

std::size_t end_of_name(std::string_view path) {
  const bool quoted = path.starts_with('"') || path.starts_with('\'');
  const std::size_t end_of_quotes = quoted ? path.find(path.front(), 1) : 0;
  return std::min(path.find('.', std::min(end_of_quotes, path.size())), path.size());
}

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> names;
  std::size_t i = 0;
  while (true) {
    std::string name;
    if (i < path.size() && (path[i] == '"' || path[i] == '\'')) {
      const std::size_t end = path.find(path[i], i + 1);
      if (end == std::string_view::npos) return std::nullopt;
      name = path.substr(i + 1, end - i - 1);
      i = end + 1;
    } else {
      const std::size_t end = std::min(path.find('.', i), path.size());
      name = path.substr(i, end - i);
      if (name != "*" && !is_bare_name(name)) {
        // An error answer such as 503:SlowDown is accepted bare: a shell has eaten the quotes.
        const bool answer = name.find_first_of(" \t=[]{}\"'") == std::string::npos && !name.empty();
        if (!answer) return std::nullopt;
      }
      i = end;
    }
    names.push_back(std::move(name));
    if (i == path.size()) return names;
    if (path[i] != '.') return std::nullopt;
    ++i;
  }
}

}  // namespace retrysim::scenario
