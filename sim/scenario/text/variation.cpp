// Reads --vary, and builds the grid of variants.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario.hpp>

#include "kernel/stop.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/problems.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace retrysim {
namespace {

using scenario::in_quotes;

constexpr std::size_t kMaxVariants = 10'000'000;
constexpr std::string_view kForm =
    "expected PATH=V1,V2,... or PATH=LO:HI:STEP, such as client.web.count=10,20";

/// A part of the argument, with its place.
struct Piece {
  std::string_view text;
  std::size_t at = 0;  ///< offset in the argument
};

Piece trimmed(Piece piece) {
  while (piece.text.starts_with(' ')) {
    piece.text.remove_prefix(1);
    ++piece.at;
  }
  while (piece.text.ends_with(' ')) piece.text.remove_suffix(1);
  return piece;
}

/// A mistake, thrown and caught inside this file only.
struct Mistake {
  std::size_t at;
  std::string message;
};

/// Follows quotes and brackets through a text, character by character.
class Nesting {
 public:
  /// Whether `c`, at `at`, is outside of all quotes and brackets. Throws Mistake.
  bool outside(char c, std::size_t at) {
    if (quote_ != 0) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\' && quote_ == '"') {
        escaped_ = true;
      } else if (c == quote_) {
        quote_ = 0;
      }
      return false;
    }
    if (c == '"' || c == '\'') {
      quote_ = c;
      quote_at_ = at;
      return false;
    }
    if (c == '(' || c == '[' || c == '{') {
      open_.push_back({c, at});
      return false;
    }
    if (c == ')' || c == ']' || c == '}') {
      const char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open_.empty() || open_.back().first != opening) {
        throw Mistake{at, fmt::format("\"{}\" closes nothing", c)};
      }
      open_.pop_back();
      return false;
    }
    return open_.empty();
  }

  void check_end() const {
    if (quote_ != 0) throw Mistake{quote_at_, "this quote is not closed"};
    if (!open_.empty()) {
      throw Mistake{open_.back().second,
                    fmt::format("this \"{}\" is not closed", open_.back().first)};
    }
  }

 private:
  std::vector<std::pair<char, std::size_t>> open_;
  char quote_ = 0;
  std::size_t quote_at_ = 0;
  bool escaped_ = false;
};

/// The parts of `piece` between separators outside quotes and brackets.
std::vector<Piece> split(Piece piece, char separator) {
  std::vector<Piece> parts;
  Nesting nesting;
  std::size_t from = 0;
  for (std::size_t i = 0; i < piece.text.size(); ++i) {
    if (!nesting.outside(piece.text[i], piece.at + i) || piece.text[i] != separator) continue;
    parts.push_back(trimmed({piece.text.substr(from, i - from), piece.at + from}));
    from = i + 1;
  }
  nesting.check_end();
  parts.push_back(trimmed({piece.text.substr(from), piece.at + from}));
  return parts;
}

class VariationReader {
 public:
  explicit VariationReader(std::string_view text) : text_(text) { variation_.text = text; }

  Variation read() {
    const std::size_t equals = scenario::find_equals(text_);
    if (equals == std::string_view::npos) {
      throw Mistake{0, in_quotes(text_) + " varies nothing; " + std::string(kForm)};
    }
    read_paths({text_.substr(0, equals), 0});
    const Piece values{text_.substr(equals + 1), equals + 1};
    if (trimmed(values).text.empty()) {
      throw Mistake{equals + 1, "no values; " + std::string(kForm)};
    }
    for (const Piece& item : split(values, ',')) read_item(item);
    return std::move(variation_);
  }

 private:
  void read_paths(Piece left) {
    for (const Piece& path : split(left, ',')) {
      if (path.text.empty()) throw Mistake{path.at, "a path is missing; " + std::string(kForm)};
      if (!scenario::split_path(path.text)) {
        throw Mistake{path.at,
                      in_quotes(path.text) + " is not a path; expected names with dots between"};
      }
      auto& paths = variation_.paths;
      if (std::find(paths.begin(), paths.end(), path.text) != paths.end()) {
        throw Mistake{path.at, in_quotes(path.text) + " is named twice"};
      }
      paths.emplace_back(path.text);
    }
  }

