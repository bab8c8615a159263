// SPDX-License-Identifier: MIT
#include "scenario/text/changes.hpp"

#include "scenario/keys/keys.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace retrysim::scenario {

namespace {

/// Whether two values mean the same. `revision = "2.0"` and the edit `revision=2.0` do, and the
/// order of a table's members does not matter.
bool says_the_same(const Node& file, const Node& edited) {
  if (!file.is_table() || !edited.is_table()) {
    return (file.is_text() && file.text == edited.raw) || same_value(render(file), render(edited));
  }
  return file.members.size() == edited.members.size() &&
         std::all_of(file.members.begin(), file.members.end(), [&](const Member& member) {
           const Member* other = edited.find(member.name);
           return other != nullptr && says_the_same(member.value, other->value);
         });
}

/// Whether anything that the path names[i...] stands for has another value in `edited` than in
/// `file`, which may be null. Values that a later edit has removed do not count.
bool differs(const Node* file, const Node& edited, const std::vector<std::string>& names,
             std::size_t i) {
  if (i == names.size()) return file == nullptr || !says_the_same(*file, edited);
  const auto differs_at = [&](const Member& member) {
    const Member* before = file == nullptr || !file->is_table() ? nullptr : file->find(member.name);
    return differs(before == nullptr ? nullptr : &before->value, member.value, names, i + 1);
  };
  if (!edited.is_table()) return false;
  if (names[i] == "*") {
    return std::any_of(edited.members.begin(), edited.members.end(), differs_at);
  }
  const Member* member = edited.find(names[i]);
  return member != nullptr && differs_at(*member);
}

std::string path_of(const std::vector<std::string>& names) {
  std::string path;
  for (const std::string& name : names) {
    path += (path.empty() ? "" : ".") + (name == "*" ? name : render_name(name));
  }
  return path;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

std::vector<ScenarioChange> changes_between(const Node& file, const Node& edited,
                                            const std::vector<std::string>& edits) {
  std::vector<ScenarioChange> changes;
  for (const std::string_view edit : edits) {
    const std::size_t equals = find_equals(edit);
    if (equals == std::string_view::npos) continue;
    const auto names = split_path(without_blanks(edit.substr(0, equals)));
    if (!names) continue;
    const std::string path = path_of(*names);
    if (!describes_system(path)) continue;
    std::erase_if(changes, [&](const ScenarioChange& earlier) { return earlier.path == path; });
    if (!differs(&file, edited, *names, 0)) continue;
    const std::string_view typed = without_blanks(edit.substr(equals + 1));
    changes.push_back({path, printable_line(shown_value(typed))});
  }
  return changes;
}

void add_changes(std::vector<ScenarioChange>& changes, const std::vector<ScenarioChange>& later) {
  for (const ScenarioChange& change : later) {
    std::erase_if(changes,
                  [&](const ScenarioChange& earlier) { return earlier.path == change.path; });
    changes.push_back(change);
  }
}

namespace {

/// Whether two paths have equally many parts, and `same` holds for each pair of parts.
template <class Same>
bool all_parts(std::string_view a, std::string_view b, Same same) {
  while (true) {
    const std::size_t end_a = std::min(a.find('.'), a.size());
    const std::size_t end_b = std::min(b.find('.'), b.size());
    if (!same(a.substr(0, end_a), b.substr(0, end_b))) return false;
    if (end_a == a.size() || end_b == b.size()) return end_a == a.size() && end_b == b.size();
    a.remove_prefix(end_a + 1);
    b.remove_prefix(end_b + 1);
  }
}

}  // namespace

bool may_be_same(std::string_view a, std::string_view b) {
  return all_parts(
      a, b, [](std::string_view x, std::string_view y) { return x == y || x == "*" || y == "*"; });
}

bool covers(std::string_view pattern, std::string_view path) {
  return all_parts(pattern, path,
                   [](std::string_view x, std::string_view y) { return x == y || x == "*"; });
}

}  // namespace retrysim::scenario
