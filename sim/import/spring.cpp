// Reads a configuration in the order in which Spring does it: documents, flat names into nested
// ones, profiles, placeholders. docs.spring.io/spring-boot/reference/features/external-config.html.
//
// SPDX-License-Identifier: MIT
#include "import/spring.hpp"

#include <retrysim/import.hpp>

#include "import/reading.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace retrysim::imports {

namespace {

[[noreturn]] void fail(const std::string& file, int line, int column, const std::string& what) {
  throw BadConfiguration(
      {.file = file, .line = line, .column = column, .message = what, .source_line = {}});
}

// --- Properties ----------------------------------------------------------------------------------

/// Whether a text is a list of properties: in the first line with content an equals sign comes
/// before any colon.
bool is_properties(const std::string& file, std::string_view text) {
  if (file.ends_with(".properties")) return true;
  while (!text.empty()) {
    const std::string_view line = plain_text(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), text.find('\n')));
    if (!text.empty()) text.remove_prefix(1);
    if (line.empty() || line.front() == '#' || line.front() == '!') continue;
    const std::size_t mark = line.find_first_of("=: {[");
    return mark != std::string_view::npos && mark > 0 &&
           plain_text(line.substr(mark)).starts_with('=');
  }
  return false;
}

/// The characters of a text with escapes such as \t and \u0041.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    const char c = text[++i];
    unsigned code = 0;
    if (c == 'u' && i + 4 < text.size() + 0 &&
        std::from_chars(text.data() + i + 1, text.data() + i + 5, code, 16).ptr ==
            text.data() + i + 5 &&
        code < 0x80) {
      plain += static_cast<char>(code);
      i += 4;
    } else {
      plain += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return plain;
}

/// Reads java.util.Properties as maps from whole names to texts; `#---` begins another document.
Tree read_properties(const std::string& file, std::string_view text) {
  Tree tree;
  Value* document = nullptr;
  std::set<std::string> names;
  const auto begin = [&] {
    document = &tree.add();
    document->kind = Value::Kind::kMap;
    tree.documents.push_back(document);
    names.clear();
  };
  begin();
  for (int number = 1; !text.empty(); ++number) {
    stop_point();
    const int first = number;
    std::string line;
    for (bool goes_on = true; goes_on && !text.empty();) {
      std::string_view part = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), part.size() + 1));
      part = plain_text(part);
      std::size_t slashes = 0;
      while (slashes < part.size() && part[part.size() - 1 - slashes] == '\\') ++slashes;
      const bool is_comment = line.empty() && (part.starts_with('#') || part.starts_with('!'));
      goes_on = slashes % 2 == 1 && !is_comment;
      if (goes_on) {
        part.remove_suffix(1);
        ++number;
      }
      line += part;
    }
    if (line == "#---" || line == "!---") begin();
    if (line.empty() || line.front() == '#' || line.front() == '!') continue;
    std::size_t end = 0;
    while (end < line.size() && line[end] != '=' && line[end] != ':' && line[end] != ' ' &&
           line[end] != '\t') {
      end += line[end] == '\\' ? 2 : 1;
    }
    end = std::min(end, line.size());
    std::string name = unescaped(std::string_view(line).substr(0, end));
    std::string_view value = plain_text(std::string_view(line).substr(end));
    if (value.starts_with('=') || value.starts_with(':')) value = plain_text(value.substr(1));
    constexpr std::size_t kLongestName = 512;
    if (name.size() > kLongestName) fail(file, first, 1, "the name is too long");
    if (!names.insert(name).second) {
      fail(file, first, 1,
           fmt::format("{} is given twice; leave one of them", scenario::printable_line(name)));
    }
    document->members.push_back(
        {std::move(name), &tree.add_text(unescaped(value), first, 1), first, 1});
  }
  return tree;
}

// --- Numbers of YAML 1.1 -------------------------------------------------------------------------