  void read_item(Piece item) {
    if (item.text.empty()) {
      throw Mistake{item.at, "a value is missing; values are separated by single commas"};
    }
    if (item.text.front() == '(') return read_tuple(item);
    const std::size_t paths = variation_.paths.size();
    if (paths > 1) {
      throw Mistake{item.at, fmt::format("{} gives one value for {} keys; expected {} values in "
                                         "parentheses",
                                         in_quotes(item.text), paths, paths)};
    }
    const std::vector<Piece> parts = split(item, ':');
    if (parts.size() == 1 || !scenario::is_range_end(parts[0].text)) return add(item, {item.text});
    if (parts.size() != 3) {
      throw Mistake{item.at,
                    in_quotes(item.text) + " is not a range; expected LO:HI:STEP or LO:HI:*N"};
    }
    const auto range = scenario::range_values(parts[0].text, parts[1].text, parts[2].text);
    if (!range.error.empty()) throw Mistake{parts[range.part].at, range.error};
    for (const std::string& value : range.values) add(item, {value});
  }

  void read_tuple(Piece item) {
    if (item.text.back() != ')') {
      throw Mistake{item.at, in_quotes(item.text) + " is not a list of values in parentheses"};
    }
    const Piece inside{item.text.substr(1, item.text.size() - 2), item.at + 1};
    std::vector<std::string_view> values;
    for (const Piece& value : split(inside, ',')) {
      if (value.text.empty()) throw Mistake{value.at, "a value is missing in the parentheses"};
      values.push_back(value.text);
    }
    const std::size_t paths = variation_.paths.size();
    if (values.size() != paths) {
      throw Mistake{item.at, fmt::format("{} has {} value{} for {} key{}", in_quotes(item.text),
                                         values.size(), values.size() == 1 ? "" : "s", paths,
                                         paths == 1 ? "" : "s")};
    }
    add(item, values);
  }

  void add(Piece item, const std::vector<std::string_view>& values) {
    std::vector<std::string> choice, name;
    for (const std::string_view value : values) {
      choice.emplace_back(value);
      name.push_back(scenario::shown_value(choice.back()));
    }
    if (!seen_.insert(std::move(name)).second) {
      throw Mistake{item.at, in_quotes(values.size() == 1 ? values[0] : item.text) +
                                 " comes twice; every choice must be different"};
    }
    variation_.choices.push_back(std::move(choice));
  }

  std::string_view text_;
  Variation variation_;
  std::set<std::vector<std::string>> seen_;
};

/// A mistake as a diagnostic, with the argument as its source.
Diagnostic diagnostic(std::string_view text, const Mistake& mistake) {
  scenario::Sources sources;
  scenario::Problems problems(sources);
  const int source = sources.add(std::string(scenario::kVaryFile), std::string(text));
  const std::string_view before = text.substr(0, mistake.at);
  const auto column = 1 + std::count_if(before.begin(), before.end(), [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                      });
  problems.add({source, 0, static_cast<int>(column)}, mistake.message);
  return problems.diagnostics().front();
}

/// The last `count` names of a path; empty if it has fewer.
std::optional<std::string> ending(const std::vector<std::string>& names, std::size_t count) {
  if (count > names.size()) return std::nullopt;
  std::string result;
  for (std::size_t i = names.size() - count; i < names.size(); ++i) {
    if (!result.empty()) result += '.';
    result += names[i] == "*" ? names[i] : scenario::render_name(names[i]);
  }
  return result;
}

}  // namespace

VariationResult parse_variation(std::string_view text) {
  VariationResult result;
  try {
    result.variation = VariationReader(text).read();
  } catch (const Mistake& mistake) {
    result.error = diagnostic(text, mistake);
  }
  return result;
}

VariationsResult parse_variations(std::span<const std::string> texts) {
  VariationsResult result;
  std::set<std::string> paths;
  for (const std::string& text : texts) {
    VariationResult one = parse_variation(text);
    if (one.error) {
      result.errors.push_back(*std::move(one.error));
      continue;
    }
    for (const std::string& path : one.variation->paths) {
      if (paths.insert(path).second) continue;
      const std::string message = in_quotes(path) + " is varied twice; give all its values at once";
      result.errors.push_back(diagnostic(text, {0, message}));
    }
    result.variations.push_back(*std::move(one.variation));
  }
  return result;
}

std::vector<std::string> short_names(std::span<const std::string> paths) {
  std::vector<std::vector<std::string>> names;
  for (const std::string& path : paths) {
    const auto split = scenario::split_path(path);
    names.push_back(split ? *split : std::vector<std::string>{path});
  }
  std::vector<std::string> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto is_unique = [&](std::size_t count) {
      for (std::size_t j = 0; j < names.size(); ++j) {
        if (j != i && ending(names[j], count) == ending(names[i], count)) return false;
      }
      return true;
    };
    std::size_t count = 1;
    while (count < names[i].size() && !is_unique(count)) ++count;
    result.push_back(*ending(names[i], count));
  }
  return result;
}

namespace {

/// The name of each value of one key in the names of variants. A table is named by the first
/// members that tell it from the other tables; "..." stands for the rest.
std::map<std::string, std::string> names_of_values(const std::set<std::string>& values) {
  std::map<std::string, std::string> names;
  std::map<std::string, std::vector<std::string>> tables;  // members of each table, as texts
  for (const std::string& value : values) {
    names[value] = scenario::shown_value(value);
    const auto node = scenario::parse_value(value, {});
    if (!node || !node->is_table()) continue;
    std::vector<std::string>& members = tables[value];
    for (const auto& m : node->members) {
      members.push_back(scenario::render_name(m.name) + "=" +
                        scenario::shown_value(scenario::render(m.value)));
    }
  }
  for (const auto& [value, members] : tables) {
    std::vector<const std::vector<std::string>*> alike;
    for (const auto& [other, others] : tables) {
      if (other != value) alike.push_back(&others);
    }
    const auto tells = [&](const std::string& member) {
      return std::ranges::count_if(
          alike, [&](const auto* others) { return std::ranges::count(*others, member) == 0; });
    };
    // The only table among the values is named by its first member.
    std::vector<std::string> kept;
    if (alike.empty() && !members.empty()) kept.push_back(members.front());
    while (!alike.empty()) {
      const auto best = std::ranges::max_element(members, {}, tells);
      if (best == members.end() || tells(*best) == 0) break;
      kept.push_back(*best);
      std::erase_if(
          alike, [&](const auto* others) { return std::ranges::count(*others, kept.back()) == 0; });
    }
    // A table whose members another one has too cannot be told apart: it is named by all members.
    if (!alike.empty()) kept = members;
    // A comma would break a column of CSV.
    names[value] =
        fmt::format("{{{}{}}}", fmt::join(kept, ";"), kept.size() < members.size() ? "..." : "");
  }
  std::map<std::string, int> uses;
  for (const auto& [value, name] : names) ++uses[name];
  for (auto& [value, name] : names) {
    if (uses[name] > 1) name = scenario::shown_value(value);
  }
  return names;
}

std::size_t grid_size(std::span<const Variation> variations) {
  std::size_t size = 1;
  for (const Variation& v : variations) {
    if (v.choices.size() > kMaxVariants / std::max<std::size_t>(size, 1)) {
      throw GridTooLarge(fmt::format("the grid has more than {} combinations", kMaxVariants));
    }
    size *= v.choices.size();
  }
  return size;
}

}  // namespace

double grid_bytes(std::span<const Variation> variations) {
  constexpr double kGrowth = 2;  // capacity of growing vectors over their size
  double each = sizeof(Variant);
  for (const Variation& v : variations) {
    for (std::size_t p = 0; p < v.paths.size(); ++p) {
      double length = 0;
      for (const auto& choice : v.choices) length += static_cast<double>(choice[p].size());
      length /= static_cast<double>(std::max<std::size_t>(v.choices.size(), 1));
      // Each variant has an edit and a value, with their texts, and the value once more in its
      // name, behind its label.
      const auto path = static_cast<double>(v.paths[p].size());
      each += 2 * kGrowth * sizeof(std::string) + 1.5 * path + 3 * length;
    }
  }
  return static_cast<double>(grid_size(variations)) * each;
}

std::vector<Variant> grid(std::span<const Variation> variations) {
  const std::size_t size = grid_size(variations);
  std::vector<std::string> paths;
  for (const Variation& v : variations) {
    paths.insert(paths.end(), v.paths.begin(), v.paths.end());
  }
  const std::vector<std::string> labels = short_names(paths);
  std::vector<std::map<std::string, std::string>> names;  // names of values, for each path
  for (const Variation& v : variations) {
    for (std::size_t p = 0; p < v.paths.size(); ++p) {
      std::set<std::string> values;
      for (const auto& choice : v.choices) {
        if (choice[p].starts_with('{')) values.insert(choice[p]);
      }
      names.push_back(names_of_values(values));
    }
  }
  std::vector<Variant> variants(size);
  StopCounter<> stop;
  for (std::size_t i = 0; i < size; ++i) {
    stop.count();
    Variant& variant = variants[i];
    std::size_t block = size;
    for (const Variation& v : variations) {
      block /= v.choices.size();
      const std::vector<std::string>& choice = v.choices[i / block % v.choices.size()];
      for (std::size_t p = 0; p < v.paths.size(); ++p) {
        variant.edits.push_back(v.paths[p] + "=" + choice[p]);
        const std::size_t key = variant.values.size();
        variant.values.push_back(scenario::shown_value(choice[p]));
        if (!variant.name.empty()) variant.name += ' ';
        const auto name = names[key].find(choice[p]);
        variant.name +=
            labels[key] + "=" + (name == names[key].end() ? variant.values.back() : name->second);
      }
    }
    if (variant.name.empty()) variant.name = "base";
  }
  return variants;
}

}  // namespace retrysim