/// A number as others write it, if the text is one of YAML 1.1: 10_000, 010 (8), 0x1F, 0b101, 1:30
/// (90); else the text itself. SnakeYAML, Resolver.INT and FLOAT, SafeConstructor.ConstructYamlInt.
std::string as_plain_number(const std::string& text) {
  std::string sign, digits;
  for (const char c : text) {
    if (c == '_') continue;
    ((c == '-' || c == '+') && digits.empty() && sign.empty() ? sign : digits) += c;
  }
  if (digits.empty() || text.front() == '_') return text;
  const auto are_all = [](std::string_view some, std::string_view known) {
    return !some.empty() && some.find_first_not_of(known) == std::string_view::npos;
  };
  const auto number = [&](double value) {
    return value < 1e15 ? fmt::format("{}{:.0f}", sign == "-" ? "-" : "", value) : text;
  };
  const auto in_base = [&](std::string_view some, int base) {
    double value = 0;
    for (const char c : some) {
      const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      value = value * base + digit;
    }
    return number(value);
  };
  const std::string_view all = digits;
  if (all.starts_with("0b") && are_all(all.substr(2), "01")) return in_base(all.substr(2), 2);
  if (all.starts_with("0x") && are_all(all.substr(2), "0123456789abcdefABCDEF")) {
    return in_base(all.substr(2), 16);
  }
  if (all.size() > 1 && all.front() == '0' && are_all(all, "01234567")) return in_base(all, 8);
  if (all.front() < '1' || all.front() > '9') return text;
  if (all.find(':') != std::string_view::npos && are_all(all, "0123456789:")) {
    double value = 0;
    bool is_first = true;
    for (std::string_view rest = all;; is_first = false) {
      const std::string_view part = rest.substr(0, rest.find(':'));
      const std::optional<double> one = number_in(part);
      if (!one || (!is_first && (part.size() > 2 || *one >= 60))) return text;
      value = value * 60 + *one;
      if (part.size() == rest.size()) break;
      rest.remove_prefix(part.size() + 1);
    }
    return number(value);
  }
  const bool is_number = are_all(all, "0123456789.") && all.find('.') == all.rfind('.');
  return is_number && text.find('_') != std::string::npos ? sign + digits : text;
}

// --- Nested names --------------------------------------------------------------------------------

/// The parts of a name: a, b, 0, c for "a.b[0].c". Parts in brackets may contain dots.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  std::string part;
  const auto end = [&] {
    if (!part.empty()) parts.push_back(std::move(part));
    part.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.') {
      end();
    } else if (const std::size_t close = name.find(']', i);
               name[i] == '[' && close != std::string_view::npos) {
      end();
      parts.emplace_back(name.substr(i + 1, close - i - 1));
      i = close;
    } else {
      part += name[i];
    }
  }
  end();
  if (parts.empty()) parts.emplace_back(name);
  return parts;
}

/// Builds one document out of several.
class Joined {
 public:
  Joined(Tree& tree, std::string file) : tree_(tree), file_(std::move(file)) {
    root_ = &map_at(1, 1);
  }

  /// Adds the members of `document`, which replace earlier ones.
  void add(const Value& document) {
    if (document.kind != Value::Kind::kMap) return;
    ++document_;
    put_members(*root_, document, 0);
  }

  const Value* root() const { return root_; }

 private:
  Value& map_at(int line, int column) {
    Value value;
    value.kind = Value::Kind::kMap;
    value.line = line;
    value.column = column;
    Value& added = tree_.add(std::move(value));
    own_[&added] = &added;
    return added;
  }

  void put_members(Value& into, const Value& map, int depth) {
    for (const Value::Member& m : map.members) put(into, parts_of(m.name), 0, m, depth);
  }

  /// A member of a map that was made here.
  struct Known {
    std::size_t place;
    int begun;     // number of the document that had it first
    int said = 0;  // number of the document that gave its last value
  };
  struct Names {
    std::map<std::string, Known> exact;
    std::map<std::string, std::string> plain;  // plain names, to the exact ones
  };

  /// The member that the name means: one of the same spelling, or, in an earlier document, of the
  /// same letters; otherwise a new one.
  Known& known(Value& map, const std::string& name, const Value::Member& from) {
    Names& names = names_[&map];
    if (const auto same = names.exact.find(name); same != names.exact.end()) return same->second;
    const auto [alike, is_new] = names.plain.try_emplace(plain_name(name), name);
    if (!is_new) {
      Known& earlier = names.exact.at(alike->second);
      if (earlier.begun < document_) return earlier;
    }
    map.members.push_back({name, nullptr, from.line, from.column});
    return names.exact.emplace(name, Known{map.members.size() - 1, document_}).first->second;
  }

  void put(Value& into, const std::vector<std::string>& parts, std::size_t at,
           const Value::Member& member, int depth) {
    stop_point();
    if (depth > kMaxDepth) {
      fail(file_, member.line, member.column,
           fmt::format("nested too deeply: more than {} levels", kMaxDepth));
    }
    const bool is_last = at + 1 == parts.size();
    const bool is_map = !is_last || member.value->kind == Value::Kind::kMap;
    Known& its = known(into, parts[at], member);
    Value::Member& place = into.members[its.place];
    if (!is_map) {
      if (its.said == document_) {
        fail(file_, member.line, member.column,
             fmt::format("{} is given twice; leave one of them",
                         scenario::printable_line(member.name)));
      }
      its.said = document_;
      place.value = member.value;
      place.line = member.line;
      place.column = member.column;
      return;
    }
    Value* below = place.value == nullptr ? nullptr : own(place.value);
    if (below == nullptr) {
      below = &map_at(member.value->line, member.value->column);
      place.value = below;
    }
    if (is_last) {
      put_members(*below, *member.value, depth + 1);
    } else {
      put(*below, parts, at + 1, member, depth + 1);
    }
  }

  Value* own(const Value* value) {
    const auto found = own_.find(value);
    return found == own_.end() ? nullptr : found->second;
  }

  Tree& tree_;
  std::string file_;
  Value* root_;
  int document_ = 0;
  std::map<const Value*, Value*> own_;   // maps made here, which may change
  std::map<const Value*, Names> names_;  // names of the members of those maps
};

// --- Profiles ------------------------------------------------------------------------------------

/// An expression such as "prod & (eu | us)" or "!dev", and whether it holds if only the profile
/// `active` is on.
class ProfileExpression {
 public:
  ProfileExpression(std::string_view text, std::string_view active)
      : rest_(text), active_(active) {}
  bool holds() { return any(); }
  /// The names in an expression, in order.
  static std::vector<std::string> names(std::string_view text) {
    std::vector<std::string> all;
    std::string name;
    for (const char c : std::string(text) + " ") {
      if (std::string_view(" ,|&!()\t\n").find(c) == std::string_view::npos) {
        name += c;
      } else if (!name.empty()) {
        all.push_back(std::exchange(name, {}));
      }
    }
    return all;
  }

 private:
  bool any() {
    bool result = all();
    while (take('|') || take(',')) result = all() || result;
    return result;
  }
  bool all() {
    bool result = one();
    while (take('&')) result = one() && result;
    return result;
  }
  bool one() {
    if (++depth_ > kMaxDepth) return false;
    if (take('!')) return !one();
    if (take('(')) {
      const bool result = any();
      take(')');
      return result;
    }
    rest_ = plain_text(rest_);
    const std::size_t end = std::min(rest_.find_first_of(" ,|&!()\t"), rest_.size());
    const bool result = rest_.substr(0, end) == active_;
    rest_.remove_prefix(end);
    return result;
  }
  bool take(char mark) {
    rest_ = plain_text(rest_);
    if (!rest_.starts_with(mark)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view rest_, active_;
  int depth_ = 0;
};

/// The profile expression under which a document holds; empty: always.
std::string condition_of(const Value& document, Reading& reading) {
  Tree scratch;
  Joined joined(scratch, reading.file);
  joined.add(document);
  const Field root(joined.root(), "", reading);
  std::string text;
  for (const char* path : {"spring.config.activate.on-profile", "spring.profiles"}) {
    const Field f = root.at(path);
    if (f.is_text()) text += f.plain();
    for (const Field& item : f.items())
      text += (text.empty() ? "" : ",") + std::string(item.plain());
    if (!text.empty()) return text;
  }
  return text;
}

// --- Placeholders --------------------------------------------------------------------------------

/// Fills in placeholders ${NAME:default}, where NAME may be a property of the file, and reads
/// numbers of YAML 1.1. Placeholders without property and default stay.
class Placeholders {
 public:
  Placeholders(Tree& tree, std::string file, const Value* root)
      : tree_(tree), file_(std::move(file)), reading_(file_), root_(root, "", reading_) {}

  /// The value with all placeholders in it filled in.
  const Value* filled(const Value* value) {
    stop_point();
    if (value->kind == Value::Kind::kText) {
      if (value->is_plain) {
        if (std::string number = as_plain_number(value->text); number != value->text) {
          return &tree_.add_text(std::move(number), value->line, value->column);
        }
      }
      if (value->text.find("${") == std::string::npos) return value;
      std::string text = fill(value->text, *value, 0);
      Value& made = tree_.add_text(std::move(text), value->line, value->column);
      made.written = value->text;
      return &made;
    }
    if (value->members.empty()) return value;
    std::vector<Value::Member> members = value->members;
    const bool is_list = value->kind == Value::Kind::kMap && has_numbers(members);
    bool changed = is_list;
    for (Value::Member& m : members) {
      const Value* its = filled(m.value);
      changed = changed || its != m.value;
      m.value = its;
    }
    if (!changed) return value;
    Value copy;
    copy.kind = is_list ? Value::Kind::kList : value->kind;
    copy.line = value->line;
    copy.column = value->column;
    copy.members = std::move(members);
    return &tree_.add(std::move(copy));
  }

 private:
  /// Whether all names are numbers, as from a[0] and a[1]; the members are then sorted.
  static bool has_numbers(std::vector<Value::Member>& members) {
    for (const Value::Member& m : members) {
      constexpr std::size_t kMaxDigits = 6;
      if (m.name.empty() || m.name.size() > kMaxDigits ||
          m.name.find_first_not_of("0123456789") != std::string::npos) {
        return false;
      }
    }
    std::ranges::sort(members, [](const Value::Member& a, const Value::Member& b) {
      return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
    });
    return true;
  }

  std::string fill(std::string_view text, const Value& at, int depth) {
    constexpr int kMaxReferences = 20;
    constexpr std::size_t kMaxBytes = 1 << 20;
    if (depth > kMaxReferences) {
      fail(file_, at.line, at.column, "these placeholders stand for each other without end");
    }
    std::string result;
    while (!text.empty()) {
      const std::size_t begin = text.find("${");
      result += text.substr(0, begin);
      if (begin == std::string_view::npos) break;
      const std::size_t end = end_of(text, begin);
      if (end == std::string_view::npos) return result + std::string(text.substr(begin));
      const std::string_view inside = text.substr(begin + 2, end - begin - 2);
      text.remove_prefix(end + 1);
      std::size_t colon = std::min(inside.find(':'), inside.size());
      if (const std::size_t nested = inside.find("${"); nested < colon) {
        colon = std::min(inside.find(':', end_of(inside, nested)), inside.size());
      }
      const std::string name(plain_text(inside.substr(0, colon)));
      const Field property = root_.at(name);
      if (property.is_text()) {
        result += fill(property.plain(), at, depth + 1);
      } else if (colon < inside.size()) {
        result += fill(inside.substr(colon + 1), at, depth + 1);
      } else {
        result += fmt::format("${{{}}}", inside);
      }
      written_ += result.size();
      if (written_ > kMaxBytes) {
        fail(file_, at.line, at.column, "these placeholders stand for more than 1 MiB of text");
      }
    }
    return result;
  }
  /// The position at which the brace that begins at `begin` ends.
  static std::size_t end_of(std::string_view text, std::size_t begin) {
    int open = 0;
    for (std::size_t i = begin; i < text.size(); ++i) {
      if (text[i] == '{') ++open;
      if (text[i] == '}' && --open == 0) return i;
    }
    return std::string_view::npos;
  }

  Tree& tree_;
  std::string file_;
  Reading reading_;
  Field root_;
  std::size_t written_ = 0;
};

}  // namespace

Tree read_spring(const std::string& file, std::string_view text, std::vector<std::string>& names) {
  Tree tree = is_properties(file, text) ? read_properties(file, text) : read_yaml(file, text);
  const std::vector<const Value*> documents = std::exchange(tree.documents, {});
  Reading reading(file);
  std::vector<std::string> conditions;
  std::vector<std::string> profiles = {""};
  for (const Value* document : documents) {
    conditions.push_back(condition_of(*document, reading));
    for (std::string& name : ProfileExpression::names(conditions.back())) {
      if (std::ranges::count(profiles, name) == 0) profiles.push_back(std::move(name));
    }
  }
  constexpr std::size_t kMaxProfiles = 50;
  if (profiles.size() > kMaxProfiles + 1) {
    fail(file, 0, 0, fmt::format("it has more than {} profiles; import it in parts", kMaxProfiles));
  }
  for (const std::string& profile : profiles) {
    Joined joined(tree, file);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const std::string& condition = conditions[i];
      if (condition.empty() || ProfileExpression(condition, profile).holds()) {
        joined.add(*documents[i]);
      }
    }
    tree.documents.push_back(Placeholders(tree, file, joined.root()).filled(joined.root()));
    names.push_back(profile.empty() ? "" : "profile " + profile);
  }
  return tree;
}

}  // namespace retrysim::imports
